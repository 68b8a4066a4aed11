"""The documentation says what is: examples run, commands parse, links lead somewhere, nothing public is missing."""

from __future__ import annotations

import contextlib
import inspect
import io
import re
import shlex
from pathlib import Path

import click
import pages
import pytest

import pinakes
import pinakes.datasets
import pinakes.decisions
import pinakes.documents
import pinakes.explain
import pinakes.metrics
from pinakes.cli.main import main

README = pages.ROOT / "README.md"
QUICKSTART = pages.DOCS / "quickstart.md"
WITH_EXAMPLES = ["several-labels", "explain", "spaces", "training", "mathematics", "models", "serving", "errors"]
NOT_OURS = {"--editable", "--check"}  # options of pip and of the scripts in docs/

named = pytest.mark.parametrize("page", pages.PAGES, ids=lambda page: page.name)


@pytest.fixture(scope="module")
def readme():
    """What README's example left behind."""
    result, left, said = pages.run_examples(README)
    assert result.attempted >= 8
    assert result.failed == 0, said
    return left


def test_readme_prints_what_it_says(readme) -> None:
    assert readme["answer"].name == "craft"


def test_readme_is_short_and_begins_with_two_commands() -> None:
    text = README.read_text(encoding="utf-8")
    assert len(text.splitlines()) < 120
    assert "git clone …; cd pinakes; make demo\n$ make test\n" in text


def test_readme_has_no_times() -> None:
    assert re.findall(r"\d\s?(?:s|ms|seconds|minutes)\b", README.read_text(encoding="utf-8")) == []


def test_a_model_is_used_as_the_page_says(readme, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    pinakes.save(readme["model"], "things.pinakes")
    Path("new.jsonl").write_text('{"id": "boat", "text": "a boat that flies"}\n')
    page = pages.DOCS / "serving.md"
    load_and_rank, in_portions = (code for code in pages.blocks(page, "python") if ">>>" not in code)
    names: dict[str, object] = {}
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(load_and_rank, names)
    assert pages.alike(pages.blocks(page, "text")[0], out.getvalue()), out.getvalue()
    with contextlib.redirect_stdout(io.StringIO()) as out:
        exec(in_portions, names)
    assert out.getvalue() == "boat 02858304\n"


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_the_examples_of_the_page_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result, _, said = pages.run_examples(pages.DOCS / f"{name}.md")
    assert result.attempted > 0
    assert result.failed == 0, said


def test_every_page_with_examples_is_run() -> None:
    elsewhere = {"documents"}  # tests/documents
    found = {page.stem for page in pages.DOCS.glob("*.md") if ">>> " in page.read_text(encoding="utf-8")}
    assert found == set(WITH_EXAMPLES) | elsewhere


@named
def test_python_without_a_prompt_compiles(page: Path) -> None:
    for code in pages.blocks(page, "python"):
        if ">>>" not in code:
            compile(code, page.name, "exec")


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    """Run a command line of a page in an empty folder, and compare what it prints with what the page shows."""
    monkeypatch.chdir(tmp_path)

    def check(line: str, shown: str) -> None:
        (call,) = pages.pinakes_calls(line)
        if line.startswith("echo "):
            monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(shlex.split(line)[1].encode())))
        with contextlib.suppress(SystemExit):
            main(call)
        got = capsys.readouterr()
        assert pages.alike(shown, got.out + got.err), f"$ {line}\n{got.out}{got.err}"

    return check


