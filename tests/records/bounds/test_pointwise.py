"""Every guess against bounded min-entropy: exact, against linear programs over all priors, and its known values."""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from leakwise import records
from leakwise.errors import InvalidInput
from leakwise.records import Channel, Query, RecordLeakage

LOG2 = math.log(2)


def pointwise(channel: Channel, b: float) -> RecordLeakage:
    return records.leakage(channel, min_entropy=b, measure="pointwise")


def guesses(channel: Channel) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """For every record, value and outcome: which datasets have the value, and the chance of the outcome in each."""
    rows, shape = channel.by_dataset(), channel.query.shape
    places = np.array(np.unravel_index(np.arange(len(rows)), shape)).T
    for i, size in enumerate(shape):
        for a in range(size):
            for column in rows.T:
                yield places[:, i] == a, column


def largest(inside: np.ndarray, column: np.ndarray, b: float, share: float) -> float:
    """max P(y | a) / P(y) over the priors with p ≤ e^-b and P(a) = share: Charnes and Cooper's linear program."""
    size, most = len(column), math.exp(-b)
    # x = p t and t, with P(y) t = 1: maximise Σ_a x r / share.
    equal = np.array([np.append(column, 0.0), np.append(np.ones(size), -1.0), np.append(inside * 1.0, -share)])
    within = np.hstack([np.eye(size), np.full((size, 1), -most)])
    done = linprog(
        -np.append(np.where(inside, column, 0.0), 0.0) / share,
        A_ub=within, b_ub=np.zeros(size), A_eq=equal, b_eq=[1.0, 0.0, 0.0], method="highs",
    )  # fmt: skip
    return -float(done.fun) if done.status == 0 else 0.0


SMALL = {
    "parity": lambda: records.parity(4).symmetric_channel(0.3),
    "count": lambda: records.count(3).geometric(0.7),
    "sum": lambda: records.modular_sum(3, 3).symmetric_channel(0.2),
    "pairs": lambda: records.pairs(3).laplace(1.0),
    "ternary": lambda: records.modular_sum(2, 3, alphabet=3).exponential(1.0),
    "any": lambda: Query(max, [3, 2]).channel(np.random.default_rng(1).dirichlet([1, 1, 1], 6), by="dataset"),
}


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("part", [0.4, 0.93])
def test_against_linear_programs_over_all_priors(name: str, part: float) -> None:
    channel = SMALL[name]()
    b = part * channel.query.max_entropy
    r = pointwise(channel, b)
    assert 0 <= r.gap <= 1e-12
    most, found = math.exp(-b), 0.0
    for inside, column in guesses(channel):
        low = max(1e-7, 1 - most * (~inside).sum())
        high = min(1.0, most * inside.sum())
        for share in np.linspace(low, high, 9):
            found = max(found, largest(inside, column, b, float(share)))
    assert math.log(found) <= r.bound + 1e-9
    # The share that is best, once more by the program; near 0 it is a limit.
    inside = np.array([value == r.letter for value in _values(channel, r.record)])
    column = channel.by_dataset()[:, channel.outputs.index(r.outcome)]
    best = max(1e-7, sum(p for value, _, _, p in r.adversary.entries if value == r.letter))
    assert math.log(largest(inside, column, b, best)) == pytest.approx(r.value, abs=1e-5)


def _values(channel: Channel, record: int) -> list[object]:
    places = np.unravel_index(np.arange(channel.query.datasets), channel.query.shape)[record]
    return [channel.query.alphabets[record][k] for k in places]


def test_known_values() -> None:
    """Parity: log(.7/.3) at b = 0, log(.7 / (.3 c + .7 (1-c))) with c = 4 e^-b at b = 2, nothing at the maximum."""
    c = records.parity(4).symmetric_channel(0.3)
    assert pointwise(c, 0.0).bound == pytest.approx(math.log(0.7 / 0.3), abs=1e-14)
    known = 4 * math.exp(-2.0)
    assert pointwise(c, 2.0).value == pytest.approx(math.log(0.7 / (0.3 * known + 0.7 * (1 - known))), abs=1e-14)
    assert round(pointwise(c, 2.0).value, 3) == 0.370
    assert pointwise(c, c.query.max_entropy).bound == 0.0


def test_no_min_entropy_is_the_epsilon_of_every_prior() -> None:
    """At b = 0 records may depend on each other in any way: the largest ratio of two datasets that differ in one."""
    for make in SMALL.values():
        channel = make()
        worst = 0.0
        for inside, column in guesses(channel):
            worst = max(worst, math.log(column[inside].max() / column[~inside].min()))
        assert pointwise(channel, 0.0).bound == pytest.approx(worst, abs=1e-12)


def test_at_the_largest_min_entropy_only_the_uniform_prior_is_left() -> None:
    for make in SMALL.values():
        channel = make()
        r = pointwise(channel, channel.query.max_entropy)
        worst = max(math.log(column[inside].mean() / column.mean()) for inside, column in guesses(channel))
        assert r.value == pytest.approx(worst, abs=1e-13)
        assert r.bound == pytest.approx(worst, abs=1e-13)


