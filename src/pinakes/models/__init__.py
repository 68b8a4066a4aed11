"""Estimators with scikit-learn's conventions, thin: they check, encode, call a solver and decode."""

from pinakes.models.coupled_svc import CoupledSVC
from pinakes.models.hierarchy_ridge import HierarchyRidge
from pinakes.models.hlsi import HLSI
from pinakes.models.minover_perceptron import MinOverPerceptron
from pinakes.models.perceptrons import HardPerceptron, StochasticPerceptron
from pinakes.models.structured_svc import StructuredSVC
from pinakes.models.taxonomy_rank_svc import TaxonomyRankSVC
from pinakes.models.taxonomy_svc import TaxonomySVC

__all__ = [
    "HLSI",
    "CoupledSVC",
    "HardPerceptron",
    "HierarchyRidge",
    "MinOverPerceptron",
    "StochasticPerceptron",
    "StructuredSVC",
    "TaxonomyRankSVC",
    "TaxonomySVC",
]
