"""Numba loops: arrays in, arrays out. Compiled on first use, cached on disk, run without the GIL."""
