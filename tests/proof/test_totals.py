"""Claims about limited maximal leakage: what the checker shows again, and what it refuses."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import leakwise as lw
from leakwise.errors import CertificateRejected
from leakwise.exact import level
from leakwise.proof.optimality import check_optimality, proven_bound
from leakwise.proof.optimality.value import proven_value

PRIOR = lw.Prior({"a": 0.5, "b": 0.3, "c": 0.2})
UTILITIES = ["mutual_information", "total_variation", "chi_square", "hellinger", "guessing", "frequencies"]


@pytest.mark.parametrize("utility", UTILITIES)
@pytest.mark.parametrize("lift", [None, Fraction(9, 5)])
def test_the_bound_is_checked_again_from_the_file(utility, lift, tmp_path):
    d = lw.design(PRIOR, utility=utility, maximal_leakage=0.4, lift=lift)
    claim = d.certificate.optimality
    assert claim is not None
    assert claim.total >= Fraction(math.exp(0.4) - 1e-12)
    assert claim.bound == pytest.approx(d.bound, abs=1e-6) or (utility == "frequencies" and lift)
    d.certificate.save(tmp_path / "proof.json")
    loaded = lw.verify(tmp_path / "proof.json")
    assert loaded.optimality.total == claim.total
    assert np.array_equal(loaded.optimality.duals, claim.duals)
    assert "maximal leakage up to 0.4" in claim.words


def test_no_guess_gains_more_than_there_are_values() -> None:
    said = lw.design({"a": 0.5, "b": 0.3, "c": 0.2, "never": 0.0}, maximal_leakage=9).certificate.sentence
    assert "a right guess at most 3 times as likely on average" in said


def test_advice_that_this_limit_refuses_is_not_given() -> None:
    counted = lw.Prior.from_counts({"a": 50, "b": 30, "c": 20})
    for limits in ({"maximal_leakage": 0.5}, {"lift": 1.5, "delta": 0.1}, {"lip": 0.5}):
        said = lw.design(counted, **limits).certificate.sentence
        assert "was taken as exact" in said
        assert "--failure" not in said
    assert "--failure" in lw.design(counted, lift=2).certificate.sentence


def worth(utility, rows):
    """The utilities from their definitions, on floats."""
    p = PRIOR.probabilities
    law = p @ rows
    lifts = rows / law
    if utility == "guessing":
        return float((p[:, None] * rows).max(axis=0).sum())
    if utility == "frequencies":
        return float(p @ p - np.trace(np.linalg.inv((lifts * law) @ lifts.T)))
    f = {
        "mutual_information": lambda x: x * np.log(np.where(x > 0, x, 1.0)),
        "total_variation": lambda x: np.abs(x - 1) / 2,
        "chi_square": lambda x: (x - 1) ** 2,
        "hellinger": lambda x: (1 - np.sqrt(x)) ** 2,
    }
    return float(p @ f[utility](lifts) @ law)


@pytest.mark.parametrize("utility", UTILITIES)
def test_no_mechanism_within_the_limit_exceeds_what_is_shown(utility):
    generator = np.random.default_rng(8)
    claim = lw.design(PRIOR, utility=utility, maximal_leakage=0.4).certificate.optimality
    for _ in range(100):
        rows = generator.dirichlet(np.full(4, 0.3), size=3)
        share = min(1.0, (math.exp(0.4) - 1) / (rows.max(axis=0).sum() - 1))
        # The maxima of a mixture with a constant add up to at most the mixture of theirs.
        mixed = share * rows + (1 - share) * (PRIOR.probabilities @ rows)
        assert mixed.max(axis=0).sum() <= math.exp(0.4) + 1e-12
        assert worth(utility, mixed) <= claim.bound + 1e-12


@pytest.mark.parametrize("utility", ["mutual_information", "guessing", "frequencies"])
@pytest.mark.parametrize("lift", [None, Fraction(9, 5)])
def test_forged_claims_are_refused(utility, lift):
    c = lw.design(PRIOR, utility=utility, maximal_leakage=0.4, lift=lift).certificate
    claim = c.optimality
    less = replace(claim, bound=claim.value - 1e-3 * abs(claim.value), value=claim.value - 1e-2 * abs(claim.value))
    narrower = replace(claim, total=claim.total * Fraction(99, 100))
    forged = [
        less,
        narrower,
        replace(claim, total=Fraction(1)),
        replace(claim, ldp=Fraction(3)),
        replace(claim, low=Fraction(1, 9)),
    ]
    if len(claim.duals):
        cheap, dear = claim.duals.copy(), claim.duals.copy()
        cheap[-1] -= 0.05
        dear[-1] = -1.0
        forged += [replace(claim, duals=cheap), replace(claim, duals=dear), replace(claim, duals=claim.duals[:-1])]
    for one in forged:
        with pytest.raises(CertificateRejected):
            check_optimality(one, c.mechanism, PRIOR, c.limits)
    # A claim about fewer mechanisms than were asked for: no limit on maximal leakage was.
    with pytest.raises(CertificateRejected, match="fewer mechanisms"):
        check_optimality(claim, c.mechanism, PRIOR, replace(c.limits, maximal_leakage=None))
    with pytest.raises(CertificateRejected, match="fewer mechanisms"):
        check_optimality(claim, c.mechanism, PRIOR, replace(c.limits, maximal_leakage=level(0.41)))


def test_duals_of_another_problem_prove_a_looser_bound_or_none():
    c = lw.design(PRIOR, maximal_leakage=0.4).certificate
    generator = np.random.default_rng(9)
    for _ in range(30):
        duals = np.append(generator.normal(size=3) / 3, abs(generator.normal()) / 3)
        assert proven_bound(replace(c.optimality, duals=duals, bound=0.0), PRIOR) >= c.optimality.value - 1e-12


def test_an_outcome_that_hardly_tells_anything_has_a_value():
    # A lift within 2^-192 of 1 is a ball around it, whose distance from 1 is a ball around zero.
    prior = lw.Prior([Fraction(1, 2**300), 1 - Fraction(1, 2**300)])
    m = lw.Mechanism([["1/2", "1/2"], ["1/4", "3/4"]])
    claim = replace(lw.design(PRIOR, utility="hellinger", maximal_leakage=0.4).certificate.optimality, value=0.0)
    assert 0 <= proven_value(claim, m, prior) < 1e-80


def test_a_bound_that_was_shown_once_is_shown_again():
    # Rounded the other way the second time, the certificate of this design was refused.
    p = [0.23036692513865697, 0.6395059169309204, 0.1301271579304226]
    found = lw.design(p, utility="hellinger", maximal_leakage=0.9080806598293484, lift=4.153618320117273)
    assert found.certificate.verify().optimality is not None
