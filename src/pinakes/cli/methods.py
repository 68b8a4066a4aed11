"""What `pinakes train --method` offers: which options each method takes, and the estimator they make."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pinakes.cli.options import AUTO, given, refuse_together
from pinakes.errors import ParameterError


@dataclass(frozen=True)
class Method:
    """A way to learn.

    Attributes
    ----------
    make : callable taking the taxonomy and the settings, named as the estimator names them
    takes : tuple of str
        The options of `METHOD_OPTIONS` that it has.
    sets : bool
        Whether a document may have several labels, or any number of them.
    """

    make: Callable[..., Any]
    takes: tuple[str, ...]
    sets: bool = False


# options that not every method has; one that was not given is left to the estimator's own default
SVM_OPTIONS = ("C", "loss", "hinge", "node_weight", "tol", "max_iter", "scoring", "balanced", "bias")
SET_OPTIONS = ("cut", "closed", "every_label")
METHOD_OPTIONS = (*SVM_OPTIONS, *SET_OPTIONS)


def _svm(
    taxonomy: Any, *, C: Any, node_weight: Any, loss: Any, scoring: Any, balanced: bool, bias: bool, **settings: Any
) -> Any:
    settings |= {"class_weight": "balanced" if balanced else None, "fit_intercept": bias}
    if AUTO not in (C, node_weight):
        from pinakes.models import TaxonomySVC

        if scoring is not None:
            raise ParameterError("--scoring is for --C auto and --node-weight auto; give one of them, or leave it out")
        return TaxonomySVC(taxonomy, C=C, node_weight=node_weight, loss=loss, **settings)
    from pinakes.metrics import get_metric
    from pinakes.selection import TaxonomySVCCV

    settings |= {"losses": [loss], "scoring": get_metric(scoring or "delta_loss").name}
    if C != AUTO:
        settings["Cs"] = [C]
    if node_weight != AUTO:
        settings["node_weights"] = [node_weight]
    return TaxonomySVCCV(taxonomy, **settings)


def _perceptron(taxonomy: Any, **settings: Any) -> Any:
    from pinakes.models import StochasticPerceptron

    return StochasticPerceptron(taxonomy, **settings)


def _of_sets(name: str) -> Callable[..., Any]:
    """Give the maker of an estimator that answers with label sets, by its public name."""

    def make(taxonomy: Any, **settings: Any) -> Any:
        import pinakes

        for option in ("C", "node_weight"):
            if settings.get(option) == AUTO:
                raise ParameterError(f"--{option.replace('_', '-')} auto is for --method svm; give a value")
        if settings.pop("every_label", False):
            settings["implied"] = False
        estimator = getattr(pinakes, name)
        if "n_jobs" not in estimator().get_params():
            del settings["n_jobs"]
        return estimator(taxonomy, **settings)

    return make


METHODS: Mapping[str, Method] = {
    "svm": Method(_svm, SVM_OPTIONS),
    "rank": Method(
        _of_sets("TaxonomyRankSVC"), ("C", "loss", "node_weight", "tol", "max_iter", *SET_OPTIONS), sets=True
    ),
    "coupled": Method(_of_sets("CoupledSVC"), ("C", "node_weight", "tol", "max_iter", *SET_OPTIONS), sets=True),
    "minover": Method(_of_sets("MinOverPerceptron"), ("loss", "node_weight", "max_iter", *SET_OPTIONS), sets=True),
    "perceptron": Method(_perceptron, ("max_iter",), sets=True),
}
FOR_ONE, FOR_SETS = "svm", "coupled"  # what is used where nobody says otherwise


def notice_method(labels: Iterable[Sequence[str]]) -> str:
    """Give the method for these labels: one for label sets where some document has several."""
    return FOR_SETS if any(len(few) > 1 for few in labels) else FOR_ONE


def make_model(method: str, taxonomy: Any, options: Mapping[str, Any]) -> Any:
    """Make the estimator of a method; an option that it does not have is refused if it was given."""
    chosen = METHODS[method]
    idle = [name for name in METHOD_OPTIONS if name not in chosen.takes]
    refuse_together(f"--method {method}", idle, "that method has no such setting")
    settings = {name: options[name] for name in chosen.takes if method == "svm" or given(name)}
    common = {"max_seconds": options["max_seconds"], "n_jobs": options["jobs"], "random_state": options["seed"]}
    return chosen.make(taxonomy, **settings, **common)
