"""Margins of several secrets: each has the least lift that meets its own, beside the outcomes drawn before it."""

from __future__ import annotations

import functools
import math
import warnings
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import leakwise as lw
from leakwise.errors import CertificateRejected, InvalidInput, LeakwiseWarning
from leakwise.mechanism import StratifiedMechanism
from leakwise.proof import LIFTS, SecretPart, certify, lift_of_few_digits
from leakwise.report import SeveralProtection

Z = 1.959963984540054
ROWS = 20_000
A, B = list("xyz"), list("pqr")
# Three tenths of the rows have the same place in both columns.
LAW = np.outer([0.5, 0.3, 0.2], 0.7 * np.array([0.2, 0.3, 0.5])) + 0.3 * np.diag([0.5, 0.3, 0.2])
JOINT = lw.Prior({(a, b): f"{LAW[i, j]:.4f}" for i, a in enumerate(A) for j, b in enumerate(B)})
ALONE = {
    "a": lw.Prior({label: f"{mass:.4f}" for label, mass in zip(A, LAW.sum(axis=1), strict=True)}),
    "b": lw.Prior({label: f"{mass:.4f}" for label, mass in zip(B, LAW.sum(axis=0), strict=True)}),
}
COUNTED = {"prior": "table", "failure": 1e-6, "domain": {"a": A, "b": B}}
MARGINS = {"a": 0.02, "b": 0.03}


