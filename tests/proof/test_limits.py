"""Every limit that can be asked for is proven on the integers, stored, and checked again."""

import json
import math
from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.errors import CertificateRejected, Infeasible, InvalidInput, LeakwiseWarning
from leakwise.proof import AskedLimits, asked_limits, certify, load_certificate

VALUES = ("HIV", "flu", "none")
PRIOR = lw.Prior({"HIV": "1/50", "flu": "29/50", "none": "2/5"})
RESPONSE = lw.Mechanism([["1/10", "9/10"], ["1/2", "1/2"], ["1/4", "3/4"]], inputs=VALUES)


def worst(mechanism, members):
    """By hand: the largest and the least lift of each value over outcomes and priors, and all posteriors."""
    rows = [[Fraction(int(w), mechanism.denominator) for w in row] for row in mechanism.weights.tolist()]
    most, least, after = [[] for _ in rows], [[] for _ in rows], []
    for prior in members:
        for column in zip(*rows, strict=True):
            mass = sum(p * v for p, v in zip(prior.fractions, column, strict=True))
            posterior = [p * v / mass for p, v in zip(prior.fractions, column, strict=True)]
            after.append(posterior)
            for place, value in enumerate(column):
                most[place].append(value / mass)
                least[place].append(value / mass)
    return [max(one) for one in most], [min(one) for one in least], after


def hull():
    return lw.Hull([PRIOR, lw.Prior({"HIV": "1/10", "flu": "1/2", "none": "2/5"})])


HAIR = Fraction(1, 10**15)


@pytest.mark.parametrize("priors", [PRIOR, hull()], ids=["prior", "hull"])
def test_each_limit_is_kept_at_its_exact_border_and_not_a_hair_below(priors):
    most, least, after = worst(RESPONSE, [PRIOR] if priors is PRIOR else priors.corners)
    rare, both = max(one[0] for one in after), max(one[0] + one[1] for one in after)
    for asked, broken in (
        ({"lift_of": {"HIV": most[0]}}, {"lift_of": {"HIV": most[0] - HAIR}}),
        ({"floor": {"none": least[2]}}, {"floor": {"none": least[2] + HAIR}}),
        ({"ceiling": {"HIV": rare}}, {"ceiling": {"HIV": rare - HAIR}}),
        ({"ceiling": {("HIV", "flu"): both}}, {"ceiling": {frozenset(["HIV", "flu"]): both - HAIR}}),
        ({"anyone": 5}, {"anyone": 5 - HAIR}),
    ):
        assert certify(RESPONSE, priors, **asked).holds, asked
        assert not certify(RESPONSE, priors, **broken).holds, broken


weights = st.lists(st.integers(1, 20), min_size=3, max_size=3)


@settings(max_examples=60, deadline=None)
@given(st.lists(weights, min_size=2, max_size=4), st.lists(weights, min_size=1, max_size=3), st.data())
def test_certificates_decide_limits_as_brute_force_over_the_corners_of_a_set_does(columns, corners, data):
    mechanism = lw.Mechanism(
        [[Fraction(v, sum(row)) for v in row] for row in zip(*columns, strict=True)], inputs=VALUES
    )
    members = [lw.Prior.from_counts(dict(zip(VALUES, corner, strict=True))) for corner in corners]
    most, least, after = worst(mechanism, members)
    priors = lw.Hull(members) if len(members) > 1 else members[0]
    label = data.draw(st.sampled_from(VALUES))
    place = VALUES.index(label)
    t = 1 + data.draw(st.fractions(0, 2, max_denominator=50))
    b = data.draw(st.fractions(0, 1, max_denominator=50))
    c = data.draw(st.fractions(0, 1, max_denominator=50))
    assert certify(mechanism, priors, lift_of={label: t}).holds == (most[place] <= t)
    assert certify(mechanism, priors, floor={label: b}).holds == (least[place] >= b)
    if c < max(one.fractions[place] for one in members):
        with pytest.raises(Infeasible) as caught:
            certify(mechanism, priors, ceiling={label: c})
        assert caught.value.witness == ((label,), max(one.fractions[place] for one in members))
    else:
        assert certify(mechanism, priors, ceiling={label: c}).holds == all(one[place] <= c for one in after)


