"""Several releases of one secret: the joint leakage by the definition, bounds above it, and never a plain sum."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.tables.ledger.joint_total import together
from strategies import laws, matrices, pml_ratio


def joint_matrix(parts):
    """P(y1, y2, … | x) by multiplication."""
    rows = []
    for letter in range(len(parts[0])):
        choices = itertools.product(*(part[letter] for part in parts))
        rows.append([math.prod(choice, start=Fraction(1)) for choice in choices])
    return rows


@st.composite
def several(draw, zeros: bool = True):
    size = draw(st.integers(2, 4))
    count = draw(st.integers(1, 3))
    parts = [draw(matrices(size, draw(st.integers(1, 3)), zeros=zeros, largest=9)) for _ in range(count)]
    return parts, draw(laws(size, largest=9))


@settings(max_examples=80)
@given(several())
def test_the_joint_leakage_is_that_of_the_definition(case):
    parts, prior = case
    found = together([lw.Mechanism(part) for part in parts], lw.Prior(prior))
    truth = math.log(pml_ratio(joint_matrix(parts), prior))
    assert found.exact
    assert truth - 1e-12 <= found.epsilon <= truth + 1e-9 + 1e-12


@settings(max_examples=80)
@given(several())
def test_the_bound_is_above_the_joint_leakage(case):
    parts, prior = case
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("leakwise.tables.ledger.joint_total.MOST_OUTCOMES", 2)
        found = together([lw.Mechanism(part) for part in parts], lw.Prior(prior))
    assert found.epsilon >= math.log(pml_ratio(joint_matrix(parts), prior)) - 1e-12


@settings(max_examples=40)
@given(several(zeros=False), st.data())
def test_releases_of_more_than_the_secret_are_bounded_by_their_ldp(case, data):
    """X = (A, B): one release of A, one of both together; the leakage about A is within the bound."""
    parts, prior = case
    size, other = len(prior), 2
    spread = data.draw(laws(other, zeros=False, largest=9))
    both = data.draw(matrices(size * other, 2, zeros=False, largest=9))
    # P(y_A, y_B | a) with B independent of A.
    through = [
        [sum((spread[b] * both[a * other + b][y] for b in range(other)), Fraction(0)) for y in range(2)]
        for a in range(size)
    ]
    truth = math.log(pml_ratio(joint_matrix([parts[0], through]), prior))
    found = together([lw.Mechanism(parts[0])], lw.Prior(prior), [lw.Mechanism(both)])
    assert found.epsilon >= truth - 1e-12
    assert found.exact == (lw.ldp(lw.Mechanism(both)) == 0)


def test_epsilons_are_not_added():
    """Theorem 3 of [EX] at N=3, ε = log 1.5, used twice leaks log 3 > log 2.25."""
    m = lw.design(lw.Prior.uniform(3), lift=1.5).mechanism
    once, twice = (together([m] * n, lw.Prior.uniform(3)).epsilon for n in (1, 2))
    assert once == pytest.approx(math.log(1.5), abs=1e-9)
    assert twice == pytest.approx(math.log(3), abs=1e-9)
    assert twice > 2 * once


def test_repetitions_are_counted_by_types():
    m = lw.randomized_response(3, lift=2)
    found = together([m] * 40, lw.Prior([0.5, 0.3, 0.2]))
    assert found.exact
    assert found.outcomes <= 41 * 42 // 2
    # Forty times the outcome of the rarest letter.
    p, q = 0.5**40, 0.25**40
    assert found.epsilon == pytest.approx(math.log(p / (0.2 * p + 0.8 * q)), abs=1e-9)


def test_letters_in_another_order():
    m = lw.Mechanism([[0.9, 0.1], [0.2, 0.8]], inputs=["b", "a"], outputs=["x", "y"])
    same = lw.Mechanism([[0.2, 0.8], [0.9, 0.1]], inputs=["a", "b"], outputs=["x", "y"])
    prior = lw.Prior({"a": 0.7, "b": 0.3})
    assert together([m, same], prior).epsilon == together([same, same], prior).epsilon
    with pytest.raises(lw.InvalidInput, match="same values"):
        together([m], lw.Prior({"a": 0.7, "c": 0.3}))


def test_too_small_products_leave_the_exact_way():
    tiny = Fraction(1, 2**1000)
    m = lw.Mechanism([[1 - tiny, tiny], [tiny, 1 - tiny]])
    found = together([m, m], lw.Prior.uniform(2))
    assert found.epsilon <= math.log(2) + 1e-9  # never above ε_max


def test_nothing_released_reveals_nothing():
    assert together([], lw.Prior.uniform(3)).epsilon == 0.0
    assert np.isfinite(together([lw.constant(3)] * 5, lw.Prior.uniform(3)).epsilon)


# ------------------------------------------------------------------------------- releases by the settings of protect()

TABLE = {"smokes": ["no", "yes", "no", "sometimes"]}
PRIOR = lw.Prior({"no": 0.5, "yes": 0.3, "sometimes": 0.2})
SETS = {
    "prior": PRIOR,
    "ball": PRIOR.ball(0.1),
    "sample": lw.Prior.from_counts({"no": 5000, "yes": 3000, "sometimes": 2000}).confidence(1e-6, "layer-cake"),
}


@pytest.mark.filterwarnings("ignore:The proven gap")
@pytest.mark.parametrize("priors", SETS)
def test_any_number_of_releases_by_default_settings_has_a_finite_bound(priors, monkeypatch):
    monkeypatch.setattr("leakwise.tables.ledger.joint_total.MOST_OUTCOMES", 2000)  # soon beyond what is enumerated
    m = lw.protect(TABLE, "smokes", prior=SETS[priors], lift=2).mechanism
    limit = lw.ldp(m)
    assert limit <= math.log(20) + 1e-9
    before = 0.0
    for k in (1, 2, 3, 10, 30, 100):
        found = together([m] * k, SETS[priors]).epsilon
        assert before <= found <= k * limit * (1 + 1e-12)
        assert m.repeat(k).releases == k
        before = found


@pytest.mark.filterwarnings("ignore:The proven gap")
def test_a_ledger_of_ten_releases_has_a_finite_total(tmp_path, monkeypatch):
    monkeypatch.setattr("leakwise.tables.ledger.joint_total.MOST_OUTCOMES", 2000)
    book = lw.Ledger(tmp_path / "ledger.db")
    done = lw.protect(TABLE, "smokes", prior=PRIOR.ball("1/2"), lift=2, ledger=book, dataset="survey")
    for _ in range(9):
        book.confirm(book.reserve("survey", ["smokes"], done.certificate, origin="given", rows=4), released_digest="x")
    total = book.total("survey", "smokes")
    assert total.releases == 10
    assert math.isfinite(total.epsilon)


def test_without_the_second_limit_two_releases_may_have_no_bound():
    priors = lw.Box(PRIOR, [0, 0, 0], [1, 1, 1])
    free = lw.Mechanism([["1", "0"], ["1/2", "1/2"], ["0", "1"]])
    assert together([free] * 2, priors).epsilon == math.inf


def test_what_is_not_composed_is_bounded_by_the_rarest_value_and_all_that_is_told() -> None:
    prior = lw.Prior([0.2, *[0.8 / 11] * 11])
    m = lw.catalog.subset_selection(12, epsilon=0.05)
    found, least = together([m] * 60, prior), 0.8 / 11
    assert not found.exact
    told = -math.log(least + (1 - least) * math.exp(-60 * lw.ldp(m)))
    assert told < prior.epsilon_max - 0.4
    assert told <= found.epsilon <= told + 1e-9
    assert found.epsilon >= math.log(4.1068)  # some joint outcome: sixty times the set that tells most
