"""Threads that work in step: a barrier for kernels that run at the same time, each in a thread of its own.

Numba has no atomic loads, stores and sums for the host, so small intrinsics make them. `steps` is an int64 array with a
cache line for each thread: thread t writes how many barriers it has reached into steps[t, 0], and only reads the
others. A thread that waits for long lets others have its core. Where pieces of work differ in length, threads take
the next one from a counter instead of sharing them out beforehand.
"""

from __future__ import annotations

import sys

import numpy as np
from llvmlite import ir
from numba import config, njit, types
from numba.extending import intrinsic

from pinakes.kernels.compile import inner

LINE = 8  # int64 in a cache line
PATIENT = 1 << 14  # looks before a waiting thread gives way

if config.DISABLE_JIT:  # Python has no other memory model than this

    def _load(array, at):
        return array[at, 0]

    def _store(array, at, value):
        array[at, 0] = value

    def take_next(counters, at):
        value = counters[at, 0]
        counters[at, 0] += 1
        return value

    def _give_way():
        return 0

else:

    def _place(context, builder, array_type, array, at):
        view = context.make_array(array_type)(context, builder, array)
        return builder.gep(view.data, [builder.mul(at, ir.Constant(at.type, LINE))])

    @intrinsic
    def _load(typing_context, array, at):
        def generate(context, builder, signature, arguments):
            place = _place(context, builder, signature.args[0], *arguments)
            return builder.load_atomic(place, "acquire", 8)

        return types.int64(array, types.int64), generate

    @intrinsic
    def _store(typing_context, array, at, value):
        def generate(context, builder, signature, arguments):
            place = _place(context, builder, signature.args[0], *arguments[:2])
            builder.store_atomic(arguments[2], place, "release", 8)
            return context.get_dummy_value()

        return types.void(array, types.int64, types.int64), generate

    @intrinsic
    def take_next(typing_context, counters, at):
        """Add 1 to counters[at, 0] and give what it was; no two threads get the same."""

        def generate(context, builder, signature, arguments):
            place = _place(context, builder, signature.args[0], *arguments)
            return builder.atomic_rmw("add", place, ir.Constant(ir.IntType(64), 1), "acq_rel")

        return types.int64(counters, types.int64), generate

    if sys.platform == "win32":

        @njit(cache=True, nogil=True)
        def _give_way():
            return 0

    else:
        _give_way = types.ExternalFunction("sched_yield", types.int32())


def make_steps(n_threads: int) -> np.ndarray:
    """Give the array that `wait_for_all` counts in."""
    return np.zeros((n_threads + 1, LINE), dtype=np.int64)


@inner
def wait_for_all(steps, thread):
    """Wait until all threads have called this as often as `thread` has; False if that was called off.

    `steps` comes from `make_steps`; a value other than 0 in its last row calls everything off.
    """
    n_threads = len(steps) - 1
    if n_threads == 1:
        return True
    reached = _load(steps, thread) + 1
    _store(steps, thread, reached)
    for other in range(n_threads):
        looks = 0
        while _load(steps, other) < reached:
            if _load(steps, n_threads) != 0:
                return False
            looks += 1
            if looks > PATIENT:
                _give_way()
    return True
