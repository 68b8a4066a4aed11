"""Which settings to learn with: tried on documents that were put aside, and measured by any metric."""

from pinakes.selection.taxonomy_svc_cv import TaxonomySVCCV, Trial

__all__ = ["TaxonomySVCCV", "Trial"]
