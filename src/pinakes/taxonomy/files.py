"""Taxonomy files: read any known format, write some, packed or not.

Reading goes file -> text (unpacked by what the bytes say, UTF-8) -> `Source` (what the file says) ->
`Taxonomy`. Writing goes to a new file beside the wanted one, which takes its place only when it is
complete.
"""

from __future__ import annotations

import gzip
import lzma
import os
import secrets
import sys
import zlib
from collections.abc import Iterator
from contextlib import suppress
from os import PathLike
from pathlib import Path
from typing import IO, Any

from pinakes.errors import MissingExtraError, ParameterError, TaxonomyError
from pinakes.taxonomy.formats import FORMATS, Format, Source, find_format, tell_format, tell_from_name
from pinakes.taxonomy.taxonomy import Taxonomy

StrPath = str | PathLike[str]


def read_taxonomy(
    path: StrPath,
    *,
    format: str | None = None,
    language: str | None = None,
    ids: str | None = None,
    namespace: str | None = None,
    separator: str | None = None,
) -> Taxonomy:
    """Read a taxonomy from a file.

    Parameters
    ----------
    path : path
        The file, plain or packed (gzip, xz, Zstandard); ``-`` is standard input.
    format : {"tsv", "csv", "json", "paths", "taxonomy", "skos", "obo"}, default=None
        How to read it; told from the ending or the content if None.
    language : str, default=None
        For skos: the language of the names, with others as a fallback.
    ids : {"uri", "notation"}, default=None
        For skos: what identifies a concept; its URI if None.
    namespace : str, default=None
        For obo: read the terms of this namespace only.
    separator : str, default=None
        For tsv and csv: what divides columns; for paths: what divides steps.

    Returns
    -------
    Taxonomy
        A file that is no taxonomy is refused with a TaxonomyError that names the line; what was left out or
        is doubtful is told by a DataWarning. `pinakes.taxonomy.check.check_taxonomy` lists every mistake at
        once.
    """
    source = read_source(path, format=format, language=language, ids=ids, namespace=namespace, separator=separator)
    return source.taxonomy()


def read_source(path: StrPath, *, format: str | None = None, **options: str | None) -> Source:
    """Read what a taxonomy file says, right or wrong; the parameters are those of `read_taxonomy`."""
    name = os.fspath(path)
    chosen = find_format(format) if format is not None else None
    text = read_text(name)
    shown = "<stdin>" if name == "-" else name
    chosen = chosen or tell_format(shown, text)
    return chosen.read(text, shown, **_given(options, chosen, chosen.read_options, "reading"))


def write_taxonomy(
    taxonomy: Taxonomy, path: StrPath, *, format: str | None = None, language: str | None = None
) -> None:
    """Write a taxonomy to a file, all of it or nothing.

    Parameters
    ----------
    taxonomy : Taxonomy
        What to write.
    path : path
        The file; packed if it ends in .gz, .xz or .zst; ``-`` is standard output.
    format : {"tsv", "csv", "json", "skos"}, default=None
        How to write it; told from the ending if None.
    language : str, default=None
        For skos: the language of the names.
    """
    name = os.fspath(path)
    chosen = find_format(format) if format is not None else tell_from_name(name)
    writable = ", ".join(f.name for f in FORMATS.values() if f.writer)
    if chosen is None:
        raise ParameterError(f"cannot tell a format from the ending of {name!r}; name it: {writable}")
    if chosen.name == "skos" and name.lower().endswith((".rdf", ".nt", ".jsonld", ".owl", ".xml")):
        raise ParameterError(f"SKOS is written as Turtle, got the ending of {name!r}; let it end in .ttl")
    if chosen.writer is None:
        raise ParameterError(f"{chosen.name!r} can be read, not written; choose from {writable}")
    options = _given({"language": language}, chosen, chosen.write_options, "writing")
    pieces = (piece.encode() for piece in chosen.write(taxonomy, **options))
    if name == "-":
        sys.stdout.buffer.writelines(pieces)
        sys.stdout.buffer.flush()
    else:
        _write_whole(Path(os.path.realpath(name)), pieces)


def read_text(path: str) -> str:
    """Give the text of a file, unpacked, without a byte-order mark."""
    try:
        data = sys.stdin.buffer.read() if path == "-" else Path(path).read_bytes()
    except FileNotFoundError:
        raise TaxonomyError("there is no such taxonomy file; check the name", source=path) from None
    try:
        data = _unpack(data)
    except (EOFError, OSError, lzma.LZMAError, zlib.error) as error:
        raise TaxonomyError(f"the packed file is damaged: {error}", source=path) from None
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        what = f"expected text in UTF-8, got the byte 0x{data[error.start]:02x}; save the file as UTF-8"
        raise TaxonomyError(what, source=path, line=line) from None


def _unpack(data: bytes) -> bytes:
    if data.startswith(b"\x1f\x8b"):
        return gzip.decompress(data)
    if data.startswith(b"\xfd7zXZ\x00"):
        return lzma.decompress(data)
    if data.startswith(b"\x28\xb5\x2f\xfd"):
        return b"".join(_zstandard_frames(data))
    return data


def _zstandard_frames(data: bytes) -> Iterator[bytes]:
    zstandard = _zstandard()
    while data:
        frame = zstandard.ZstdDecompressor().decompressobj()
        try:
            yield frame.decompress(data)
        except zstandard.ZstdError as error:
            raise EOFError(error) from None
        if not frame.eof:
            raise EOFError("it ends too early")
        data = frame.unused_data


def _zstandard() -> Any:
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("Zstandard compression (.zst)", "formats") from None
    return zstandard


def _packer(stream: IO[bytes], name: str) -> Any:
    """Wrap a stream so that it packs as the name's ending says."""
    if name.endswith(".gz"):
        return gzip.GzipFile(fileobj=stream, mode="wb", filename="", mtime=0)  # the same bytes every time
    if name.endswith(".xz"):
        return lzma.LZMAFile(stream, "wb")
    if name.endswith(".zst"):
        return _zstandard().ZstdCompressor().stream_writer(stream, closefd=False)
    return stream


def _write_whole(target: Path, pieces: Iterator[bytes]) -> None:
    """Write to a new file in the same folder and put it in place when complete."""
    if not target.parent.is_dir():
        raise TaxonomyError(f"the folder {target.parent} does not exist; make it first", source=str(target))
    draft = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with draft.open("xb") as stream:
            packed = _packer(stream, target.name.lower())
            for piece in pieces:
                packed.write(piece)
            if packed is not stream:
                packed.close()
        os.replace(draft, target)
    except BaseException:
        with suppress(OSError):
            draft.unlink()
        raise


def _given(options: dict[str, str | None], chosen: Format, known: tuple[str, ...], doing: str) -> dict[str, str]:
    """Keep the options that were given; one that the format does not know is a mistake."""
    given = {key: value for key, value in options.items() if value is not None}
    for key in given:
        if key not in known:
            has = ", ".join(known) or "none"
            raise ParameterError(f"{key!r} is no option for {doing} {chosen.name}; its options: {has}")
    return given
