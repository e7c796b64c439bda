"""Designs under two limits, for those who know the prior and for anyone, and under limits of single values."""

import math
from fractions import Fraction

import numpy as np
import pytest

import leakwise as lw
from leakwise.errors import Infeasible, InvalidInput
from leakwise.optimize.problem.value_limits import RobustValueLimits, ValueLimits
from leakwise.proof import asked_limits

# The training part of the Adult table, 32,561 rows.
MARITAL = lw.Prior.from_counts(
    {
        "Married-civ-spouse": 14976,
        "Never-married": 10683,
        "Divorced": 4443,
        "Separated": 1025,
        "Widowed": 993,
        "Married-spouse-absent": 418,
        "Married-AF-spouse": 23,
    }
)
# What the frequencies of marital status cost at lift 2, by the limit for anyone (the mathematics, section 9).
VARIANCE = {3: "17.79", 4: "12.93", 6: "10.00", 8: "8.99", 16: "7.72", 32: "7.21", 100: "6.89", None: "6.76"}
DISEASES = lw.Prior({"HIV": "1/50", "TB": "3/100", "flu": "11/20", "none": "2/5"})


@pytest.mark.parametrize("anyone", VARIANCE)
def test_the_table_of_section_9_holds_to_three_digits(anyone):
    found = lw.design(MARITAL, lift=2, anyone=anyone, utility="frequencies")
    assert f"{-found.value:.2f}" == f"{-found.bound:.2f}" == VARIANCE[anyone]
    assert found.certificate.verify().holds
    assert (found.certificate.anyone is None) == (anyone is None)
    assert anyone is None or found.certificate.anyone <= anyone


def test_ten_times_the_lift_costs_a_few_percent_of_the_variance():
    for lift in (1.5, 3):
        alone = lw.design(MARITAL, lift=lift, utility="frequencies").value
        both = lw.design(MARITAL, lift=lift, anyone=10 * lift, utility="frequencies").value
        assert 1.02 < both / alone < 1.12


def test_each_kind_of_limit_is_in_the_certificate_of_its_design():
    limits = {"anyone": 12, "lift_of": {"HIV": 1.2}, "ceiling": {("HIV", "TB"): 0.08}, "floor": {"HIV": 0.5}}
    for utility in ("mutual_information", "guessing", "frequencies"):
        found = lw.design(DISEASES, lift=3, utility=utility, **limits)
        assert found.certificate.verify().holds
        assert found.certificate.limits == asked_limits(lift=3, **limits)
        joint = DISEASES.probabilities * found.mechanism.matrix.T
        posterior = joint / joint.sum(axis=1, keepdims=True)
        assert posterior[:, 0].max() <= 0.02 * 1.2 + 1e-12
        assert posterior[:, 0].min() >= 0.02 * 0.5 - 1e-12
        assert posterior[:, :2].sum(axis=1).max() <= 0.08 + 1e-12
        assert found.value < lw.design(DISEASES, lift=3, utility=utility).value


def test_a_ceiling_on_a_value_is_a_lift_of_its_own():
    ceiling = lw.design(DISEASES, lift=3, ceiling={"HIV": "1/20"})
    lift = lw.design(DISEASES, lift=3, lift_of={"HIV": "5/2"})
    assert ceiling.value == pytest.approx(lift.value, abs=1e-9)


@pytest.mark.filterwarnings("ignore:The proven gap")
def test_limits_hold_for_every_prior_of_a_set():
    ball = DISEASES.ball("1/50")
    limits = {"lift": 3, "anyone": 15, "lift_of": {"HIV": 2}, "ceiling": {("HIV", "TB"): 0.2}, "floor": {"flu": 0.25}}
    for utility in ("mutual_information", "guessing", "frequencies"):
        found = lw.design(ball, utility=utility, **limits)
        assert found.certificate.verify().holds
        assert 0 < found.gap < math.inf
        assert found.value > lw.design(lw.AllPriors(DISEASES), lift="5/4", utility=utility).value


def test_sets_and_priors_agree_on_what_keeps_a_limit():
    asked = asked_limits(lift_of={"HIV": "3/2"}, ceiling={("HIV", "TB"): "1/10"}, floor={"none": "1/2"})
    one, point = ValueLimits(DISEASES, asked), RobustValueLimits(lw.Hull([DISEASES]), asked)
    generator = np.random.default_rng(3)
    columns = generator.integers(0, 100, (400, 4)).tolist()
    kept = [one.contains(column) for column in columns]
    assert kept == [point.contains(column) for column in columns]
    assert any(kept)
    assert not all(kept)


def test_a_limit_that_nothing_but_the_constant_keeps_exactly_is_refused_with_a_way_out():
    for limit in ({"lift_of": {"HIV": 1}}, {"ceiling": {"HIV": "1/50"}}, {"floor": {"flu": 1}}):
        with pytest.raises(Infeasible, match="only the constant release"):
            lw.design(DISEASES, lift=2, **limit)


def test_a_ceiling_below_the_prior_is_infeasible_and_says_why():
    with pytest.raises(Infeasible, match="averages to") as caught:
        lw.design(DISEASES, lift=2, ceiling={("HIV", "TB"): 0.04})
    assert caught.value.witness == (("HIV", "TB"), Fraction(1, 20))


def test_limits_that_leave_only_the_constant_are_told():
    found = lw.design(DISEASES, anyone=1)
    assert found.certificate.ratio == 1
    assert "only the constant" in str(found)


def test_the_limit_for_anyone_below_the_lift_makes_the_lift_idle():
    both = lw.design(DISEASES, lift=3, anyone=2)
    assert "The limit lift = 3 is idle" in both.constraint
    assert both.value == pytest.approx(lw.design(DISEASES, anyone=2).value, abs=1e-9)


def test_worst_case_utilities_need_anyone_none():
    with pytest.raises(InvalidInput, match="anyone=None"):
        lw.design(DISEASES, lift=3, anyone=30, utility=lw.WorstCase(np.eye(4)))


@pytest.mark.filterwarnings("ignore:The proven gap", "ignore:The time limit")
@pytest.mark.parametrize("utility", ["guessing", "frequencies"])
def test_large_domains_are_designed_under_both_limits(utility):
    weights = np.random.default_rng(5).integers(20, 400, 40)
    prior = lw.Prior.from_counts({f"v{i}": int(w) for i, w in enumerate(weights)})
    found = lw.design(prior, lift=2, anyone=20, utility=utility, time_limit=6)
    assert found.certificate.verify().holds
    assert found.value > lw.design(prior, anyone=2, utility=utility, time_limit=6).value
    assert math.isfinite(found.bound)
