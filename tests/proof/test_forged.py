"""Certificates that claim more than they prove: failure probabilities, utilities and places that nothing bears out."""

from __future__ import annotations

import json
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from forgeries import written

import leakwise as lw
from leakwise.errors import CertificateRejected
from leakwise.priors import AllPriors, Ball, Box, Hull, KLBall, Prior
from leakwise.proof.optimality import OptimalityClaim, check_optimality
from leakwise.proof.sets import least_mass_prover
from leakwise.proof.tails import check_failure, tail_at_most

METHODS = ["weissman", "weissman-phi", "clopper-pearson", "kl", "layer-cake", "best"]
COUNTED = Prior.from_counts({"a": 500, "b": 300, "c": 200})
MECHANISM = lw.Mechanism([["1/2", "1/4", "1/4"], ["1/8", "3/4", "1/8"], ["1/4", "1/4", "1/2"]], inputs=["a", "b", "c"])
TINY = "1e-30"


def of_kind(kind, failure, method):
    """A set of each kind, far too small for any failure probability."""
    if kind is Ball:
        return Ball(COUNTED, TINY, failure, method)
    if kind is Box:
        return Box(COUNTED, COUNTED.fractions, COUNTED.fractions, None, failure, method)
    if kind is KLBall:
        return KLBall(COUNTED, TINY, failure, method)
    return Hull([COUNTED], COUNTED, failure, method)


@pytest.mark.parametrize("kind", [Ball, Box, KLBall, Hull])
@pytest.mark.parametrize("method", [*METHODS, "hull", ""])
def test_no_method_makes_a_small_set_a_confidence_set(kind, method):
    forged = lw.certify(MECHANISM, of_kind(kind, TINY, method))
    with pytest.raises(CertificateRejected, match=r"names a method|too small"):
        forged.verify()


@pytest.mark.parametrize("kind", [Ball, Box, KLBall, Hull])
def test_a_failure_probability_without_a_method_is_stated_and_not_proven(kind, tmp_path):
    stated = lw.certify(MECHANISM, of_kind(kind, "0.05", None))
    assert "stated, not proven" in stated.sentence
    stated.save(tmp_path / "stated.json")
    with pytest.raises(CertificateRejected, match="stated, not proven"):
        lw.verify(tmp_path / "stated.json")
    taken = lw.certify(MECHANISM, of_kind(kind, 0, None))  # a set that is taken as given
    assert taken.verify() is taken


@pytest.mark.parametrize("method", METHODS)
def test_the_method_of_another_set_is_rejected(method):
    honest = Prior.from_counts([900, 60, 40]).confidence("0.001", method)
    check_failure(honest)
    for other in {*METHODS, None} - {method}:
        object.__setattr__(honest, "method", other)
        if (method, other) == ("weissman", "weissman-phi"):
            check_failure(honest)  # the larger radius serves the sharper method, too
            continue
        with pytest.raises(CertificateRejected, match=r"names a method|stated, not proven|too small"):
            check_failure(honest)


@pytest.mark.parametrize("method", ["weissman", "weissman-phi", "clopper-pearson", "kl", "best"])
def test_a_method_never_proves_that_nothing_can_fail(method):
    certain = COUNTED.confidence("0.001", method)
    object.__setattr__(certain, "exact_failure", Fraction(0))
    with pytest.raises(CertificateRejected, match="needs a failure probability above 0"):
        check_failure(certain)


def test_designs_for_a_set_with_a_stated_failure_are_made_and_say_so():
    stated = Ball(COUNTED, "0.05", "0.01")
    design = lw.design(stated, lift=2)
    assert "stated, not proven" in design.certificate.sentence
    least = lw.least_leakage(stated, np.array([[True, True, False], [False, True, True], [True, False, True]]))
    for certificate in (design.certificate, least.certificate):
        with pytest.raises(CertificateRejected, match="stated, not proven"):
            certificate.verify()


def test_an_envelope_for_a_set_checks_its_failure():
    found = lw.envelope(MECHANISM, COUNTED.confidence("0.001"), 0.1).certificate
    found.verify()
    with pytest.raises(CertificateRejected, match="stated, not proven"):
        replace(found, prior=Ball(COUNTED, TINY, TINY)).verify()


# --------------------------------------------------------------------------------------------------- utilities


RARE = Fraction(1, 10**17)


@pytest.mark.parametrize("utility", ["mutual_information", "total_variation", "chi_square", "hellinger", "guessing"])
@pytest.mark.parametrize("structured", [False, True])
def test_a_utility_is_proven_at_huge_lifts(utility, structured):
    prior = Prior([1 - RARE, RARE])
    mechanism = lw.randomized_response(2, lift=10**18)
    if not structured:
        mechanism = lw.Mechanism([[1, 0], [1 - RARE, RARE]])
    least = {"mutual_information": 1e-40, "guessing": 0.9}.get(utility, 1e-36)
    true = OptimalityClaim(utility, Fraction(0), 1 / RARE, 0.0, 1e40, np.zeros(2))
    check_optimality(true, mechanism, prior)
    if not structured:
        check_optimality(replace(true, value=least), mechanism, prior)
    for value in (30.0, 1.5, 1.0 + 2.0**-52) if utility != "chi_square" or not structured else (30.0,):
        with pytest.raises(CertificateRejected, match="less than the"):
            check_optimality(replace(true, value=value), mechanism, prior)


