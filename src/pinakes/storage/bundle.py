"""The container of model files: one file, a JSON header and tensors, and no pickle anywhere.

The bytes are those of the safetensors format, so any tool for it can look inside:

    8 bytes         length of the table, little-endian
    table           JSON: {"__metadata__": {"pinakes": HEADER}, NAME: {"dtype", "shape", "data_offsets"}, …}
    the rest        the tensors, one after the other without gaps, little-endian, rows first

HEADER is JSON again, as text: what the caller gave, with ``format``, ``kind``, ``version`` and a ``checksum``
(CRC-32 of header, table and tensors, against accidents, not against attackers). Nothing in a file is run, and
nothing is used before it is checked; a file can never ask for more memory than it has bytes.

The format is simple enough to be written here, with the system's own errors, atomic replacement and kept
permissions; the tests read and write such files with the safetensors library, too.
"""

from __future__ import annotations

import contextlib
import errno
import json
import math
import os
import secrets
import stat
import sys
import zlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TypeGuard

import numpy as np
import numpy.typing as npt

from pinakes.errors import ModelFileError

FORMAT = "pinakes"
MAX_TABLE = 64 * 2**20  # bytes
MAX_DIMENSIONS = 16
DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "I64": np.dtype("<i8"),
    "U64": np.dtype("<u8"),
    "I32": np.dtype("<i4"),
    "U32": np.dtype("<u4"),
    "I16": np.dtype("<i2"),
    "U16": np.dtype("<u2"),
    "I8": np.dtype("i1"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}
CODES = {dtype: code for code, dtype in DTYPES.items()}

Array = npt.NDArray[Any]
Tensors = dict[str, Array]
PathLike = str | os.PathLike[str]

_STRANGERS = {  # what else people hand in, by its first bytes
    b"PK": "a zip archive (an .npz or a packed folder?)",
    b"\x80\x02": "a pickle",
    b"\x80\x03": "a pickle",
    b"\x80\x04": "a pickle",
    b"\x80\x05": "a pickle",
    b"\x93NUMPY": "a NumPy array",
    b"\x1f\x8b": "a gzip file",
    b"\xfd7zXZ": "an xz file",
    b"\x28\xb5\x2f\xfd": "a zstandard file",
    b"PAR1": "a Parquet file",
}


# -- writing -----------------------------------------------------------------------------------------------


def write_bundle(path: PathLike, header: Mapping[str, Any], tensors: Mapping[str, Array]) -> None:
    """Write a bundle, all or nothing: until the last moment an old file at `path` stays as it is.

    `header` must hold ``kind`` (str) and ``version`` (int) and be made of JSON types; a link is followed, and
    the permissions of a replaced file are kept. What the system refuses is an OSError that names `path`.
    """
    table, parts = _pack(header, tensors)
    target = Path(os.path.realpath(path))
    try:
        old = _stat_target(target)
        with _temporary(target, old) as (temporary, out):
            out.write(len(table).to_bytes(8, "little"))
            out.write(table)
            for part in parts:
                out.write(part.data)
            out.flush()
            os.fsync(out.fileno())
            out.close()
            os.replace(temporary, target)
        _sync_folder(target.parent)
    except OSError as error:
        raise OSError(error.errno, error.strerror or str(error), os.fspath(path)) from error


def _pack(header: Mapping[str, Any], tensors: Mapping[str, Array]) -> tuple[bytes, list[Array]]:
    """Give the table, padded to 8 bytes, and the tensors as bytes, widest numbers first: all are aligned."""
    if not isinstance(header.get("kind"), str) or not isinstance(header.get("version"), int):
        raise ValueError("a bundle's header needs 'kind' (str) and 'version' (int)")
    ready: list[tuple[str, str, Array, tuple[int, ...]]] = []
    for name, values in tensors.items():
        values = np.asarray(values)
        code = CODES.get(values.dtype.newbyteorder("<"))
        if code is None or name == "__metadata__" or values.ndim > MAX_DIMENSIONS:
            raise ValueError(f"a bundle cannot hold tensor {name!r} of type {values.dtype} and shape {values.shape}")
        flat = np.ascontiguousarray(values, dtype=DTYPES[code]).reshape(-1).view(np.uint8)
        ready.append((name, code, flat, values.shape))
    ready.sort(key=lambda item: (-DTYPES[item[1]].itemsize, item[0]))
    table: dict[str, Any] = {}
    begin = 0
    for name, code, flat, shape in ready:
        table[name] = {"dtype": code, "shape": list(shape), "data_offsets": [begin, begin + flat.size]}
        begin += flat.size
    parts = [flat for _, _, flat, _ in ready if flat.size]
    content = json.loads(json.dumps({**header, "format": FORMAT}))
    content.pop("checksum", None)
    inner = json.dumps({**content, "checksum": _checksum(content, table, parts)})
    packed = json.dumps({"__metadata__": {FORMAT: inner}, **table}, separators=(",", ":")).encode()
    packed += b" " * (-len(packed) % 8)
    if len(packed) > MAX_TABLE:
        raise ValueError(f"a bundle's header may take {MAX_TABLE} bytes, got {len(packed)}; use tensors")
    return packed, parts


