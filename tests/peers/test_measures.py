"""Measures beside qif and dit on thousands of random channels. The two work in bits, we in nats."""

from __future__ import annotations

import math

import numpy as np
import pytest

import leakwise as lw

qif = pytest.importorskip("qif", reason="qif is not installed (pip install leakwise[peers])")
dit = pytest.importorskip("dit", reason="dit is not installed (pip install leakwise[peers])")

BITS = math.log(2)


def channels(count: int, seed: int):
    """Random channels of up to 6 × 6: dense, sparse, with equal rows and with rare outcomes; and priors."""
    generator = np.random.default_rng(seed)
    for _ in range(count):
        rows, columns = generator.integers(2, 7, 2)
        matrix = generator.dirichlet(np.full(columns, generator.choice([0.2, 1.0, 5.0])), rows)
        if generator.random() < 0.2:
            matrix[0] = matrix[-1]
        matrix = np.maximum(matrix, 1e-12)
        matrix /= matrix.sum(axis=1, keepdims=True)
        yield matrix, np.maximum(generator.dirichlet(np.ones(rows)), 1e-9)


def test_qif_agrees_on_thousands_of_channels() -> None:
    discrete = qif.metric.discrete(qif.uint)
    for matrix, weights in channels(2_000, 1):
        pi = weights / weights.sum()
        m, prior = lw.Mechanism(matrix), lw.Prior(pi)
        matrix = m.matrix  # rounded to 2^-60: what the measures are of
        assert lw.maximal_leakage(m) == pytest.approx(math.log(qif.measure.bayes_vuln.mult_capacity(matrix)), abs=1e-9)
        theirs = BITS * qif.measure.bayes_vuln.min_entropy_leakage(pi, matrix)
        assert lw.measures.min_entropy_leakage(m, prior) == pytest.approx(theirs, abs=1e-9)
        theirs = BITS * qif.measure.shannon.add_leakage(pi, matrix)
        assert lw.mutual_information(m, prior) == pytest.approx(theirs, abs=1e-9)
        assert lw.ldp(m) == pytest.approx(qif.measure.d_privacy.smallest_epsilon(matrix, discrete), rel=1e-9)


def test_qif_agrees_on_gains() -> None:
    for matrix, weights in channels(500, 2):
        pi = weights / weights.sum()
        gain = np.random.default_rng(len(matrix)).random((3, len(pi)))  # guesses × letters
        m, prior = lw.Mechanism(matrix), lw.Prior(pi)
        theirs = math.log(qif.measure.g_vuln.mult_leakage(gain, pi, matrix))
        assert lw.measures.g_leakage(m, prior, gain.T) == pytest.approx(theirs, abs=1e-9)


def test_dit_agrees_on_mutual_information_and_pointwise_leakage() -> None:
    for matrix, weights in channels(300, 3):
        pi = weights / weights.sum()
        m, prior = lw.Mechanism(matrix), lw.Prior(pi)
        joint = pi[:, None] * matrix
        names = [(str(x), str(y)) for x in range(len(matrix)) for y in range(matrix.shape[1])]
        law = dit.Distribution(names, joint.ravel() / joint.sum())
        theirs = BITS * dit.shannon.mutual_information(law, [0], [1])
        assert lw.mutual_information(m, prior) == pytest.approx(theirs, abs=1e-8)
        if pi.min() < 1e-3:
            continue  # their powers of tiny masses overflow
        # PML at y is the Rényi divergence of infinite order of the posterior from the prior.
        letters = [str(x) for x in range(len(pi))]
        after = dit.Distribution(letters, joint[:, 0] / joint[:, 0].sum())
        order = 60.0
        renyi = BITS * dit.divergences.renyi_divergence(after, dit.Distribution(letters, pi), order)
        ours = float(lw.pml(m, prior)[0])
        # Of a finite order it is smaller: at least the term of the largest lift alone, α/(α-1) log λ + log π/(α-1).
        assert renyi <= ours + 1e-9
        assert (order * ours + math.log(pi.min())) / (order - 1) <= renyi + 1e-9
