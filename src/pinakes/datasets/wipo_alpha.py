"""WIPO-alpha, the patents of the papers of 2003 and 2004, from a local copy of its XML.

The collection is a folder of any depth, one patent a file::

    <record cy="WO" an="..." pn="WO0012345 20000309" dnum="0012345" kind="A1">
      <ipcs ed="7" mc="D03D04900"><ipc ic="D03D04902"></ipc></ipcs>
      <tis><ti xml:lang="EN">A LOOM</ti></tis>
      <abs><ab xml:lang="EN">...</ab></abs>
      <cls><cl xml:lang="EN">1. A loom in which ...</cl></cls>
      <txts><txt xml:lang="EN">...</txt></txts>
    </record>

`mc` is the main category. The papers index title and claims, and put each patent into its main group: section D,
class D03, subclass D03D, main group D03D0049 (written as in ipc-titles: four digits).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from html.entities import entitydefs
from pathlib import Path
from xml.etree import ElementTree

from pinakes.documents import Corpus, Document
from pinakes.errors import DocumentError, InputError, ParameterError
from pinakes.taxonomy import Taxonomy

PARTS = {"title": "ti", "abstract": "ab", "claims": "cl", "description": "txt"}
_CODE = re.compile(r"([A-H])\s*(\d\d)\s*([A-Z])\s*(?:(\d{1,4})\s*/\s*\d+|(\d{4})\d{6}|(\d{3})\d{2,3})\s*")


def load_wipo_alpha(
    folder: str | os.PathLike[str], *, parts: Sequence[str] = ("title", "claims"), sections: str = "ABCDEFGH"
) -> tuple[Taxonomy, Corpus]:
    """Load WIPO-alpha from a local copy of its XML.

    Parameters
    ----------
    folder : path
        Holds the XML files, in folders of any depth; other files are not looked at.
    parts : sequence of {"title", "abstract", "claims", "description"}, default=("title", "claims")
        What of a patent makes its text; the papers take title and claims.
    sections : str, default="ABCDEFGH"
        The sections of the IPC to keep.

    Returns
    -------
    taxonomy : Taxonomy
        Sections, classes, subclasses and main groups that have documents.
    corpus : Corpus
        One document a patent, labelled with the main group of its main category, in the order of their files.
    """
    place = Path(folder)
    if not place.is_dir():
        raise InputError("no such folder; give the folder of a copy of WIPO-alpha", source=str(place))
    unknown = [part for part in parts if part not in PARTS]
    if unknown or not parts:
        got = repr(unknown[0]) if unknown else "none"
        raise ParameterError(f"`parts` of load_wipo_alpha must be some of {', '.join(PARTS)}, got {got}")
    files = sorted(place.rglob("*.xml"))
    if not files:
        raise InputError("expected the XML files of WIPO-alpha here or below, got none", source=str(place))
    documents = [d for file in files if (d := _read(file, parts)).labels[0][0] in sections]
    if not documents:
        raise InputError(f"none of the {len(files)} patents is in section {sections}", source=str(place))
    return Taxonomy.from_edges(_edges(d.labels[0] for d in documents)), Corpus.from_documents(documents)


def main_group(code: str) -> str:
    """Give the main group of an IPC code: ``D03D04902``, ``D03D 49/02`` and ``D03D0049020000`` are in ``D03D0049``.

    >>> main_group("D03D04902"), main_group("D03D 49/02"), main_group("D03D0049020000")
    ('D03D0049', 'D03D0049', 'D03D0049')
    """
    found = _CODE.fullmatch(code.strip())
    if found is None:
        raise ParameterError(f"expected an IPC code such as D03D04902 or D03D 49/02, got {code!r}")
    section, number, letter, *groups = found.groups()
    return f"{section}{number}{letter}{int(next(filter(None, groups))):04d}"


def _read(file: Path, parts: Sequence[str]) -> Document:
    """Read one patent; elements of one kind stand once for each language, and English is taken where there is some."""
    parser = ElementTree.XMLParser()
    parser.entity.update(entitydefs)  # &eacute; and the like stand in a DTD that need not lie here
    try:
        record = ElementTree.parse(file, parser).getroot()
    except ElementTree.ParseError as error:
        line = error.position[0]
        raise DocumentError(
            f"expected XML, got {error.msg}; copy the file again", source=str(file), line=line
        ) from None
    ipcs = record.find(".//ipcs")
    code = ipcs.get("mc") if ipcs is not None else None
    if not code:
        raise DocumentError("expected the main category as <ipcs mc=…>, got none", source=str(file))
    try:
        label = main_group(code)
    except ParameterError as error:
        raise DocumentError(str(error), source=str(file)) from None
    texts = [" ".join(_texts(record, PARTS[part])) for part in parts]
    return Document(
        id=record.get("pn", file.stem).strip(), text="\n".join(filter(None, texts)), labels=(label,), source=str(file)
    )


def _texts(record: ElementTree.Element, tag: str) -> Iterator[str]:
    found = list(record.iter(tag))
    lang = "{http://www.w3.org/XML/1998/namespace}lang"
    english = [element for element in found if element.get(lang, "EN").upper() == "EN"]
    for element in english or found:
        yield " ".join("".join(element.itertext()).split())


def _edges(labels: Iterable[str]) -> Iterator[tuple[str, str]]:
    for label in sorted(set(labels)):
        way = [label[0], label[:3], label[:4], label]
        yield from zip(["", *way[:-1]], way, strict=True)
