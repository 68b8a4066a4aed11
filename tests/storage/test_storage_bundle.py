"""The container of model files: round trips, every kind of damage, and writers that die."""

from __future__ import annotations

import errno
import json
import os
import pickle
import signal
import stat
import subprocess
import sys
import tempfile
import zipfile
import zlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import safetensors.numpy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from pinakes.errors import ModelFileError
from pinakes.storage.bundle import DTYPES, read_bundle, write_bundle
from pinakes.storage.schema import Fields, check_csr, pack_texts, take, unpack_texts

HEADER = {
    "kind": "model",
    "version": 2,
    "solver": "ascent",
    "C": 0.1,
    "names": ["a", "é"],
    "deep": {"x": None},
}
TENSORS = {
    "weights": np.arange(12, dtype=np.float32).reshape(3, 4),
    "bytes": np.frombuffer(b"abc", dtype=np.uint8),
    "flags": np.array([True, False]),
    "bounds": np.array([0, 5, 9], dtype=np.int64),
    "none": np.empty((0, 3), dtype=np.float64),
    "one": np.array(2.5),
}


def read(path: Path, kind: str = "model", newest: int = 3) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    return read_bundle(path, kind=kind, newest=newest)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "a.model"
    write_bundle(path, HEADER, TENSORS)
    return path


def same(tensors: dict[str, np.ndarray], others: dict[str, np.ndarray]) -> bool:
    return tensors.keys() == others.keys() and all(
        a.dtype == (b := others[name]).dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
        for name, a in tensors.items()
    )


def table_of(path: Path) -> tuple[dict[str, Any], bytes]:
    """Take a file apart without the code under test."""
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    return json.loads(raw[8 : 8 + length]), raw[8 + length :]


def put_together(path: Path, table: Any, data: bytes) -> None:
    text = table if isinstance(table, bytes) else json.dumps(table).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def forge(path: Path, table: dict[str, Any], data: bytes) -> None:
    """Put a file together whose checksum is right whatever it says."""
    content = json.loads(table.pop("__metadata__")["pinakes"])
    content.pop("checksum")
    checksum = zlib.crc32(json.dumps([content, table], sort_keys=True).encode() + data)
    inner = json.dumps({**content, "checksum": checksum})
    put_together(path, {**table, "__metadata__": {"pinakes": inner}}, data)


# -- round trips -------------------------------------------------------------------------------------------

arrays = st.sampled_from(list(DTYPES.values())).flatmap(
    lambda dtype: hnp.arrays(dtype, hnp.array_shapes(min_dims=0, max_dims=4, min_side=0, max_side=4))
)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=8)
values = st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | texts, st.lists)


@settings(max_examples=150)
@given(
    tensors=st.dictionaries(texts.filter(lambda name: name != "__metadata__"), arrays, max_size=5),
    extra=st.dictionaries(texts.filter(lambda name: name not in ("format", "checksum")), values, max_size=4),
)
def test_what_was_written_is_read(tensors: dict[str, np.ndarray], extra: dict[str, Any]) -> None:
    header = {**extra, "kind": "thing", "version": 1}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        write_bundle(path, header, tensors)
        content, found = read(path, "thing", 1)
        library = safetensors.numpy.load_file(path)
    assert content == {**header, "format": "pinakes"}
    assert same(found, tensors)
    assert same(library, tensors)
    assert all(array.flags.aligned and array.flags.c_contiguous for array in found.values())


def test_strided_and_big_endian_arrays(tmp_path: Path) -> None:
    square = np.arange(16, dtype=np.float64).reshape(4, 4)
    write_bundle(tmp_path / "x", HEADER, {"t": square.T, "step": square[::2, ::3], "big": square.astype(">f8")})
    _, found = read(tmp_path / "x")
    np.testing.assert_array_equal(found["t"], square.T)
    np.testing.assert_array_equal(found["step"], square[::2, ::3])
    np.testing.assert_array_equal(found["big"], square)


