"""Someone who gets the outcome with only some of its given columns: what they learn is not what the whole row tells."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import leakwise as lw
from leakwise.mechanism.part_of_row import seen_with

VALUES = ["a", "b", "c"]
GIVEN = {"sex": ["f", "m"], "job": ["x", "y", "z"]}


def random_row(seed):
    """Priors with zeros, weights and mechanisms of all strata, some of whose outcomes are in no other stratum."""
    generator = np.random.default_rng(seed)
    strata = list(itertools.product(*GIVEN.values()))
    priors, mechanisms = {}, {}
    for key in strata:
        weights = generator.integers(0, 5, 3)
        weights[generator.integers(3)] += 1
        priors[key] = lw.Prior(dict(zip(VALUES, weights.tolist(), strict=True)))
        rows = [[Fraction(int(w), int(row.sum())) for w in row] for row in generator.integers(1, 6, (3, 2))]
        mechanisms[key] = lw.Mechanism(rows, inputs=VALUES, outputs=["p", str(generator.choice(["q", "r", "s"]))])
    weights = dict(zip(strata, generator.integers(1, 9, 6).tolist(), strict=True))
    by = lw.PriorByStratum(priors, GIVEN, weights)
    return lw.StratifiedMechanism(mechanisms, GIVEN), by


def true_lift(sm, by, seen):
    """The largest P(s|u',y)/P(s|u') in fractions, by the joint distribution of everything."""
    joint = {}
    for key in by:
        part = tuple(value for name, value in zip(GIVEN, key, strict=True) if name in seen)
        for value, mass in zip(VALUES, by[key].fractions, strict=True):
            for outcome in sm[key].outputs:
                cell = (part, value, outcome)
                joint[cell] = joint.get(cell, 0) + by.weights[key] * mass * sm[key].probability(value, outcome)

    def total(test):
        return sum(mass for cell, mass in joint.items() if test(*cell))

    worst = Fraction(0)
    for (part, value, outcome), mass in joint.items():
        if mass:
            before = total(lambda p, v, o, part=part, value=value: (p, v) == (part, value)) / total(
                lambda p, v, o, part=part: p == part
            )
            after = mass / total(lambda p, v, o, part=part, outcome=outcome: (p, o) == (part, outcome))
            worst = max(worst, after / before)
    return worst


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("seen", [[], ["sex"], ["job"], ["job", "sex"]])
def test_the_lift_for_a_reader_of_a_part_is_that_of_bayes(seed, seen):
    sm, by = random_row(seed)
    found = lw.certify(sm, by, lift=2).for_reader(seen)
    assert found.ratio == true_lift(sm, by, seen)
    assert found.verify() is found if found.holds else not found.holds


def test_a_copy_without_the_given_columns_may_tell_more_than_was_promised():
    """No outcome adds anything to sex, and without sex it tells it, and with it the secret."""
    by = lw.PriorByStratum({"f": lw.Prior({"no": 0.99, "yes": 0.01}), "m": lw.Prior({"no": 0.5, "yes": 0.5})}, "sex")
    x, y = (lw.Mechanism([[1], [1]], inputs=["no", "yes"], outputs=[outcome]) for outcome in "xy")
    certificate = lw.certify(lw.StratifiedMechanism({"f": x, "m": y}, by.given_columns), by, lift="1.5")
    assert certificate.holds
    assert certificate.ratio == 1
    copy = certificate.for_reader()
    assert not copy.holds
    assert copy.ratio > Fraction("1.9")
    assert "The guarantee does not hold" in copy.sentence


def test_what_cannot_be_said_is_refused():
    sm, by = random_row(1)
    with pytest.raises(lw.InvalidInput, match="Did you mean 'sex'"):
        seen_with(sm, by, ["sx"])
    with pytest.raises(lw.InvalidInput, match="have a set of priors"):
        seen_with(sm, by.replaced({key: by[key].ball(beta="0.1") for key in by}), [])
    rest = lw.StratifiedMechanism({key: sm[key] for key in sm}, GIVEN, otherwise=lw.randomized_response(VALUES, lift=2))
    with pytest.raises(lw.InvalidInput, match="share the rows whole"):
        seen_with(rest, by, ["sex"])
