"""`MinOverPerceptron`: the perceptron of the smallest overlap, for one label or several."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from pinakes.errors import ConvergenceWarning
from pinakes.models import parameters
from pinakes.models.label_set_model import LabelSetModel
from pinakes.models.labels import LabelMatrix
from pinakes.models.scoring import Scorer
from pinakes.solvers.minover import MinOverProgress, MinOverSolver
from pinakes.solvers.problem import make_outputs
from pinakes.taxonomy import Taxonomy
from pinakes.taxonomy.attributes import class_attributes
from pinakes.taxonomy.loss import Loss, NodeLoss, make_loss

STEPS = 5  # for each document, if not said otherwise


class MinOverPerceptron(LabelSetModel):
    """Perceptron that always corrects the worst pair of a label and a class that is none, along the taxonomy.

    Every class y is scored by summing over the nodes z on its way up, F(x, y) = sum of v_z <w_z, x>. While some label y
    of a document x does not score higher by `margin` than some class y' that is none of its labels, the pair that is
    furthest from it is corrected: w_z += Delta(y, y') v_z x for the nodes above y alone, and w_z -= Delta(y, y') v_z x
    for those above y' alone. Nothing else changes. Where all documents can be ranked without a mistake, larger margins
    lead to the weights of the largest margin, those of a support vector machine with a large C.

    Parameters
    ----------
    taxonomy : Taxonomy, path or None, default=None
        What relates the classes; labels are node ids. None: the classes are unrelated.
    loss : {"tree", "exact", "zero-one"}, NodeCosts or matrix, default="tree"
        Delta: how large a step is. A matrix has a row and a column for each of the classes, in sorted order.
    node_weight : {"equal", "flat", "depth", "normalized"} or mapping of id to v_z, default="equal"
        How strongly a node is shared by what lies below it; see `pinakes.taxonomy.attributes.node_weights`. "flat"
        shares nothing; with the loss "zero-one" this is the flat perceptron of the paper.
    margin : float, default=1.0
        By how much labels shall score higher. It counts as much as documents are long: a step with a document of length
        1 changes the difference of a pair by the loss times the weight of the nodes that the two do not share.
    softness : float, default=1.0
        How much it costs to leave a document in the wrong order: each gets a word of its own, of this squared length,
        that no other has. With 0, the perceptron of the paper, documents that contradict each other are corrected in
        turn for ever.
    max_iter : int or None, default=None
        Most steps; None: 5 for each document.
    cut : {"learned", "micro-f1", "macro-f1"}, int or float, default="learned"
        Where the answer ends, for label sets: at a threshold that is learnt as a function of the scores, at the score
        (or one score a class) with the largest F1 on held-out documents, after so many labels (an int), or at that
        score (a float). See `pinakes.models.cuts`.
    closed : bool, default=False
        Whether answers have all ancestors of their labels.
    implied : bool, default=True
        Whether an ancestor of another label of the same document is implied by it, and no label of its own.
    max_seconds : float or None, default=None
        Stop learning after about so long, with what there is; None: no limit.
    random_state : int, RandomState or None, default=None
        Not used: nothing is random. It is here for pipelines that set it.

    Attributes
    ----------
    classes_ : ndarray
        The labels seen, sorted.
    columns_ : ndarray
        The labels behind the columns of an indicator matrix; elsewhere the same.
    nodes_ : ndarray
        The node of each class in `taxonomy_`.
    taxonomy_ : Taxonomy
    form_ : {"single", "lists", "indicator"}
        How labels were given, and so how `predict` gives them.
    cut_ : Cut
        Where answers end.
    attributes_ : ClassAttributes
        Which attributes each class has.
    weights_ : sparse array (n_features_in_, n_attributes)
        v_z w_z of every attribute.
    dual_coef_ : sparse array (n_samples, n_classes)
        What each document adds to each class: the sum of its steps, for its labels, and against other classes.
    steps_ : ndarray (n_iter_, 3)
        Document, label and other class (positions in `classes_`) of every step.
    margin_ : float
        The smallest <w, dPhi> of all training pairs, divided by |w|: negative where some are in the wrong order.
    margin_bound_ : float
        No weights have a larger one.
    n_iter_ : int
        Steps made.
    stopped_ : {"separated", "max_iter", "max_seconds", "interrupted"}
        Why it stopped.
    history_ : tuple of MinOverProgress
        Now and then: steps, smallest <w, dPhi>, |w|, sum of all steps, seconds.
    n_features_in_ : int

    References
    ----------
    L. Cai and T. Hofmann, Exploiting known taxonomies in learning overlapping concepts, IJCAI 2007.
    W. Krauth and M. Mezard, Learning algorithms with optimal stability in neural networks, 1987.

    Examples
    --------
    >>> from pinakes import MinOverPerceptron, Taxonomy
    >>> t = Taxonomy.from_paths(["animal/cat", "animal/dog", "plant/tree", "plant/herb"])
    >>> X = [[1, 1, 0, 0], [1, 0, 0, 0], [0, 0, 1, 1], [0, 0, 1, 0]]
    >>> y = [["animal/cat"], ["animal/dog", "animal/cat"], ["plant/tree"], ["plant/herb"]]
    >>> m = MinOverPerceptron(t, cut=1).fit(X, y)
    >>> m.predict([[1, 2, 0, 0], [0, 0, 2, 0]]), m.stopped_
    ([['animal/cat'], ['plant/herb']], 'separated')
    """

    def __init__(
        self,
        taxonomy: Any = None,
        *,
        loss: Any = "tree",
        node_weight: Any = "equal",
        margin: float = 1.0,
        softness: float = 1.0,
        max_iter: int | None = None,
        cut: Any = "learned",
        closed: bool = False,
        implied: bool = True,
        max_seconds: float | None = None,
        random_state: Any = None,
    ) -> None:
        self.taxonomy = taxonomy
        self.loss = loss
        self.node_weight = node_weight
        self.margin = margin
        self.softness = softness
        self.max_iter = max_iter
        self.cut = cut
        self.closed = closed
        self.implied = implied
        self.max_seconds = max_seconds
        self.random_state = random_state

    def fit(self, X: Any, y: Any, *, report: Callable[[MinOverProgress], None] | None = None) -> MinOverPerceptron:
        """Learn from documents `X` and their labels: one each, a list each, or an indicator matrix.

        `report` is called now and then while it learns.
        """
        margin = parameters.check_number(self, "margin", least=0)
        seconds = math.inf if self.max_seconds is None else parameters.check_number(self, "max_seconds", above=0)
        softness = parameters.check_number(self, "softness", least=0)
        most = None if self.max_iter is None else parameters.check_integer(self, "max_iter", least=1)
        X, labels = self._read_labels(y, X)
        self._set_outputs()
        solver = MinOverSolver(margin, STEPS * X.shape[0] if most is None else most, seconds, report, softness)
        result = solver.solve(X, labels.members, self._outputs)
        self._scorer = Scorer(result.rows, self._outputs)
        self.steps_ = result.steps
        self._set_dual(labels)
        self.history_, self.stopped_, self.n_iter_ = result.history, result.stopped, len(result.steps)
        last = result.history[-1] if result.history else MinOverProgress(0, math.inf, 0.0, 0.0, 0.0)
        self.margin_, self.margin_bound_ = last.margin, last.bound
        if self.stopped_ != "separated":
            warnings.warn(self._stopped_early(last), ConvergenceWarning, stacklevel=2)
        self._fit_cut(X, labels)
        return self

    @property
    def weights_(self) -> sparse.csr_array:
        """v_z w_z of every attribute (n_features_in_, n_attributes)."""
        return self._scorer.weights(self.attributes_.n_attributes)

    # -- what fit, load and predict share --------------------------------------------------------------------

    def _set_outputs(self) -> None:
        """Set what follows from taxonomy and classes: attributes and loss, as objects and as arrays."""
        taxonomy = self.taxonomy_
        self._loss: Loss = make_loss(self.loss, taxonomy, [taxonomy.ids[v] for v in self.nodes_])
        weight = self.node_weight
        if isinstance(weight, str) and weight == "flat" and not isinstance(self._loss, NodeLoss):
            taxonomy, weight = Taxonomy.flat(taxonomy.ids), "equal"  # nothing looks at the taxonomy
        self.attributes_ = class_attributes(taxonomy, self.nodes_, weight)
        self._outputs = make_outputs(self.attributes_, self._loss)

    def _set_dual(self, labels: LabelMatrix) -> None:
        i, y, ybar = self.steps_.T
        delta = self._loss.pairs(self.nodes_[y], self.nodes_[ybar]) if len(i) else np.zeros(0)
        values, rows, columns = np.concatenate([delta, -delta]), np.concatenate([i, i]), np.concatenate([y, ybar])
        self.dual_coef_ = sparse.csr_array((values, (rows, columns)), shape=labels.members.shape)

    def _scores(self, X: Any) -> npt.NDArray[np.float64]:
        return np.asarray(self._scorer.scores(X, 1), dtype=np.float64)

    def _stopped_early(self, last: MinOverProgress) -> str:
        why, cure = {
            "max_iter": (f"after {self.n_iter_} steps", "raise max_iter, or ask for a smaller margin"),
            "max_seconds": (f"after max_seconds={self.max_seconds}", "raise max_seconds, or ask for a smaller margin"),
            "interrupted": ("when it was interrupted", "fit again for more"),
        }[self.stopped_]
        reached = f"with a smallest margin of {last.worst:.3g}, short of margin={self.margin:g}"
        return (
            f"{type(self).__name__} stopped {why} {reached}: {cure}; documents that cannot all be ranked without a "
            "mistake never reach it"
        )
