"""A kernel in several threads that wait for each other (kernels/threads.py), called from Python."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from pinakes.kernels.threads import make_steps


def together(threads: ThreadPoolExecutor, part: Callable[..., int], n_threads: int, first: int) -> int:
    """Call part(0, …), part(1, …), … at the same time, each in a thread, and give what all of them give."""
    steps = make_steps(n_threads)
    if n_threads == 1:
        return part(0, steps, first)
    parts = []
    try:
        for thread in range(n_threads):
            parts.append(threads.submit(part, thread, steps, first))
    except BaseException:
        steps[-1] = 1  # some would wait forever for those that never came
        raise
    (reached,) = {p.result() for p in parts}
    return reached
