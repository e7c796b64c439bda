"""Whose data it is: the same people are known again, shuffled, amended or written otherwise, and asked about."""

from __future__ import annotations

import numpy as np
import pytest

import leakwise as lw
from leakwise.tables.ledger.people import People, Sketch, Sketcher
from leakwise.tables.ledger.reservation import Reservation

RESPONSE = lw.certify(lw.randomized_response(["no", "yes"], lift=3), lw.Prior.uniform(["no", "yes"]))  # lift 1.5


@pytest.fixture
def ledger(tmp_path):
    return lw.Ledger(tmp_path / "ledger.db")


def sketch_of(ledger, keys):
    made = ledger.sketcher()
    for part in np.array_split(np.array(keys, dtype=object), 3):
        made.add(part.tolist())
    return made.sketch


def enter(ledger, dataset, keys, secret="smokes", **said):
    people = People("id", sketch_of(ledger, keys), **said)
    (entry,) = ledger.reserve_all(dataset, [Reservation(secret, RESPONSE)], people)
    ledger.confirm(entry)
    return entry


KEYS = list(range(1000, 21000))


def amended(keys):
    return [*keys[30:], *range(500_000, 500_040)]


@pytest.mark.parametrize(
    "change",
    [
        lambda keys: np.random.default_rng(1).permutation(keys).tolist(),
        amended,
        lambda keys: [f" {key:08d} " for key in keys],
        lambda keys: [float(key) for key in keys],
        lambda keys: [*keys, None, float("nan"), ""],
        lambda keys: keys[:300],
    ],
    ids=["shuffled", "amended", "as padded text", "as floats", "with missing keys", "a part"],
)
def test_the_same_people_under_another_name_are_asked_about(ledger, change):
    enter(ledger, "survey.csv", KEYS)
    with pytest.raises(lw.InvalidInput, match=r"say same_as='survey.csv' .*or.* new_people=True"):
        enter(ledger, "copy.csv", change(KEYS), "other")
    assert len(ledger.entries()) == 1
    enter(ledger, "copy.csv", change(KEYS), "other", same_as="survey.csv")
    assert [one.dataset for one in ledger.entries()] == ["survey.csv", "survey.csv"]
    assert ledger.total("copy.csv").releases == 2
    enter(ledger, "copy.csv", change(KEYS), "third")  # what was said once is not asked again
    assert ledger.total("survey.csv").releases == 3


def test_other_people_are_not_asked_about(ledger):
    enter(ledger, "survey.csv", KEYS)
    enter(ledger, "other.csv", range(10**6, 10**6 + 5000))
    assert [ledger.total(name).releases for name in ("survey.csv", "other.csv")] == [1, 1]


def test_the_same_keys_of_other_people_are_counted_apart_once_the_user_says_so(ledger):
    enter(ledger, "one.csv", KEYS)
    enter(ledger, "two.csv", KEYS, new_people=True)
    enter(ledger, "two.csv", KEYS)
    assert [ledger.total(name).releases for name in ("one.csv", "two.csv")] == [1, 2]
    with pytest.raises(lw.InvalidInput, match="are in both"):  # said of two, not of three
        enter(ledger, "three.csv", KEYS)


def test_a_budget_holds_under_both_names(ledger):
    ledger.set_budget("survey.csv", lift=2)
    ledger.set_budget("copy.csv", lift=100)
    enter(ledger, "survey.csv", KEYS)
    with pytest.raises(lw.Infeasible):
        enter(ledger, "copy.csv", KEYS, "other", same_as="survey.csv")
    # Refused, so that nothing of it is kept, not even the name.
    assert ledger.total("copy.csv").releases == 0
    ledger.set_budget("survey.csv", lift=100)
    enter(ledger, "copy.csv", KEYS, "other", same_as="survey.csv")
    ledger.set_budget("copy.csv", lift=5)
    with pytest.raises(lw.Infeasible):
        ledger.reserve("survey.csv", "third", RESPONSE)


def test_data_that_was_entered_without_its_people_before_counts_with_what_it_is_said_to_be(ledger):
    ledger.confirm(ledger.reserve("copy.csv", "a", RESPONSE))
    enter(ledger, "survey.csv", KEYS)
    enter(ledger, "copy.csv", KEYS, "b", same_as="survey.csv")
    assert ledger.total("survey.csv").releases == 3
    enter(ledger, "last.csv", range(5), "b")
    with pytest.raises(lw.InvalidInput, match=r"must be 'survey.csv': that is what 'copy.csv' was said to be"):
        enter(ledger, "copy.csv", KEYS, "b", same_as="last.csv")
    with pytest.raises(lw.InvalidInput, match=r"must be a dataset of the ledger: .*'survey.csv'"):
        enter(ledger, "x.csv", KEYS, "b", same_as="nothing.csv")


def test_a_preview_asks_the_same_and_keeps_nothing(ledger):
    enter(ledger, "survey.csv", KEYS)
    before = ledger.path.read_bytes()
    people = People("id", sketch_of(ledger, KEYS))
    with pytest.raises(lw.InvalidInput, match="are in both"):
        ledger.preview("copy.csv", [Reservation("a", RESPONSE)], people)
    (total,) = ledger.preview("copy.csv", [Reservation("a", RESPONSE)], People(same_as="survey.csv"))
    assert total.releases == 2
    assert ledger.path.read_bytes() == before


def test_bad_people(ledger):
    with pytest.raises(lw.InvalidInput, match="exclude each other"):
        People("id", None, "survey.csv", True)
    with pytest.raises(lw.InvalidInput, match="'id' has none"):
        People("id", sketch_of(ledger, [None, ""]))


def test_a_sketch_needs_the_key_of_the_ledger_and_estimates_how_many_people_there_are(ledger, tmp_path):
    one, other = Sketcher(b"a" * 32), Sketcher(b"b" * 32)
    for made in (one, other):
        made.add(KEYS)
    assert one.sketch.shared(other.sketch) == 0
    assert one.sketch.people == pytest.approx(20_000, rel=0.1)
    assert one.sketch.shared(one.sketch) == 1
    few = Sketcher(b"a" * 32)
    few.add(KEYS[:100])
    assert few.sketch.people == 100
    again = Sketch.from_bytes(one.sketch.to_bytes())
    assert again.smallest.tolist() == one.sketch.smallest.tolist()
    half = Sketcher(b"a" * 32)
    half.add([*KEYS[:10_000], *range(10**6, 10**6 + 10_000)])
    assert half.sketch.shared(one.sketch) == pytest.approx(0.5, abs=0.05)