def test_an_unaligned_file_of_another_writer_is_read(model: Path) -> None:
    table, _ = table_of(model)
    codes = {dtype: code for code, dtype in DTYPES.items()}
    begin, data = 0, b""
    for name, values in sorted(TENSORS.items(), key=lambda item: item[1].itemsize):  # narrow ones first
        place = [begin, begin + values.nbytes]
        table[name] = {"dtype": codes[values.dtype], "shape": list(values.shape), "data_offsets": place}
        begin, data = place[1], data + values.tobytes()
    assert table["weights"]["data_offsets"][0] % 4
    forge(model, table, data)
    _, found = read(model)
    assert same(found, TENSORS)
    assert all(array.flags.aligned for array in found.values())


@pytest.mark.parametrize(
    ("header", "tensors"),
    [
        ({"kind": "model"}, {}),
        ({"kind": 3, "version": 1}, {}),
        (HEADER, {"x": np.array(["text"])}),
        (HEADER, {"x": np.array([object()])}),
        (HEADER, {"__metadata__": np.zeros(1)}),
        ({**HEADER, "long": "x" * 2**26}, {}),
    ],
)
def test_what_cannot_be_written(tmp_path: Path, header: dict[str, Any], tensors: dict[str, np.ndarray]) -> None:
    with pytest.raises(ValueError, match="a bundle"):
        write_bundle(tmp_path / "x", header, tensors)
    assert not list(tmp_path.iterdir())


# -- damage ------------------------------------------------------------------------------------------------


def test_cut_anywhere(model: Path) -> None:
    whole = model.read_bytes()
    for size in range(0, len(whole), 3):
        model.write_bytes(whole[:size])
        with pytest.raises(ModelFileError, match=r"a\.model: .*(cut short|not written to its end)"):
            read(model)


def test_any_flipped_byte_is_noticed_or_harmless(model: Path) -> None:
    whole = bytearray(model.read_bytes())
    rng = np.random.default_rng(0)
    refused = 0
    for place in range(len(whole)):
        for other in {whole[place] ^ 1, whole[place] ^ 0x80, ord('"'), int(rng.integers(256))} - {whole[place]}:
            damaged = whole.copy()
            damaged[place] = other
            model.write_bytes(damaged)
            try:
                content, tensors = read(model)
            except ModelFileError:
                refused += 1
            else:
                assert content == {**HEADER, "format": "pinakes"}
                assert same(tensors, TENSORS)
    assert refused > 3 * len(whole) * 0.9


@settings(max_examples=200)
@given(data=st.binary(max_size=200) | st.binary(max_size=60).map(lambda b: len(b).to_bytes(8, "little") + b))
def test_any_bytes_are_refused(data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        path.write_bytes(data)
        with pytest.raises(ModelFileError, match="x: "):
            read(path)


def _zip(path: Path) -> None:
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("a.txt", "text")


STRANGERS = {
    "a pickle, which is never opened": lambda path: path.write_bytes(pickle.dumps({"a": list(range(99))})),
    "a zip archive": _zip,
    "a text file": lambda path: path.write_text('{"id": "1", "text": "a dog", "labels": ["dog"]}\n'),
    "a NumPy array": lambda path: np.save(path.open("wb"), np.zeros(9)),
    "something else": lambda path: path.write_bytes(b"\x01" * 40),
    "it is empty": lambda path: path.write_bytes(b""),
    "tensors of another program": lambda path: safetensors.numpy.save_file({"x": np.zeros(3)}, path),
}


@pytest.mark.filterwarnings("ignore:unclosed file")
@pytest.mark.parametrize("what", STRANGERS)
def test_strangers_are_named(tmp_path: Path, what: str) -> None:
    STRANGERS[what](tmp_path / "stranger")
    with pytest.raises(ModelFileError, match=f"stranger: .*{what}") as caught:
        read(tmp_path / "stranger")
    assert "\n" not in str(caught.value)


def test_no_file_and_a_folder(tmp_path: Path) -> None:
    with pytest.raises(ModelFileError, match=r"nowhere: no such model file; check the name"):
        read(tmp_path / "nowhere")
    with pytest.raises(ModelFileError, match="expected a model file, got a folder"):
        read(tmp_path)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ModelFileError, match=r"pipe: .*not a regular file"):
        read(tmp_path / "pipe")


