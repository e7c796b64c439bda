"""Draws that repeat in the ledger: an unchanged value counts once, a changed one with its limit for anyone."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import leakwise as lw
from leakwise.tables.ledger.entries import Repeats
from leakwise.tables.ledger.repeats import drawn_once
from leakwise.tables.ledger.reservation import Reservation

PRIOR = lw.Prior({"no": "8/10", "yes": "2/10"})
VALUES = np.random.default_rng(3).choice(["no", "yes"], 400, p=[0.8, 0.2]).tolist()
LIFT, ANYONE = 1.5, 15
RESPONSE = lw.randomized_response(["no", "yes"], lift=3)


@pytest.fixture
def key(tmp_path):
    return lw.MemoKey.create(tmp_path / "key.bin")


@pytest.fixture
def ledger(tmp_path):
    return lw.Ledger(tmp_path / "ledger.db")


@pytest.fixture
def year(key, ledger):
    """Release a year's table; the mechanism is that of the first year."""
    first = lw.design(PRIOR, lift=LIFT, anyone=ANYONE, utility="frequencies").mechanism

    def release(**options):
        table = {"id": range(400), "s": VALUES, "t": VALUES[::-1], "sex": ["f", "m"] * 200}
        told = {"memo": key, "person": "id", "mechanism": first, "lift": LIFT, "prior": PRIOR, **options}
        drop = [name for name in ("id", "s", "t", "sex") if name not in (told.get("column", "s"), told.get("given"))]
        column = told.pop("column", "s")
        return lw.protect(table, column, ledger=ledger, dataset="d", drop=drop, order="keep", **told)

    return release


def lift(ledger, secret="s"):
    return ledger.total("d", secret).lift


def test_a_release_that_repeats_unchanged_values_adds_nothing(year, ledger):
    ledger.set_budget("d", "s", lift=LIFT)
    year()
    once = lift(ledger)
    for _ in range(3):
        year(changes=0)
    assert lift(ledger) == once <= LIFT
    assert ledger.total("d").releases == 4
    assert [round(one.epsilon, 9) for one in ledger.account("d").added][1:] == [0, 0, 0]
    with pytest.raises(lw.Infeasible, match="refused"):
        year(memo=None, person=None)


@pytest.mark.parametrize("changes", [1, 2, 5])
def test_changed_values_count_with_the_limit_for_anyone_as_often_as_they_changed(changes, year, ledger, key):
    year()
    once = lift(ledger)
    for _ in range(3):
        done = year(changes=changes)
    draws = min(changes, 3)
    anyone = math.exp(lw.ldp(done.mechanism))
    assert lift(ledger) == pytest.approx(once * anyone**draws, rel=1e-12)
    assert lift(ledger) >= once * anyone**draws * (1 - 1e-15)


def test_changes_are_those_since_the_first_release_whichever_entry_says_it(year, ledger):
    year()
    year(changes=1)
    before = lift(ledger)
    year(changes=0)
    year(changes=1)
    assert lift(ledger) == before


@pytest.mark.parametrize("seed", range(12))
def test_no_history_tells_more_than_the_ledger_says(seed, ledger):
    """All values of a person over four years, with any dependence, for anyone who knew the prior of the first."""
    rng = np.random.default_rng(seed)
    size, years, changes = 2 + seed % 2, 4, seed % 3
    weights = rng.integers(1, 9, (size, 3))
    rows = [[Fraction(int(one), int(row.sum())) for one in row] for row in weights]
    m = lw.Mechanism(rows, inputs=list("abc")[:size])
    first = rng.integers(1, 9, size)
    prior = lw.Prior(dict(zip(m.inputs, first.tolist(), strict=True)))
    for _ in range(years):
        repeats = Repeats("key", "draws", changes)
        ledger.confirm(ledger.reserve_all("d", [Reservation("s", lw.certify(m, prior), repeats=repeats)]))
    told = lift(ledger)
    for pattern in itertools.product(range(changes + 1), repeat=years):
        if list(dict.fromkeys(pattern)) != list(range(len(set(pattern)))) or len(set(pattern)) > size:
            continue
        several = list(itertools.permutations(range(size), len(set(pattern))))
        histories: dict[tuple[str, ...], Fraction] = {}
        for start in range(size):
            own = [one for one in several if one[0] == start]
            shares = rng.dirichlet(np.full(len(own), 0.3))
            exact = [Fraction(int(share * 2**40) + 1) for share in shares]
            for one, share in zip(own, exact, strict=True):
                values = tuple(m.inputs[one[place]] for place in pattern)
                histories[values] = Fraction(int(first[start]), int(first.sum())) * share / sum(exact)
        assert float(lw.measures.memo_lift(m, histories).history) <= told * (1 + 1e-12)


