"""2013, Tables 2 and 3: precision, recall and F1 over micro-labels, and training times (section 4).

data       CCAT, ECAT, GCAT and MCAT from rcv1, and 20 Newsgroups at random and by date; see corpora_2013.py
systems    HP          HardPerceptron, the mean of the iterates (Algorithm 1)
           KSP         StochasticPerceptron with a linear kernel, as it comes: subsets, hot start, 4 steps a document
           KSP short   the same with one step for every two documents: about the paper's accuracy
           KSP plain   the same on all documents at once, the last iterate, as in the paper's times: n_subsets=1
           LM-2        StructuredSVC, C = 1: the structural SVM by cutting planes
           coupled     CoupledSVC as it comes: a binary SVM for each label, which share weights; not in the paper
           ranking     TaxonomyRankSVC with a slack a pair; not in the paper
           SVM         TaxonomySVC, one label a document: on 20 Newsgroups only; not in the paper
measures   P, R and F1 over all pairs (document, node); seconds of training, one run, one thread, compilation apart

The paper's LM-1 (Rousu et al. 2006) solves the same problem as LM-2 by another algorithm and is not built again.
"""

from __future__ import annotations

import time
from typing import Any

from pinakes import metrics
from pinakes.models import CoupledSVC, HardPerceptron, StochasticPerceptron, StructuredSVC, TaxonomyRankSVC, TaxonomySVC
from pinakes.reproduce.corpora_2013 import NEWS, SETS, Task, load_task
from pinakes.reproduce.experiment import Cell, Experiment, Report, Results, Settings, Table, Value

# set -> system -> P, R, F1
PAPER = {
    "CCAT": {"HP": (0.93, 0.60, 0.73), "KSP": (0.89, 0.78, 0.83), "LM-2": (0.93, 0.78, 0.85)},
    "ECAT": {"HP": (0.95, 0.62, 0.75), "KSP": (0.93, 0.84, 0.88), "LM-2": (0.95, 0.84, 0.89)},
    "GCAT": {"HP": (0.93, 0.66, 0.77), "KSP": (0.94, 0.75, 0.84), "LM-2": (0.94, 0.78, 0.85)},
    "MCAT": {"HP": (0.92, 0.81, 0.86), "KSP": (0.98, 0.95, 0.96), "LM-2": (0.98, 0.95, 0.96)},
    "NEWS20": {"HP": (0.93, 0.39, 0.56), "KSP": (0.87, 0.83, 0.85), "LM-2": (0.92, 0.86, 0.89)},
}
PAPER_SECONDS = {
    "CCAT": {"KSP plain": 347, "LM-2": 18693},
    "ECAT": {"KSP plain": 97, "LM-2": 3974},
    "GCAT": {"KSP plain": 251, "LM-2": 9831},
    "MCAT": {"KSP plain": 100, "LM-2": 1691},
    "NEWS20": {"KSP plain": 559, "LM-2": 39305},
}
SYSTEMS = ("HP", "KSP", "KSP short", "KSP plain", "LM-2", "coupled", "ranking", "SVM")
TIMED = SYSTEMS[:-1]  # on every set
RANKING_C = 0.1
HARD_STEPS = 2000  # T of HP: it does not gain from more
PLAIN_STEPS = 4000  # T of KSP plain


