"""`TaxonomySVCCV`: C, node weights and loss of a `TaxonomySVC`, chosen on documents put aside.

Trials are solved loosely, all to the same relative gap: 0.05 tells good values of C from bad ones; with 0.1 the trial
that begins from nothing scores worse than those after it, which begin where the one before ended. The optimum of one C,
scaled to the budgets of the next, is a good beginning for it, and so is the optimum under other node weights
(pinakes.models.continuation). Other node weights and losses are tried at the best C of the first ones, and where they
are better there, at other C that were not clearly worse.

Where there are many documents a part of them is enough (pinakes.selection.splits). It is split once, and C is walked
from 0.2 or 0.3 upwards as long as the score gets better, or else downwards. The standard error of a difference of two
scores is measured over ten parts of the documents put aside. Where classes have few documents, the larger C of two is
taken if it is not worse by more than that, on the way up and on the way down: with all documents the best C is a little
larger than with those that are not put aside.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted, validate_data

from pinakes import metrics
from pinakes.documents import as_csr
from pinakes.errors import ConvergenceWarning, ParameterError
from pinakes.models import TaxonomySVC
from pinakes.models.classes import check_one_each, check_targets, class_nodes, resolve_taxonomy
from pinakes.models.continuation import is_useful
from pinakes.models.parameters import check_number
from pinakes.models.scoring import Ranking
from pinakes.models.weighting import sample_weights
from pinakes.selection.splits import MANY, PLENTY, divide, make_splits
from pinakes.solvers.ascent import Progress
from pinakes.taxonomy import Taxonomy
from pinakes.taxonomy.loss import Loss, NodeCosts, make_loss

COARSE = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)  # values of C to try
# where classes have plenty of documents to tell them by
FINE = (0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 2.0, 3.0, 5.0, 7.0, 10.0)
FIRST_C = 0.25  # or what is nearest to it: small enough to be solved in little time
N_PARTS = 10  # parts of the documents put aside once that are measured by themselves …
PART_SIZE = 20  # … of at least so many documents
CLEARLY = 0.02  # a C that is worse by this share with the first settings is not tried with others
SEARCH_SHARE = 0.5  # of `max_seconds`; the rest is for the final fit


@dataclass(frozen=True)
class Trial:
    """One choice of settings and how good it was."""

    params: dict[str, Any]
    scores: tuple[float, ...]  # of each split, or of each part of the documents put aside once; greater is better
    gap: float
    seconds: float

    @property
    def score(self) -> float:
        return float(np.mean(self.scores))

    def as_good_as(self, other: Trial) -> bool:
        """Whether its score is at most one standard error of their difference below the other's."""
        below = np.subtract(other.scores, self.scores)
        error = below.std(ddof=1) / math.sqrt(len(below)) if len(below) > 1 else 0.0
        return bool(below.mean() <= error)