def test_nobody_knows_how_often_values_changed_unless_it_is_said(year, ledger):
    year()
    with pytest.raises(lw.InvalidInput, match=r"changes \(--changes\) must say how often"):
        year()
    assert len(ledger.entries()) == 1
    year(changes=0)


@pytest.mark.parametrize("other", ["key", "column", "mechanism", "fresh"])
def test_other_draws_count_in_full(other, year, ledger, tmp_path):
    year()
    once = ledger.total("d").lift
    if other == "key":
        year(memo=lw.MemoKey.create(tmp_path / "second.bin"), changes=0)
    elif other == "column":
        year(column="t", changes=0)
    elif other == "mechanism":
        with pytest.warns(lw.LeakwiseWarning, match=r"by this key before, with another mechanism \(entry 1\)"):
            year(mechanism=lw.randomized_response(["no", "yes"], lift=1.25), changes=0)
    else:
        year(memo=None, person=None)
    assert ledger.total("d").lift > once * 1.05


def test_a_cancelled_release_does_not_stand_for_others(year, ledger):
    year()
    once = lift(ledger)
    year(changes=0)
    first = ledger.entries()[0]
    with ledger._file.writing() as db:
        db.execute("UPDATE releases SET state = 'cancelled' WHERE id = ?", (first.id,))
    assert lift(ledger) == once


def test_a_later_release_beside_more_columns_stands_for_all(year, ledger):
    """It is one draw: what the later one is certified beside holds for the first one, too."""
    year()
    priors = lw.PriorByStratum({"f": {"no": 8, "yes": 2}, "m": {"no": 8, "yes": 2}}, given="sex")
    year(given="sex", prior=priors, changes=0)
    assert lift(ledger) == pytest.approx(LIFT, rel=1e-6)
    assert ledger.total("d", "s").beside.given == ("sex",)


def test_beside_other_releases_only_those_for_one_prior_count_once(year, ledger):
    """How others go together with a draw is known for the priors of the entries that count."""
    other = lw.Prior({"no": "82/100", "yes": "18/100"})
    year()
    once = lift(ledger)
    year(changes=0, prior=other, lift=2)
    assert once < lift(ledger) < 1.6
    year(changes=0)
    assert lift(ledger) < 1.6
    year(column="t", memo=None, person=None)
    entries = ledger.entries()
    kept = [one.id for one in drawn_once(entries, lambda one: True)]
    assert kept == [1, 2, 4]


def test_the_entry_names_the_key_and_survives_the_file(year, ledger, key):
    year(changes=2)
    (entry,) = lw.Ledger(ledger.path).entries()
    assert entry.repeats is not None
    assert (entry.repeats.key, entry.repeats.changes) == (key.fingerprint, 2)
    assert entry.summary()["memo"] == key.fingerprint
    assert key.path.read_bytes()[20:52].hex() not in str(entry.to_dict())


@pytest.mark.parametrize(("options", "named"), [
    ({"changes": -1}, "at least 0"),
    ({"changes": True}, "whole number"),
    ({"changes": 1.0}, "whole number"),
    ({"changes": 1, "memo": None, "person": None}, "goes with memo"),
])  # fmt: skip
def test_what_is_no_number_of_changes_is_refused(options, named, year, ledger):
    with pytest.raises(lw.InvalidInput, match=named):
        year(**options)
    assert not ledger.entries()


