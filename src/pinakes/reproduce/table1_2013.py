"""2013, Table 1: the data sets (section 4).

data       CCAT, ECAT, GCAT and MCAT from rcv1, and 20 Newsgroups, as they stand here
measures   features, training and test documents, labels (nodes), depth
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pinakes.reproduce.corpora_2013 import SETS, load_task
from pinakes.reproduce.experiment import Cell, Experiment, Report, Results, Settings, Table, Value

# features, training, test, labels, depth
PAPER = {
    "CCAT": (47236, 10786, 5000, 34, 3),
    "ECAT": (47236, 3449, 5000, 26, 2),
    "GCAT": (47236, 6970, 5000, 33, 2),
    "MCAT": (47236, 5882, 5000, 10, 2),
    "NEWS20": (62061, 15935, 3993, 27, 2),
}
COLUMNS = ("features", "training", "test", "labels", "depth")


class Table1(Experiment):
    """See the head of this file."""

    name = "2013-table1"
    title = "2013, Table 1: the data sets"
    paper = "Liu, Tu, Qian and Zhang 2013, section 4, Table 1"

    def cells(self, settings: Settings) -> list[Cell]:
        return [{"set": name, "seed": settings.seed} for name in SETS]

    def measure(self, settings: Settings, cell: Cell) -> dict[str, Any]:
        task = load_task(settings, str(cell["set"]), int(cell["seed"]))
        return {
            "features": task.X.shape[1],
            "training": task.X.shape[0],
            "test": task.X_test.shape[0],
            "labels": len(task.taxonomy),
            "depth": task.taxonomy.depth - (task.top is not None),
            "labels a document": float(np.mean([len(few) for few in task.labels])),
        }

    def report(self, settings: Settings, results: Results) -> Report:
        rows: list[list[Value]] = []
        for name in SETS:
            m = results.where(set=name)[0].measures
            paper = PAPER.get(name, (None,) * len(COLUMNS))
            pairs = zip(COLUMNS, paper, strict=True)
            rows.append([name, *(value for column, old in pairs for value in (m[column], old)), m["labels a document"]])
        columns = ["set", *(name for column in COLUMNS for name in (column, f"{column} (paper)")), "labels a document"]
        note = "The depth of an RCV1 subtree does not count its top. The paper's WIPO (1,352 documents) is not here."
        same = sum(results.where(set=name)[0].measures["labels"] == figures[3] for name, figures in PAPER.items())
        findings = [
            f"The numbers of labels are the paper's on {same} of {len(PAPER)} sets; those of documents are not."
        ]
        return Report([Table("Table 1", columns, rows, note=note)], findings=findings)
