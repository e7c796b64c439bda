"""Releases certified beside earlier outcomes, and releases that are entered together, all or none."""

from __future__ import annotations

import math
import sqlite3
from contextlib import closing
from fractions import Fraction

import pytest

import leakwise as lw
from leakwise.tables.ledger.reservation import Reservation, reserved_entries
from leakwise.tables.ledger.totals import total_of
from leakwise.tables.row_columns import RowColumns

# (a, b) with correlated values, and randomized response on each.
WEIGHTS = {("no", "f"): 4, ("no", "m"): 2, ("yes", "f"): 1, ("yes", "m"): 3}
JOINT = {key: Fraction(weight, 10) for key, weight in WEIGHTS.items()}
FIRST = lw.randomized_response(["no", "yes"], lift=3)
SECOND = lw.randomized_response(["f", "m"], lift=2)


@pytest.fixture
def ledger(tmp_path):
    return lw.Ledger(tmp_path / "ledger.db")


def of_a():
    return lw.certify(FIRST, lw.Prior({"no": Fraction(6, 10), "yes": Fraction(4, 10)}))


def of_b(name="a"):
    """The mechanism for b, certified beside the outcome of a: for P(b | y)."""
    posteriors = {}
    for outcome in FIRST.outputs:
        mass = {b: sum(p * FIRST.probability(a, outcome) for (a, at), p in JOINT.items() if at == b) for b in "fm"}
        posteriors[outcome] = lw.Prior({b: p / sum(mass.values()) for b, p in mass.items()})
    priors = lw.PriorByStratum(posteriors, {name: list(FIRST.outputs)})
    return lw.certify(lw.StratifiedMechanism(dict.fromkeys(posteriors, SECOND), priors.given_columns), priors)


def pair():
    return [Reservation("a", of_a()), Reservation("b", of_b(), outcomes={"a": "a"})]


def true_lift():
    """max P(a, b | y, z) / P(a, b) over all outcomes."""
    worst = Fraction(1)
    for y in FIRST.outputs:
        for z in SECOND.outputs:
            mass = {(a, b): p * FIRST.probability(a, y) * SECOND.probability(b, z) for (a, b), p in JOINT.items()}
            worst = max(worst, *(mass[key] / sum(mass.values()) / JOINT[key] for key in JOINT))
    return worst


def test_a_release_certified_beside_earlier_outcomes_adds_its_lift(ledger):
    first = ledger.reserve("d", "a", of_a())
    second = ledger.reserve("d", "b", of_b("y"), outcomes={"y": first})
    ledger.confirm(first)
    ledger.confirm(second)
    total = ledger.total("d", ("a", "b"))
    lifts = of_a().epsilon_upper + of_b().epsilon_upper
    assert math.log(true_lift()) <= total.epsilon == pytest.approx(lifts)
    assert lifts < of_a().epsilon_upper + math.log(2)  # less than with the limit for anyone
    # Without the outcome, that is what it counts with.
    ledger.confirm(ledger.reserve("e", "a", of_a()))
    plain = lw.certify(SECOND, lw.Prior({"f": Fraction(1, 2), "m": Fraction(1, 2)}))
    ledger.confirm(ledger.reserve("e", "b", plain))
    assert ledger.total("e", ("a", "b")).epsilon == pytest.approx(of_a().epsilon_upper + math.log(2))
    found = lw.Ledger(ledger.path).entries("d")[1]
    assert (found.outcomes, found.row.given) == ((("y", first),), ())
    assert found.to_dict()["outcomes"] == {"y": first}
    assert f"y (entry {first})" in found.summary()["outcomes"]


def test_an_outcome_in_between_that_a_release_does_not_cover_costs_the_limit_for_anyone(ledger):
    """The third is certified beside the first, and someone who saw the second too knows more than its priors."""
    first = ledger.reserve("d", "a", of_a())
    other = lw.certify(lw.randomized_response([1, 2], lift=5), lw.Prior.uniform([1, 2]))
    ledger.reserve("d", "c", other)
    ledger.reserve("d", "b", of_b(), outcomes={"a": first})
    total = ledger.total("d", ("a", "b", "c"))
    # The best of: a and then b beside it, with c for anyone; a and c together, with b for anyone.
    chain = of_a().epsilon_upper + of_b().epsilon_upper + math.log(5)
    both = min(of_a().epsilon_upper + math.log(5), other.epsilon_upper + math.log(3)) + math.log(2)
    assert total.epsilon == pytest.approx(min(chain, both))
    assert both < chain
    # A guess about a of 2/5 beside 3 · 5 for anyone, 1/(2/5 + 3/5 · 1/15), times 2.
    assert ledger.total("d", "a").epsilon == pytest.approx(math.log(2 / 0.44))


def test_several_releases_are_entered_all_or_none(ledger):
    ledger.set_budget("d", ("a", "b"), epsilon=of_a().epsilon_upper + of_b().epsilon_upper + 1e-9)
    entries = ledger.reserve_all("d", pair())
    assert [one.together for one in ledger.entries()] == [entries[0]] * 2
    assert ledger.entries()[1].outcomes == (("a", entries[0]),)
    ledger.confirm(entries, released_digest=["one", "two"])
    assert [(one.state, one.released_digest) for one in ledger.entries()] == [("released", "one"), ("released", "two")]
    ledger.set_budget("e", "a", lift=Fraction(3, 2))
    with pytest.raises(lw.Infeasible, match="This release of 'a', 'b' of 'e'"):
        ledger.reserve_all("e", pair())
    assert ledger.entries("e") == []
    with closing(sqlite3.connect(ledger.path)) as db:
        assert db.execute("PRAGMA user_version").fetchone() == (4,)


