"""What the categories are: the lattice, its files, its checks, and what follows from it (Lambda, Delta)."""

from pinakes.taxonomy.taxonomy import Taxonomy

__all__ = ["Taxonomy"]