def test_the_future_and_other_kinds(model: Path) -> None:
    with pytest.raises(ModelFileError, match=r"version 2, this pinakes reads up to 1; run pip install --upgrade"):
        read(model, newest=1)
    with pytest.raises(ModelFileError, match="expected a file of kind 'features', got 'model'"):
        read(model, kind="features")


def entry(**changes: Any) -> Any:
    def change(table: dict[str, Any]) -> None:
        table["weights"].update(changes)

    return change


def header(**changes: Any) -> Any:
    def change(table: dict[str, Any]) -> None:
        content = json.loads(table["__metadata__"]["pinakes"])
        table["__metadata__"]["pinakes"] = json.dumps({**content, **changes})

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (entry(shape=[4, 3]), "checksum is wrong"),
        (entry(shape=[3, 5]), r"'weights' of shape \[3, 5\] needs 60 bytes, its place has 48"),
        (entry(shape=[-3, -4]), "bad shape or place"),
        (entry(shape=[True, 12]), "bad shape or place"),
        (entry(shape=[2**62, 4]), "bad shape or place"),
        (entry(shape=[1.0] * 2), "bad shape or place"),
        (entry(shape=[1] * 40), "bad shape or place"),
        (entry(shape="34"), "bad shape or place"),
        (entry(data_offsets=[0, 2**70]), "bad shape or place"),
        (entry(data_offsets=[0]), "bad shape or place"),
        (entry(data_offsets=[0, 48]), "'weights' begins at byte 0|'bounds' begins at byte 0"),
        (entry(dtype="I128"), "unknown type 'I128'"),
        (entry(dtype=["F32"]), "unknown type"),
        (lambda table: table.pop("weights"), "begins at byte"),
        (lambda table: table.pop("flags"), "2 bytes too many at its end"),
        (
            lambda table: table.update(more={"dtype": "U8", "shape": [9], "data_offsets": [85, 94]}),
            "cut short",
        ),
        (lambda table: table.update(more=3), "unknown type"),
        (header(version="2"), "must be 1 or more, got '2'"),
        (header(version=True), "must be 1 or more, got True"),
        (header(version=0), "must be 1 or more, got 0"),
        (header(format="other"), "names no format"),
        (header(C=0.2), "checksum is wrong"),
        (lambda table: table.update(__metadata__={"pinakes": 3}), "another program"),
        (lambda table: table.update(__metadata__={"pinakes": "[1"}), "not proper JSON"),
        (lambda table: table.update(__metadata__={"pinakes": "[1]"}), "names no format"),
    ],
)
def test_tables_that_lie(model: Path, change: Any, message: str) -> None:
    table, data = table_of(model)
    change(table)
    put_together(model, table, data)
    with pytest.raises(ModelFileError, match=message):
        read(model)


@pytest.mark.parametrize(
    ("table", "message"),
    [
        (b'{"a": 1, "a": 2}', "a key stands twice"),
        (b'{"a": ' + b"[" * 100_000, "not proper JSON"),
        (b'{"a": ' + b"9" * 5000 + b"}", "not proper JSON"),
        (b'{"a": "\xff"}', "not proper JSON"),
        (b"{", "not proper JSON"),
    ],
)
def test_tables_that_are_no_json(tmp_path: Path, table: bytes, message: str) -> None:
    put_together(tmp_path / "x", table, b"")
    with pytest.raises(ModelFileError, match=message):
        read(tmp_path / "x")