def test_one_of_several_is_cancelled_with_the_others(ledger):
    first, second = ledger.reserve_all("d", pair())
    ledger.cancel(second)
    assert [one.state for one in ledger.entries()] == ["cancelled", "cancelled"]
    first, second = ledger.reserve_all("d", pair())
    ledger.confirm([first, second])
    with pytest.raises(lw.InvalidInput, match="released already"):
        ledger.cancel(first)


def test_an_outcome_that_a_later_release_was_drawn_beside_cannot_be_cancelled(ledger):
    """Y₂ alone may tell more than its own lift: it tells of Y₁."""
    first = ledger.reserve("d", "a", of_a())
    second = ledger.reserve("d", "b", of_b(), outcomes={"a": first})
    with pytest.raises(lw.InvalidInput, match=f"entry {second} was drawn beside its outcome"):
        ledger.cancel(first)
    ledger.cancel(second)
    ledger.cancel(first)


def test_what_was_released_counts_even_if_it_was_cancelled_meanwhile(ledger):
    entry = ledger.reserve("d", "a", of_a())
    ledger.cancel(entry)
    with pytest.warns(UserWarning, match="was cancelled while its release was being made"):
        ledger.confirm(entry)
    assert ledger.total("d", "a").releases == 1


def test_outcomes_that_are_none(ledger):
    first = ledger.reserve("d", "a", of_a())
    with pytest.raises(lw.InvalidInput, match="entry 9, which does not exist"):
        ledger.reserve("d", "b", of_b(), outcomes={"a": 9})
    with pytest.raises(lw.InvalidInput, match="which is of 'd'"):
        ledger.reserve("e", "b", of_b(), outcomes={"a": first})
    with pytest.raises(lw.InvalidInput, match="comes earlier in the same call"):
        ledger.reserve_all("d", pair()[::-1])
    ledger.cancel(first)
    with pytest.raises(lw.InvalidInput, match="which was cancelled"):
        ledger.reserve("d", "b", of_b(), outcomes={"a": first})
    other = ledger.reserve("d", "c", lw.certify(lw.randomized_response([1, 2], lift=5), lw.Prior.uniform([1, 2])))
    with pytest.raises(lw.InvalidInput, match="has values that are none of them"):
        ledger.reserve("d", "b", of_b(), outcomes={"a": other})
    with pytest.raises(lw.InvalidInput, match="at least one release"):
        ledger.reserve_all("d", [])


def test_an_outcome_is_no_column_that_went_out_as_it_is(ledger):
    """The outcome of a has the name of the secret, and a is protected all the same."""
    entries = ledger.reserve_all(
        "d", [Reservation("a", of_a()), Reservation("b", of_b(), row=RowColumns(("b",), ("a",)), outcomes={"a": "a"})]
    )
    assert ledger.total("d", "a").in_clear == ()
    assert ledger.total("d", "a").beside is None
    assert len(entries) == 2


def test_a_release_beside_an_outcome_and_not_beside_what_that_was_drawn_beside_counts_for_anyone():
    """P(s | y₂) mixes what y₁ = 0 and y₁ = 1 would mean: for who has seen both, its lift does not hold."""
    values, weights = ["rare", "some", "most"], [1, 99, 900]
    prior = lw.Prior(dict(zip(values, (Fraction(w, 1000) for w in weights), strict=True)))
    coin = {0: Fraction(1, 10), 1: Fraction(9, 10)}
    hit = {0: [10, 1, 1], 1: [1, 10, 1]}  # in twentieths, by what the coin shows
    last = [Fraction(1, 2), Fraction(1, 2), Fraction(1, 200)]

    def drawn(shares, outputs):
        return lw.Mechanism([[p, 1 - p] for p in shares], inputs=values, outputs=outputs)

    first = drawn([coin[0]] * 3, ["0", "1"])
    second = {str(y): drawn([Fraction(k, 20) for k in hit[y]], ["hit", "miss"]) for y in (0, 1)}
    third = {"hit": drawn(last, ["x", "z"]), "miss": drawn([Fraction(1, 2)] * 3, ["x", "z"])}
    posteriors = {}
    for outcome in ("hit", "miss"):
        mass = [
            w * sum(coin[y] * second[str(y)].probability(value, outcome) for y in (0, 1))
            for value, w in zip(values, weights, strict=True)
        ]
        posteriors[outcome] = lw.Prior({value: m / sum(mass) for value, m in zip(values, mass, strict=True)})
    beside_coin = lw.PriorByStratum(dict.fromkeys(("0", "1"), prior), {"y1": ["0", "1"]})
    beside_hit = lw.PriorByStratum(posteriors, {"y2": ["hit", "miss"]})
    made = reserved_entries(
        "d",
        [
            Reservation("s", lw.certify(first, prior)),
            Reservation(
                "s",
                lw.certify(lw.StratifiedMechanism(second, beside_coin.given_columns), beside_coin),
                outcomes={"y1": -3},
            ),
            Reservation(
                "s",
                lw.certify(lw.StratifiedMechanism(third, beside_hit.given_columns), beside_hit),
                outcomes={"y2": -2},
            ),
        ],
        "",
    )
    assert made[2].epsilon < math.log(2)
    seen = [w * Fraction(k, 20) * p for w, k, p in zip(weights, hit[0], last, strict=True)]
    truth = seen[0] / sum(seen) * 1000
    assert truth > 80
    assert total_of(made, "d", ("s",), None).epsilon >= math.log(truth)
