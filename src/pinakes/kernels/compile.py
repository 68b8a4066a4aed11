"""How kernels are compiled: `kernel` for those that Python calls, the others for what they are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numba import njit
from numba.extending import overload

# other threads of Python run meanwhile; dividing by 0 gives inf, as in NumPy; nothing is made for callers in C
_OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}
# without a way in from Python, and without counting who refers to an array, so that none can be made inside (Numba says
# so where one is): where arrays are many, either takes longer to compile than the rest
_INSIDE = _OPTIONS | {"no_cpython_wrapper": True, "_nrt": False}

# compiled once for all later starts
kernel = njit(cache=True, **_OPTIONS)
# compiled along with what calls them, which is never Python
inner = njit(**_INSIDE)
# the same for sums and maxima of numbers (no nan), in any order, so that several are taken at once
summing = njit(fastmath={"reassoc", "contract", "nnan", "nsz"}, **_INSIDE)


def by_type(function: Callable[..., Any]) -> Any:
    """Decorate what takes the types of the arguments of `function` and gives the plain function that fits them."""
    return overload(function, jit_options=_INSIDE)
