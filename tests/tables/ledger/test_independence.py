"""Columns that are shown to be independent: releases of the ones do not count for the others, and only then."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import pytest

import leakwise as lw

VALUES = {"a": ["no", "yes"], "b": ["f", "m"], "c": [1, 2]}
PAIRS = list(itertools.product(*VALUES.values()))


@pytest.fixture
def ledger(tmp_path):
    return lw.Ledger(tmp_path / "ledger.db")


def release_of(*names, lift=3):
    values = list(itertools.product(*(VALUES[name] for name in names)))
    labels = [one[0] for one in values] if len(names) == 1 else values
    return lw.certify(lw.randomized_response(labels, lift=lift), lw.Prior.uniform(labels))


def uniform(*names):
    return lw.Prior.uniform(list(itertools.product(*(VALUES[name] for name in names))))


def test_a_release_of_a_column_shown_to_be_independent_does_not_count(ledger):
    for name in ("a", "b"):
        ledger.confirm(ledger.reserve("d", name, release_of(name)))
    # 3 for anyone and 3 again: a guess of 1/2 becomes at most 1/(1/2 + 1/2 · 1/9) times as likely.
    assert ledger.total("d", "a").lift == pytest.approx(1.8)
    ledger.show_independent("d", "a", "b", prior=uniform("a", "b"))
    again = lw.Ledger(ledger.path)
    assert again.total("d", "a").lift == pytest.approx(1.5)
    assert again.total("d", "a").releases == 1
    assert "Releases of b are not counted: by a prior that was entered they are independent of a." in repr(
        again.total("d", "a")
    )
    assert again.total("d").releases == 2  # of the row all count
    assert again.total("d", ("a", "b")).releases == 2
    assert again.total("d", "z").releases == 2  # of z nothing was shown


def test_a_release_of_columns_of_two_groups_joins_them(ledger):
    ledger.show_independent("d", "a", "b", prior=uniform("a", "b"))
    for name in ("a", "b"):
        ledger.confirm(ledger.reserve("d", name, release_of(name)))
    assert ledger.total("d", "a").releases == 1
    ledger.confirm(ledger.reserve("d", ("a", "b"), release_of("a", "b")))
    assert ledger.total("d", "a").releases == 3


def test_a_release_of_a_column_of_no_group_joins_all(ledger):
    ledger.show_independent("d", "a", "b", prior=uniform("a", "b"))
    for name in ("a", "b"):
        ledger.confirm(ledger.reserve("d", name, release_of(name)))
    ledger.confirm(ledger.reserve("d", "c", release_of("c")))
    assert ledger.total("d", "a").releases == 3


def test_what_was_shown_without_a_column_does_not_hold_beside_it(ledger):
    ledger.show_independent("d", "a", "b", prior=uniform("a", "b"))
    ledger.confirm(ledger.reserve("d", "a", release_of("a")))
    beside = lw.PriorByStratum(dict.fromkeys("xy", lw.Prior.uniform(VALUES["b"])), {"sex": ["x", "y"]})
    m = lw.randomized_response(VALUES["b"], lift=3)
    certificate = lw.certify(lw.StratifiedMechanism(dict.fromkeys("xy", m), beside.given_columns), beside)
    ledger.confirm(ledger.reserve("d", "b", certificate))
    assert ledger.total("d", "a").releases == 2
    both = lw.PriorByStratum(dict.fromkeys("xy", uniform("a", "b")), {"sex": ["x", "y"]})
    ledger.show_independent("d", "a", "b", prior=both)
    assert ledger.total("d", "a").releases == 1
    assert ledger.total("d", "a").epsilon == pytest.approx(math.log(3))  # a was not certified beside sex


def test_a_prior_that_says_otherwise_is_refused_with_its_numbers(ledger):
    correlated = lw.Prior(dict(zip(uniform("a", "b").labels, [Fraction(k, 10) for k in (4, 1, 1, 4)], strict=True)))
    with pytest.raises(lw.InvalidInput, match=r"not independent: \('no', 'f'\) has 40%, and the product .* is 25%"):
        ledger.show_independent("d", "a", "b", prior=correlated)
    by = lw.PriorByStratum({"x": uniform("a", "b"), "y": correlated}, {"sex": ["x", "y"]})
    with pytest.raises(lw.InvalidInput, match="where the given columns are 'y'"):
        ledger.show_independent("d", "a", "b", prior=by)
    with pytest.raises(lw.InvalidInput, match="must be of all columns together"):
        ledger.show_independent("d", "a", "b", prior=lw.Prior.uniform(4))
    with pytest.raises(lw.InvalidInput, match="each column named once"):
        ledger.show_independent("d", "a", ("a", "b"), prior=uniform("a", "b"))
    with pytest.raises(lw.InvalidInput, match="a single prior, not a set"):
        ledger.show_independent("d", "a", "b", prior=uniform("a", "b").ball("0.01"))


def test_three_columns_that_are_independent_two_by_two_and_not_together(ledger):
    """c is 1 where a and b agree: each pair is independent, and a with b tells c."""
    weights = [1 if ((a == "no") == (b == "f")) == (c == 1) else 0 for a, b, c in PAIRS]
    xor = lw.Prior(dict(zip(PAIRS, (Fraction(w, sum(weights)) for w in weights), strict=True)))
    with pytest.raises(lw.InvalidInput, match="not independent"):
        ledger.show_independent("d", "a", "b", "c", prior=xor)
    ledger.show_independent("d", "a", "b", prior=uniform("a", "b"))
    for name in VALUES:
        ledger.confirm(ledger.reserve("d", name, release_of(name)))
    assert ledger.total("d", "a").releases == 3