def test_commands_on_the_sample_print_what_is_shown(readme, run, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("src").symlink_to(pages.ROOT / "src")
    pinakes.save(readme["model"], "things.pinakes")  # what the line with `train` makes, without waiting for it
    pages_shown = pages.commands(README) + pages.commands(QUICKSTART)
    lines = [(line, shown) for line, shown in pages_shown if "src/" in line or "things" in line]
    lines = [(line, shown) for line, shown in lines if not line.startswith("pinakes train ")]
    assert len(lines) == 6
    for line, shown in lines:
        run(line, shown)


def test_commands_on_own_files_print_what_is_shown(run) -> None:
    books, subjects, new = pages.blocks(QUICKSTART, "text")
    wrong = books.replace(",780", ",78O")
    for name, text in (("books.csv", books), ("subjects.ttl", subjects), ("new.csv", new), ("bad.csv", wrong)):
        Path(name).write_text(text, encoding="utf-8")
    shown = pages.commands(QUICKSTART) + pages.commands(pages.DOCS / "errors.md")
    lines = [(line, output) for line, output in shown if "books" in line or "subjects" in line]
    assert len(lines) == 5
    for line, output in lines:
        run(line, output)
    Path("cut.pinakes").write_bytes(Path("books.pinakes").read_bytes()[:5000])
    Path("model.pkl").write_bytes(b"\x80\x04" + b"." * 100)
    for line, output in pages.commands(pages.DOCS / "models.md"):
        run(line, output.replace("6803590", "7459").replace("100000", "5000"))


@named
def test_commands_that_are_shown_exist(page: Path) -> None:
    for line, _ in pages.commands(page):
        for call in pages.pinakes_calls(line):
            pages.parse(call)


def test_an_unknown_option_would_be_noticed() -> None:
    (call,) = pages.pinakes_calls("echo x | pinakes predict m.pinakes - --topp 3 # comment")
    assert call == ["predict", "m.pinakes", "-", "--topp", "3"]
    with pytest.raises(click.UsageError, match=r"--topp"):
        pages.parse(call)
    with pytest.raises(click.UsageError, match=r"no such verb: pred"):
        pages.parse(["pred"])


@named
def test_options_that_are_mentioned_exist(page: Path) -> None:
    known = {option for context in pages.script("make_cli_reference").contexts() for option in _options(context)}
    mentioned = set(re.findall(r"`(--[\w-]+)", pages.prose(page)))
    assert mentioned <= known | NOT_OURS


@named
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", pages.prose(page)):
        if target.startswith(("http://", "https://")):
            continue
        path, _, anchor = target.partition("#")
        goal = (page.parent / path).resolve() if path else page
        assert goal.exists(), f"{page.name} links to {target}, which is not there"
        if anchor:
            assert anchor in pages.slugs(goal), f"{page.name} links to {target}, which has no such heading"


@named
def test_no_formula_is_taken_for_html(page: Path) -> None:
    lines = [line for line in pages.prose(page).splitlines() if not line.startswith("    ")]
    assert re.findall(r"<[A-Za-z/][^\n>]*", re.sub(r"`[^`]*`", "", "\n".join(lines))) == []


def test_every_page_is_in_the_map_and_the_menu() -> None:
    index = (pages.DOCS / "index.md").read_text(encoding="utf-8")
    menu = (pages.ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    for page in pages.DOCS.glob("*.md"):
        assert page.name == "index.md" or f"({page.name})" in index
        assert f": {page.name}" in menu


def test_no_path_of_a_machine() -> None:
    for page in pages.PAGES:
        assert not re.search(r"(?<![\w.])/(?:home|work|root|Users|tmp)/", page.read_text(encoding="utf-8")), page.name


# -- reference -----------------------------------------------------------------------------------------------


def _options(context: click.Context) -> set[str]:
    return {option for parameter in context.command.get_params(context) for option in parameter.opts if "-" in option}


def _sections(page: Path) -> dict[str, str]:
    parts = re.split(r"^##+ (.+)$", page.read_text(encoding="utf-8"), flags=re.M)[1:]
    return dict(zip(parts[::2], parts[1::2], strict=True))


def test_every_verb_and_option_is_documented() -> None:
    # compared piece by piece: another version of Click may break lines or write defaults otherwise
    contexts = pages.script("make_cli_reference").contexts()
    sections = _sections(pages.DOCS / "cli.md")
    cure = "run python docs/make_cli_reference.py"
    assert set(sections) == {context.command_path for context in contexts}, cure
    for context in contexts:
        section = " ".join(sections[context.command_path].split())
        documented = set(re.findall(r"(?:^  |, )(--?[\w-]+)", sections[context.command_path], flags=re.M))
        assert documented == _options(context), f"{context.command_path}: {cure}"
        texts = [p.help for p in context.command.params if isinstance(p, click.Option) and p.help]
        texts += [part for part in (inspect.cleandoc(context.command.help or "")).split("\n\n") if part]
        for text in texts:
            assert " ".join(text.split()) in section, f"{context.command_path}: {cure}"


@pytest.mark.parametrize(
    "module",
    [pinakes, pinakes.metrics, pinakes.datasets, pinakes.documents, pinakes.decisions, pinakes.explain],
    ids=lambda m: m.__name__,
)
def test_every_public_name_is_documented(module) -> None:
    section = _sections(pages.DOCS / "api.md")[module.__name__]
    cure = "run python docs/make_api_reference.py"
    entries = dict(re.findall(r"^\*\*`(\w+)(.*)`\*\*$", section, flags=re.M))
    assert set(entries) == set(module.__all__), cure
    for name, signature in entries.items():
        thing = getattr(module, name)
        if inspect.isfunction(thing) or inspect.isclass(thing):
            for parameter in inspect.signature(thing).parameters:
                assert re.search(rf"\b{parameter}\b", signature), f"{name}: {parameter} is missing; {cure}"


def test_every_error_is_documented() -> None:
    import pinakes.errors

    text = (pages.DOCS / "errors.md").read_text(encoding="utf-8")
    for name, thing in vars(pinakes.errors).items():
        if inspect.isclass(thing) and issubclass(thing, Exception | Warning) and thing.__module__ == "pinakes.errors":
            assert re.search(rf"\b{name}\b", text), f"docs/errors.md does not mention {name}"