class Tables23(Experiment):
    """See the head of this file."""

    name = "2013-tables23"
    title = "2013, Tables 2 and 3: accuracy and training time"
    paper = "Liu, Tu, Qian and Zhang 2013, section 4, Tables 2 and 3"
    alone = True
    version = 3

    def constants(self, settings: Settings) -> dict[str, Any]:
        return {
            "C": 1.0,
            "C of ranking": RANKING_C,
            "T of HP": HARD_STEPS,
            "T of KSP": "4 n",
            "T of KSP short": "n / 2",
            "T of KSP plain": PLAIN_STEPS,
        }

    def cells(self, settings: Settings) -> list[Cell]:
        return [
            {"set": name, "system": system, "seed": settings.seed}
            for name in SETS
            for system in SYSTEMS
            if system != "SVM" or name in NEWS
        ]

    def measure(self, settings: Settings, cell: Cell) -> dict[str, Any]:
        task = load_task(settings, str(cell["set"]), int(cell["seed"]))
        few = slice(None, None, max(1, task.X.shape[0] // 200))  # compiled before the time is taken
        make_system(cell, task, quick=True).fit(task.X[few], labels_for(cell, task.labels)[few])
        model = make_system(cell, task, settings.quick)
        started = time.perf_counter()
        model.fit(task.X, labels_for(cell, task.labels))
        seconds = time.perf_counter() - started
        answers = model.predict(task.X_test)
        return micro(task, answers) | {"seconds": seconds, "n_iter": int(model.n_iter_)}

    def report(self, settings: Settings, results: Results) -> Report:
        quality: list[list[Value]] = []
        times: list[list[Value]] = []
        findings = []
        for name in SETS:
            part = results.where(set=name)
            systems = [system for system in SYSTEMS if len(part.where(system=system))]
            for system in systems:
                m = part.where(system=system)[0].measures
                old = PAPER.get(name, {}).get(system.removesuffix(" plain").removesuffix(" short"), (None, None, None))
                quality.append([name, system, m["P"], old[0], m["R"], old[1], m["F1"], old[2], m["F1 below the top"]])
            seconds = {system: part.where(system=system)[0].measures["seconds"] for system in systems}
            old_seconds = PAPER_SECONDS.get(name, {})
            ratio = old_seconds["LM-2"] / old_seconds["KSP plain"] if old_seconds else None
            times.append(
                [
                    name,
                    *(seconds[system] for system in TIMED),
                    *(seconds["LM-2"] / seconds[system] for system in SYSTEMS[1:4]),
                    ratio,
                ]
            )
            if name in PAPER:
                f1 = {system: part.where(system=system)[0].measures["F1"] for system in systems}
                best = max(f1, key=lambda system: f1[system])
                findings.append(
                    f"{name}: F1 of KSP {f1['KSP']:.3f} (the paper: {PAPER[name]['KSP'][2]}), of LM-2 {f1['LM-2']:.3f} "
                    f"({PAPER[name]['LM-2'][2]}), best is {best}; KSP short, with {f1['KSP short']:.3f}, is "
                    f"{seconds['LM-2'] / seconds['KSP short']:.1f} times as fast as LM-2 (paper: {ratio:.0f} times)."
                )
        columns = ("set", "system", "P", "P (paper)", "R", "R (paper)", "F1", "F1 (paper)", "F1 below the top")
        note = "The last column leaves out the code that all documents of an RCV1 subtree have."
        timed = ("set", *TIMED, *(f"LM-2 / {system}" for system in SYSTEMS[1:4]), "LM-2 / KSP (paper)")
        seconds_note = "Seconds of one run on one machine; the paper's are of another machine and of Matlab."
        return Report(
            [Table("Table 2", columns, quality, note=note), Table("Table 3", timed, times, note=seconds_note)],
            findings=findings,
        )


def make_system(cell: Cell, task: Task, quick: bool) -> Any:
    """Make the estimator of a cell."""
    system = cell["system"]
    if system == "HP":
        return HardPerceptron(task.taxonomy, max_iter=100 if quick else HARD_STEPS, n_jobs=1)
    if system == "LM-2":
        return StructuredSVC(task.taxonomy, C=1.0, tol=0.1 if quick else 0.01)
    if system == "coupled":
        return CoupledSVC(task.taxonomy, tol=0.1 if quick else 0.01, n_jobs=1)
    if system == "ranking":
        return TaxonomyRankSVC(task.taxonomy, C=RANKING_C, slack="pair", tol=0.1 if quick else 0.01, n_jobs=1)
    if system == "SVM":
        return TaxonomySVC(task.taxonomy, C=1.0, tol=0.1 if quick else 0.01, n_jobs=1)
    settings: dict[str, Any] = {"n_jobs": 1, "random_state": int(cell["seed"])}
    if system == "KSP short":
        settings["max_iter"] = max(1, task.X.shape[0] // 2)
    if system == "KSP plain":
        settings |= {"n_subsets": 1, "iterate": "last", "max_iter": 400 if quick else PLAIN_STEPS}
    return StochasticPerceptron(task.taxonomy, **settings)


def labels_for(cell: Cell, labels: list[list[str]]) -> Any:
    """Give label sets, or one label each to the one system that takes no sets."""
    return [few[0] for few in labels] if cell["system"] == "SVM" else labels


def micro(task: Task, answers: Any) -> dict[str, float]:
    """Give precision, recall and F1 over micro-labels, and F1 without the label that all documents have."""
    given = [list(few) if isinstance(few, list) else [few] for few in answers]
    found = {}
    for name in ("precision", "recall", "f1"):
        value = metrics.METRICS[f"hierarchical_{name}"](task.labels_test, given, task.taxonomy)
        found[name[0].upper() if name != "f1" else "F1"] = float(value)
    if task.top is None:
        return found | {"F1 below the top": found["F1"]}
    edges = [(task.taxonomy.ids[p], task.taxonomy.ids[c]) for p, c in task.taxonomy.edges()]
    below = type(task.taxonomy).from_edges([("" if p == task.top else p, c) for p, c in edges])
    true, rest = ([[k for k in few if k != task.top] for few in sets] for sets in (task.labels_test, given))
    return found | {"F1 below the top": float(metrics.METRICS["hierarchical_f1"](true, rest, below))}
