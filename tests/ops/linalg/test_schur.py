"""Functions of matrices, above all of those that have no basis of eigenvectors."""

import numpy as np
import pytest

from headrace.ops.linalg import schur as linalg_schur


def jordan(value, size, rng):
    """A matrix that is similar to one Jordan block."""
    block = np.diag([value] * size) + np.diag([1.0] * (size - 1), 1)
    basis = rng.normal(size=(size, size))
    return basis @ block @ np.linalg.inv(basis)


def exponential(x):
    small, out, term = x / 2**12, np.eye(len(x)), np.eye(len(x))
    for n in range(1, 16):
        term = term @ small / n
        out = out + term
    return np.linalg.matrix_power(out, 2**12)


@pytest.mark.parametrize("size", [1, 2, 3, 7, 20])
def test_schur_form(size):
    rng = np.random.default_rng(size)
    a = rng.normal(size=(size, size, 2)) @ [1, 1j]
    q, t = linalg_schur.schur(a)
    np.testing.assert_allclose(q @ t @ q.conj().T, a, atol=1e-12)
    np.testing.assert_allclose(q.conj().T @ q, np.eye(size), atol=1e-12)
    np.testing.assert_array_equal(np.tril(t, -1), 0)


def test_schur_form_of_a_permutation():
    a = np.roll(np.eye(6), 1, axis=0).astype(complex)
    q, t = linalg_schur.schur(a)
    np.testing.assert_allclose(q @ t @ q.conj().T, a, atol=1e-12)


@pytest.mark.parametrize("value", [2.0, 0.5 + 1j, -1 + 0.1j])
def test_square_root_of_a_jordan_block(value):
    a = jordan(value, 5, np.random.default_rng(0))
    root = linalg_schur.apply(a[None], np.sqrt, linalg_schur.triangular_square_root)[0]
    np.testing.assert_allclose(root @ root, a, atol=1e-9)


@pytest.mark.parametrize("value", [2.0, 0.5 + 1j])
def test_logarithm_of_a_jordan_block(value):
    a = jordan(value, 4, np.random.default_rng(0))
    log = linalg_schur.apply(a[None], np.log, linalg_schur.triangular_logarithm)[0]
    np.testing.assert_allclose(exponential(log), a, atol=1e-8)


def test_a_batch_mixes_both_ways():
    rng = np.random.default_rng(0)
    batch = np.stack([np.diag([1.0, 4.0, 9.0]), jordan(3.0, 3, rng), np.full((3, 3), np.nan)])
    root = linalg_schur.apply(batch, np.sqrt, linalg_schur.triangular_square_root)
    np.testing.assert_allclose((root @ root)[:2], batch[:2], atol=1e-10)
    assert np.isnan(root[2]).all()
