"""Codes before the checker: the largest lift to the last digit, a value that is never too large, forgeries refused."""

from __future__ import annotations

import hashlib
import json
import warnings
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


def signed(document):
    """The document with the digest of its body, as a forger would write it."""
    body = json.dumps(document["body"])
    head = json.dumps({**document, "sha256": hashlib.sha256(body.encode()).hexdigest(), "body": 0})
    return head.replace('"body": 0', f'"body": {body}')


def with_kernel(**changes):
    def change(body):
        body["mechanism"]["kernel"].update(changes)

    return change


def kernel_entry(name, change):
    def changed(body):
        kernel = body["mechanism"]["kernel"]
        kernel[name] = change(kernel[name])

    return changed


FORGERIES = {
    "another prime": with_kernel(symbols=7),
    "not a prime": with_kernel(symbols=4),
    "a prime that is not known": with_kernel(symbols=67),
    "no symbols": with_kernel(symbols=0),
    "symbols below zero": with_kernel(symbols=-5),
    "wider windows": with_kernel(raised=2),
    "windows of everything": with_kernel(raised=5),
    "more digits": with_kernel(digits=3),
    "so many digits that words would fill the memory": with_kernel(digits=60),
    "no digits": with_kernel(digits=0),
    "a word twice": kernel_entry("words", lambda words: [words[1], *words[1:]]),
    "a word that is none": kernel_entry("words", lambda words: [25, *words[1:]]),
    "a word below zero": kernel_entry("words", lambda words: [-1, *words[1:]]),
    "a word beyond all integers": kernel_entry("words", lambda words: [10**30, *words[1:]]),
    "a word that is a text": kernel_entry("words", lambda words: ["0", *words[1:]]),
    "one word less": kernel_entry("words", lambda words: words[:-1]),
    "no words": kernel_entry("words", lambda words: []),
    "a place less": kernel_entry("step", lambda steps: steps[:-1]),
    "a row of weights less": kernel_entry("low", lambda low: low[:-1]),
    "a weight less": kernel_entry("low", lambda low: [low[0][:-1], *low[1:]]),
    "a weight below zero": kernel_entry("low", lambda low: [["-0x1", *low[0][1:]], *low[1:]]),
    "a larger step": kernel_entry("step", lambda steps: [hex(2 * int(steps[0], 16)), *steps[1:]]),
    "a step that is no number": kernel_entry("step", lambda steps: ["0xzz", *steps[1:]]),
    "a smaller denominator": with_kernel(denominator="0x800000000000000"),
    "a denominator of zero": with_kernel(denominator="0x0"),
    "a larger denominator": with_kernel(denominator="0x2000000000000000"),
    "an outcome that is none": lambda body: body.update(outcome=10_000),
    "another outcome": lambda body: body.update(outcome=-1),
    "a letter that is none": lambda body: body.update(letter=25),
}


@pytest.mark.parametrize("name", FORGERIES)
def test_a_forged_code_is_refused_however_well_its_digest_fits(name, tmp_path):
    prior = lw.Prior([3, *[2] * 23, 1])
    uniform = lw.design(lw.Prior.uniform(25), lift=5, utility="frequencies")
    path = tmp_path / "certificate.json"
    lw.certify(uniform.mechanism, prior, lift=6).save(path)
    document = json.loads(path.read_text())
    assert document["body"]["mechanism"]["kernel"]["type"] == "code"
    path.write_text(signed(document))
    assert lw.verify(path).holds  # the digest is made as Leakwise makes it
    FORGERIES[name](document["body"])
    path.write_text(signed(document))
    with pytest.raises(lw.LeakwiseError):
        lw.verify(path)


def test_a_changed_word_makes_another_mechanism_whose_leakage_is_computed_again(tmp_path):
    # Two words change places: still a code, but not the one that the ratio was proven for.
    prior = lw.Prior([9, *[2] * 23, 1])
    mechanism = lw.design(lw.Prior.uniform(25), lift=5, utility="frequencies").mechanism
    path = tmp_path / "certificate.json"
    proven = lw.certify(mechanism, prior)
    proven.save(path)
    document = json.loads(path.read_text())
    words = document["body"]["mechanism"]["kernel"]["words"]
    words[0], words[-1] = words[-1], words[0]
    path.write_text(signed(document))
    try:
        found = lw.verify(path)
    except CertificateRejected:
        return
    assert worst_outcome(dense(found.mechanism.kernel), prior).ratio == found.ratio


def test_an_outcome_that_cannot_occur_is_refused_by_the_estimate():
    masses = np.random.default_rng(1).dirichlet(np.ones(1300))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LeakwiseWarning)  # of the gap
        mechanism = lw.design(lw.Prior(masses), lift=2, anyone=20, utility="frequencies").mechanism
    for outcome in ("y99999", "", None, 3, "y0001 "):
        with pytest.raises(lw.InvalidInput, match=r"^released"):
            lw.estimate(np.array(["y0001", "y0002", outcome], dtype=object), mechanism)
