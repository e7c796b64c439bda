"""The checker of optimality: accepts what is true, refuses what is not, by code of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.proof.optimality import check_optimality

UTILITIES = ["mutual_information", "total_variation", "chi_square", "hellinger", "guessing"]


def cases():
    priors = st.lists(st.integers(1, 9), min_size=2, max_size=7).map(lw.Prior)
    return priors, st.floats(0.05, 2.0), st.sampled_from(UTILITIES)


@settings(max_examples=40)
@given(*cases())
def test_every_design_carries_a_proof_that_a_stranger_can_check(prior, epsilon, utility):
    design = lw.design(prior, epsilon=epsilon, utility=utility, method="columns")
    claim = design.certificate.optimality
    assert claim is not None
    check_optimality(claim, design.mechanism, prior)
    assert claim.value == design.value
    assert claim.bound == design.bound


@settings(max_examples=40)
@given(*cases())
def test_a_bound_below_the_optimum_is_refused(prior, epsilon, utility):
    design = lw.design(prior, epsilon=epsilon, utility=utility, method="columns")
    lower = replace(design.certificate.optimality, bound=design.value - 1e-6)
    with pytest.raises(lw.CertificateRejected, match="nothing is better"):
        check_optimality(lower, design.mechanism, prior)


def test_a_value_above_the_truth_is_refused():
    design = lw.design([0.5, 0.3, 0.2], epsilon=0.7)
    higher = replace(design.certificate.optimality, value=design.value + 1e-6)
    with pytest.raises(lw.CertificateRejected, match="less than"):
        check_optimality(higher, design.mechanism, lw.Prior([0.5, 0.3, 0.2]))


def test_other_duals_prove_nothing():
    design = lw.design([0.5, 0.3, 0.2], epsilon=0.7)
    claim = design.certificate.optimality
    with pytest.raises(lw.CertificateRejected, match="nothing is better"):
        check_optimality(replace(claim, duals=claim.duals + np.array([0.1, 0, 0])), design.mechanism, design.prior)
    with pytest.raises(lw.CertificateRejected, match="does not fit"):
        check_optimality(replace(claim, duals=claim.duals[:2]), design.mechanism, design.prior)
    with pytest.raises(lw.CertificateRejected, match="does not fit"):
        check_optimality(replace(claim, duals=claim.duals * np.nan), design.mechanism, design.prior)


@pytest.mark.parametrize("utility", ["mutual_information", "guessing"])
def test_the_proof_goes_through_a_file(tmp_path, utility):
    prior = lw.Prior(np.random.default_rng(4).dirichlet(np.ones(14)))
    design = lw.design(prior, epsilon=0.8, utility=utility)
    design.certificate.save(tmp_path / "proof.json")
    again = lw.verify(tmp_path / "proof.json")
    assert again.optimality.bound == design.bound
    assert again.optimality.duals.tolist() == design.certificate.optimality.duals.tolist()
    assert "of any mechanism at most" in repr(again)


@pytest.mark.parametrize(("letters", "epsilon"), [(26, 0.8), (30, 1.5)])
def test_windows_of_thirty_letters_are_checked(letters, epsilon):
    prior = lw.Prior(np.random.default_rng(letters).dirichlet(np.ones(letters)))
    design = lw.design(prior, epsilon=epsilon)
    assert design.gap < 1e-9
    check_optimality(design.certificate.optimality, design.mechanism, prior)


def test_local_information_privacy_and_zero_mass():
    prior = lw.Prior([0.5, 0.3, 0.2, 0])
    design = lw.design(prior, lip=0.5)
    check_optimality(design.certificate.optimality, design.mechanism, prior)
    design = lw.design(prior, epsilon=0.5, utility="guessing")
    check_optimality(design.certificate.optimality, design.mechanism, prior)


def test_a_function_of_the_users_own_is_said_not_to_be_checked(tmp_path):
    # A name that the checker knows does not make the function one that it knows.
    for name in ("fourth", "mutual_information"):
        design = lw.design([0.5, 0.3, 0.2], epsilon=0.5, utility=lw.FInformation(lambda x: (x - 1) ** 4, name=name))
        assert design.certificate.optimality is None
        assert "Python function" in design.certificate.remark
        design.certificate.save(tmp_path / "proof.json")
        again = lw.verify(tmp_path / "proof.json")
        assert "Python function" in again.remark
        assert "Python function" in repr(again)
    assert lw.design([0.5, 0.3, 0.2], epsilon=0.5, utility=lw.FInformation("hellinger")).certificate.optimality


def test_a_layer_cake_is_said_not_to_be_checked():
    priors = lw.Prior.from_counts([600, 300, 100]).confidence(failure=0.01, method="layer-cake")
    with pytest.warns(lw.LeakwiseWarning, match="proven gap"):
        design = lw.design(priors, epsilon=0.8)
    assert "LayerCake" in design.certificate.remark
