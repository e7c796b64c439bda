"""Columns are known again by their digests, whatever secret they stood beside and however their domain was read."""

from __future__ import annotations

import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import leakwise as lw

AGES = ("young", "old")
MASSES = {"no": Fraction(4, 5), "yes": Fraction(1, 5)}
PRIOR = lw.PriorByStratum(dict.fromkeys(AGES, lw.Prior(MASSES)), given={"age": AGES})


def people(seed: int, rows: int = 400) -> dict[str, list[str]]:
    draw = random.Random(seed)
    told = {name: draw.choices(["no", "yes"], [4, 1], k=rows) for name in ("ill", "poor")}
    return {**told, "age": draw.choices(AGES, k=rows)}


@pytest.fixture
def ledger(tmp_path: Path) -> lw.Ledger:
    return lw.Ledger(tmp_path / "ledger.db")


def release(ledger: lw.Ledger, table: dict[str, list[str]], secret: str, **options: Any) -> None:
    columns = {name: table[name] for name in (secret, "age")}
    options = {"prior": PRIOR, "lift": 1.5, "anyone": 4, "order": "keep", **options}
    lw.protect(columns, secret, ledger=ledger, dataset="clinic", **options)


def test_a_given_column_that_changed_is_seen_beside_another_secret(ledger: lw.Ledger) -> None:
    table = people(1)
    release(ledger, table, "ill")
    release(ledger, table, "poor")
    assert not ledger.total("clinic").changed
    release(ledger, {**table, "age": table["age"][::-1]}, "poor")
    assert ledger.total("clinic").changed


def test_a_given_column_is_the_same_whatever_else_is_declared_for_it(ledger: lw.Ledger) -> None:
    table = people(2)
    release(ledger, table, "ill")
    other = dict.fromkeys(("unknown", "old", "young"), lw.Prior(MASSES))
    release(ledger, table, "ill", prior=lw.PriorByStratum(other, given={"age": tuple(other)}))
    assert not ledger.total("clinic").changed


def test_values_that_moved_by_one_place_in_a_domain_read_from_the_table_are_other_values(ledger: lw.Ledger) -> None:
    """A year later everybody is a year older, and every age has the code that the one before it had."""
    ages = random.Random(30).choices([30, 31, 32], k=20_000)
    table = {"ill": people(3, 20_000)["ill"], "age": ages}
    options = {"prior": "table", "failure": 1e-6, "domain": ("no", "yes")}
    release(ledger, table, "ill", **options)
    release(ledger, table, "ill", **options)
    assert not ledger.total("clinic").changed
    release(ledger, {**table, "age": [one + 1 for one in ages]}, "ill", **options)
    assert ledger.total("clinic").changed


def test_what_was_shown_independent_at_one_time_counts_no_more_when_given_columns_changed(ledger: lw.Ledger) -> None:
    table = people(4)
    both = lw.Prior({(a, b): p * q for a, p in MASSES.items() for b, q in MASSES.items()})
    ledger.show_independent("clinic", "ill", "poor", prior=lw.PriorByStratum(dict.fromkeys(AGES, both), {"age": AGES}))
    release(ledger, table, "ill")
    release(ledger, table, "poor")
    assert ledger.total("clinic", "ill").releases == 1
    release(ledger, {**table, "age": table["age"][::-1]}, "poor")
    assert ledger.total("clinic", "ill").releases == 3
