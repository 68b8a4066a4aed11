"""as_csr: any matrix in, one form out, the same numbers."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse

from pinakes.documents import as_csr
from pinakes.errors import DocumentError

LAYOUTS = [
    "csr_array",
    "csr_matrix",
    "csc_array",
    "coo_matrix",
    "lil_array",
    "dok_array",
    "bsr_array",
    "dia_array",
]


def check_form(X) -> None:
    assert isinstance(X, sparse.csr_array)
    assert X.indices.dtype == X.indptr.dtype == np.int32
    assert X.dtype in (np.float32, np.float64)
    for start, end in zip(X.indptr[:-1], X.indptr[1:], strict=True):
        assert (np.diff(X.indices[start:end]) > 0).all()


@given(
    seed=st.integers(0, 2**32 - 1),
    shape=st.tuples(st.integers(0, 6), st.integers(0, 6)),
    layout=st.sampled_from([*LAYOUTS, "dense", "list"]),
    dtype=st.sampled_from(["f4", "f8", "i8", "i2", "u1", "?", "f2"]),
)
def test_any_matrix_keeps_its_numbers(seed: int, shape: tuple[int, int], layout: str, dtype: str) -> None:
    rng = np.random.default_rng(seed)
    dense = (rng.integers(0, 9, size=shape) * (rng.random(shape) < 0.5)).astype(dtype)
    if dtype == "f2" and layout not in ("dense", "list"):
        dense = dense.astype("f4")  # SciPy has no sparse float16
    if layout == "list" and 0 in shape:
        layout = "dense"
    given_ = dense if layout == "dense" else dense.tolist() if layout == "list" else getattr(sparse, layout)(dense)
    X = as_csr(given_)
    check_form(X)
    np.testing.assert_array_equal(X.toarray(), dense)
    if layout != "list":
        assert X.dtype == (np.float64 if dtype in ("f8", "i8") else np.float32)


def test_duplicates_are_added_up_and_order_restored_without_touching_the_input() -> None:
    data, indices = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2, 0, 2, 1], dtype=np.int64)
    given_ = sparse.csr_matrix((data, indices, np.array([0, 3, 4], dtype=np.int64)), shape=(2, 3))
    given_.indices = given_.indices.astype(np.int64)
    given_.indptr = given_.indptr.astype(np.int64)
    X = as_csr(given_)
    check_form(X)
    np.testing.assert_array_equal(X.toarray(), [[2, 0, 4], [0, 4, 0]])
    np.testing.assert_array_equal(given_.indices, [2, 0, 2, 1])
    np.testing.assert_array_equal(given_.data, [1, 2, 3, 4])
    assert given_.indices.dtype == np.int64


def test_a_matrix_in_form_is_not_copied() -> None:
    X = as_csr(np.eye(3, dtype=np.float32))
    assert np.shares_memory(as_csr(X).data, X.data)
    assert np.shares_memory(as_csr(sparse.csr_matrix(X)).indices, X.indices)
    X.data.setflags(write=False)
    assert as_csr(X).nnz == 3


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("kind", [np.asarray, sparse.csr_array, sparse.csc_matrix])
def test_what_is_not_finite_is_refused(bad: float, kind) -> None:
    dense = np.array([[1.0, 0.0], [0.0, bad], [bad, 1.0]])
    with pytest.raises(
        DocumentError,
        match=rf"^X must hold finite numbers, got {bad} in row 1, column 1 \(counted from 0\) \(and 1 more",
    ):
        as_csr(kind(dense))


def test_large_numbers_are_finite() -> None:
    assert as_csr(np.full((1, 2), 1e308)).nnz == 2


@pytest.mark.parametrize(
    ("X", "message"),
    [
        ([1.0, 2.0], r"^X must have two dimensions \(documents, features\), got shape \(2,\); a single"),
        (np.zeros((1, 1, 1)), r"got shape \(1, 1, 1\)"),
        (sparse.coo_array(np.ones(3)), r"got shape \(3,\)"),
        (["a text"], "^X must hold real numbers, got <U6; turn texts into numbers with TextFeatures"),
        ([[1], [1, 2]], "^X must hold numbers, one row a document, all rows equally long, got list"),
        ([[object()]], "^X must hold numbers"),
        (np.ones((2, 2), dtype=complex), "^X must hold real numbers, got complex128"),
        (sparse.coo_array((1, 2**31)), "^X must have at most 2,147,483,647 features, got 2,147,483,648"),
    ],
)
def test_what_is_no_matrix(X, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        as_csr(X)


def test_too_many_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pinakes.documents.matrix.MAX_NONZEROS", 3)
    for X in (np.ones((2, 2)), sparse.csr_array(np.ones((2, 2)))):
        with pytest.raises(DocumentError, match=r"^docs must have at most 3 nonzero values, got 4; use fewer"):
            as_csr(X, name="docs")
