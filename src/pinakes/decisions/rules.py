"""Decisions: from beliefs to answers, by name.

    best                the category with the best score; with label sets, the set that the model predicts
    expected-loss       the node, inner ones and nothing at all included, with the smallest expected loss Delta
    confidence:0.8      the deepest node that is at least so likely
    abstain             the best category, or nothing where saying nothing is expected to cost less
    abstain:0.3         the best category if it is at least so likely, else nothing
    coverage:0.9        one node that holds the truth for nine documents in ten (coverage.py)
    sets:0.9            all categories that may be it, so that the truth is among them for nine documents in ten

An answer is an array of nodes; an empty one says nothing. To say nothing costs what is missed: the
distance from the truth to above the roots; and nothing for a document of no category.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from pinakes.decisions.beliefs import Beliefs, Believer
from pinakes.decisions.coverage import Coverage
from pinakes.errors import ParameterError, closest
from pinakes.kernels import choices, closed
from pinakes.taxonomy.loss import Loss, MatrixLoss, NodeLoss, ZeroOneLoss

NOTHING = choices.NOTHING
Nodes = npt.NDArray[np.int64]
WITH_LEVEL = ("confidence", "coverage", "sets")
NAMES = ("best", "expected-loss", "abstain", *WITH_LEVEL)
SHOWN = "best, expected-loss, confidence:0.8, abstain, abstain:0.3, coverage:0.9 or sets:0.9"


@dataclass(frozen=True)
class Decision:
    """The name of a decision, and its number where it has one."""

    name: str
    level: float | None = None

    def __str__(self) -> str:
        return self.name if self.level is None else f"{self.name}:{self.level:g}"


def read_decision(text: str | Decision) -> Decision:
    """Read a decision from its name.

    >>> read_decision("confidence:0.8")
    Decision(name='confidence', level=0.8)
    """
    if isinstance(text, Decision):
        return text
    name, colon, number = str(text).partition(":")
    if name not in NAMES:
        raise ParameterError(f"a decision must be {SHOWN}, got {text!r}{closest(name, NAMES)}")
    if not colon:
        if name in WITH_LEVEL:
            raise ParameterError(f"the decision {name!r} needs a number between 0 and 1: {name}:0.9, got {text!r}")
        return Decision(name)
    if name not in (*WITH_LEVEL, "abstain"):
        raise ParameterError(f"the decision {name!r} takes no number, got {text!r}")
    try:
        level = float(number)
    except ValueError:
        level = float("nan")
    if not 0 < level < 1:
        raise ParameterError(f"the decision {name!r} needs a number between 0 and 1, as in {name}:0.9, got {text!r}")
    return Decision(name, level)


def decide(
    decision: Decision, believer: Believer, beliefs: Beliefs, loss: Loss, coverage: Coverage | None
) -> list[Nodes]:
    """Give the answer for each document: nodes in no order; empty where nothing is said.

    "best" of label sets is not decided here: it is what the model predicts.
    """
    name, level = decision.name, decision.level
    if name in ("coverage", "sets"):
        if coverage is None or not len(coverage.sets):
            raise ParameterError(
                f"the decision {str(decision)!r} needs documents that the model has not seen, and this one has none: "
                "train it again on more documents, or give it some (Classifier.calibrate)"
            )
        return _covering(name, level or 0.0, believer, beliefs, coverage)
    if believer.has_sets:
        return _label_sets(decision, believer, beliefs, loss)
    if name == "expected-loss":
        return _one_each(least_loss(believer, beliefs, loss))
    if name == "confidence":
        answers = np.empty(len(beliefs), dtype=np.int64)
        ways = believer.taxonomy.roots, *believer.taxonomy.children
        choices.deepest_above(beliefs.classes, believer.below, *ways, believer.taxonomy.levels, level, answers)
        return _one_each(answers)
    answers = _best(believer, beliefs)
    if name == "abstain":
        if level is not None:
            answers[beliefs.classes.max(axis=1) < level] = NOTHING
        else:
            answers[_gains_nothing(believer, beliefs, loss, answers)] = NOTHING
    return _one_each(answers)


def least_loss(believer: Believer, beliefs: Beliefs, loss: Loss) -> Nodes:
    """Give the node with the smallest expected loss for each document, NOTHING included.

    Exact for every loss, and never with a table of all nodes by all nodes: of node losses, see kernels/choices.py;
    zero-one is the likeliest class; of a matrix, which knows its own classes only, the best column.
    """
    if isinstance(loss, NodeLoss):
        taxonomy = believer.taxonomy
        answers, gains = np.empty(len(beliefs), dtype=np.int64), np.empty(len(beliefs))
        costs = loss.miss, loss.false
        if taxonomy.is_tree:
            ways = taxonomy.roots, *taxonomy.children
            choices.least_expected_loss(beliefs.classes, believer.below, *costs, *ways, answers, gains)
        else:
            choices.least_expected_loss_on_lattice(beliefs.nodes, *costs, *taxonomy.ancestors, answers, gains)
        return answers
    if isinstance(loss, ZeroOneLoss):
        return _best(believer, beliefs)
    best = (beliefs.classes @ _matrix_rows(believer, loss)).argmin(axis=1)
    column: Nodes = _matrix(loss).classes[best].astype(np.int64)
    return column


def expected_loss(believer: Believer, beliefs: Beliefs, loss: Loss, answers: Nodes) -> npt.NDArray[np.float64]:
    """Give the expected loss of one answer a document."""
    documents = np.arange(len(answers))
    if isinstance(loss, NodeLoss):
        return loss_of_nothing(believer, beliefs, loss) - _gain(believer, beliefs, loss, answers)
    if isinstance(loss, ZeroOneLoss):
        place = np.full(len(believer.taxonomy) + 1, -1)
        place[believer.class_node] = np.arange(len(believer.class_node))
        known = place[answers]
        return np.where(known >= 0, 1.0 - beliefs.classes[documents, np.maximum(known, 0)], 1.0)
    expected: npt.NDArray[np.float64] = beliefs.classes @ _matrix_rows(believer, loss)
    return expected[documents, _matrix(loss).find(answers)]


def _gain(believer: Believer, beliefs: Beliefs, loss: NodeLoss, answers: Nodes) -> npt.NDArray[np.float64]:
    """Give by how much one answer a document is expected to cost less than saying nothing."""
    gain = np.empty(len(answers))
    up = believer.taxonomy.ancestors
    choices.gain_of_answers(beliefs.classes, believer.below, loss.miss, loss.false, *up, answers, gain)
    return gain


def loss_of_nothing(believer: Believer, beliefs: Beliefs, loss: Loss) -> npt.NDArray[np.float64]:
    """Give the expected loss of saying nothing: what is missed; of a matrix, the worst there is for the class."""
    if isinstance(loss, ZeroOneLoss):
        return np.ones(len(beliefs))
    if isinstance(loss, NodeLoss):
        up = believer.taxonomy.ancestors
        each = np.array([loss.miss[up.of(int(v))].sum() for v in believer.class_node])
    else:
        each = _matrix_rows(believer, loss).max(axis=1)
    missed: npt.NDArray[np.float64] = beliefs.classes @ each
    return missed


def _gains_nothing(believer: Believer, beliefs: Beliefs, loss: Loss, answers: Nodes) -> npt.NDArray[np.bool_]:
    """Say for which documents the answer is expected to cost more than saying nothing."""
    if isinstance(loss, NodeLoss):
        worse: npt.NDArray[np.bool_] = _gain(believer, beliefs, loss, answers) < 0
    else:
        worse = expected_loss(believer, beliefs, loss, answers) > loss_of_nothing(believer, beliefs, loss)
    return worse


def _best(believer: Believer, beliefs: Beliefs) -> Nodes:
    answers: Nodes = believer.class_node[beliefs.scores.argmax(axis=1)].astype(np.int64)
    return answers


def _matrix(loss: Loss) -> MatrixLoss:
    if isinstance(loss, MatrixLoss):
        return loss
    raise ParameterError(f"decisions need a loss by nodes, zero-one or a matrix, got {type(loss).__name__}")


def _matrix_rows(believer: Believer, loss: Loss) -> npt.NDArray[np.float64]:
    matrix = _matrix(loss)
    return matrix.matrix[matrix.find(believer.class_node.astype(np.int64))]


def _covering(name: str, level: float, believer: Believer, beliefs: Beliefs, coverage: Coverage) -> list[Nodes]:
    if believer.has_sets:
        return _most_specific(believer, 1.0 - beliefs.nodes <= coverage.set_threshold(level))
    if name == "coverage":
        answers = np.empty(len(beliefs), dtype=np.int64)
        ways = believer.taxonomy.roots, *believer.taxonomy.children
        choices.likeliest_way(beliefs.classes, believer.below, *ways, coverage.node_threshold(level), answers)
        return _one_each(answers)
    return _classes_within(believer, beliefs, coverage.set_threshold(level))


def _classes_within(believer: Believer, beliefs: Beliefs, threshold: float) -> list[Nodes]:
    """Give the classes with 1 - p <= threshold, or the best one where there is none."""
    p = beliefs.classes
    classes, indptr = np.empty(p.size + 1, dtype=np.int32), np.empty(len(p) + 1, dtype=np.int64)
    choices.classes_within(beliefs.scores, p, threshold, classes, indptr)
    nodes = believer.class_node.astype(np.int64).take(classes[: indptr[-1]])
    return [nodes[a:b] for a, b in pairwise(indptr.tolist())]


def _label_sets(decision: Decision, believer: Believer, beliefs: Beliefs, loss: Loss) -> list[Nodes]:
    """Decide on label sets: the closed sets of nodes that are likely, or that lower the expected loss."""
    if decision.name == "expected-loss":
        return _most_specific(believer, _best_sets(believer, beliefs, loss))
    least = 0.5 if decision.level is None else decision.level
    return _most_specific(believer, beliefs.nodes >= least)


def _best_sets(believer: Believer, beliefs: Beliefs, loss: Loss) -> npt.NDArray[np.bool_]:
    """Give the closed set of nodes with the smallest expected loss: missed nodes cost miss_z, wrong ones false_z.

    With costs in one proportion everywhere these are the nodes likelier than it, which are closed upward. Else the best
    closed set is found by dynamic programming, on a tree.
    """
    likely: npt.NDArray[np.bool_] = beliefs.nodes > 0.5
    if not isinstance(loss, NodeLoss):
        return likely
    gain = loss.miss * beliefs.nodes - loss.false * (1.0 - beliefs.nodes)
    least = loss.false / np.maximum(loss.miss + loss.false, np.finfo(float).tiny)
    if np.ptp(least) < 1e-12:
        likely = beliefs.nodes > least[0]
        return likely
    if not len(believer.parent):
        raise ParameterError("on a lattice label sets are decided with costs in one proportion c / cbar only")
    z = np.empty(gain.shape, dtype=np.int8)
    closed.best_outputs(gain, believer.parent, z)
    likely = z > 0
    return likely


def _most_specific(believer: Believer, on: npt.NDArray[np.bool_]) -> list[Nodes]:
    """Give the nodes of closed sets that have no other one of the set below them."""
    edges = believer.taxonomy.edges()
    inner = np.zeros(on.shape, dtype=bool)
    for parent, child in edges:
        inner[:, parent] |= on[:, child]
    return [np.flatnonzero(row) for row in on & ~inner]


def _one_each(answers: Nodes) -> list[Nodes]:
    return [answers[i : i + 1] if answers[i] != NOTHING else answers[:0] for i in range(len(answers))]
