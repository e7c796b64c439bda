"""The leakage of events against its definition, by trying every event, and the laws of [EN] Lemma 3."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leakwise as lw
from leakage.brute import EXAMPLE, UNIFORM, channels, matrices

F = Fraction
Channel = tuple[lw.Mechanism, lw.Prior]


def events(size: int) -> list[tuple[int, ...]]:
    return [e for count in range(1, size + 1) for e in itertools.combinations(range(size), count)]


def by_definition(mechanism: lw.Mechanism, prior: lw.Prior, shares: dict[int, Fraction]) -> tuple[Fraction, Fraction]:
    """P(E) and max_x P(E|x) / P(E), or 1 for an event that never happens."""
    rows = [[F(int(w), mechanism.denominator) for w in row] for row in mechanism.weights.tolist()]
    inside = [sum(row[y] * share for y, share in shares.items()) for row in rows]
    mass = sum((p * here for p, here in zip(prior.fractions, inside, strict=True)), F(0))
    largest = max(here for p, here in zip(prior.fractions, inside, strict=True) if p)
    return mass, largest / mass if mass else F(1)


@given(channels())
def test_event_leakage_is_its_definition_for_every_event(channel: Channel) -> None:
    mechanism, prior = channel
    size = mechanism.shape[1]
    found = {}
    for event in events(size):
        mass, lift = by_definition(mechanism, prior, dict.fromkeys(event, F(1)))
        found[event] = lw.measures.event_leakage(mechanism, prior, event)
        assert math.log(lift) - 1e-15 <= found[event] <= math.log(lift) + 1e-12
        if mass:
            assert 0 <= found[event] <= -math.log(mass) + 1e-12  # Lemma 3 (i)
    assert found[tuple(range(size))] == 0  # Lemma 3 (ii)
    for one, two in itertools.combinations(found, 2):
        if not set(one) & set(two):  # Lemma 3 (iii)
            assert found[tuple(sorted(one + two))] <= max(found[one], found[two]) + 1e-12
    assert [found[(y,)] for y in range(size)] == pytest.approx(lw.pml(mechanism, prior).tolist(), abs=1e-12)


@given(channels(), st.data())
def test_a_randomized_event_counts_each_outcome_with_its_probability(channel: Channel, data: st.DataObject) -> None:
    mechanism, prior = channel
    shares = data.draw(st.dictionaries(st.integers(0, mechanism.shape[1] - 1), st.fractions(F(1, 9), 1), min_size=1))
    _, lift = by_definition(mechanism, prior, shares)
    assert lw.measures.event_leakage(mechanism, prior, shares) == pytest.approx(math.log(lift), abs=1e-12)


def test_the_largest_event_of_a_probability_is_the_binary_envelope() -> None:
    """[EN] (26) for Example 1 at δ = 1/2, where no boundary outcome must be divided."""
    best = max(
        lw.measures.event_leakage(EXAMPLE, UNIFORM, event)
        for event in events(4)
        if by_definition(EXAMPLE, UNIFORM, dict.fromkeys(event, F(1)))[0] >= F(1, 2)
    )
    assert best == pytest.approx(lw.envelope(EXAMPLE, UNIFORM, "1/2").binary, abs=1e-12)
    assert lw.measures.event_leakage(EXAMPLE, UNIFORM, [0, 1]) == pytest.approx(math.log(2), abs=1e-15)
    assert lw.measures.event_leakage(EXAMPLE, UNIFORM.ball("0.1"), [0, 1]) > math.log(2)


def test_events_by_name_and_what_is_no_event() -> None:
    m = lw.randomized_response(["no", "yes"], lift=3)
    assert lw.measures.event_leakage(m, [0.5, 0.5], {"yes"}) == lw.measures.event_leakage(
        m, [0.5, 0.5], {"yes": 1, "no": 0}
    )
    for outcomes, words in (
        ("yes", "list of outcomes"),
        ([], "at least one"),
        ({"yes": 0}, "at least one"),
        ({"yes": 2}, "between 0 and 1"),
        (["ye"], "Did you mean"),
        (3, "list of outcomes"),
    ):
        with pytest.raises(lw.InvalidInput, match=words):
            lw.measures.event_leakage(m, [0.5, 0.5], outcomes)


@given(matrices(most=4), st.fractions(F(1, 20), 2, max_denominator=20), st.fractions(F(21, 20), 4, max_denominator=20))
def test_4_bounds_the_loss_above_every_real_multiple(matrix: list[list[Fraction]], eps: Fraction, k: Fraction) -> None:
    mechanism = lw.Mechanism(matrix)
    delta = lw.measures.privacy_profile(mechanism).delta(eps)
    bound = lw.measures.probabilistic_ldp_bound(eps, delta, times=k)
    assert lw.measures.probabilistic_ldp(mechanism, eps * k) <= bound
    assert bound == pytest.approx(min(1.0, delta / -math.expm1(-float((k - 1) * eps))), rel=1e-9)
    assert bound >= lw.measures.probabilistic_ldp_bound(lift=math.exp(eps), delta=delta, times=k) * (1 - 1e-12)


def test_4_at_its_ends() -> None:
    assert lw.measures.probabilistic_ldp_bound(0, "0.1") == 1.0
    assert lw.measures.probabilistic_ldp_bound(0, 0) == 0.0
    assert lw.measures.probabilistic_ldp_bound(4000, "1e-9", times=4000) == pytest.approx(1e-9)
    # Two outcomes of loss log 4 and log 1/4: the profile at log 2 is 0.4, and (4) with k = 2 bounds nothing there.
    m = lw.randomized_response(2, lift=4)
    assert lw.measures.privacy_profile(m).delta(lift=2) == pytest.approx(0.4)
    assert (
        lw.measures.probabilistic_ldp(m, lift="3.9")
        == 0.8
        <= lw.measures.probabilistic_ldp_bound(lift=2, delta="0.4", times="1.96")
    )
    with pytest.raises(lw.InvalidInput, match="times must be above 1"):
        lw.measures.probabilistic_ldp_bound(1, "0.1", times=1)
