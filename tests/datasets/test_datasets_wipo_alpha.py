"""WIPO-alpha from XML: a hand-made copy of its structure, three patents."""

from __future__ import annotations

from pathlib import Path

import pytest

from pinakes.datasets import load_wipo_alpha
from pinakes.datasets.wipo_alpha import main_group
from pinakes.errors import DocumentError, InputError, ParameterError

RECORD = """<?xml version="1.0" encoding="iso-8859-1"?>
<!DOCTYPE record SYSTEM "../../../../../ipctraining.dtd">
<record cy="WO" an="JP9900001" pn="{pn}" dnum="{pn}" kind="A1">
<ipcs ed="7" mc="{code}"><ipc ic="A01B00102"></ipc></ipcs>
<pas><pa>SOMEBODY</pa></pas>
<tis><ti xml:lang="FR">UN M&Eacute;TIER</ti><ti xml:lang="EN">{title}</ti></tis>
<abs><ab xml:lang="EN">An abstract.</ab></abs>
<cls><cl xml:lang="EN">1. A thing,
   having <b>parts</b>. 2. Another &eacute;.</cl></cls>
<txts><txt xml:lang="EN">A long description.</txt></txts>
</record>
"""


@pytest.fixture
def place(tmp_path: Path) -> Path:
    for path, code, title in (
        ("train/D/03/D/1.xml", "D03D04902", "A LOOM"),
        ("train/D/03/D/2.xml", "D03D00300", "A CLOTH"),
        ("test/A/01/B/3.xml", "A01B00100", "A SPADE"),
    ):
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(RECORD.format(pn=f"WO{file.stem}", code=code, title=title), encoding="iso-8859-1")
    (tmp_path / "readme.txt").write_text("no patent")
    return tmp_path


def test_title_and_claims_and_main_groups(place: Path) -> None:
    taxonomy, corpus = load_wipo_alpha(place)
    assert corpus.ids == ["WO3", "WO1", "WO2"]
    assert corpus.single_labels() == ["A01B0001", "D03D0049", "D03D0003"]
    assert corpus.texts is not None
    assert corpus.texts[1] == "A LOOM\n1. A thing, having parts. 2. Another é."
    assert taxonomy.path("D03D0049") == ["D", "D03", "D03D", "D03D0049"]
    assert len(taxonomy) == 9


def test_other_parts_and_one_section(place: Path) -> None:
    taxonomy, corpus = load_wipo_alpha(place, parts=["abstract", "description"], sections="A")
    assert corpus.texts == ["An abstract.\nA long description."]
    assert taxonomy.ids == ("A", "A01", "A01B", "A01B0001")


@pytest.mark.parametrize("code", ["D03D04902", "D03D049021", "D03D 49/02", "D03D0049020000", " D03D49/00 "])
def test_codes_however_they_are_written(code: str) -> None:
    assert main_group(code) == "D03D0049"


@pytest.mark.parametrize("code", ["", "D03", "D03D", "X03D04902", "D3D04902", "D03D04902x"])
def test_codes_that_are_none(code: str) -> None:
    with pytest.raises(ParameterError, match="expected an IPC code such as D03D04902"):
        main_group(code)


def test_files_that_cannot_be_used(place: Path) -> None:
    file = place / "train/D/03/D/2.xml"
    good = file.read_text(encoding="iso-8859-1")
    for text, message in (
        (good.replace("</record>", ""), r"2\.xml:\d+: expected XML, got .*; copy the file again"),
        (good.replace('mc="D03D00300"', ""), r"2\.xml: expected the main category as <ipcs mc=…>, got none"),
        (good.replace("D03D00300", "nothing"), r"2\.xml: expected an IPC code such as .*, got 'nothing'"),
    ):
        file.write_text(text, encoding="iso-8859-1")
        with pytest.raises(DocumentError, match=message):
            load_wipo_alpha(place)


def test_folders_and_settings_that_cannot_be_used(place: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    with pytest.raises(InputError, match="no such folder"):
        load_wipo_alpha(place / "nowhere")
    with pytest.raises(InputError, match="expected the XML files of WIPO-alpha here or below, got none"):
        load_wipo_alpha(tmp_path_factory.mktemp("empty"))
    with pytest.raises(ParameterError, match=r"`parts` of load_wipo_alpha must be some of title, .*, got 'claim'"):
        load_wipo_alpha(place, parts=["claim"])
    with pytest.raises(InputError, match="none of the 3 patents is in section H"):
        load_wipo_alpha(place, sections="H")