def test_a_bit_revealed_once_in_a_thousand_times() -> None:
    """I = 0.0007 nats, and an answer that tells everything."""
    c = Query(lambda x: x[0], [2]).channel([[0.999, 0.001, 0.0], [0.999, 0.0, 0.001]])
    assert records.leakage(c, entropy=LOG2).bound == pytest.approx(0.001 * LOG2, abs=1e-9)
    r = pointwise(c, c.query.max_entropy)
    assert r.bound == pytest.approx(LOG2, abs=1e-15)
    assert r.outcome in (1, 2)
    # Someone who may be nearly sure already can be surprised without limit, and then there is no certificate.
    everything = pointwise(c, 0.0)
    assert everything.value == everything.bound == math.inf
    assert everything.gap == 0.0
    assert everything.certificate is None
    assert "∞ times as likely" in everything.sentence


@st.composite
def channels(draw: st.DrawFn) -> Channel:
    shape = draw(st.sampled_from([[2], [2, 2], [3, 2], [2, 2, 2]]))
    size, outcomes = math.prod(shape), draw(st.integers(1, 3))
    weights = st.lists(st.integers(0, 6), min_size=outcomes, max_size=outcomes).filter(any)
    rows = np.array(draw(st.lists(weights, min_size=size, max_size=size)), dtype=float)
    return Query(np.arange(size).reshape(shape), shape).channel(rows / rows.sum(axis=1, keepdims=True), by="dataset")


@given(channels(), st.floats(0.0, 1.0), st.integers(0, 2**32))
@settings(max_examples=60, deadline=None)
def test_no_prior_beats_the_bound_and_the_adversary_reaches_the_value(channel: Channel, part: float, seed: int) -> None:
    b = part * channel.query.max_entropy
    r = pointwise(channel, b)
    assert r.gap <= 1e-11
    generator, most = np.random.default_rng(seed), max(math.exp(-b), 1 / channel.query.datasets)
    for _ in range(5):
        p = generator.dirichlet(np.full(channel.query.datasets, 0.3))
        for _ in range(60):  # what is above the most goes to the others
            over = np.maximum(p - most, 0).sum()
            p = np.minimum(p, most)
            room = most - p
            p = p + over * room / max(room.sum(), 1e-300)
        for inside, column in guesses(channel):
            if (p * column)[inside].sum() > 0:
                lift = (p * column)[inside].sum() / p[inside].sum() / (p * column).sum()
                assert math.log(lift) <= r.bound + 1e-9
    problem = next(case.problem for case in channel.cases if r.record in case.records)
    if r.bound < 600:  # beyond, the floats of this test end
        own = np.array([value == r.letter for value, *_ in r.adversary.entries])
        column = problem.rows[:, channel.outputs.index(r.outcome)]
        lift = (r.belief * column)[own].sum() / r.belief[own].sum() / (r.belief * column).sum()
        assert math.log(lift) == pytest.approx(r.value, abs=1e-9)
        assert r.adversary.min_entropy is not None
        assert r.adversary.min_entropy >= b - 1e-12
        assert r.certificate is not None
        assert r.certificate.verify().epsilon_upper == pytest.approx(r.bound, abs=1e-15)


def test_a_thousand_records_and_falls_with_b() -> None:
    c = records.modular_sum(1000, 3).symmetric_channel(0.3)
    found = [pointwise(c, b) for b in (0.0, 692.0, 692.9, c.query.max_entropy)]
    assert found[0].bound == pytest.approx(math.log(0.7 / 0.15), abs=1e-12)
    assert [r.bound for r in found] == sorted((r.bound for r in found), reverse=True)
    assert all(r.gap <= 1e-12 for r in found)
    assert len(found[0].alike) == 1000
    curve = records.leakage_curve(c, [0.0, 692.9], measure="pointwise")
    assert curve.bound.tolist() == [found[0].bound, found[2].bound]
    assert "min-entropy" in curve.x_title


def test_what_is_refused_says_what_to_give() -> None:
    c = records.parity(3).symmetric_channel(0.3)
    with pytest.raises(InvalidInput, match="min_entropy= instead"):
        records.leakage(c, 1.0, measure="pointwise")
    with pytest.raises(InvalidInput, match="measure='pointwise'"):
        records.leakage(c, min_entropy=1.0)
    with pytest.raises(InvalidInput, match="'mutual_information' or 'pointwise'"):
        records.leakage(c, measure="pml")
    with pytest.raises(InvalidInput, match="min_entropy is 3"):
        pointwise(c, 3.0)


def test_the_result_shows_where_it_is_reached() -> None:
    r = pointwise(records.parity(4).symmetric_channel(0.3), 2.0)
    assert r.sentence.startswith("No answer makes a guess about a record more than 1.4479 times as likely")
    plain = r.to_dict()
    assert (plain["min_entropy"], plain["outcome"], plain["letter"], plain["measure"]) == (2.0, 0, 0, "pointwise")
    assert "by value" in str(r)
    assert "min-entropy is 2.0000" in r.adversary.sentence
    assert r.certificate is not None
    assert r.certificate.min_entropy == Fraction(2)
