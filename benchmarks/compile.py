"""First use: how long Numba compiles before the first answer, and how long a later start takes.

    python -m benchmarks.compile [--functions 12]

A fresh process imports Pinakes, fits a tiny model and predicts, once with an empty cache of compiled code and once
with the cache that the first one left. The aim is 15 s for the first. With `--functions` the process also lists the
functions that took longest to compile, callees included, by Numba's own timers.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.race.table import describe_machine

AIM = 15.0
ROOT = Path(__file__).resolve().parents[1]
# What a first user does: many classes, so that rows of weights grow; a second fit shows what is left without compiling.
# Processor time stands beside the wall clock: on a busy machine only that means something.
CHILD = """
import json, sys, time
began, began_cpu = time.perf_counter(), time.process_time()
timed, functions = {}, {}
if sys.argv[1] == "timers":
    from numba.core import event

    class Timers(event.Listener):
        open_at = {}

        def on_start(self, entry):
            self.open_at.setdefault(entry.data["dispatcher"], []).append(time.process_time())

        def on_end(self, entry):
            name = entry.data["dispatcher"].py_func.__qualname__
            took = time.process_time() - self.open_at[entry.data["dispatcher"]].pop()
            functions[name] = functions.get(name, 0.0) + took

    event.register("numba:compile", Timers())

def time_it(name, function):
    start, start_cpu = time.perf_counter(), time.process_time()
    answer = function()
    timed[name] = time.perf_counter() - start, time.process_time() - start_cpu
    return answer

time_it("import", lambda: __import__("pinakes"))
import numpy as np
from scipy import sparse
from pinakes import Taxonomy, TaxonomySVC
taxonomy = Taxonomy.from_paths(f"{a}/{a}{b}" for a in "abcdefgh" for b in range(20))
y = np.array([taxonomy.ids[v] for v in taxonomy.leaves] * 4)
X = sparse.random_array((len(y), 300), density=0.03, format="csr", rng=np.random.default_rng(0), dtype=np.float32)
for name in ("first", "second"):
    m = time_it(name + " fit", lambda: TaxonomySVC(taxonomy, tol=0.05).fit(X, y))
    time_it(name + " predict", lambda: m.predict(X))
timed["whole"] = time.perf_counter() - began, time.process_time() - began_cpu
print(json.dumps({"timed": timed, "functions": functions}))
"""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.compile", description=__doc__.splitlines()[0])
    parser.add_argument("--functions", type=int, default=0, metavar="N", help="list the N slowest to compile")
    parser.add_argument("--repeat", type=int, default=1, help="first uses, each with an empty cache; the best counts")
    args = parser.parse_args()
    print(", ".join(f"{name} {value}" for name, value in describe_machine().items()))
    found = []
    for _ in range(args.repeat):
        with tempfile.TemporaryDirectory() as cache:
            found.append({"first use": start(cache)["timed"], "later start": start(cache)["timed"]})
    best = min(found, key=lambda f: f["first use"]["whole"][0])
    heads = list(best["first use"])
    print(f"{'':26}" + "".join(f"{head:>16}" for head in heads))
    for name, timed in best.items():
        for k, clock in enumerate(("wall clock", "processor")):
            print(f"{name + ', ' + clock:26}" + "".join(f"{timed[head][k]:16.2f}" for head in heads))
    wall, processor = best["first use"]["whole"]
    verdict = "reached" if wall <= AIM else "missed"
    print(f"first use {wall:.1f} s ({processor:.1f} s of processor time), aim {AIM:g} s: {verdict}")
    if args.functions:
        with tempfile.TemporaryDirectory() as cache:
            functions = start(cache, "timers")["functions"]
        print(f"compiled {len(functions)} functions; the slowest in processor time, with what they call:")
        for name, seconds in sorted(functions.items(), key=lambda item: -item[1])[: args.functions]:
            print(f"{seconds:8.2f} s  {name}")


def start(cache: str, how: str = "plain") -> dict[str, Any]:
    """Run the first user's few lines in a fresh process with this cache; give what it timed."""
    environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
    answer = subprocess.run(
        [sys.executable, "-c", CHILD, how], cwd=ROOT, env=environment, capture_output=True, text=True
    )
    if answer.returncode:
        sys.exit(f"compile: the process failed: {answer.stderr.strip().splitlines()[-1]}")
    found: dict[str, Any] = json.loads(answer.stdout)
    return found


if __name__ == "__main__":
    main()