def _checksum(content: Mapping[str, Any], table: Mapping[str, Any], parts: Sequence[Array]) -> int:
    value = zlib.crc32(json.dumps([content, table], sort_keys=True).encode())
    for part in parts:
        value = zlib.crc32(part.data, value)
    return value


def _stat_target(target: Path) -> os.stat_result | None:
    """Give the state of a file to be replaced, None if there is none; refuse what is no regular file."""
    try:
        old = target.stat()
    except FileNotFoundError:
        return None
    if stat.S_ISDIR(old.st_mode):
        raise IsADirectoryError(errno.EISDIR, "is a folder; give the name of a file")
    if not stat.S_ISREG(old.st_mode):
        raise OSError(errno.EINVAL, "is not a regular file; give the name of a file")
    return old


@contextlib.contextmanager
def _temporary(target: Path, old: os.stat_result | None) -> Iterator[tuple[Path, BinaryIO]]:
    """Open a new file next to the target, and remove it whatever goes wrong, an interrupt included."""
    temporary = target.parent / f".pinakes-{secrets.token_hex(8)}.tmp"
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
    try:
        with open(os.open(temporary, flags, 0o666), "wb") as out:
            if old is not None:
                with contextlib.suppress(OSError, AttributeError):  # only root may give files away
                    os.chown(temporary, old.st_uid, old.st_gid)
                os.chmod(temporary, stat.S_IMODE(old.st_mode))
            yield temporary, out
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def _sync_folder(folder: Path) -> None:
    """Make the new name last through a power cut, where the system can."""
    if os.name != "posix":
        return
    with contextlib.suppress(OSError):  # the file itself is safe; some file systems cannot do this
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


# -- reading -----------------------------------------------------------------------------------------------


def read_bundle(path: PathLike, *, kind: str, newest: int) -> tuple[dict[str, Any], Tensors]:
    """Read a bundle of one kind, up to version `newest`; give its header and its tensors.

    The file is read once; the tensors are aligned views of it. Everything that does not fit raises a
    ModelFileError that says what, where and what to do.
    """
    where = os.fspath(path)
    try:
        state = os.stat(path)
    except (FileNotFoundError, NotADirectoryError):
        raise ModelFileError(f"{where}: no such model file; check the name, or train one") from None
    if not stat.S_ISREG(state.st_mode):
        what = "a folder" if stat.S_ISDIR(state.st_mode) else "not a regular file"
        raise ModelFileError(f"{where}: expected a model file, got {what}; give the name of the file")
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        table = _read_table(file, size, where)
        content = _read_header(table, kind, newest, where)
        n_bytes = size - file.tell()
        places = _check_places(table, n_bytes, size, where)
        buffer = np.empty(n_bytes, dtype=np.uint8)
        if file.readinto(buffer.data) != n_bytes:
            raise ModelFileError(f"{where}: the file became shorter while it was read; try again")
    checksum = content.pop("checksum", None)
    if checksum != _checksum(content, table, [buffer] if n_bytes else []):
        raise ModelFileError(f"{where}: the file is damaged (its checksum is wrong); copy or train it again")
    return content, {name: _view(buffer, *place, name, where) for name, place in places.items()}


def read_header(path: PathLike, *, kind: str, newest: int) -> dict[str, Any]:
    """Read the header of a bundle alone, as quick for large files as for small ones; tensors are not looked at."""
    where = os.fspath(path)
    with open(path, "rb") as file:
        table = _read_table(file, os.fstat(file.fileno()).st_size, where)
    return _read_header(table, kind, newest, where)


def _read_table(file: BinaryIO, size: int, where: str) -> dict[str, Any]:
    start = file.read(64)
    if size < 8 or len(start) < 8:
        raise ModelFileError(
            f"{where}: expected a model file, got {size} bytes{'' if size else ': it is empty'}; "
            "it was not written to its end, copy or train it again"
        )
    length = int.from_bytes(start[:8], "little")
    if length > MAX_TABLE or start[8:9] not in (b"{", b""):
        raise ModelFileError(
            f"{where}: expected a model file written by pinakes, got {_guess(start)}; "
            "give a file made by `pinakes train` or `pinakes.save`"
        )
    if length > size - 8 or length == 0:
        raise ModelFileError(_cut_short(where, 8 + length, size))
    file.seek(8)
    table = _parse(file.read(length), where)
    if not isinstance(table, dict):
        raise ModelFileError(f"{where}: the file is damaged (its table is no JSON object); copy it again")
    return table