def test_a_gain_is_proven_however_large_the_others_are():
    prior, gains = Prior([1 - RARE, RARE]), np.array([[0.0, 0.0], [0.0, 1e17]])
    claim = OptimalityClaim("gain", Fraction(0), 1 / RARE, 1.0, 1e40, np.zeros(2), gains)
    check_optimality(claim, lw.identity(2), prior)
    with pytest.raises(CertificateRejected, match="less than the"):
        check_optimality(replace(claim, value=1.0 + 2.0**-40), lw.identity(2), prior)


@pytest.mark.parametrize("utility", ["mutual_information", "total_variation", "chi_square", "hellinger", "guessing"])
def test_the_value_of_a_design_is_proven_to_its_last_digits(utility):
    design = lw.design([0.5, 0.3, 0.2], epsilon=0.7, utility=utility)
    claim = design.certificate.optimality
    check_optimality(claim, design.mechanism, design.prior)
    with pytest.raises(CertificateRejected, match="less than the"):
        check_optimality(replace(claim, value=claim.value + 2e-13), design.mechanism, design.prior)


NEVER = Fraction(1, 10**400)


@pytest.mark.parametrize("utility", ["mutual_information", "total_variation", "chi_square", "hellinger", "guessing"])
@pytest.mark.parametrize("rare", [Fraction(1, 10**100), NEVER])
def test_no_infinity_proves_a_bound(utility, rare):
    # Two common values can be told apart at all of these lifts, so that nothing near 0 bounds the utility.
    prior = Prior([Fraction(2, 3) - rare, Fraction(1, 3), rare])
    sets = [prior, prior.ball("1/2"), prior.ball(rare), AllPriors(prior), KLBall(prior, "0.1")]
    huge = [Fraction(10) ** power for power in (90, 350)]
    for priors in [*sets, Box(prior, [0] * 3, [1] * 3), Hull([prior, Prior.uniform(3)])]:
        for high in huge:
            for ldp in (None, *huge) if priors is prior else (None,):
                for duals in ([], [1e-3] * 3, [1e300] * 3, [1e300, -1e300, 0.0]):
                    claim = OptimalityClaim(utility, Fraction(0), high, 0.0, 1e-6, np.array(duals), None, ldp)
                    with pytest.raises(CertificateRejected, match="nothing is better"):
                        check_optimality(claim, lw.Mechanism([[1], [1], [1]]), priors)


@pytest.mark.parametrize("utility", ["mutual_information", "guessing", "frequencies"])
def test_duals_without_a_sum_prove_nothing(utility):
    certificate = lw.design(COUNTED, lift=2, utility=utility).certificate
    claim = certificate.optimality
    for sign in (1, -1):
        endless = replace(claim, duals=np.full(len(claim.duals), sign * 1.7e308))
        with pytest.raises(CertificateRejected, match="nothing is better"):
            replace(certificate, optimality=endless).verify()


def test_a_mechanism_beyond_the_lifts_compared_is_not_compared():
    for priors in (COUNTED, COUNTED.ball("0.1"), AllPriors(COUNTED)):
        design = lw.design(priors, lift=1.1)
        for mechanism in (lw.randomized_response(["a", "b", "c"], lift=9), MECHANISM):
            forged = replace(lw.certify(mechanism, priors), optimality=design.certificate.optimality)
            with pytest.raises(CertificateRejected, match="not one of those"):
                forged.verify()


def test_a_least_leakage_above_what_leaks_or_below_one_is_rejected():
    mask = np.array([[True, True, False], [False, True, True], [True, False, True]])
    least = lw.least_leakage(COUNTED, mask).certificate
    assert least.verify() is least
    with pytest.raises(CertificateRejected, match="cannot be"):
        replace(least, ratio=Fraction(0)).verify()


# ------------------------------------------------------------------------------------------------------- places


@pytest.mark.parametrize(
    "priors", [COUNTED, COUNTED.ball("0.1"), AllPriors(COUNTED), *(COUNTED.confidence("0.01", m) for m in METHODS)]
)
def test_the_shown_place_is_the_worst(priors):
    honest = lw.certify(MECHANISM, priors)
    for outcome, column in zip(MECHANISM.outputs, MECHANISM.weights.T.tolist(), strict=True):
        for letter, entry in zip(MECHANISM.inputs, column, strict=True):
            moved = replace(honest, outcome=outcome, letter=letter)
            tie = isinstance(priors, AllPriors) and entry == 4 * min(column)
            if tie or (outcome, letter) == (honest.outcome, honest.letter):
                moved.verify()
                continue
            with pytest.raises(CertificateRejected, match="shows the largest lift at"):
                moved.verify()


