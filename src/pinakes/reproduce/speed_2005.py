"""2005, section 4.3: how much faster all classifiers are trained in a low-dimensional space.

The paper found 12 times on RCV1 with 50 dimensions of HLSI, and 9 times on SwissProt with 80, the mapping included.
Here the same one-vs-rest SVMs (`CoupledSVC`, nothing shared) are trained on all words, sparse, and on the coordinates,
dense; the time of the mapping is told apart and together with that of the classifiers. SVMlight, which the paper used,
is much slower on all words, and so it had more to gain.
"""

from __future__ import annotations

import time
from typing import Any

from pinakes.models import HLSI
from pinakes.reproduce import feature_spaces as spaces
from pinakes.reproduce.experiment import Cell, Experiment, Report, Results, Settings, Table, Value

DIMENSIONS = {"rcv1": 50, "go-function": 80}
PAPER = {"rcv1": 12.0, "go-function": 9.0}
GAMMA = 0.2


class Speed(Experiment):
    """See the head of this file."""

    name = "2005-speed"
    title = "2005, section 4.3: training in few dimensions"
    paper = "Huang et al. 2005, section 4.3"
    alone = True
    version = 2

    def constants(self, settings: Settings) -> dict[str, Any]:
        return {"training documents": 300 if settings.quick else 2000, "dimensions": DIMENSIONS, "gamma": GAMMA}

    def cells(self, settings: Settings) -> list[Cell]:
        sets = ["rcv1"] if settings.quick else list(spaces.SETS)
        return [{"set": name, "seed": settings.seed + k} for k in range(1 if settings.quick else 3) for name in sets]

    def measure(self, settings: Settings, cell: Cell) -> dict[str, Any]:
        name, n_train = str(cell["set"]), self.constants(settings)["training documents"]
        data = spaces.read_collection(settings.folder(), name)
        split = spaces.draw_split(data, n_train, int(cell["seed"]), 500)
        X, Y = data.X[split.train], data.Y[split.train]
        model = HLSI(data.taxonomy, n_components=DIMENSIONS[name], gamma=GAMMA, n_jobs=1)
        model.fit(X[:100], Y[:100])  # compile
        started = time.perf_counter()
        W = model.set_params(solver="free").fit(X, Y).components_.T
        mapping = time.perf_counter() - started
        some = split._replace(train=split.train[:100])  # compile
        spaces.classify_space(data, some, W, [DIMENSIONS[name]])
        spaces.classify_space(data, some, None, [])
        few = spaces.classify_space(data, split, W, [DIMENSIONS[name]])
        every = spaces.classify_space(data, split, None, [])
        return {
            "mapping": mapping,
            "few": few[f"seconds_{DIMENSIONS[name]}"],
            "all": every["seconds"],
            "few_micro": few[f"micro_{DIMENSIONS[name]}"],
            "all_micro": every["micro"],
        }

    def report(self, settings: Settings, results: Results) -> Report:
        rows: list[list[Value]] = []
        findings = []
        for name in dict.fromkeys(str(r.cell["set"]) for r in results):
            part = results.where(set=name)
            mapping, few, every = (float(part.values(what).mean()) for what in ("mapping", "few", "all"))
            alone, together = every / few, every / (few + mapping)
            rows.append([name, DIMENSIONS[name], every, few, mapping, alone, together, PAPER[name]])
            findings.append(
                f"{name}: the classifiers are trained {alone:.1f} times as fast on {DIMENSIONS[name]} dimensions, and "
                f"{together:.1f} times with the mapping included (paper: {PAPER[name]:g}, SwissProt for GO)."
            )
        columns = [
            "set",
            "dimensions",
            "all words (s)",
            "few (s)",
            "mapping (s)",
            "× without",
            "× with mapping",
            "paper ×",
        ]
        return Report([Table("Training all classifiers", columns, rows)], findings=findings)
