"""Opens a file or standard input, undoes its compression, and gives its lines, decoded, in blocks.

Compression is told from the first bytes, so that a wrong ending does no harm. Blocks keep the work per line
small: many lines are decoded and cut at once, and only a block with a bad byte is looked at line by line.
"""

from __future__ import annotations

import codecs
import gzip
import io
import lzma
import os
import sys
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from typing import Any, BinaryIO

from pinakes.documents.document import Report
from pinakes.errors import DocumentError, MissingExtraError

CHUNK = 1 << 18
STDIN = "-"

GZIP, XZ, ZSTD = b"\x1f\x8b", b"\xfd7zXZ\x00", b"\x28\xb5\x2f\xfd"
Block = tuple[int, list[str]]


class Source:
    """One file (or ``-``, standard input), read once from beginning to end.

    `name` stands in messages. Lines end at a line feed; a carriage return before it is left to the format.
    """

    def __init__(self, path: str, encoding: str, report: Report) -> None:
        self.path, self.encoding, self.report = path, encoding, report
        self.name = "<stdin>" if path == STDIN else path
        self._held: list[Block] = []
        self._rest = self._blocks()

    def blocks(self) -> Iterator[Block]:
        """Give (number of the first line, lines), block by block."""
        while self._held:
            yield self._held.pop(0)
        yield from self._rest

    def lines(self) -> Iterator[tuple[int, str]]:
        """Give (number, line) for every line."""
        for number, block in self.blocks():
            yield from enumerate(block, start=number)

    def head(self) -> str:
        """Give the first line that is not blank without using it up; "" if there is none."""
        for _, block in self._held:
            for line in block:
                if line.strip():
                    return line
        for held in self._rest:
            self._held.append(held)
            for line in held[1]:
                if line.strip():
                    return line
        return ""

    def close(self) -> None:
        """Close the file."""
        self._rest.close()

    # -- bytes ---------------------------------------------------------------------------------------------

    def _chunks(self) -> Iterator[bytes]:
        with open_binary(self.path) as raw:
            start = raw.peek(6)[:6]  # type: ignore[attr-defined]
            if start.startswith(ZSTD):
                yield from _zstd_chunks(raw)
                return
            stream: Any = raw
            if start.startswith(GZIP):
                stream = gzip.GzipFile(fileobj=raw)
            elif start.startswith(XZ):
                stream = lzma.LZMAFile(raw)  # noqa: SIM115 (closes with raw)
            read = raw.read1 if stream is raw else stream.read  # type: ignore[attr-defined]
            while chunk := read(CHUNK):
                yield chunk

    # -- lines ---------------------------------------------------------------------------------------------

    def _blocks(self) -> Generator[Block, None, None]:
        number = 1
        try:
            for number, block in self._byte_blocks() if self._plain_newlines() else self._wide_blocks():
                lines = self._decode(block, number) if isinstance(block, bytes) else block.split("\n")
                if number == 1 and lines[0].startswith("\ufeff"):
                    lines[0] = lines[0][1:]
                yield number, lines
                number += len(lines)
        except (EOFError, gzip.BadGzipFile, zlib.error, lzma.LZMAError) as error:
            raise DocumentError(
                f"the compressed file is damaged or cut off ({error}); fetch or compress it again",
                source=self.name,
                line=number,
            ) from None

    def _plain_newlines(self) -> bool:
        """Whether a line feed is one byte that means nothing else, as in UTF-8 and everything near ASCII."""
        return "\n".encode(self.encoding) == b"\n"

    def _byte_blocks(self) -> Iterator[tuple[int, bytes]]:
        number, pieces = 1, []
        for chunk in self._chunks():
            cut = chunk.rfind(b"\n")
            if cut < 0:
                pieces.append(chunk)
                continue
            pieces.append(chunk[:cut])
            block = b"".join(pieces)
            yield number, block
            number += block.count(b"\n") + 1
            pieces = [chunk[cut + 1 :]]
        if block := b"".join(pieces):
            yield number, block

    def _wide_blocks(self) -> Iterator[tuple[int, str]]:
        decoder = codecs.getincrementaldecoder(self.encoding)()
        number, rest = 1, ""
        try:
            for chunk in self._chunks():
                block, found, rest = (rest + decoder.decode(chunk)).rpartition("\n")
                if found:
                    yield number, block
                    number += block.count("\n") + 1
            rest += decoder.decode(b"", final=True)
        except UnicodeDecodeError as error:
            raise DocumentError(
                f"expected {self.encoding} text, got bytes that are none ({error.reason}); give the file's "
                "encoding: encoding= in Python, --encoding on the command line",
                source=self.name,
                line=number,
            ) from None
        if rest:
            yield number, rest

    def _decode(self, block: bytes, number: int) -> list[str]:
        try:
            return block.decode(self.encoding).split("\n")
        except UnicodeDecodeError:
            return [self._decode_line(line, k) for k, line in enumerate(block.split(b"\n"), start=number)]

    def _decode_line(self, line: bytes, number: int) -> str:
        try:
            return line.decode(self.encoding)
        except UnicodeDecodeError as error:
            wide = number == 1 and line[:2] in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
            likely = "utf-16" if wide else "latin-1" if self.encoding != "latin-1" else "utf-8"
            self.report.bad(
                f"expected {self.encoding} text, got the byte 0x{line[error.start]:02x} as byte "
                f"{error.start + 1} of the line; give the file's encoding, perhaps {likely}: encoding= in "
                "Python, --encoding on the command line",
                self.name,
                number,
            )
            return ""  # keeps the numbers of the lines below; blank lines are no documents


@contextmanager
def open_binary(path: str) -> Iterator[BinaryIO]:
    """Open a file, or standard input for ``-``, as a buffered stream of bytes; standard input stays open."""
    if path != STDIN:
        with open(path, "rb") as file:
            yield file
        return
    buffer = getattr(sys.stdin, "buffer", None)
    if buffer is None:  # replaced by a stream of text
        yield io.BufferedReader(io.BytesIO(sys.stdin.read().encode()))  # type: ignore[arg-type]
    elif hasattr(buffer, "peek"):
        yield buffer
    else:
        wrapped = io.BufferedReader(buffer)
        try:
            yield wrapped  # type: ignore[misc]
        finally:
            wrapped.detach()


def _zstd_chunks(raw: BinaryIO) -> Iterator[bytes]:
    try:
        import zstandard
    except ImportError:
        raise MissingExtraError("reading .zst files", "formats") from None
    decompressor = None
    try:
        while chunk := raw.read(CHUNK):
            while chunk:
                decompressor = decompressor or zstandard.ZstdDecompressor().decompressobj()
                if out := decompressor.decompress(chunk):
                    yield out
                chunk = decompressor.unused_data if decompressor.eof else b""
                decompressor = None if decompressor.eof else decompressor
    except zstandard.ZstdError as error:
        raise EOFError(str(error)) from None
    if decompressor is not None:
        raise EOFError("it ends inside a frame")


def check_path(path: str) -> None:
    """Refuse a path that is not there before anything is read."""
    if path != STDIN and not os.path.exists(path):
        folder = os.path.dirname(path) or "."
        why = "" if os.path.isdir(folder) else f"; there is no folder {folder!r} either"
        raise DocumentError(f"there is no such file or folder{why}", source=path)
