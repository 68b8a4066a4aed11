"""How far answers can be trusted: calibration, coverage, gain and cost of decisions, on public corpora.

    python -m benchmarks.decisions --data DIR --work DIR [--out benchmarks/results/decisions.md] [--sets NAME ...]

Fitted models are kept in the folder --work, and used again by the next run. Tables are printed, and with --out written.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import numpy as np

from pinakes import StochasticPerceptron, TaxonomySVC, __version__, load, metrics, save
from pinakes.datasets import load_corpus
from pinakes.decisions import Calibration, Classifier, Coverage, SetCalibration
from pinakes.decisions.beliefs import Believer
from pinakes.decisions.coverage import node_needs, set_needs
from pinakes.decisions.held_out import AT_ONCE, class_scores, members_of, nodes_of
from pinakes.decisions.set_calibration import closed_truth
from pinakes.documents import Corpus, TextFeatures
from pinakes.kernels import choices
from pinakes.taxonomy.loss import NodeLoss, make_loss

LEVELS = (0.8, 0.9, 0.95)
N_SPLITS, N_BINS, SEED = 20, 15, 0
CALIBRATED = ["clinc150", "arxiv", "ipc-titles"]
GAINS = ["ipc-titles", "cpc-titles", "clinc150"]
COSTS = ["ipc-titles", "cpc-titles"]
SETS = "arxiv label sets"


class Bench:
    """A corpus, its model, and the test documents whose labels the model knows."""

    def __init__(self, name: str, data: Path, work: Path) -> None:
        self.name = name
        self.sample = load_corpus(data / name.removesuffix(" label sets"))
        file = work / f"{name.replace(' ', '-')}.pinakes"
        if not file.exists():
            save(self._train(), file)
        self.classifier = load(file)
        self.model: Any = self.classifier.model
        self.model.n_jobs = 1
        known = set(map(str, self.model.classes_))
        self.test = self.sample.test.take(
            [i for i, labels in enumerate(self.sample.test.labels) if labels[0] in known or name == SETS]
        )
        self.X = self.classifier.vectors(self.test)
        self.taxonomy = self.model.taxonomy_
        self.nodes = nodes_of(self.model)
        if name != SETS:
            place = {str(k): j for j, k in enumerate(self.model.classes_)}
            self.true = np.array([place[labels[0]] for labels in self.test.labels])

    def _train(self) -> Classifier:
        self._fitted(self.sample.train.take(range(0, len(self.sample.train), len(self.sample.train) // 500)))  # compile
        started = time.perf_counter()
        classifier = self._fitted(self.sample.train)
        trained = classifier.model.history_[-1].seconds
        classifier.summary = {"seconds": time.perf_counter() - started, "seconds_training": trained}
        return classifier

    def _fitted(self, train: Corpus) -> Classifier:
        if self.name == SETS:
            model: Any = StochasticPerceptron(self.sample.taxonomy, random_state=SEED)
            labels: Any = [list(few) for few in train.labels]
        else:
            model, labels = TaxonomySVC(self.sample.taxonomy, n_jobs=1), [few[0] for few in train.labels]
        return Classifier(model, TextFeatures()).fit(train.texts, labels)

    def parts(self, X: Any = None) -> Iterable[tuple[slice, Any]]:
        """Give the scores of test documents, some at a time."""
        X = self.X if X is None else X
        size = max(1, AT_ONCE // len(self.taxonomy))
        for start in range(0, X.shape[0], size):
            part = slice(start, min(start + size, X.shape[0]))
            yield part, class_scores(self.model, X[part])


def calibration_error(sure: Any, right: Any) -> float:
    """Give the expected calibration error over bins of equal width."""
    bins = np.minimum((sure * N_BINS).astype(int), N_BINS - 1)
    gaps = np.bincount(bins, sure, N_BINS) - np.bincount(bins, right, N_BINS)
    return float(np.abs(gaps).sum() / len(sure))


def calibration_rows(bench: Bench) -> list[list[str]]:
    """Measure calibration errors of the best category and of the likeliest parent."""
    calibration = bench.classifier.calibration
    if bench.name == SETS:
        kinds: dict[str, Any] = {
            "raw": SetCalibration.from_temperature(1.0, bench.taxonomy.depth),
            "calibrated": calibration,
        }
        truth = closed_truth(members_of(bench.model, bench.test.labels), bench.nodes, bench.taxonomy)
    else:
        kinds = {
            "raw": Calibration.from_temperature(1.0),
            "one temperature": Calibration.from_temperature(bench.classifier.temperature),
            "calibrated": calibration,
        }
    parents = np.unique(np.concatenate([bench.taxonomy.parents.of(int(v)) for v in bench.nodes]))
    leaves = np.setdiff1d(bench.nodes, parents)
    rows = []
    for kind, given in kinds.items():
        believer = Believer.of(bench.model, given)
        found: dict[str, list[Any]] = {"leaf": [], "leaf right": [], "parent": [], "parent right": []}
        for part, scores in bench.parts():
            P = believer.beliefs(scores)
            rows_ = np.arange(len(scores))
            if bench.name == SETS:
                best = leaves[P.nodes[:, leaves].argmax(axis=1)]
                found["leaf"].append(P.nodes[rows_, best])
                found["leaf right"].append(truth[part][rows_, best])
            else:
                best = P.classes.argmax(axis=1)
                found["leaf"].append(P.classes[rows_, best])
                found["leaf right"].append(best == bench.true[part])
            above = parents[P.nodes[:, parents].argmax(axis=1)]
            found["parent"].append(P.nodes[rows_, above])
            if bench.name == SETS:
                found["parent right"].append(truth[part][rows_, above])
            else:
                up = bench.taxonomy.ancestors
                true = bench.nodes[bench.true[part]]
                found["parent right"].append([a in up.of(int(v)) for a, v in zip(above, true, strict=True)])
        cells = [bench.name, kind]
        for level in ("leaf", "parent"):
            sure, right = np.concatenate(found[level]), np.concatenate(found[f"{level} right"])
            cells += [f"{calibration_error(sure, right):.4f}", f"{sure.mean():.3f}", f"{right.mean():.3f}"]
        rows.append(cells)
    return rows


def coverage_rows(bench: Bench) -> list[list[str]]:
    """Measure coverage: half of the test documents to find the threshold, the others to be answered, 20 times."""
    believer = Believer.of(bench.model, bench.classifier.calibration)
    taxonomy = bench.taxonomy
    p = np.empty((bench.X.shape[0], len(bench.nodes)), dtype=np.float32)
    node, sets = np.empty(len(p)), np.empty(len(p))
    for part, scores in bench.parts():
        beliefs = believer.beliefs(scores)
        p[part] = beliefs.classes
        node[part] = node_needs(believer, beliefs, bench.nodes[bench.true[part]])
        sets[part] = set_needs(believer, beliefs, bench.true[part])
    ascending = np.sort(p, axis=1)
    below = np.array([np.isin(taxonomy.descendants.of(v), bench.nodes).sum() for v in range(len(taxonomy))])
    rng = np.random.default_rng(SEED)
    splits = [rng.permutation(len(p)) for _ in range(N_SPLITS)]
    rows = []
    for level in LEVELS:
        got: dict[str, list[float]] = {k: [] for k in ("node", "depth", "size", "none", "sets", "sets size")}
        for order in splits:
            aside, rest = order[: len(order) // 2], order[len(order) // 2 :]
            coverage = Coverage.of_needs(node[aside], sets[aside])
            t, s = coverage.node_threshold(level), coverage.set_threshold(level)
            answers = np.empty(len(rest), dtype=np.int64)
            choices.likeliest_way(p[rest], believer.below, taxonomy.roots, *taxonomy.children, t, answers)
            said = answers >= 0
            got["node"].append(float(np.mean(node[rest] <= t)))
            got["depth"].append(float(np.where(said, taxonomy.levels[np.maximum(answers, 0)], 0).mean()))
            got["size"].append(float(np.where(said, below[np.maximum(answers, 0)], len(bench.nodes)).mean()))
            got["none"].append(float(1 - said.mean()))
            got["sets"].append(float(np.mean(sets[rest] <= s)))
            got["sets size"].append(
                float(np.mean([max(1, len(row) - np.searchsorted(row, 1 - s)) for row in ascending[rest]]))
            )
        n = len(p) // 2
        least = level - 1.645 * np.sqrt(level * (1 - level) * (1 / n + 1 / n))
        trained = bench.classifier.coverage
        in_train = np.mean(node <= trained.node_threshold(level)), np.mean(sets <= trained.set_threshold(level))
        mean = {k: float(np.mean(values)) for k, values in got.items()}
        rows.append(
            [
                bench.name,
                f"{level:.0%}",
                f"{mean['node']:.2%} ({min(got['node']):.2%} to {max(got['node']):.2%})",
                f"{sum(value < least for value in got['node'])} of {N_SPLITS}",
                f"{mean['depth']:.2f}",
                f"{mean['size']:,.1f}",
                f"{mean['none']:.1%}",
                f"{in_train[0]:.2%}",
                f"{mean['sets']:.2%} ({min(got['sets']):.2%} to {max(got['sets']):.2%})",
                f"{mean['sets size']:,.1f}",
                f"{in_train[1]:.2%}",
            ]
        )
    return rows


def gain_rows(bench: Bench, data: Path) -> list[list[str]]:
    """Compare the Delta-loss of decisions with that of the best category, document by document."""
    loss = make_loss("tree", bench.taxonomy)
    assert isinstance(loss, NodeLoss)
    cases = [(bench.name, bench.X, bench.nodes[bench.true].astype(np.int64))]
    if bench.name == "clinc150":
        strange = bench.classifier.vectors(Corpus.read(data / "clinc150" / "oos.jsonl.xz"))
        from scipy import sparse

        both = sparse.vstack([bench.X, strange], format="csr")
        cases.append(
            (f"{bench.name} + {strange.shape[0]:,} out of scope", both, np.r_[cases[0][2], [-1] * strange.shape[0]])
        )
    rows = []
    for name, X, true in cases:
        believers = {
            "best category": ("best", Calibration.from_temperature(1.0)),
            "expected-loss, one temperature": (
                "expected-loss",
                Calibration.from_temperature(bench.classifier.temperature),
            ),
            "expected-loss": ("expected-loss", bench.classifier.calibration),
            "abstain": ("abstain", bench.classifier.calibration),
        }
        base: Any = None
        for kind, (decision, calibration) in believers.items():
            classifier = Classifier(bench.model, bench.classifier.features, calibration=calibration)
            answers = np.array([few[0] if len(few) else -1 for few in classifier.decided_nodes(X, decision, "tree")])
            values = delta(loss, true, answers)
            base = values if base is None else base
            interval = metrics.bootstrap_interval(values, base)
            p = metrics.paired_permutation_test(values, base, n_permutations=2000) if kind != "best category" else None
            inner = np.isin(answers, np.setdiff1d(np.arange(len(bench.taxonomy)), bench.nodes))
            rows.append(
                [
                    name,
                    kind,
                    f"{values.mean():.4f}",
                    "" if p is None else f"{interval.estimate:+.4f} ({interval.low:+.4f} to {interval.high:+.4f})",
                    "" if p is None else f"{p:.2g}",
                    f"{inner.mean():.1%}",
                    f"{(answers < 0).mean():.1%}",
                ]
            )
    return rows


def delta(loss: NodeLoss, true: Any, answers: Any) -> Any:
    """Give the loss of each answer; -1 is no class, or nothing said."""
    both = (true >= 0) & (answers >= 0)
    out = np.zeros(len(true))
    out[both] = loss.pairs(true[both], answers[both])
    said = (true < 0) & (answers >= 0)
    out[said] = loss.unwanted(answers[said]) if said.any() else 0.0
    silent = (true >= 0) & (answers < 0)
    up = loss.taxonomy.ancestors
    out[silent] = [loss.miss[up.of(int(v))].sum() for v in true[silent]]
    return out


def cost_rows(bench: Bench, n_documents: int = 2000, repeat: int = 15) -> list[list[str]]:
    """Time scoring alone and every decision with its scoring, on the same documents in one thread."""
    X = bench.X[:n_documents]
    classifier = bench.classifier

    def score() -> None:
        for _ in bench.parts(X):
            pass

    ways: dict[str, Callable[[], Any]] = {"scoring alone": score}
    for decision in ("best", "expected-loss", "confidence:0.8", "abstain", "coverage:0.9", "sets:0.9"):
        ways[decision] = lambda decision=decision: classifier.decided_nodes(X, decision)
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for k in range(repeat + 1):  # in turn, so that a slow moment of the machine hits all; the first compiles
        for name, function in ways.items():
            started = time.process_time()  # one thread: what others do on the machine does not count
            function()
            if k:
                seconds[name].append(time.process_time() - started)
    best = {name: 1e6 * min(times) / X.shape[0] for name, times in seconds.items()}
    alone = best.pop("scoring alone")
    return [
        [bench.name, "scoring alone", f"{alone:.1f}", "", ""],
        *(
            [bench.name, name, f"{value:.1f}", f"{value - alone:.1f}", f"{value / alone - 1:.2f}"]
            for name, value in best.items()
        ),
    ]


HEADS = {
    "Calibration": "set | scores | leaf ECE | confidence | accuracy | parent ECE | confidence | accuracy",
    "Coverage": "set | level | one node: covered (least to most) | splits too low | depth | size | says nothing | "
    "by `fit` | sets: covered (least to most) | size | by `fit`",
    "Gain": "documents | decision | Delta-loss | difference (95 %) | p | inner nodes | nothing",
    "Cost": "set | decision | µs a document | beyond scoring | times scoring",
    "Training": "set | documents | categories / nodes | training s | with calibration s",
}
NOTES = {
    "Calibration": "Expected calibration error in 15 bins, of the best category and of the likeliest parent of "
    "categories. *raw*: softmax (label sets: logistic function) of the scores; *one temperature*: the scores divided "
    "by a number set on held-out documents (before); *calibrated*: what `fit` does now.",
    "Coverage": "20 random halves of the test documents give the threshold, the other halves are answered. *splits too "
    "low*: below the level by more than the binomial error of both halves (one-sided 5 %; 1 of 20 is expected). "
    "*depth*: level of the node, 0 where nothing is said; *size*: categories in the answer. *by `fit`*: all test "
    "documents, with the threshold found in training.",
    "Gain": "Tree loss; saying nothing costs the distance to above the roots, and answering a document of no class "
    "costs the depth of the answer, halved both. p by a paired permutation test against the best category.",
    "Cost": "One thread, processor time, best of 15 runs over the same documents, in turn.",
    "Training": "All in all, with features; calibration fits a second model to four fifths of the documents.",
}


def main() -> None:
    """Fit or load the models, measure, and write the tables."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.decisions", description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=os.environ.get("PINAKES_DATA"), help="folder of the corpora")
    parser.add_argument("--work", type=Path, required=True, help="folder for fitted models")
    parser.add_argument("--out", type=Path, help="Markdown file to write")
    parser.add_argument("--sets", nargs="+", default=["clinc150", "arxiv", SETS, "ipc-titles", "cpc-titles"])
    args = parser.parse_args()
    if args.data is None:
        parser.error("say where the corpora are: --data DIR, or PINAKES_DATA")
    args.work.mkdir(parents=True, exist_ok=True)
    data = Path(args.data)
    tables: dict[str, list[list[str]]] = {head: [] for head in HEADS}
    for name in args.sets:
        bench = Bench(name, data, args.work)
        summary = bench.classifier.summary
        tables["Training"].append(
            [
                name,
                f"{len(bench.sample.train):,}",
                f"{len(bench.nodes):,} / {len(bench.taxonomy):,}",
                f"{summary['seconds_training']:.1f}",
                f"{summary['seconds']:.1f}",
            ]
        )
        print(*tables["Training"][-1], flush=True)
        for head, wanted, rows in (
            ("Calibration", [*CALIBRATED, SETS], calibration_rows),
            ("Coverage", CALIBRATED, coverage_rows),
            ("Gain", GAINS, lambda bench: gain_rows(bench, data)),
            ("Cost", COSTS, cost_rows),
        ):
            if name in wanted:
                tables[head] += rows(bench)
                for row in tables[head]:
                    if row[0].startswith(name):
                        print(head, *row, sep=" | ", flush=True)
    if args.out is not None:
        args.out.write_text(as_markdown(tables), encoding="utf-8")


def as_markdown(tables: dict[str, list[list[str]]]) -> str:
    """Put the tables on a page."""
    lines = [
        "# Decisions: calibration, coverage, gain and cost",
        "",
        f"`python -m benchmarks.decisions --data DIR --work DIR`, pinakes {__version__}, NumPy {np.__version__}, "
        f"{os.cpu_count()} cores, "
        f"seed {SEED}. `TaxonomySVC` with its defaults, arxiv on the first label of each document; *{SETS}*: "
        "`StochasticPerceptron` with its defaults.",
    ]
    for head, rows in tables.items():
        if rows:
            columns = HEADS[head].split(" | ")
            lines += ["", f"## {head}", "", NOTES[head], "", f"| {HEADS[head]} |", "| --- " * len(columns) + "|"]
            lines += [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    main()