def _guess(start: bytes) -> str:
    for magic, what in _STRANGERS.items():
        if start.startswith(magic):
            return f"{what}, which is never opened" if "pickle" in what else what
    if all(byte in b"\t\n\r\f" or byte >= 32 for byte in start):
        return "a text file"
    return "something else"


def _cut_short(where: str, wanted: int, size: int) -> str:
    return f"{where}: the file is cut short: expected {wanted} bytes, got {size}; copy or train it again"


def _parse(data: bytes | str, where: str) -> Any:
    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        out = dict(pairs)
        if len(out) < len(pairs):
            raise ValueError("a key stands twice")
        return out

    try:
        text = data.decode("utf-8") if isinstance(data, bytes) else data
        return json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise ModelFileError(
            f"{where}: the file is damaged (its header is not proper JSON: {error}); copy or train it again"
        ) from None


def _read_header(table: dict[str, Any], kind: str, newest: int, where: str) -> dict[str, Any]:
    """Take our header out of the table; refuse another format, another kind and the future."""
    metadata = table.pop("__metadata__", None)
    inner = metadata.get(FORMAT) if isinstance(metadata, dict) else None
    if not isinstance(inner, str):
        raise ModelFileError(
            f"{where}: expected a model file written by pinakes, got tensors of another program; "
            "give a file made by `pinakes train` or `pinakes.save`"
        )
    content = _parse(inner, where)
    if not isinstance(content, dict) or content.get("format") != FORMAT:
        raise ModelFileError(f"{where}: the file is damaged (its header names no format); copy it again")
    version = content.get("version")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ModelFileError(f"{where}: the version of a model file must be 1 or more, got {version!r}")
    if version > newest:
        raise ModelFileError(
            f"{where}: the file comes from the future: it has version {version}, this pinakes reads up to "
            f"{newest}; run pip install --upgrade pinakes"
        )
    if content.get("kind") != kind:
        raise ModelFileError(f"{where}: expected a file of kind {kind!r}, got {content.get('kind')!r}")
    return content


Place = tuple[np.dtype[Any], tuple[int, ...], int, int]


def _check_places(table: dict[str, Any], n_bytes: int, size: int, where: str) -> dict[str, Place]:
    """Check that the tensors fill the rest of the file exactly, each with the bytes that its shape needs."""
    places: dict[str, Place] = {}
    for name, entry in table.items():
        fields = entry if isinstance(entry, dict) else {}
        code, shape, offsets = fields.get("dtype"), fields.get("shape"), fields.get("data_offsets")
        dtype = DTYPES.get(code) if isinstance(code, str) else None
        if dtype is None:
            raise ModelFileError(f"{where}: tensor {name!r} has the unknown type {code!r}; upgrade pinakes")
        if not _counts(shape) or len(shape) > MAX_DIMENSIONS or not _counts(offsets) or len(offsets) != 2:
            raise ModelFileError(f"{where}: tensor {name!r} has a bad shape or place: {shape!r} at {offsets!r}")
        begin, end = offsets
        if math.prod(shape) * dtype.itemsize != end - begin:
            raise ModelFileError(
                f"{where}: tensor {name!r} of shape {shape} needs {math.prod(shape) * dtype.itemsize} bytes, "
                f"its place has {end - begin}; the file is damaged, copy or train it again"
            )
        places[name] = (dtype, tuple(shape), begin, end)
    expected = 0
    for name, (_, _, begin, end) in sorted(places.items(), key=lambda item: item[1][2:]):
        if begin != expected:
            raise ModelFileError(
                f"{where}: tensor {name!r} begins at byte {begin}, expected {expected}; the file is damaged, "
                "copy or train it again"
            )
        expected = end
    if expected > n_bytes:
        raise ModelFileError(_cut_short(where, size - n_bytes + expected, size))
    if expected < n_bytes:
        raise ModelFileError(
            f"{where}: the file has {n_bytes - expected} bytes too many at its end; copy or train it again"
        )
    return places


def _counts(values: object) -> TypeGuard[list[int]]:
    """Say whether this is a list of whole numbers from 0 to what an array can index."""
    return isinstance(values, list) and all(
        isinstance(k, int) and not isinstance(k, bool) and 0 <= k < 2**48 for k in values
    )


def _view(
    buffer: Array, dtype: np.dtype[Any], shape: tuple[int, ...], begin: int, end: int, name: str, where: str
) -> Array:
    raw = buffer[begin:end]
    if dtype.kind == "b" and raw.size and raw.max() > 1:
        raise ModelFileError(f"{where}: tensor {name!r} must hold true or false; the file is damaged")
    if begin % dtype.itemsize:
        raw = raw.copy()  # files of other writers need not be aligned
    try:
        values = raw.view(dtype).reshape(shape)
    except ValueError:  # no elements, but a size along one axis that NumPy refuses
        raise ModelFileError(f"{where}: tensor {name!r} has a bad shape: {list(shape)}") from None
    return values if sys.byteorder == "little" else values.astype(dtype.newbyteorder("="))