def rows_of(count: int = ROWS, seed: int = 1) -> dict[str, list[str]]:
    places = np.random.default_rng(seed).choice(9, count, p=LAW.ravel() / LAW.sum())
    return {"a": [A[place // 3] for place in places], "b": [B[place % 3] for place in places]}


def released(lifts: Any = None, data: Any = None, **options: Any) -> SeveralProtection:
    """A release whose designs are never cut short, however slow the machine is."""
    lifts = {"a": None, "b": None} if lifts is None else lifts
    asked = {"order": "keep", "time_limit": 3600.0, "margin": MARGINS, **options}
    made = lw.protect(rows_of() if data is None else data, lifts, **asked)
    assert isinstance(made, SeveralProtection)
    return made


def known_within(made: SeveralProtection, secret: str) -> float:
    """The largest half-width of the library's own estimates from the outcomes of one secret."""
    return float((Z * lw.estimate(made.table, made.mechanism[secret], secret).standard_error).max())


@functools.cache
def made_by(known: str) -> SeveralProtection:
    """A release by priors of the secrets alone, a joint one, or frequencies of the table: made once for all tests."""
    options: dict[str, Any] = {"alone": {"prior": ALONE}, "joint": {"prior": JOINT}, "table": COUNTED}
    return released(**options[known])


@pytest.mark.parametrize("known", ["alone", "joint", "table"])
def test_each_margin_is_met_by_the_estimates_of_its_own_outcomes(known: str) -> None:
    made = made_by(known)
    for secret, margin in MARGINS.items():
        assert known_within(made, secret) == pytest.approx(margin, rel=0.03)
    lifts = [part.certificate.limits.level.below for part in made.certificate.verify().parts]
    assert all(1 < lift < 2 for lift in lifts)
    # The total is the product of the least lifts, and the report says which ones they are.
    assert made.certificate.ratio <= lifts[0] * lifts[1]
    told = made.facts.to_dict()["secrets"]
    assert [one["how"]["least lift"] for one in told] == pytest.approx([float(lift) for lift in lifts])
    assert "every frequency within 0.02" in told[0]["how"]["asked of it"]
    assert "The least lifts that meet the margins: a 1." in repr(made)


def test_one_percent_less_does_not_suffice_for_any_of_the_secrets() -> None:
    for known in ("alone", "joint"):
        made = made_by(known)
        for part in made.facts.parts:
            told = part.how
            assert told["least lift"] / 1.0101 <= told["no lift suffices up to"] < told["least lift"]
        claim = made.certificate.parts[0].certificate.optimality
        assert claim.bound < -1 <= claim.value


def test_margins_hold_in_simulated_releases() -> None:
    made = made_by("joint")
    first, second = made.mechanism["a"], made.mechanism["b"]
    assert isinstance(second, StratifiedMechanism)
    joint = np.array([[float(JOINT.fractions[3 * i + j]) for j in range(3)] for i in range(3)])
    mass, shares = [], []
    for place, outcome in enumerate(first.outputs):
        cell = first.matrix[:, place] @ joint  # the law of b, and this outcome of a
        matrix = second[outcome].matrix
        law = cell @ matrix / cell.sum()
        lifts = matrix / law
        mass.append(cell.sum() * law)
        # What one row says of the frequencies, unbiased and with the least variance.
        shares.append(np.linalg.inv((lifts * law) @ lifts.T) @ lifts)
    counts = np.random.default_rng(3).multinomial(ROWS, np.concatenate(mass), size=10_000)
    estimates = counts / ROWS @ np.concatenate(shares, axis=1).T
    inside = (np.abs(estimates - joint.sum(axis=0)) <= MARGINS["b"]).mean(axis=0)
    assert inside.min() == pytest.approx(0.95, abs=0.01)


def test_the_product_is_kept_on_the_joint_prior() -> None:
    made = made_by("joint")
    assert lw.measures.row_lift(JOINT, made.mechanism).lift <= made.certificate.ratio
    assert made.certificate.whole == lw.measures.row_lift(JOINT, made.mechanism).lift


def test_some_secrets_may_have_a_lift_and_some_a_margin_for_values_or_a_mean() -> None:
    mixed = released({"a": 1.5, "b": None}, prior=ALONE, margin={"b": 0.03})
    assert mixed.certificate.parts[0].certificate.limits.level.below == Fraction(3, 2)
    assert known_within(mixed, "b") == pytest.approx(0.03, rel=0.03)
    one = released({"a": 1.5, "b": None}, prior=ALONE, margin=0.03)
    assert one.facts.parts[1].how["least lift"] == mixed.facts.parts[1].how["least lift"]
    numbers = {"p": 1, "q": 2, "r": 3}
    some = released(prior=ALONE, margin={"a": {"x": 0.02}, "b": 0.05}, values={"b": numbers})
    assert some.facts.parts[0].how["least lift"] < made_by("alone").facts.parts[0].how["least lift"]
    found = lw.estimate(some.table, some.mechanism["b"], "b").mean(numbers)
    assert (found.interval[1] - found.interval[0]) / 2 == pytest.approx(0.05, rel=0.05)


def test_given_columns_and_priors_by_stratum() -> None:
    generator = np.random.default_rng(4)
    ill, sex = generator.random(ROWS) < 0.3, generator.random(ROWS) < 0.5
    old = generator.random(ROWS) < np.where(ill, 0.7, 0.4)
    data = {"ill": np.where(ill, "yes", "no"), "old": np.where(old, "yes", "no"), "sex": np.where(sex, "f", "m")}
    law = lw.Prior({("no", "no"): "0.42", ("no", "yes"): "0.28", ("yes", "no"): "0.09", ("yes", "yes"): "0.21"})
    by = lw.PriorByStratum({"f": law, "m": law}, {"sex": ["f", "m"]}, {"f": 1, "m": 1})
    counted = {**COUNTED, "domain": {"ill": ["no", "yes"], "old": ["no", "yes"]}, "given": ["sex"]}
    for options in ({"prior": by}, counted):
        made = released({"ill": None, "old": None}, data, margin=0.03, **options)
        assert made.mechanism["old"].given == ("sex", "ill")
        assert known_within(made, "ill") == pytest.approx(0.03, rel=0.04)
        assert known_within(made, "old") == pytest.approx(0.03, rel=0.04)
        made.certificate.verify()


def test_sets_around_another_sample_are_public_and_choose_nothing() -> None:
    counts = {"a": {"x": 5000, "y": 3000, "z": 2000}, "b": {"p": 2900, "q": 3000, "r": 4100}}
    sets = {key: lw.Prior.from_counts(own).confidence(1e-6, "layer-cake") for key, own in counts.items()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakwiseWarning)  # of the gap of a design for a set
        made = released(prior=sets, margin=0.03)
    assert made.certificate.verify().exact_failure == 2 * Fraction(1e-6)
    assert known_within(made, "b") == pytest.approx(0.03, rel=0.03)


def test_a_dry_run_finds_about_the_same_lifts_and_draws_nothing() -> None:
    tried, made = released(prior=JOINT, dry_run=True), made_by("joint")
    assert tried.table is None
    lifts = [[part.how["least lift"] for part in one.facts.parts] for one in (tried, made)]
    assert lifts[0] == pytest.approx(lifts[1], rel=1e-3)


def test_as_one_secret_a_margin_is_that_of_the_combinations() -> None:
    data = rows_of()
    made = lw.protect(data, {"a": None, "b": None}, joint=True, margin=0.05, prior=JOINT, order="keep")
    assert made.certificate.asked is not None
    assert max(made.design.half_widths.values()) <= 0.05


# ------------------------------------------------------------------------------------------ frequencies of the table


def test_lifts_that_the_rows_decide_are_few_and_all_of_them_are_counted() -> None:
    made = made_by("table")
    first, second = made.certificate.parts
    parts = int(ROWS**0.5)
    assert first.possible == math.comb(parts + 3, 3) * LIFTS
    assert second.possible % LIFTS == 0
    for part in (first, second):
        lift = part.certificate.limits.level.below
        assert lift == lift_of_few_digits(lift)
    assert made.certificate.exact_failure <= Fraction(1e-6)
    shares = [sum(second.known[key].exact_failure for key in second.known), first.known.exact_failure]
    assert made.certificate.exact_failure == shares[1] + first.possible * shares[0]


def test_too_many_combinations_meet_the_margin_by_what_earlier_guarantees_imply(monkeypatch: Any) -> None:
    monkeypatch.setattr("leakwise.workflow.several._MOST_STRATA", 1)
    made = released(**COUNTED)
    second = made.certificate.verify().parts[1]
    assert second.alone is not None
    assert second.certificate.limits.level.below == lift_of_few_digits(second.certificate.limits.level.below)
    assert known_within(made, "b") == pytest.approx(0.03, rel=0.03)


def test_a_certificate_that_forgets_the_lifts_is_rejected(tmp_path: Any) -> None:
    made = made_by("table")
    path = tmp_path / "proof.json"
    made.certificate.save(path)
    assert [part.least for part in lw.verify(path).parts] == [True, True]
    first, second = made.certificate.parts
    forgotten = replace(made.certificate, parts=(replace(first, possible=first.possible // LIFTS), second))
    with pytest.raises(CertificateRejected, match=r"counts .* mechanisms that its rows could have chosen"):
        forgotten.verify()
    # Also of a mechanism that holds for every prior, the rows decided the lift.
    response = lw.randomized_response(A, lift=2)
    every = certify(response, lw.AllPriors(lw.Prior.uniform(A)), lift=2)
    part = SecretPart(("a",), every, None, LIFTS - 1, least=True)
    with pytest.raises(CertificateRejected, match=f"and there may be {LIFTS:,}"):
        replace(made.certificate, parts=(part, second)).verify()
    # A lift of more digits is one of more.
    asked = released({"a": Fraction("1.40001"), "b": 1.4}, margin=None, **COUNTED).certificate
    claimed = [replace(part, least=True, possible=part.possible * LIFTS) for part in asked.parts]
    with pytest.raises(CertificateRejected, match="is not one of three digits"):
        replace(asked, parts=tuple(claimed)).verify()


# ---------------------------------------------------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"lifts": {"a": 2, "b": None}}, "Of 'a': margin .* does not go with lift"),
        ({"lifts": {"a": 2, "b": 2}, "margin": 0.02}, "margin .* finds lifts, and every secret has one already"),
        ({"margin": {"a": 0.02}}, "The lift of 'b' must be a number.* or a margin= of it"),
        ({"margin": {"a": 0.02, "c": 0.03}}, "margin names 'c', which is not among the secrets 'a', 'b'"),
        ({"total": 3}, "margin .* does not go with total"),
        ({"use": "reading"}, "Of 'a': margin .* goes with use='statistics'"),
        ({"values": [1, 2, 3]}, "values must map secrets"),
        ({"values": {"c": [1, 2, 3]}}, "values names 'c'"),
        ({"lifts": {"a": 2, "b": None}, "margin": {"b": 0.03}, "values": {"a": [1, 2, 3]}}, "Of 'a': values"),
        ({"margin": {"a": 0.05, "b": 0.7}, "prior": JOINT}, "Of 'b': margin=0.7 costs no leakage"),
        ({"margin": {"a": 0.05, "b": 0.001}}, "Of 'b': .* rows would do"),
        ({"margin": {"a": 0.05, "b": {"w": 0.02}}}, "Of 'b': margin names 'w', which is not a value"),
        ({"lift": 2}, "lift must be left out beside a mapping"),
        ({"joint": True, "prior": JOINT}, "margin must be one number, or map combinations of values"),
        ({"joint": True, "prior": JOINT, "margin": 0.05, "total": 3}, "margin .* does not go with lift"),
    ],
)
def test_bad_input_is_told(options: dict[str, Any], words: str) -> None:
    given = {"lifts": {"a": None, "b": None}, "prior": ALONE, **options}
    with pytest.raises(InvalidInput, match=words):
        released(given.pop("lifts"), rows_of(2_000), **given)
