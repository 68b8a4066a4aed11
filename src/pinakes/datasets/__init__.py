"""Data to try things on: the sample of WordNet that comes along, public corpora, and a synthetic problem."""

from pinakes.datasets.corpora import Sample, load_corpus, load_wordnet_sample
from pinakes.datasets.descriptions import DESCRIPTIONS
from pinakes.datasets.synthetic import make_synthetic
from pinakes.datasets.wipo_alpha import load_wipo_alpha

__all__ = ["DESCRIPTIONS", "Sample", "load_corpus", "load_wipo_alpha", "load_wordnet_sample", "make_synthetic"]