def test_no_history_of_changed_values_tells_more_than_the_ledger_says(ledger):
    """Fresh draws of last year's value and of this year's: one value twice would have a lift of 3.46."""
    m, share = lw.randomized_response(["no", "yes"], lift=3), Fraction(2, 10)
    certificate = lw.certify(m, PRIOR)
    for year in ("first", "second"):
        ledger.confirm(ledger.reserve("d", "s", certificate, source_digest=year))
    total, truth = ledger.total("d", "s"), Fraction(0)
    for stays in (Fraction(tenths, 10) for tenths in range(1, 10)):  # how many answer no in the second year
        law = {("no", "no"): (1 - share) * stays, ("no", "yes"): (1 - share) * (1 - stays)}
        law |= {("yes", "no"): share * stays, ("yes", "yes"): share * (1 - stays)}
        truth = max(truth, lw.measures.row_lift(lw.Prior(law), {0: m, 1: m}, pairs=False).row.upper)
    assert truth > 5
    assert float(truth) <= total.lift
    assert total.lift == pytest.approx(math.exp(certificate.epsilon_upper) * 3)
    assert (total.exact, total.changed) == (False, True)
    assert "The table changed between its releases" in str(ledger.account("d"))


@pytest.mark.parametrize(("digests", "rows"), [
    (["a", None, "b"], None), (["a", "a", "b"], None), ([None] * 3, None), ([None] * 3, [5, 5, 6]),
])  # fmt: skip
def test_without_a_digest_values_are_the_same_until_the_table_is_seen_to_change(digests, rows, ledger):
    m = lw.randomized_response(["no", "yes"], lift=2)
    certificate = lw.certify(m, PRIOR)
    for place, one in enumerate(digests):
        size = None if rows is None else rows[place]
        ledger.confirm(ledger.reserve("d", "s", certificate, source_digest=one, rows=size))
    total = ledger.total("d", "s")
    assert (total.changed, total.exact) == ((False, True) if digests[0] is None and rows is None else (True, False))
    same = 3 if not total.changed else digests.count("a") or 1
    composed = math.exp(lw.epsilon(lw.compose(*[m] * same), PRIOR))
    assert total.lift == pytest.approx(composed * 2 ** (3 - same))


def test_beside_given_columns_of_a_table_that_changed_every_release_counts_for_anyone(ledger):
    """Nothing is certified beside the given values of the other year: these may tell what the secret was."""
    mechanism = lw.StratifiedMechanism({"f": RESPONSE, "m": RESPONSE}, {"sex": ["f", "m"]})
    priors = lw.PriorByStratum({"f": PRIOR, "m": {"no": "5/10", "yes": "5/10"}}, given="sex")
    for year in ("first", "second"):
        certificate = lw.certify(mechanism, priors)
        ledger.confirm(ledger.reserve("d", "s", certificate, source_digest=year))
        once = math.exp(certificate.epsilon_upper)
        assert ledger.total("d", "s").lift == pytest.approx(once if year == "first" else 9)


def test_given_columns_that_changed_beside_the_same_secret_count_as_another_table(ledger):
    """Two years of one column: with last year's group beside this year's, the two tell more than one group does."""
    generator = np.random.default_rng(7)
    ill = generator.choice(["no", "yes"], 4000, p=[0.7, 0.3])
    groups = [np.where(generator.random(4000) < np.where(ill == "yes", 0.7, 0.4), "a", "b") for _ in range(2)]
    priors = lw.PriorByStratum({"a": {"no": "4/7", "yes": "3/7"}, "b": {"no": "5/6", "yes": "1/6"}}, given="group")
    asked = {"prior": priors, "lift": 2, "anyone": 4, "order": "keep", "ledger": ledger, "dataset": "d"}
    first = pd.DataFrame({"ill": ill, "group": groups[0]})
    lw.protect(first, "ill", **asked)
    lw.protect(first, "ill", **asked)
    same = ledger.total("d", "ill")
    lw.protect(first.assign(group=groups[1]), "ill", **asked)
    assert not same.changed
    assert same.lift <= 8
    assert ledger.total("d", "ill").changed
    assert ledger.total("d", "ill").lift == pytest.approx(4**3, rel=0.01)
