"""How kernels are compiled: `kernel` for those that Python calls, the others for what they are made of."""

from __future__ import annotations

from numba import njit

# compiled once for all later starts; other threads of Python run meanwhile; dividing by 0 gives inf, as in NumPy
kernel = njit(cache=True, nogil=True, error_model="numpy")
# compiled along with what calls them: a cache of their own would take time and serve nobody
part = njit(nogil=True, error_model="numpy")
# the same without a way in from Python, which for many arrays takes longer than the rest: never call them from there
inner = njit(nogil=True, error_model="numpy", no_cpython_wrapper=True)
# the same for sums and maxima of numbers (no nan), in any order, so that several are taken at once
summing = njit(
    nogil=True, error_model="numpy", no_cpython_wrapper=True, fastmath={"reassoc", "contract", "nnan", "nsz"}
)
