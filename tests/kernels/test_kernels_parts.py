"""The split of scores against one line of NumPy, for growing rows and for matrices."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from pinakes.kernels.parts import split_scores
from pinakes.kernels.rows import rows_from_csr


@pytest.mark.kernel
@pytest.mark.parametrize("layout", ["rows", "matrix"])
@pytest.mark.parametrize("n_columns", [5, 200])
def test_parts_are_products(layout, n_columns):
    draw = np.random.default_rng(n_columns)
    W = draw.normal(size=(6, n_columns)) * (draw.random((6, n_columns)) < 0.3)
    X = sparse.csr_array(draw.normal(size=(4, 6)) * (draw.random((4, 6)) < 0.5))
    sizes = [2, 0, 3, 4]
    indptr = np.cumsum([0, *sizes])
    columns = draw.integers(n_columns, size=indptr[-1])
    factors = draw.normal(size=indptr[-1])
    weights = rows_from_csr(sparse.csr_array(W), n_columns) if layout == "rows" else W
    parts = np.full(int((np.diff(X.indptr) * sizes).sum()), np.nan)
    split_scores(X.indptr.astype(np.int64), X.indices, X.data, weights, indptr, columns, factors, parts)
    expected = []
    for i in range(4):
        at = slice(indptr[i], indptr[i + 1])
        row = X[[i]]
        expected.append((row.data[:, None] * W[np.ix_(row.indices, columns[at])] * factors[at]).ravel())
    np.testing.assert_allclose(parts, np.concatenate(expected), rtol=1e-12)