def test_every_place_of_a_tie_is_fine_and_an_unused_outcome_is_none():
    m = lw.Mechanism([[0, "1/2", "1/2"], [0, "1/2", "1/2"]])
    found = lw.certify(m, [0.5, 0.5])
    assert (found.ratio, found.outcome) == (1, 1)
    for outcome, letter in ((1, 0), (1, 1), (2, 0), (2, 1)):
        replace(found, outcome=outcome, letter=letter).verify()
    with pytest.raises(CertificateRejected, match="shows the largest lift"):
        replace(found, outcome=0).verify()


def test_a_letter_that_cannot_occur_is_no_place():
    m = lw.Mechanism([["1/2", "1/2"], ["1/4", "3/4"], ["1/2", "1/2"]])
    found = lw.certify(m, [0.5, 0.5, 0])
    assert found.letter == 0
    with pytest.raises(CertificateRejected, match="shows the largest lift"):
        replace(found, letter=2).verify()


# ------------------------------------------------------------------------------------- large samples, small masses


@pytest.mark.parametrize("rows", [10**6, 10**9, 10**10, 10**11, 2 * 10**14, 10**18])
def test_a_layer_cake_knows_something_at_every_size(rows):
    counts = [rows // 2, rows // 4, rows // 8, rows // 8]
    cake = Prior.from_counts(counts).confidence("1e-6", "layer-cake")
    certificate = lw.certify(lw.randomized_response(4, lift=3), cake).verify()
    # The rarest value has lift 3 / (1 + 2/8) = 2.4 at the estimate; the sample adds a few standard errors.
    assert 2.4 < certificate.largest_lift < 2.4 * (1 + 40 / rows**0.5)


def test_blocks_of_a_tail_are_hardly_larger_than_its_terms():
    from flint import arb
    from scipy.stats import binom

    for trials, share in ((10**9, 0.3), (4 * 10**9, 0.5), (10**10, 0.001)):
        spread = (trials * share * (1 - share)) ** 0.5
        for width in (0.5, 2, 6):
            count = int(trials * share + width * spread)
            log_tail = float(binom.logsf(count - 1, trials, share))
            assert tail_at_most(count, trials, Fraction(share), arb(log_tail + 0.003))
            assert not tail_at_most(count, trials, Fraction(share), arb(log_tail - 1e-4))


@pytest.mark.parametrize("mass", ["1e-9", "1e-15", "1e-30", "1e-60"])
def test_a_kl_ball_bounds_the_lift_at_every_mass(mass):
    rare = Fraction(mass)
    ball = KLBall(Prior([1 - rare, rare]), rare / 4)
    halved = lw.Mechanism([["1/2", "1/2"], [0, 1]])
    certificate = lw.certify(halved, ball).verify()
    assert 2 - 4 * rare < certificate.ratio <= 2 + Fraction(1, 2**35)
    assert lw.epsilon(halved, ball) == pytest.approx(np.log(2))
    # Q = c·mass with c - 1 - log c = 1/4, to the first order in the mass.
    rarely = lw.Mechanism([[1, 0], ["1/2", "1/2"]])
    assert float(lw.certify(rarely, ball).ratio * rare) == pytest.approx(2.228253, rel=1e-6)
    assert float(lw.epsilon(rarely, ball)) == pytest.approx(np.log(2.228253) - np.log(float(rare)), rel=1e-6)


def test_the_checker_of_kl_balls_stays_below_the_truth_at_small_radii():
    prior = Prior([5, 3, 2])
    for radius in ("1e-3", "1e-9", "1e-15", "1e-25"):
        column = [7, 1, 4]
        mass = least_mass_prover(KLBall(prior, radius))(column)
        mean, spread = Fraction(46, 10), Fraction(5 * 49 + 3 + 2 * 16, 10) - Fraction(46, 10) ** 2
        fall = float(mean - mass)
        assert fall == pytest.approx(float(2 * spread * Fraction(radius)) ** 0.5, rel=0.05)


def test_a_radius_beyond_all_numbers_is_no_work():
    everything = KLBall(COUNTED, 10**300)
    assert lw.certify(MECHANISM, everything).ratio == lw.certify(MECHANISM, AllPriors(COUNTED)).ratio
    assert everything.exact_least_mass([5, 1, 3]) == 1


def test_gains_without_a_column_are_an_error_in_words(tmp_path):
    path = tmp_path / "c.json"
    lw.design(COUNTED, lift=2, utility=lw.Expected(np.eye(3))).certificate.save(path)
    document = json.loads(path.read_text(encoding="utf-8"))
    document["body"]["optimality"]["gains"] = []
    written(document, document["body"], path)
    with pytest.raises(lw.InvalidInput, match="speaks of something else"):
        lw.verify(path)
