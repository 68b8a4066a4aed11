"""Threads in step: as many as there are cores to have, and the same result with any number."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from scipy import sparse

from pinakes import Taxonomy, TaxonomySVC
from pinakes.solvers import together
from pinakes.solvers.together import ALONE, LOOK, OWN, TIMES, Crew


class Times:
    """Clocks that stand still until they are told: of the wall, and of each thread that asks."""

    def __init__(self) -> None:
        self.now = 0.0
        self.used: list[float] = []

    def perf_counter(self) -> float:
        return self.now

    def thread_time(self) -> float:
        return self.used.pop() if self.used else 0.0


@pytest.fixture
def times(monkeypatch):
    times = Times()
    monkeypatch.setattr(together, "time", times)
    return times


def work(crew: Crew, times: Times, seconds: float, share: float) -> int:
    """Let the crew work in two threads, the second of which has its core for this share of the time."""

    def part(thread, steps, first):
        if thread == 0:
            times.now += seconds
        times.used = [seconds * (1.0 if thread == 0 else share)]
        return first + 1

    return crew.together(part, crew.size(), 7)


class AtOnce:
    """Runs what is submitted then and there."""

    def submit(self, function, *arguments):
        with ThreadPoolExecutor(1) as threads:
            future = threads.submit(function, *arguments)
        return future


def test_one_works_alone_while_cores_are_shared(times):
    crew = Crew(AtOnce(), 2)
    assert crew.size() == 2
    assert work(crew, times, 1.0, 0.95 * OWN) == 8
    assert crew.size() == 1
    times.now += 0.99 * TIMES
    assert crew.size() == 1
    times.now += 0.02 * TIMES
    assert crew.size() == 2  # a new look
    work(crew, times, 1.0, 0.5)
    times.now += 1.99 * TIMES  # still shared: twice as long
    assert crew.size() == 1
    times.now += 0.02 * TIMES
    work(crew, times, 1.0, 1.05 * OWN)
    assert crew.size() == 2
    work(crew, times, 1.0, 0.0)
    times.now += 1.01 * TIMES  # it was free in between: as short as at first
    assert crew.size() == 2


def test_short_work_is_added_up_before_it_is_judged(times):
    crew = Crew(AtOnce(), 2)
    for _ in range(9):
        work(crew, times, 0.1 * LOOK, 0.0)
        assert crew.size() == 2
    work(crew, times, 0.11 * LOOK, 0.0)
    assert crew.size() == 1
    times.now += 1.01 * ALONE
    assert crew.size() == 2


def test_one_thread_is_never_judged(times):
    crew = Crew(AtOnce(), 1)
    for _ in range(3):
        assert crew.together(lambda thread, steps, first: first + 1, 1, 1) == 2
    assert crew.seconds == 0.0


def test_what_is_learnt_does_not_depend_on_who_is_there(monkeypatch):
    """Threads come and go between the sweeps of one fit; batches are large enough for several."""
    rng = np.random.default_rng(0)
    paths = [f"{k // 6}/{k}" for k in range(90)]
    codes = rng.permutation(np.arange(3600) % 90)
    place = np.column_stack([codes, 90 + codes // 6, rng.integers(105, 900, (3600, 3))])
    X = sparse.csr_array((np.ones(5 * 3600), place.ravel(), 5 * np.arange(3601)), shape=(3600, 900))
    y = np.array(paths)[codes]
    taxonomy = Taxonomy.from_paths(paths)
    alone = TaxonomySVC(taxonomy, n_jobs=1).fit(X, y)
    sizes = []

    def size(crew):
        sizes.append(1 + len(sizes) % 2)
        return sizes[-1]

    monkeypatch.setattr(Crew, "size", size)
    changing = TaxonomySVC(taxonomy, n_jobs=2).fit(X, y)
    assert sizes.count(1) > 3
    assert sizes.count(2) > 3
    assert changing.n_iter_ == alone.n_iter_
    np.testing.assert_array_equal(changing.decision_function(X), alone.decision_function(X))