def test_lies_with_a_right_checksum(model: Path) -> None:
    table, data = table_of(model)
    begin = table["flags"]["data_offsets"][0]
    forge(model, table, data[:begin] + b"\x02" + data[begin + 1 :])
    with pytest.raises(ModelFileError, match="'flags' must hold true or false"):
        read(model)
    write_bundle(model, HEADER, TENSORS)
    table, data = table_of(model)
    table["none"]["shape"] = [2**47, 2**47, 0]
    forge(model, table, data)
    with pytest.raises(ModelFileError, match="'none' has a bad shape"):
        read(model)


# -- writers that fail -------------------------------------------------------------------------------------


def fail(error: BaseException) -> Any:
    def function(*_: object, **__: object) -> None:
        raise error

    return function


@pytest.mark.parametrize("call", ["fsync", "replace", "chmod"])
@pytest.mark.parametrize(
    "error",
    [KeyboardInterrupt(), OSError(errno.ENOSPC, "No space left on device"), OSError(errno.EIO, "I/O error")],
    ids=["interrupt", "full", "broken"],
)
def test_the_old_file_stays_whole(
    model: Path, monkeypatch: pytest.MonkeyPatch, call: str, error: BaseException
) -> None:
    before = model.read_bytes()
    monkeypatch.setattr(os, call, fail(error))
    with pytest.raises(type(error)) as caught:
        write_bundle(model, HEADER, {"other": np.zeros(9)})
    monkeypatch.undo()
    if isinstance(error, OSError):
        assert caught.value.errno == error.errno
        assert caught.value.filename == str(model)
    assert model.read_bytes() == before
    assert list(model.parent.iterdir()) == [model]


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="needs a limit on file sizes as Linux has it")
def test_a_limit_on_file_size_is_like_a_full_disk(model: Path) -> None:
    """The kernel itself refuses the write, half way through the tensors."""
    before = model.read_bytes()
    code = """if True:
        import resource, signal, sys
        import numpy as np
        from pinakes.storage.bundle import write_bundle
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        try:
            write_bundle(sys.argv[1], {"kind": "model", "version": 1}, {"x": np.zeros(200_000)})
        except OSError as error:
            print(error.strerror, error.filename == sys.argv[1])
    """
    done = subprocess.run([sys.executable, "-c", code, str(model)], capture_output=True, text=True, check=True)
    assert done.stdout == "File too large True\n"
    assert model.read_bytes() == before
    assert list(model.parent.iterdir()) == [model]


@pytest.mark.parametrize("call", ["fsync", "replace"])
def test_a_killed_writer_leaves_the_old_file(model: Path, call: str) -> None:
    before = model.read_bytes()
    code = f"""if True:
        import os, signal, sys
        import numpy as np
        from pinakes.storage.bundle import write_bundle
        os.{call} = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
        write_bundle(sys.argv[1], {{"kind": "model", "version": 1}}, {{"x": np.zeros(200_000)}})
    """
    done = subprocess.run([sys.executable, "-c", code, str(model)], check=False)
    assert done.returncode == -signal.SIGKILL
    assert model.read_bytes() == before
    assert same(read(model)[1], TENSORS)