def test_a_certificate_says_both_limits_and_verify_checks_both(tmp_path):
    certificate = certify(RESPONSE, PRIOR, lift=2, anyone=5, lift_of={"HIV": "3/2"}, floor={"HIV": "1/4"})
    assert certificate.sentence == (
        "No guess about the secret becomes more than 1.4803 times as likely by seeing the outcome, for anyone who knew "
        "the prior, nor more than 5 times as likely for anyone, whatever they knew (rows independent). Given the "
        "prior, no outcome makes 'HIV' more than 1.5 times as likely. Given the prior, no outcome makes 'HIV' less "
        "than 0.25 times as likely."
    )
    certificate.save(tmp_path / "both.json")
    read = lw.verify(tmp_path / "both.json")
    assert read.limits == certificate.limits
    assert read.sentence == certificate.sentence


@pytest.mark.parametrize(
    "tighter",
    [
        {"anyone": "4.9"},
        {"lift_of": {"HIV": "1.4"}},
        {"ceiling": {"HIV": "0.025"}},
        {"ceiling": {("HIV", "none"): "0.5"}},
        {"floor": {"HIV": "0.5"}},
        {"lip": "1/4"},
    ],
    ids=str,
)
def test_a_file_that_claims_a_limit_its_integers_miss_is_rejected(tmp_path, tighter):
    claimed = certify(RESPONSE, PRIOR, lift=2, **tighter)
    assert not claimed.holds
    assert "The guarantee does not hold." in claimed.sentence
    claimed.save(tmp_path / "claimed.json")
    with pytest.raises(CertificateRejected, match="does not hold"):
        lw.verify(tmp_path / "claimed.json")


def test_a_certificate_without_further_limits_is_stored_as_it_always_was(tmp_path):
    for name, limits in (("plain", {}), ("both", {"anyone": 5})):
        certify(RESPONSE, PRIOR, lift=2, **limits).save(tmp_path / name)
    plain, both = (json.loads((tmp_path / name).read_text()) for name in ("plain", "both"))
    assert (plain["version"], both["version"]) == (1, 2)
    assert "further" not in plain["body"]


def test_values_of_a_joint_secret_are_values_and_not_sets_of_them():
    prior = lw.Prior({("a", 0): 0.25, ("a", 1): 0.25, ("b", 0): 0.5})
    asked = asked_limits(ceiling={("a", 0): 0.5, (("a", 0), ("a", 1)): 0.75}).on(prior.alphabet)
    assert asked.ceiling == (((("a", 0),), Fraction(1, 2)), ((("a", 0), ("a", 1)), Fraction(3, 4)))


def test_a_set_that_rests_on_a_sample_bounds_floors_and_ceilings_from_the_safe_side():
    sample = lw.Prior.from_counts({"HIV": 200, "flu": 5800, "none": 4000})
    for method in ("layer-cake", "kl"):
        priors = sample.confidence(1e-3, method)
        for limit in ({"floor": {"HIV": 0.1}}, {"ceiling": {"HIV": 0.1}}, {"lift_of": {"HIV": 2}}):
            assert certify(RESPONSE, priors, **limit).holds
        # What holds at the estimate itself only just is not proven for all that the sample leaves possible.
        most, least, after = worst(RESPONSE, [sample])
        for limit in (
            {"floor": {"HIV": least[0]}},
            {"ceiling": {"none": max(one[2] for one in after)}},
            {"lift_of": {"HIV": most[0]}},
        ):
            assert certify(RESPONSE, sample, **limit).holds
            assert not certify(RESPONSE, priors, **limit).holds


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"anyone": 0.5}, "anyone must be at least 1"),
        ({"anyone": 20, "ldp": 1}, "are the same limit"),
        ({"lift_of": {"HIV": 0.9}}, r"lift_of\['HIV'\] must be at least 1"),
        ({"floor": {"HIV": 1.1}}, r"floor\['HIV'\] must be between 0 and 1"),
        ({"ceiling": {"HIV": 5}}, r"ceiling\['HIV'\] must be between 0 and 1"),
        ({"ceiling": {"HIW": 0.5}}, "Did you mean 'HIV'"),
        ({"lift_of": {"HIW": 2}}, "Did you mean 'HIV'"),
        ({"floor": {"HIW": 0.5}}, "Did you mean 'HIV'"),
        ({"lift_of": 1.2}, "lift_of must map values"),
        ({"ceiling": {}}, "ceiling must map values"),
        ({"ceiling": {(): 0.5}}, "Got an empty one"),
    ],
    ids=str,
)
def test_bad_limits_are_refused_in_words(asked, words):
    with pytest.raises(InvalidInput, match=words):
        certify(RESPONSE, PRIOR, lift=2, **asked)


