"""A kernel in several threads that wait for each other (kernels/threads.py), called from Python.

Threads in step are as fast as the slowest of them. Where another process has half of one core, two threads take three
times as long as one; so one works alone, for a while, when some thread did not have its core to itself. What is
learnt does not depend on the number of threads.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from pinakes.kernels.threads import make_steps

LOOK = 0.02  # seconds of work after which …
OWN = 0.75  # … a thread that had its core for less of them is said to share it
ALONE = 0.2  # seconds that one thread then works alone, or …
TIMES = 4  # … so many times as long as was looked at; twice as long each time that the cores are still busy


class Crew:
    """Threads that work in step, as many as is good just now.

    Parameters
    ----------
    threads : ThreadPoolExecutor
    n_threads : int
        The most.
    """

    def __init__(self, threads: ThreadPoolExecutor, n_threads: int) -> None:
        self.threads, self.n_threads = threads, n_threads
        self.alone_until, self.times = 0.0, float(TIMES)
        self._forget()

    def _forget(self) -> None:
        self.seconds, self.used = 0.0, [0.0] * self.n_threads

    def size(self) -> int:
        """Give how many threads are to be used now: all, or one."""
        return 1 if time.perf_counter() < self.alone_until else self.n_threads

    def together(self, part: Callable[..., int], n_threads: int, first: int) -> int:
        """Call part(0, …), part(1, …), … at the same time, each in a thread, and give what all of them give."""
        steps = make_steps(n_threads)
        if n_threads == 1:
            return part(0, steps, first)
        started = time.perf_counter()

        def timed(thread: int) -> int:
            before = time.thread_time()
            reached = part(thread, steps, first)
            self.used[thread] += time.thread_time() - before
            return reached

        parts = []
        try:
            for thread in range(n_threads):
                parts.append(self.threads.submit(timed, thread))
        except BaseException:
            steps[-1] = 1  # some would wait forever for those that never came
            raise
        (reached,) = {p.result() for p in parts}
        self.seconds += time.perf_counter() - started
        if self.seconds >= LOOK:
            self._judge()
        return reached

    def _judge(self) -> None:
        """Let one thread work alone for a while if the cores are shared with others."""
        if min(self.used) < OWN * self.seconds:
            self.alone_until = time.perf_counter() + max(ALONE, self.times * self.seconds)
            self.times *= 2
        else:
            self.times = TIMES
        self._forget()
