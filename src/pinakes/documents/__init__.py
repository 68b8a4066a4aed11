"""What is to be classified: readers of documents, and features (text to CSR)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pinakes.documents.corpus import Corpus
from pinakes.documents.document import Document
from pinakes.documents.matrix import as_csr
from pinakes.documents.readers import read_documents

if TYPE_CHECKING:
    from pinakes.documents.features import TextFeatures

__all__ = ["Corpus", "Document", "TextFeatures", "as_csr", "read_documents"]


def __getattr__(name: str) -> Any:
    """Load TextFeatures on first use: unlike the readers it needs scikit-learn, which is slow to import."""
    if name == "TextFeatures":
        from pinakes.documents.features import TextFeatures

        return TextFeatures
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