def test_a_folder_that_cannot_be_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Simulated, as root may write everywhere."""
    monkeypatch.setattr(os, "open", fail(PermissionError(errno.EACCES, "Permission denied", "hidden name")))
    with pytest.raises(PermissionError, match="Permission denied") as caught:
        write_bundle(tmp_path / "x", HEADER, TENSORS)
    monkeypatch.undo()
    assert caught.value.filename == str(tmp_path / "x")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write to read-only folders")
def test_a_read_only_folder(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    try:
        with pytest.raises(PermissionError) as caught:
            write_bundle(tmp_path / "x", HEADER, TENSORS)
    finally:
        tmp_path.chmod(0o700)
    assert caught.value.filename == str(tmp_path / "x")


def test_targets_that_are_no_files(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError, match="is a folder"):
        write_bundle(tmp_path, HEADER, TENSORS)
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(OSError, match="is not a regular file"):
        write_bundle(tmp_path / "pipe", HEADER, TENSORS)
    with pytest.raises(FileNotFoundError) as caught:
        write_bundle(tmp_path / "no" / "x", HEADER, TENSORS)
    assert caught.value.filename == str(tmp_path / "no" / "x")
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_permissions(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    write_bundle(tmp_path / "new", HEADER, TENSORS)
    assert (tmp_path / "new").stat().st_mode == (tmp_path / "plain").stat().st_mode  # as the umask says
    (tmp_path / "new").chmod(0o640)
    write_bundle(tmp_path / "new", HEADER, TENSORS)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == 0o640


def test_a_link_is_followed(model: Path) -> None:
    link = model.with_name("latest")
    link.symlink_to(model.name)
    write_bundle(link, HEADER, {"x": np.zeros(1)})
    assert link.is_symlink()
    assert list(read(model)[1]) == ["x"]


# -- fields, tensors, texts --------------------------------------------------------------------------------


def test_fields_of_the_right_type() -> None:
    values = {"t": "x", "n": 1, "i": 3, "b": True, "m": {"t": "y"}, "l": ["a"], "inf": float("inf")}
    fields = Fields(values, "p")
    assert (fields.text("t"), fields.number("n"), fields.integer("i"), fields.boolean("b")) == (
        "x",
        1.0,
        3,
        True,
    )
    assert (fields.mapping("m"), fields.texts("l"), fields.fields("m").text("t")) == ({"t": "y"}, ["a"], "y")
    assert fields.number("inf", finite=False) == float("inf")
    assert "t" in fields
    assert "none" not in fields


@pytest.mark.parametrize(
    ("call", "value", "message"),
    [
        (lambda f: f.text("x"), 3, "p: field 'x' must be a text, got 3"),
        (lambda f: f.text("x", ["a", "b"]), "c", "must be one of 'a', 'b', got 'c'"),
        (lambda f: f.number("x"), "3", "must be a finite number, got '3'"),
        (lambda f: f.number("x"), True, "must be a finite number, got True"),
        (lambda f: f.number("x"), float("inf"), "must be a finite number, got inf"),
        (lambda f: f.number("x", finite=False), float("nan"), "must be a number, got nan"),
        (lambda f: f.number("x"), 10**400, "must be a finite number, got 1000"),
        (lambda f: f.number("x"), [1], "must be a finite number"),
        (lambda f: f.number("x", minimum=0), -1, "must be at least 0, got -1"),
        (lambda f: f.number("x", maximum=1), 2, "must be at most 1, got 2"),
        (lambda f: f.integer("x"), 1.0, "must be a whole number, got 1.0"),
        (lambda f: f.integer("x"), True, "must be a whole number, got True"),
        (lambda f: f.integer("x", minimum=1), 0, "must be at least 1, got 0"),
        (lambda f: f.boolean("x"), 1, "must be true or false, got 1"),
        (lambda f: f.mapping("x"), [], "must be an object"),
        (lambda f: f.fields("x").text("y"), {"y": 1}, "field 'x.y' must be a text"),
        (lambda f: f.texts("x"), ["a", 1], "must be a list of texts"),
        (lambda f: f.texts("x"), "ab", "must be a list of texts"),
        (lambda f: f.text("y"), 0, "field 'y' is missing; train the model again"),
        (lambda f: f.text("x"), ["long"] * 99, r"got \['long'.{1,70}\.\.\.$"),
    ],
)
def test_fields_of_the_wrong_type(call: Any, value: Any, message: str) -> None:
    with pytest.raises(ModelFileError, match=message):
        call(Fields({"x": value}, "p"))


def test_take() -> None:
    assert take(TENSORS, "weights", np.float32, (3, None)) is TENSORS["weights"]
    assert take(TENSORS, "one", "f8", ()) == 2.5
    for name, dtype, shape, message in [
        ("nothing", "f4", (3,), "m: tensor 'nothing' is missing"),
        ("weights", "f8", (3, 4), "'weights' must be of type float64, got float32"),
        ("weights", "f4", (None, 5), "'weights' must be of shape anyx5, got 3x4"),
        ("weights", "f4", (12,), "must be of shape 12, got 3x4"),
        ("one", "f8", (1,), "must be of shape 1, got a single value"),
    ]:
        with pytest.raises(ModelFileError, match=message):
            take(TENSORS, name, dtype, shape, "m")


@pytest.mark.parametrize(
    ("indptr", "indices", "data", "message"),
    [
        ([0, 1], [0], [1.0], "has 2 row bounds for 2 rows"),
        ([1, 1, 2], [0, 1], [1.0, 1.0], "do not rise from 0"),
        ([0, 2, 1], [0], [1.0], "do not rise from 0"),
        ([0, 1, 3], [0, 1], [1.0, 1.0], "promises 3 entries and has 2 columns and 2 values"),
        ([0, 1, 2], [0, 1], [1.0], "promises 2 entries and has 2 columns and 1 values"),
        ([0, 1, 2], [0, 3], [1.0, 1.0], "has columns from 0 to 3, expected 0 to 2"),
        ([0, 1, 2], [-1, 1], [1.0, 1.0], "has columns from -1 to 1"),
        ([0, 1, 2], [0, 1], [1.0, np.nan], "not finite"),
        ([0, 1, 2], [0, 1], [-np.inf, 1.0], "not finite"),
    ],
)
def test_check_csr(indptr: list[int], indices: list[int], data: list[float], message: str) -> None:
    arrays = np.array(indptr), np.array(indices, dtype=np.int32), np.array(data)
    with pytest.raises(ModelFileError, match=f"p: matrix 'W' .*{message}"):
        check_csr(*arrays, 2, 3, "W", "p")


def test_check_csr_lets_good_matrices_pass() -> None:
    check_csr(np.array([0, 1, 2]), np.array([0, 2]), np.array([1.0, 2.0]), 2, 3, "W", "p")
    check_csr(np.array([0, 1, 2]), np.array([0, 2]), None, 2, 3, "W", "p")
    check_csr(np.array([0]), np.array([], dtype=np.int32), np.array([]), 0, 0, "W", "p")


@given(st.lists(st.text(max_size=6)))
def test_texts_come_back(texts: list[str]) -> None:
    buffer, offsets = pack_texts(texts)
    assert (buffer.dtype, offsets.dtype) == (np.uint8, np.int64)
    assert unpack_texts(buffer, offsets) == texts


@pytest.mark.parametrize(
    ("buffer", "offsets", "message"),
    [
        (b"abc", [], "offsets that do not fit its 3 bytes"),
        (b"abc", [0, 2], "offsets that do not fit"),
        (b"abc", [1, 3], "offsets that do not fit"),
        (b"abc", [0, 5, 3], "offsets that do not fit"),
        ("é".encode(), [0, 1, 2], "is not UTF-8"),
        (b"\xff", [0, 1], "is not UTF-8"),
    ],
)
def test_texts_that_do_not_fit(buffer: bytes, offsets: list[int], message: str) -> None:
    with pytest.raises(ModelFileError, match=f"p: 'words' .*{message}"):
        unpack_texts(np.frombuffer(buffer, np.uint8), np.array(offsets, dtype=np.int64), "words", "p")
    with pytest.raises(ModelFileError, match="must be bytes with int64 offsets"):
        unpack_texts(np.frombuffer(buffer, np.int8), np.array(offsets, dtype=np.int64), "words", "p")