def test_a_limit_for_a_value_without_probability_is_refused():
    prior = lw.Prior({"HIV": 0, "flu": 0.5, "none": 0.5})
    for limit in ({"lift_of": {"HIV": 2}}, {"floor": {"HIV": 0.5}}, {"ceiling": {"HIV": 0.5}}):
        with pytest.raises(InvalidInput, match="probability 0"):
            certify(RESPONSE, prior, **limit)


def test_anyone_and_ldp_are_one_limit():
    assert asked_limits(anyone=20, ldp=math.log(20)) == asked_limits(anyone=20)
    assert certify(RESPONSE, PRIOR, ldp=math.log(5.0001)).holds
    assert not certify(RESPONSE, PRIOR, ldp=math.log(4.9999)).holds


def test_the_limit_that_is_idle_is_named():
    assert asked_limits(lift=3, anyone=2).idle(PRIOR) == [
        "The limit lift = 3 is idle: no lift exceeds 2 for anyone, which is less."
    ]
    everybody = lw.AllPriors(list(VALUES))
    assert asked_limits(lift=2, anyone=20).idle(everybody) == [
        "anyone = 20 is idle: the limit lift = 2 holds for every prior."
    ]
    assert asked_limits(lift=2, lift_of={"HIV": 3}).idle(PRIOR) == [
        "lift_of 'HIV' = 3 is idle: no value becomes more than 2 times as likely."
    ]
    assert asked_limits(lift=2, anyone=20, lift_of={"HIV": 1.2}).idle(PRIOR) == []
    with pytest.warns(LeakwiseWarning, match="is idle"):
        asked_limits(lift=3, anyone=2).warn_of_idle(PRIOR, 1)


def test_a_ceiling_typed_as_a_float_is_the_stricter_of_its_two_readings():
    assert asked_limits(ceiling={"HIV": 0.05}).ceiling == ((("HIV",), Fraction(1, 20)),)
    assert asked_limits(floor={"HIV": 0.3}).floor == (("HIV", Fraction(3, 10)),)


def test_limits_of_values_that_the_secret_does_not_have_are_not_read(tmp_path):
    certificate = certify(RESPONSE, PRIOR, lift_of={"HIV": 2})
    named = replace(certificate, further=AskedLimits(floor=(("none", Fraction(1, 2)),)))
    named.save(tmp_path / "c.json")
    assert load_certificate(tmp_path / "c.json").limits.floor == (("none", Fraction(1, 2)),)


def test_limits_print_as_they_were_typed():
    design = lw.design({"a": 0.05, "b": 0.95}, lift=1.7, anyone=20.1, lift_of={"a": 1.01}, floor={"b": 0.3})
    assert "lift of 'a' at most 1.01," in design.constraint
    assert "anyone 20.1," in design.constraint
    printed = str(design.certificate)
    assert "no outcome makes 'a' more than 1.01 times as likely" in printed
    assert "at least 0.3" in printed
    assert "1.0101" not in printed
    assert "20.101" not in printed


def test_a_ceiling_below_the_prior_is_told_in_the_numbers_that_were_given():
    with pytest.raises(Infeasible, match=r"ceiling of 3% for 'a' .* the prior gives 5%, and"):
        lw.design({"a": 0.05, "b": 0.95}, lift=2, ceiling={"a": 0.03})
    with pytest.raises(Infeasible, match=r"ceiling of 5% .* gives 5% \(a hair more, as a float\), and"):
        lw.design({"a": 0.05, "b": 0.95}, lift=2, ceiling={"a": 0.05})


@pytest.mark.parametrize("typed", [0.03, 0.07, 0.1, 0.3, 0.7])
def test_a_float_share_means_the_decimal_that_was_typed(typed):
    asked = asked_limits(lift=2, ceiling={"a": typed}, floor={"b": typed})
    assert asked.ceiling[0][1] == asked.floor[0][1] == Fraction(str(typed))
    computed = 0.1 + 0.2
    assert asked_limits(lift=2, floor={"b": computed}).floor[0][1] == Fraction(computed)


def test_the_failure_probability_of_strata_prints_as_it_was_typed():
    counted = lw.PriorByStratum.from_counts({"f": {"no": 600, "yes": 400}, "m": {"no": 900, "yes": 100}}, given="sex")
    sets = counted.confidence(1e-3)
    assert "with probability at most 0.001." in str(sets)
    printed = str(lw.design(sets, lift=2).certificate)
    assert "with probability at most 0.001." in printed
    assert "0.0010001" not in printed
