"""Checks of what a bundle holds: a header by types, tensors by shape, sparse matrices, packed texts."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from pinakes.errors import ModelFileError
from pinakes.storage.bundle import Array, PathLike


class Fields:
    """A header whose values are asked for by type; what is missing or of another type is a ModelFileError.

    >>> fields = Fields({"solver": "ascent", "C": 1}, "model.pinakes")
    >>> fields.text("solver"), fields.number("C", minimum=0)
    ('ascent', 1.0)
    >>> fields.integer("solver")
    Traceback (most recent call last):
    pinakes.errors.ModelFileError: model.pinakes: field 'solver' must be a whole number, got 'ascent'
    """

    def __init__(self, values: Mapping[str, Any], path: PathLike, prefix: str = "") -> None:
        self.values, self.path, self.prefix = values, os.fspath(path), prefix

    def __contains__(self, name: str) -> bool:
        return name in self.values

    def text(self, name: str, choices: Sequence[str] | None = None) -> str:
        """Give a text, one of `choices` if there are any."""
        value = self._get(name)
        if not isinstance(value, str):
            self._refuse(name, "a text")
        if choices is not None and value not in choices:
            self._refuse(name, f"one of {', '.join(map(repr, choices))}")
        return str(value)

    def number(
        self,
        name: str,
        minimum: float | None = None,
        maximum: float | None = None,
        *,
        above: float | None = None,
        finite: bool = True,
    ) -> float:
        """Give a number; NaN is never one, and infinity only if `finite` is False."""
        value = self._get(name)
        try:
            number = math.nan if isinstance(value, bool | str) or value is None else float(value)
        except (TypeError, OverflowError):
            number = math.nan
        if math.isnan(number) or (finite and math.isinf(number)):
            self._refuse(name, "a finite number" if finite else "a number")
        self._check_range(name, number, minimum, maximum)
        if above is not None and number <= above:
            self._refuse(name, f"above {above:g}")
        return number

    def integer(self, name: str, minimum: int | None = None, maximum: int | None = None) -> int:
        """Give a whole number."""
        value = self._get(name)
        if not isinstance(value, int) or isinstance(value, bool):
            self._refuse(name, "a whole number")
        self._check_range(name, value, minimum, maximum)
        return int(value)

    def boolean(self, name: str) -> bool:
        """Give true or false."""
        value = self._get(name)
        if not isinstance(value, bool):
            self._refuse(name, "true or false")
        return bool(value)

    def mapping(self, name: str) -> dict[str, Any]:
        """Give a JSON object."""
        value = self._get(name)
        if not isinstance(value, dict):
            self._refuse(name, "an object")
        return dict(value)

    def fields(self, name: str) -> Fields:
        """Give a JSON object, ready to be asked in the same way."""
        return Fields(self.mapping(name), self.path, f"{self.prefix}{name}.")

    def numbers(self, name: str, width: int) -> list[list[float]]:
        """Give a list, not empty, of rows of so many finite numbers each."""
        value = self._get(name)
        good = isinstance(value, list) and value and all(isinstance(row, list) and len(row) == width for row in value)
        if not good or not all(_is_finite(item) for row in value for item in row):
            self._refuse(name, f"rows of {width} finite numbers")
        return [list(map(float, row)) for row in value]

    def texts(self, name: str) -> list[str]:
        """Give a list of texts."""
        value = self._get(name)
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            self._refuse(name, "a list of texts")
        return list(value)

    def _get(self, name: str) -> Any:
        if name not in self.values:
            raise ModelFileError(f"{self.path}: field '{self.prefix}{name}' is missing; train the model again")
        return self.values[name]

    def _refuse(self, name: str, expected: str) -> NoReturn:
        shown = repr(self.values[name])
        shown = shown if len(shown) <= 60 else shown[:57] + "..."
        raise ModelFileError(f"{self.path}: field '{self.prefix}{name}' must be {expected}, got {shown}")

    def _check_range(self, name: str, value: float, minimum: float | None, maximum: float | None) -> None:
        if minimum is not None and value < minimum:
            self._refuse(name, f"at least {minimum}")
        if maximum is not None and value > maximum:
            self._refuse(name, f"at most {maximum}")


def _is_finite(value: object) -> bool:
    try:
        return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    except OverflowError:  # a whole number that is no float
        return False


def take(
    tensors: Mapping[str, Array],
    name: str,
    dtype: npt.DTypeLike,
    shape: Sequence[int | None],
    path: PathLike = "model file",
) -> Array:
    """Give a tensor after checking its type and its shape, in which None stands for any size."""
    where = os.fspath(path)
    if name not in tensors:
        raise ModelFileError(f"{where}: tensor {name!r} is missing; train the model again")
    values = tensors[name]
    wanted = "x".join("any" if k is None else str(k) for k in shape) or "a single value"
    if values.dtype != np.dtype(dtype):
        raise ModelFileError(f"{where}: tensor {name!r} must be of type {np.dtype(dtype)}, got {values.dtype}")
    if len(shape) != values.ndim or any(k not in (None, n) for k, n in zip(shape, values.shape, strict=True)):
        came = "x".join(map(str, values.shape)) or "a single value"
        raise ModelFileError(f"{where}: tensor {name!r} must be of shape {wanted}, got {came}")
    return values


def check_csr(
    indptr: Array,
    indices: Array,
    data: Array | None,
    n_rows: int,
    n_columns: int,
    name: str,
    path: PathLike = "model file",
) -> None:
    """Check that three arrays are a sparse matrix in CSR form; `data` is None for one without values."""
    if len(indptr) != n_rows + 1:
        wrong = f"has {len(indptr)} row bounds for {n_rows} rows"
    elif indptr[0] != 0 or (np.diff(indptr) < 0).any():
        wrong = "has row bounds that do not rise from 0"
    elif indptr[-1] != len(indices) or (data is not None and len(data) != len(indices)):
        n_values = "no" if data is None else len(data)
        wrong = f"promises {indptr[-1]} entries and has {len(indices)} columns and {n_values} values"
    elif len(indices) and (indices.min() < 0 or indices.max() >= n_columns):
        wrong = f"has columns from {indices.min()} to {indices.max()}, expected 0 to {n_columns - 1}"
    elif data is not None and len(data) and not (np.isfinite(data.min()) and np.isfinite(data.max())):
        wrong = "has values that are not finite"
    else:
        return
    raise ModelFileError(f"{os.fspath(path)}: matrix {name!r} {wrong}; copy or train the model again")


def pack_texts(texts: Sequence[str]) -> tuple[npt.NDArray[np.uint8], npt.NDArray[np.int64]]:
    """Put texts into one buffer of UTF-8 bytes; text k lies between ``offsets[k]`` and ``offsets[k + 1]``.

    >>> pack_texts(["ab", "c"])
    (array([97, 98, 99], dtype=uint8), array([0, 2, 3]))
    """
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
    np.cumsum([len(item) for item in encoded], out=offsets[1:])
    return np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets


def unpack_texts(buffer: Array, offsets: Array, name: str = "texts", path: PathLike = "model file") -> list[str]:
    """Give back the texts of `pack_texts`, after checking that the offsets cut the buffer into UTF-8."""
    where = os.fspath(path)
    if buffer.dtype != np.uint8 or offsets.dtype != np.int64 or buffer.ndim != 1 or offsets.ndim != 1:
        raise ModelFileError(f"{where}: {name!r} must be bytes with int64 offsets; train the model again")
    if not len(offsets) or offsets[0] != 0 or offsets[-1] != len(buffer) or (np.diff(offsets) < 0).any():
        raise ModelFileError(f"{where}: {name!r} has offsets that do not fit its {len(buffer)} bytes")
    data, bounds = buffer.tobytes(), offsets.tolist()
    try:
        return [data[begin:end].decode("utf-8", "surrogatepass") for begin, end in pairwise(bounds)]
    except UnicodeDecodeError as error:
        raise ModelFileError(f"{where}: {name!r} is not UTF-8 ({error.reason}); copy it again") from None
