"""Codes before the checker: the largest lift to the last digit, a value that is never too large, forgeries refused."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import leakwise as lw
from leakwise.errors import CertificateRejected
from leakwise.mechanism import CodeKernel
from leakwise.proof.codes import code_column, code_columns, code_value
from leakwise.proof.ratio import worst_outcome
from small_codes import KINDS, dense, small


def prior_of(size, seed=0):
    return lw.Prior(np.random.default_rng(seed).dirichlet(np.ones(size)))


@pytest.mark.parametrize("kind", KINDS)
def test_columns_and_the_largest_lift_are_those_of_the_matrix(kind):
    kernel, prior = small(*kind), prior_of(kind[2])
    other = dense(kernel)
    assert [code_column(kernel, place) for place in range(kernel.shape[1])] == other.weights.T.tolist()
    assert worst_outcome(kernel, prior).ratio == worst_outcome(other, prior).ratio
    law = other.output_law(prior.weights)
    assert [mass for _, _, mass, _ in code_columns(kernel, prior, [True] * kind[2])] == law
    masked = lw.Prior([0, *prior.probabilities[1:] / prior.probabilities[1:].sum()])
    assert worst_outcome(kernel, masked).ratio == worst_outcome(other, masked).ratio


@pytest.mark.parametrize("kind", KINDS)
def test_the_value_is_never_above_that_of_the_matrix(kind):
    kernel, prior = small(*kind), prior_of(kind[2])
    p = prior.probabilities
    matrix = kernel.matrix[:, p @ kernel.matrix > 0]
    best = p @ p - np.trace(np.linalg.inv((matrix / (p @ matrix)) @ matrix.T))
    assert 3 * best < code_value(kernel, prior) <= best + 1e-9


def test_a_uniform_prior_over_all_words_has_the_value_of_the_matrix():
    kernel = lw.design(lw.Prior.uniform(27), lift=3, utility="frequencies").mechanism.kernel
    assert isinstance(kernel, CodeKernel)
    assert code_value(kernel, lw.Prior.uniform(27)) == pytest.approx(-(26**2) / (27 * 2), rel=1e-9)


def test_claims_that_are_not_true_are_refused():
    certificate = lw.design(lw.Prior.uniform(25), lift=5, utility="frequencies").certificate
    claim = certificate.optimality
    assert isinstance(certificate.mechanism.kernel, CodeKernel)
    certificate.verify()
    for change in (
        {"value": claim.value * (1 - 1e-6)},
        {"bound": claim.bound * (1 + 1e-6)},
        {"duals": claim.duals * 1.01, "bound": claim.bound * (1 + 1e-6)},
        {"duals": -claim.duals},
        {"duals": np.full(len(claim.duals), 1e300)},
        {"high": claim.high / 2},
    ):
        with pytest.raises(CertificateRejected):
            replace(certificate, optimality=replace(claim, **change)).verify()
    kernel = certificate.mechanism.kernel
    bolder = CodeKernel(
        kernel.places, kernel.words, np.maximum(kernel.low - 1, 0), kernel.step + 1, 2 * kernel.denominator
    )
    other = lw.Mechanism.from_kernel(bolder, certificate.mechanism.inputs)
    with pytest.raises(CertificateRejected):
        replace(certificate, mechanism=other, outcome=0).verify()
