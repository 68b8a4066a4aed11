"""How kernels are compiled: `kernel` for those that Python calls, `inner` for the parts they are made of."""

from __future__ import annotations

from numba import njit

# compiled once for all later starts; other threads of Python run meanwhile; dividing by 0 gives inf, as in NumPy
kernel = njit(cache=True, nogil=True, error_model="numpy")
# compiled along with what calls them: a cache and a way in from Python of their own would take most of the time
inner = njit(nogil=True, error_model="numpy", no_cpython_wrapper=True)
