"""Threads in step: nobody passes a barrier before all have reached it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numba import config, njit

from pinakes.kernels.threads import make_steps, take_next, wait_for_all


@njit(nogil=True)
def rounds(steps, thread, values, seen, n_rounds):
    """In each round write a number of one's own, wait, and add up everybody's; gives how many rounds were made."""
    for r in range(n_rounds):
        values[thread, 0] = r * (thread + 1)
        if not wait_for_all(steps, thread):
            return r
        seen[thread, r] = values[:, 0].sum()
        wait_for_all(steps, thread)
    return n_rounds


@pytest.mark.skipif(config.DISABLE_JIT, reason="threads that wait without giving up Python's lock need compiled code")
@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_everybody_sees_what_everybody_wrote(n_threads):
    n_rounds = 300
    steps, values = make_steps(n_threads), np.zeros((n_threads, 8), dtype=np.int64)
    seen = np.zeros((n_threads, n_rounds), dtype=np.int64)
    with ThreadPoolExecutor(n_threads) as threads:
        done = list(threads.map(lambda t: rounds(steps, t, values, seen, n_rounds), range(n_threads)))
    assert done == [n_rounds] * n_threads
    expected = np.arange(n_rounds) * (n_threads * (n_threads + 1) // 2)
    np.testing.assert_array_equal(seen, np.tile(expected, (n_threads, 1)))


def test_a_thread_that_waits_for_nobody_can_be_called_off():
    steps, values, seen = make_steps(2), np.zeros((2, 8), dtype=np.int64), np.zeros((2, 3), dtype=np.int64)
    steps[-1] = 1
    assert rounds(steps, 0, values, seen, 3) == 0


@njit(nogil=True)
def take_all(counters, n_wanted):
    """Take numbers until they are at least `n_wanted`; gives those below it."""
    taken = np.zeros(n_wanted, dtype=np.int64)
    n_taken = 0
    number = take_next(counters, 1)
    while number < n_wanted:
        taken[n_taken] = number
        n_taken += 1
        number = take_next(counters, 1)
    return taken[:n_taken]


@pytest.mark.parametrize("n_threads", [1, 2, 3])
def test_every_number_is_taken_once(n_threads):
    counters, n_wanted = make_steps(1), 20_000
    with ThreadPoolExecutor(n_threads) as threads:
        taken = list(threads.map(lambda _: take_all(counters, n_wanted), range(n_threads)))
    np.testing.assert_array_equal(np.sort(np.concatenate(taken)), np.arange(n_wanted))
    assert counters[0].sum() == 0