class TaxonomySVCCV(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """`TaxonomySVC` with C, node weights and loss chosen by cross-validation, at a part of the cost of the fit itself.

    Parameters
    ----------
    taxonomy : Taxonomy, path or None, default=None
    Cs : sequence of float or None, default=None
        Values of C to try. None: 0.1, 0.2, 0.5, 1, 2, 5 and 10; also 0.3, 0.7, 3 and 7 where there are 5,000 documents
        and more, 50 or more of each class on average, so that values so near to each other can be told apart.
    node_weights : sequence, default=("normalized", "flat")
        Node weights to try, those expected to be best first; see `TaxonomySVC`.
    losses : sequence, default=("tree",)
        Losses to learn with, those expected to be best first.
    scoring : str or callable, default="delta_loss"
        What is best: the name of a metric (`pinakes.metrics.METRICS`), or a function of (estimator, X, y) for which
        greater is better, such as `pinakes.metrics.scorer` gives. Delta is what is learnt with, the first of `losses`:
        with "exact" C is chosen for exact hits, and with costs for what they add up to.
    cv : int, float, splitter or None, default=None
        Number of folds; or the share of the documents that is put aside once; or what scikit-learn takes. None: 3 folds
        of fewer than 5,000 documents; of more, a part that is split once: whole branches of the taxonomy with three
        tenths of the documents, or 30,000 if that is less, a fifth of them put aside; or, where classes have 50
        documents and more on average, a fifth of the documents to learn from and the rest to test on. The only document
        of a class is never tested on.
    loose_tol : float, default=0.05
        Relative gap of the trials.
    hinge : {"linear", "squared"}, default="linear"
        As in `TaxonomySVC`, like all that follow.
    class_weight : {"balanced"}, mapping of label to weight, or None, default=None
    fit_intercept : bool, default=False
    intercept_scaling : float, default=1.0
    tol : float, default=0.01
        Relative gap of the final fit.
    max_iter : int, default=1000
    max_seconds : float or None, default=None
        For everything together; the search takes half of it at most.
    n_jobs : int or None, default=None
    random_state : int, RandomState or None, default=None
        Fixes which documents are put aside, and the order in which they are visited.

    Attributes
    ----------
    best_estimator_ : TaxonomySVC
        Fitted to all documents with the best settings, to `tol`.
    best_params_ : dict
        "C", "node_weight" and "loss".
    best_score_ : float
        Of the best trial; losses are negative, as everywhere in scikit-learn.
    trials_ : tuple of Trial
        What was tried, in that order.
    cv_results_ : dict of arrays
        The same in scikit-learn's form.
    classes_ : ndarray
        The labels seen, sorted.
    n_iter_ : int
        Rounds of the final fit.
    n_features_in_ : int

    Examples
    --------
    >>> from pinakes import Taxonomy, TaxonomySVCCV
    >>> t = Taxonomy.from_paths(["animal/cat", "animal/dog", "plant/tree"])
    >>> X = [[1, 1, 0], [1, 0, 0], [0, 0, 1]] * 3
    >>> m = TaxonomySVCCV(t, Cs=[0.1, 10.0]).fit(X, ["animal/cat", "animal/dog", "plant/tree"] * 3)
    >>> m.best_params_["C"], m.predict([[1, 2, 0]]).tolist()
    (10.0, ['animal/cat'])
    """

    def __init__(
        self,
        taxonomy: Any = None,
        *,
        Cs: Sequence[float] | None = None,
        node_weights: Sequence[Any] = ("normalized", "flat"),
        losses: Sequence[Any] = ("tree",),
        scoring: Any = "delta_loss",
        cv: Any = None,
        loose_tol: float = 0.05,
        hinge: str = "linear",
        class_weight: Any = None,
        fit_intercept: bool = False,
        intercept_scaling: float = 1.0,
        tol: float = 1e-2,
        max_iter: int = 1000,
        max_seconds: float | None = None,
        n_jobs: int | None = None,
        random_state: Any = None,
    ) -> None:
        self.taxonomy = taxonomy
        self.Cs = Cs
        self.node_weights = node_weights
        self.losses = losses
        self.scoring = scoring
        self.cv = cv
        self.loose_tol = loose_tol
        self.hinge = hinge
        self.class_weight = class_weight
        self.fit_intercept = fit_intercept
        self.intercept_scaling = intercept_scaling
        self.tol = tol
        self.max_iter = max_iter
        self.max_seconds = max_seconds
        self.n_jobs = n_jobs
        self.random_state = random_state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags

    def fit(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        report: Callable[[Progress], None] | None = None,
        report_trial: Callable[[Trial], None] | None = None,
    ) -> TaxonomySVCCV:
        """Choose settings and learn from documents `X` and their labels `y`.

        `report` is called after every round of every fit, `report_trial` after every trial.
        """
        started = time.perf_counter()
        limit = math.inf if self.max_seconds is None else check_number(self, "max_seconds", above=0)
        self._check_values()
        check_one_each(y, type(self).__name__)
        X, y = validate_data(self, X, y, accept_sparse="csr", dtype=[np.float64, np.float32], accept_large_sparse=True)
        X = as_csr(X)
        check_targets(y)
        weight = sample_weights(sample_weight, X)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ParameterError(
                f"{type(self).__name__} needs at least 2 classes, got the 1 class {str(self.classes_[0])!r} only"
            )
        taxonomy = resolve_taxonomy(self.taxonomy, self.classes_)
        seed = 0 if self.random_state is None else self.random_state
        if not isinstance(seed, int | np.integer):
            seed = check_random_state(seed).randint(2**31 - 1)
        whole = any(not isinstance(loss, str | NodeCosts) for loss in self.losses)  # a matrix has all classes
        splits = make_splits(self.cv, codes, int(seed), taxonomy, class_nodes(taxonomy, self.classes_), whole=whole)
        n_tests = max(1, min(N_PARTS, len(splits[0].test) // PART_SIZE)) if len(splits) == 1 else 1
        parts = [
            _Part(
                X[split.learn],
                np.searchsorted(split.classes, codes[split.learn]),
                weight[split.learn],
                self.classes_[split.classes],
                _Tests.of(X, y, divide(split.test, codes, n_tests)),
            )
            for split in splits
        ]
        few = len(codes) < PLENTY * len(self.classes_)
        fine = not few and len(codes) >= MANY
        Cs = sorted({float(C) for C in self.Cs}) if self.Cs is not None else list(FINE if fine else COARSE)
        search = _Search(self, parts, few, taxonomy, started + SEARCH_SHARE * limit, report, report_trial)
        best = search.run(Cs, list(product(self.losses, self.node_weights)))
        self.trials_ = tuple(search.trials)
        self.best_params_, self.best_score_ = best.params, best.score
        self.cv_results_ = _results(self.trials_, len(parts))

        del search, parts
        model = self._model(**best.params)
        if self.max_seconds is not None:
            model.max_seconds = max(limit - (time.perf_counter() - started), 1e-3)
        model._fit_known(X, codes, self.classes_, taxonomy, weight, report=report)
        model.max_seconds = self.max_seconds
        self.best_estimator_, self.n_iter_ = model, model.n_iter_
        return self

    def predict(self, X: Any, below: str | None = None) -> npt.NDArray[Any]:
        """Give the best class of each document; see `TaxonomySVC.predict`."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.predict(self._checked(X), below)

    def decision_function(self, X: Any) -> npt.NDArray[Any]:
        """Give the scores of all classes; see `TaxonomySVC.decision_function`."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.decision_function(self._checked(X))

    def rank(self, X: Any, n_best: int = 5, temperature: float = 0.0, below: str | None = None) -> Ranking:
        """Give the best classes of each document; see `TaxonomySVC.rank`."""
        check_is_fitted(self, "best_estimator_")
        return self.best_estimator_.rank(self._checked(X), n_best, temperature, below)

    def _checked(self, X: Any) -> Any:
        return validate_data(
            self, X, accept_sparse="csr", dtype=[np.float64, np.float32], accept_large_sparse=True, reset=False
        )

    def _check_values(self) -> None:
        check_number(self, "loose_tol", above=0)
        for name in ("Cs", "node_weights", "losses"):
            values = getattr(self, name)
            if name == "Cs" and values is None:
                continue
            if isinstance(values, str) or not hasattr(values, "__len__") or len(values) == 0:
                raise ParameterError(f"`{name}` of {type(self).__name__} must be a list of values, got {values!r}")
        for C in self.Cs if self.Cs is not None else ():
            if not isinstance(C, int | float | np.number) or isinstance(C, bool) or not 0 < C < math.inf:
                raise ParameterError(f"`Cs` of {type(self).__name__} must be numbers > 0, got {C!r}")

    def _model(self, **params: Any) -> TaxonomySVC:
        same = (
            "hinge",
            "class_weight",
            "fit_intercept",
            "intercept_scaling",
            "tol",
            "max_iter",
            "n_jobs",
            "random_state",
        )
        return TaxonomySVC(self.taxonomy, **{name: getattr(self, name) for name in same}, **params)

    def _scorer(self, taxonomy: Taxonomy) -> Callable[[TaxonomySVC, _Tests], list[float]]:
        """Give the function that measures a model on each part of the documents put aside."""
        if isinstance(self.scoring, str):
            loss = make_loss(self.losses[0], taxonomy, [str(k) for k in self.classes_])
            return partial(_measure, metrics.get_metric(self.scoring), loss)
        if not callable(self.scoring):
            raise ParameterError(
                f"`scoring` of {type(self).__name__} must be the name of a metric or a function of (estimator, X, y), "
                f"got {self.scoring!r}"
            )
        return lambda model, tests: [float(self.scoring(model, tests.X[part], tests.y[part])) for part in tests.parts]


@dataclass(frozen=True)
class _Tests:
    """Documents put aside and their labels, part by part."""

    X: sparse.csr_array
    y: npt.NDArray[Any]
    parts: list[slice]

    @classmethod
    def of(cls, X: sparse.csr_array, y: npt.NDArray[Any], parts: list[npt.NDArray[np.int64]]) -> _Tests:
        order, ends = np.concatenate(parts), np.cumsum([len(part) for part in parts]).tolist()
        return cls(X[order], y[order], [slice(a, b) for a, b in zip([0, *ends[:-1]], ends, strict=True)])


def _measure(metric: metrics.Metric, loss: Loss, model: TaxonomySVC, tests: _Tests) -> list[float]:
    """Measure a model, greater is better; labels are given as nodes, which metrics need not look up."""
    nodes = model._nodes
    true, labels = nodes[np.searchsorted(model.classes_, tests.y)], nodes.tolist()
    if metric.needs == "scores":
        found = (_scores(model, tests.X[part]) for part in tests.parts)
    else:
        best = nodes[model.rank(tests.X, 1).classes[:, 0]]
        found = (best[part] for part in tests.parts)
    values = [
        float(metric(true[part], some, loss.taxonomy, labels, loss=loss))
        for part, some in zip(tests.parts, found, strict=True)
    ]
    return values if metric.greater_is_better else [-value for value in values]


def _scores(model: TaxonomySVC, X: sparse.csr_array) -> npt.NDArray[Any]:
    """Give the scores of all classes; of two classes `decision_function` has only the difference."""
    scores = model.decision_function(X)
    return scores if scores.ndim == 2 else np.column_stack([-scores, scores])


@dataclass(frozen=True)
class _Part:
    """What is learnt from in a split, and what is tested on."""

    X: sparse.csr_array
    codes: npt.NDArray[np.int64]  # positions in `classes`
    weight: npt.NDArray[np.float64]
    classes: npt.NDArray[Any]
    tests: _Tests


class _Tried(NamedTuple):
    """A trial and its models, one for each split."""

    trial: Trial
    models: list[TaxonomySVC]


@dataclass
class _Search:
    """Tries settings one after the other."""

    owner: TaxonomySVCCV
    parts: list[_Part]
    few: bool  # whether classes have few documents
    taxonomy: Taxonomy
    until: float
    report: Callable[[Progress], None] | None
    report_trial: Callable[[Trial], None] | None
    trials: list[Trial] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.scorer = self.owner._scorer(self.taxonomy)
        self.once = len(self.parts) == 1

    def run(self, Cs: list[float], combinations: list[tuple[Any, Any]]) -> Trial:
        """Find the best C for the first settings, then try the others there, and around it if they are better."""
        first, *others = combinations
        if self.once:
            k = int(np.argmin(np.abs(np.log(np.array(Cs) / FIRST_C))))
            best = self.climb(Cs, k, first, self.try_one(Cs[k], first, None))
        else:
            best = last = self.try_one(Cs[0], first, None)
            for C in Cs[1:]:
                if not self.over():
                    last = self.try_one(C, first, last.models)
                    best = max(best, last, key=lambda tried: tried.trial.score)
        C, goal = best.trial.params["C"], best.trial.score - CLEARLY * abs(best.trial.score)
        worse = [trial.params["C"] for trial in self.trials if trial.score < goal]
        Cs = [near for near in Cs if not any(C < w <= near or near <= w < C for w in worse)]
        for settings in others:
            if not self.over():
                k = Cs.index(best.trial.params["C"])
                here = self.try_one(Cs[k], settings, best.models)
                if here.trial.score > best.trial.score:
                    best = self.climb(Cs, k, settings, here)
        return best.trial

    def climb(self, Cs: list[float], k: int, settings: tuple[Any, Any], here: _Tried) -> _Tried:
        """From Cs[k] go up, and if that does not help down, as long as it gets better; see the head of this file."""
        best = here
        for C in Cs[k + 1 :]:
            if self.over():
                return best
            tried = self.try_one(C, settings, best.models)
            if tried.trial.score > best.trial.score:
                best = tried
            elif self.few and tried.trial.as_good_as(best.trial):
                return tried
            else:
                break
        for C in reversed(Cs[:k] if best is here else []):
            if self.over():
                break
            tried = self.try_one(C, settings, best.models)
            if tried.trial.score <= best.trial.score or (self.few and best.trial.as_good_as(tried.trial)):
                break
            best = tried
        return best

    def over(self) -> bool:
        return time.perf_counter() > self.until

    def try_one(self, C: float, settings: tuple[Any, Any], previous: list[TaxonomySVC] | None) -> _Tried:
        """Fit and test once for each split; `previous` are the models to begin from."""
        started = time.perf_counter()
        params = {"C": C, "node_weight": settings[1], "loss": settings[0]}
        models, scores = [], []
        for k, part in enumerate(self.parts):
            model = self.owner._model(**params).set_params(tol=max(self.owner.loose_tol, self.owner.tol))
            before = previous[k] if previous is not None and is_useful(previous[k], model) else None
            if self.until < math.inf:
                model.max_seconds = max(self.until - time.perf_counter(), 1e-3)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)  # it is loose on purpose
                model._fit_known(
                    part.X,
                    part.codes,
                    part.classes,
                    self.taxonomy,
                    part.weight,
                    previous=before,
                    report=self.report,
                )
            if model.stopped_ == "interrupted":
                raise KeyboardInterrupt  # nothing to keep yet
            scores += self.scorer(model, part.tests)
            models.append(model)
        gap = max(model.gap_ for model in models)
        trial = Trial(params, tuple(scores), gap, time.perf_counter() - started)
        self.trials.append(trial)
        if self.report_trial is not None:
            self.report_trial(trial)
        return _Tried(trial, models)


def _results(trials: Sequence[Trial], n_fits: int) -> dict[str, Any]:
    """Lay out trials, each of so many fits, as GridSearchCV does."""
    scores = np.array([trial.scores for trial in trials])
    mean = scores.mean(axis=1)
    results: dict[str, Any] = {"params": [trial.params for trial in trials]}
    for name in ("C", "node_weight", "loss"):
        values = np.empty(len(trials), dtype=object)
        values[:] = [trial.params[name] for trial in trials]
        results[f"param_{name}"] = values
    results |= {f"split{k}_test_score": scores[:, k] for k in range(scores.shape[1])}
    return results | {
        "mean_test_score": mean,
        "std_test_score": scores.std(axis=1),
        "rank_test_score": 1 + (mean[None, :] > mean[:, None]).sum(axis=1),
        "mean_fit_time": np.array([trial.seconds / n_fits for trial in trials]),
    }
