"""Sparse times dense against SciPy."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from pinakes.solvers.products import operator

pytestmark = pytest.mark.kernel


@pytest.mark.parametrize("n_threads", [1, 3])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_products_are_scipy_s(dtype, n_threads):
    rng = np.random.default_rng(0)
    X = sparse.random_array((23, 9), density=0.3, rng=rng, format="csr", dtype=dtype)
    X = sparse.csr_array(sparse.vstack([X, sparse.csr_array((4, 9), dtype=dtype)]))  # empty rows at the end
    B, C = rng.normal(size=(9, 4)).astype(dtype), rng.normal(size=(27, 2)).astype(dtype)
    with operator(X, n_threads) as op:
        np.testing.assert_allclose(op.times(B), X @ B, rtol=1e-5)
        np.testing.assert_allclose(op.t_times(C), X.T @ C, rtol=1e-4, atol=1e-6)
        assert op.times(np.asfortranarray(B)).dtype == dtype
