"""A level: epsilon or lift, and a decision without rounding."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leakwise.errors import InvalidInput
from leakwise.exact import Level, exp_lower, exp_upper, level, log_upper
from strategies import exp_bracket


@given(st.floats(0, 30, allow_subnormal=False))
def test_epsilon(epsilon: float) -> None:
    asked = level(epsilon)
    low, high = exp_bracket(Fraction(epsilon))
    assert asked.epsilon == epsilon
    assert asked.below <= high
    assert asked.above >= low
    assert asked.above - asked.below <= Fraction(1, 1 << 64)
    assert asked.allows(asked.below)
    assert epsilon == 0 or not asked.allows(asked.above)


@given(st.fractions(min_value=1, max_value=1000))
def test_lift(lift: Fraction) -> None:
    asked = level(lift=lift)
    assert asked.below == asked.above == lift
    assert asked.exponent is None
    assert asked.epsilon == log_upper(lift)
    assert asked.allows(lift)
    assert not asked.allows(lift + Fraction(1, 10**30))


@given(st.fractions(min_value=Fraction(1, 100), max_value=10, max_denominator=100))
def test_allows_decides_between_the_two_sides(epsilon: Fraction) -> None:
    asked = level(epsilon)
    inside, outside = exp_lower(epsilon, 200), exp_upper(epsilon, 200)
    assert asked.below < inside < outside < asked.above
    assert asked.allows(inside)
    assert not asked.allows(outside)


def test_nothing_may_leak() -> None:
    for asked in (level(0), level(lift=1), level("0")):
        assert asked.below == asked.above == 1
        assert asked.epsilon == 0.0
        assert asked.allows(Fraction(1))
        assert not asked.allows(1 + Fraction(1, 10**50))


@pytest.mark.parametrize("typed", [1.1, 1.05, 2.2, 1.3, 1.2, 1.7, 2.0])
def test_a_typed_float_is_designed_for_as_it_reads_and_allowed_as_it_is(typed: float) -> None:
    asked = level(lift=typed)
    assert asked.below <= Fraction(str(typed))
    assert asked.above == Fraction(typed)
    assert asked.allows(Fraction(typed))
    assert not asked.allows(Fraction(typed) + Fraction(1, 10**30))


@pytest.mark.parametrize("asked", [level(0.8), level(lift=1.1), level(lift="3/2"), level("0")])
def test_a_level_passes_through_unchanged(asked: Level) -> None:
    assert level(asked) is asked
    assert level(asked, name="target") is asked


def test_a_level_beside_a_lift_is_refused() -> None:
    with pytest.raises(InvalidInput, match="Got both"):
        level(level(1), 2)


def test_a_computed_float_is_its_binary_value() -> None:
    lift = math.exp(0.8)
    assert level(lift=lift).below == level(lift=lift).above == Fraction(lift)


def test_decimal_texts() -> None:
    assert level(lift="1.1").below == Fraction(11, 10)
    assert level("0.1").exponent == Fraction(1, 10)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "Got neither"),
        ({"epsilon": 1, "lift": 2}, "Got both"),
        ({"epsilon": -0.1}, r"epsilon must be at least 0.*-0\.1"),
        ({"epsilon": math.nan}, "epsilon must be finite"),
        ({"epsilon": math.inf}, "epsilon must be finite"),
        ({"epsilon": "much"}, "epsilon must be a number"),
        ({"epsilon": True}, "epsilon must be a number"),
        ({"epsilon": 5001}, "nats"),
        ({"lift": 0.99}, "lift must be at least 1"),
        ({"lift": -1}, "lift must be at least 1"),
        ({"lift": math.inf}, "lift must be finite"),
        ({"lift": math.nan}, "lift must be finite"),
        ({"lift": level(1)}, "lift must be a number"),
    ],
)
def test_bad_levels(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        level(**arguments)


def test_the_name_of_the_argument_is_said() -> None:
    with pytest.raises(InvalidInput, match="pml must be at least 0"):
        level(-1, name="pml")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (level(0.8), "epsilon = 0.8"),
        (level(lift=2), "lift = 2"),
        (level(lift="3/2"), "lift = 3/2"),
        (level(lift=1.1), "lift = 1.1"),
    ],
)
def test_words(asked: object, words: str) -> None:
    assert asked.words == words  # type: ignore[attr-defined]


def test_words_of_a_lift_beyond_floats() -> None:
    assert level(lift=10**400).words == f"lift = {10**400}"
