"""Writes the model of this version into this folder: ``python tests/data/models/make.py``.

One file stays here for every version that changed the format, and must load forever; `tests/storage` asks it about
DOCUMENTS. Files that are here already are never written again.
"""

from __future__ import annotations

from pathlib import Path

from pinakes import Taxonomy, __version__, save
from pinakes.decisions import Classifier
from pinakes.documents import TextFeatures
from pinakes.models import TaxonomySVC

# text -> the right answer; a lattice, and a category above another one
DOCUMENTS = {
    "a purring cat on the sofa": "cat",
    "the cat purrs at night": "cat",
    "a barking dog at the door": "dog",
    "the dog barks at night": "dog",
    "sage and mint in the garden": "herb",
    "mint tea with fresh sage": "herb",
    "a plant of the garden": "plant",
    "some plant by the sofa": "plant",
}
EDGES = [("", "living"), ("living", "animal"), ("living", "plant"), ("", "pet"), ("animal", "cat"), ("pet", "cat")]
EDGES += [("animal", "dog"), ("pet", "dog"), ("plant", "herb")]
NAMES = {"cat": "Cats", "dog": "Dogs", "herb": "Kräuter"}


def make() -> Classifier:
    """Train the model."""
    taxonomy = Taxonomy.from_edges(EDGES, NAMES)
    classifier = Classifier(TaxonomySVC(taxonomy, C=10.0), TextFeatures(min_df=1, ngrams=(1, 2)))
    classifier.fit(list(DOCUMENTS), list(DOCUMENTS.values()))
    classifier.summary = {"documents": len(DOCUMENTS)}
    return classifier


if __name__ == "__main__":
    target = Path(__file__).with_name(f"{'.'.join(__version__.split('.')[:2])}.pinakes")
    if target.exists():
        raise SystemExit(f"{target} is there already, and is kept")
    save(make(), target)
