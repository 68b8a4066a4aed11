"""How kernels are compiled: `kernel` for those that Python calls, the others for what they are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit
from numba.extending import overload

# compiled once for all later starts; other threads of Python run meanwhile; dividing by 0 gives inf, as in NumPy
kernel = njit(cache=True, nogil=True, error_model="numpy")
# compiled along with what calls them, without a way in from Python: that takes longer than the rest where arrays are
# many; never call them from there
inner = njit(nogil=True, error_model="numpy", no_cpython_wrapper=True)
# the same for sums and maxima of numbers (no nan), in any order, so that several are taken at once
summing = njit(
    nogil=True, error_model="numpy", no_cpython_wrapper=True, fastmath={"reassoc", "contract", "nnan", "nsz"}
)


def by_type(function: Callable[..., Any]) -> Any:
    """Decorate what takes the types of the arguments of `function` and gives the plain function that fits them."""
    options = {"nogil": True, "error_model": "numpy", "no_cpython_wrapper": True}
    return overload(function, jit_options=options)
