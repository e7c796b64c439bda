"""For whom a release is made: which columns go out beside the secret, and what is assumed of them."""

from __future__ import annotations

import itertools
import math
import shlex
import warnings
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet, Bins, GivenColumns, Label, as_alphabet, joined
from leakwise.errors import InvalidInput, LeakwiseWarning, SecretInClear, some_of
from leakwise.guarantee import percent_at_least
from leakwise.mechanism import Mechanism, StratifiedMechanism
from leakwise.priors import AllPriors, PriorByStratum
from leakwise.tables.release.sources import Source
from leakwise.tables.row_columns import RowColumns, row_columns
from leakwise.tables.strata.near_copies import NearCopy, near_copy
from leakwise.tables.strata.unrelated import FALSE_ALARM, Cells, evidence

__all__ = ["columns_that_go_out", "given_columns", "refuse_copies", "refuse_related"]

# Values of a column up to which strata are made of them, and up to which an unrelated column is checked.
MOST_VALUES = 1_000_000
# Combinations of unrelated columns up to which they are looked at all together.
_MOST_COMBINATIONS = 100_000
# Pairs of unrelated columns that are looked at where there are too many for all together.
_MOST_PAIRS = 20
# Given columns up to which each is looked at by itself where no strata are made of them.
_FEW_COLUMNS = 8
# Rows with the same given columns from which on it can be seen what another column tells.
_ENOUGH_ROWS = 20


def columns_that_go_out(
    known: Sequence[Hashable] | None,
    secret: tuple[Hashable, ...],
    prior: Any,
    mechanism: Mechanism | StratifiedMechanism | None,
    *,
    given: Any = None,
    unrelated: Any = None,
    drop: Any = None,
    coarsen: Mapping[Hashable, Any] | None = None,
) -> RowColumns:
    """Return what each column is, with the default for those of which nothing was said; refuse what no prior covers.

    ``prior`` is ``"table"``, a prior of the secret (or a set of them), or priors by stratum.
    """
    row = row_columns(known, secret, given=given, unrelated=unrelated, drop=drop, coarsen=coarsen)
    if isinstance(prior, AllPriors):
        # What holds for every prior holds for anyone, whatever they see: nothing is assumed.
        return replace(row, given=row.beside, unrelated=(), unspoken=())
    by = _stratified(prior, mechanism)
    if by is not None:
        return _as_stratified(row, by, given is not None)
    if isinstance(prior, str):
        if given is None:
            return row.with_unspoken_given()
        if row.unspoken:
            raise InvalidInput(_unspoken(row, f"The guarantee would be for anyone who sees {joined(row.given)}"))
        return row
    if row.unspoken:
        raise InvalidInput(_alone(row))
    if row.given:
        raise InvalidInput(
            f"prior is about {joined(secret)} alone, and given (--given) names {joined(row.given)}: what is known of "
            f"{joined(secret)} where they are seen does not follow from it. Give a prior for each combination of them "
            "(lw.PriorByStratum; --prior with a file that it wrote), or prior='table' with failure=… "
            "(--prior-from-table --failure 1e-6), or lw.AllPriors, which covers anyone."
        )
    return row


def _stratified(prior: Any, mechanism: Mechanism | StratifiedMechanism | None) -> GivenColumns | None:
    """The given columns that the prior or the mechanism is by."""
    by_prior = prior.given_columns if isinstance(prior, PriorByStratum) else None
    by_mechanism = mechanism.given_columns if isinstance(mechanism, StratifiedMechanism) else None
    if by_prior is not None and by_mechanism is not None and by_prior.names != by_mechanism.names:
        raise InvalidInput(
            f"prior and mechanism must be by the same given columns, in one order. Got {by_prior.words} and "
            f"{by_mechanism.words}."
        )
    if by_mechanism is not None and by_prior is None and not isinstance(prior, str):
        raise InvalidInput(
            f"The mechanism is by {by_mechanism.words}: prior must be, too (lw.PriorByStratum), or be estimated from "
            "the table (prior='table', --prior-from-table)."
        )
    return by_prior or by_mechanism


def _as_stratified(row: RowColumns, by: GivenColumns, named: bool) -> RowColumns:
    """The columns of a prior, or a mechanism, by stratum: those are given, and the others must be spoken of."""
    if missing := [name for name in by.names if name not in (*row.given, *row.unspoken)]:
        raise InvalidInput(
            f"prior (or mechanism) is by {by.words}, and {some_of(missing)} does not go out as a given column of the "
            "table. The columns that it is by must go out."
        )
    if named and (further := [name for name in row.given if name not in by.names]):
        raise InvalidInput(
            f"given (--given) names {some_of(further)}, and prior (or mechanism) is by {by.words} only: what is known "
            "of the secret where the others are seen does not follow from it. Drop them, or call them unrelated."
        )
    bins = {name: one for name, one in zip(by.names, by.domains, strict=True) if isinstance(one, Bins)}
    if other := [name for name, own in row.coarsened.items() if name in by.names and bins.get(name) != own]:
        raise InvalidInput(f"coarsen gives {some_of(other)} other values than the prior (or mechanism) is by.")
    rest = tuple(name for name in row.unspoken if name not in by.names)
    if rest:
        row = replace(row, unspoken=rest, given=by.names)
        raise InvalidInput(_unspoken(row, f"The prior (or mechanism) is by {by.words}"))
    return replace(row, given=by.names, unspoken=(), coarsened={**row.coarsened, **bins}, declared={})


def _unspoken(row: RowColumns, start: str) -> str:
    """What to do about columns that would go out and of which nothing was said."""
    names = shlex.quote(",".join(map(str, row.unspoken)))
    return (
        f"{start}, and {joined(map(repr, row.unspoken))} would go out as well, of which nothing was said. Choose: "
        f"--given {names} (the guarantee holds for anyone who sees them, too), --unrelated {names} (they tell nothing "
        f"more about {joined(row.secret)}, which is checked against the table), or --drop {names} (they do not go "
        f"out). In Python: given=, unrelated= or drop={list(row.unspoken)!r}."
    )


def _alone(row: RowColumns) -> str:
    """What to do about columns that would go out beside a secret whose prior is about it alone."""
    names, secret = shlex.quote(",".join(map(str, row.unspoken))), joined(row.secret)
    go, tell, them = ("goes", "it tells", "it") if len(row.unspoken) == 1 else ("go", "they tell", "them")
    return (
        f"prior is about {secret} alone, and {joined(map(repr, row.unspoken))} {go} out beside it: anyone who sees a "
        f"row knows more than that. Choose: --unrelated {names} (if {tell} nothing about {secret}, which is checked "
        f"against the table), --drop {names} (to leave {them} out), or --prior-from-table --failure 1e-6 (to estimate "
        "a prior for each combination of the other columns). In Python: unrelated= or "
        f"drop={list(row.unspoken)!r}, or prior='table', failure=1e-6; lw.PriorByStratum for public priors by "
        "combination, lw.AllPriors for a guarantee that holds whatever anyone sees."
    )


def refuse_labels(source: Source, prior: Any) -> None:
    """Refuse rows that go out with labels (a pandas index) of which nothing can be said: they are a column, too."""
    if not isinstance(prior, AllPriors) and (labels := source.row_labels()):
        raise InvalidInput(
            f"The rows would go out with {labels[0]}, and nothing was said of it: anyone who sees a row sees it. Make "
            "it a column, to give, to call unrelated or to drop (reset_index()), or leave it out "
            "(reset_index(drop=True))."
        )


def given_columns(source: Source, row: RowColumns, prior: Any) -> GivenColumns | None:
    """Return the columns that mechanisms are by, with their domains; None where one mechanism serves all rows.

    A given column goes out, so the values that occur in it are no secret: where none are declared they are its domain.
    Of more values than can be listed none is: every row then has the mechanism that holds for every prior.
    """
    if not row.given or isinstance(prior, AllPriors):
        return None
    if isinstance(prior, PriorByStratum):
        return prior.given_columns
    return GivenColumns({name: _domain(source, row, name) or [None] for name in row.given})


def _domain(source: Source, row: RowColumns, name: Hashable) -> Any:
    """The values in which a column goes out; None where there are too many."""
    if name in row.coarsened:
        return row.coarsened[name]
    if name in row.declared:
        return row.declared[name]
    values = source.distinct(name, MOST_VALUES)
    return None if values is None else as_alphabet(values, name=f"the values of column {name!r}")


def refuse_related(source: Source, row: RowColumns, letters: Alphabet) -> None:
    """Refuse columns that were called unrelated to the secret and are not, with the numbers.

    Each one is tested on its own, and all of them together, or two and two, where they have few combinations. Given
    columns with so many values that next to no combination of them has enough rows hide whatever there is to see: then
    all is tested without them as well. If all are unrelated, and not by those values alone, the release is refused all
    the same in at most one of a thousand tables.
    """
    if not row.unrelated:
        return
    domains: dict[Hashable, Any] = {}
    for name in row.unrelated:
        domains[name] = _domain(source, row, name)
        if domains[name] is None:
            raise InvalidInput(
                f"unrelated (--unrelated) names {name!r}, which has more than {MOST_VALUES:,} different values, or "
                "values that are not plain (lists), so that what they tell about the secret cannot be checked. Drop it "
                "(--drop), or send numbers out in bins (--coarsen)."
            )
    given = {name: domain for name in row.given if (domain := _domain(source, row, name)) is not None}
    enough = _with_enough_rows(source, letters, given)
    tests = [
        (beside, group)
        for beside in ([given] if len(enough) == len(given) else [given, enough])
        for group in _tested_together(domains, math.prod(map(len, beside.values())))
    ]
    for beside, group in tests:
        by = GivenColumns({**beside, **{name: domains[name] for name in group}})
        cells, strata, values = _cells(source.tally(letters, by), len(beside), len(by))
        words = [GivenColumns(beside).described(key) for key in strata].__getitem__ if beside else None
        name = joined(group)
        told = evidence(cells, letters.labels, name, values, words, FALSE_ALARM / len(tests))
        if told is not None:
            besides = f" given {joined(beside)}" if beside else ""
            if hidden := [one for one in row.given if one not in beside]:
                besides += f" (next to no rows have the same {joined(hidden)}, so that it was looked at without)"
            each = ",".join(map(str, group))
            raise InvalidInput(
                f"unrelated (--unrelated) names {joined(map(repr, group))}, and the table contradicts it: {name} "
                f"{'tells' if len(group) == 1 else 'tell'} about {joined(row.secret)}{besides}. {told.words} Nothing "
                f"was released. Let the guarantee hold for anyone who sees it (given=, --given {shlex.quote(each)}), "
                f"leave it out (drop=, --drop {shlex.quote(each)}), or send it out in bins (coarsen=, --coarsen)."
            )


def _with_enough_rows(source: Source, letters: Alphabet, given: Mapping[Hashable, Any]) -> dict[Hashable, Any]:
    """Return given columns without those of most values, so that half of the rows are in combinations with enough."""
    if not given:
        return {}
    names, kept = list(given), list(range(len(given)))
    counts = source.tally(letters, GivenColumns(given))
    sizes = {key if len(names) > 1 else (key,): sum(row) for key, row in counts.items()}
    while kept:
        merged = Counter[Any]()
        for key, rows in sizes.items():
            merged[tuple(key[place] for place in kept)] += rows  # type: ignore[index]
        if 2 * sum(rows for rows in merged.values() if rows >= _ENOUGH_ROWS) >= merged.total():
            break
        kept.remove(max(kept, key=lambda place: len(given[names[place]])))
    return {names[place]: given[names[place]] for place in kept}


def _tested_together(domains: Mapping[Hashable, Any], strata: int) -> list[tuple[Hashable, ...]]:
    """Return the unrelated columns one by one, and those that have few combinations together, or else in pairs."""
    alone = [(name,) for name in domains]
    several = [tuple(domains), *itertools.islice(itertools.combinations(domains, 2), _MOST_PAIRS)]
    few = [
        group
        for group in dict.fromkeys(several)
        if len(group) > 1 and strata * math.prod(len(domains[name]) for name in group) <= _MOST_COMBINATIONS
    ]
    return [*alone, *(few[:1] if few[:1] == [tuple(domains)] else few)]


def refuse_copies(
    source: Source,
    row: RowColumns,
    letters: Alphabet,
    counts: Mapping[Label, Sequence[int]] | None,
    given: GivenColumns | None,
    *,
    allowed: bool,
) -> None:
    """Refuse given columns that say what the secret is in nearly every row, unless that is allowed; warn of others.

    ``counts`` are those by all given columns. Where there are none, because the guarantee is for every prior, few
    columns are looked at one by one.
    """
    if given is not None and counts:
        found = near_copy(counts, given, row.secret, letters.labels)
    else:
        found, given = _copy_alone(source, row, letters), None
    if found is not None:
        words = _copy_words(found)
        if not allowed:
            each = shlex.quote(",".join(map(str, found.columns)))
            raise SecretInClear(
                f"{words} Nothing was released. Leave out what says it (--drop {each}), send it out in bins "
                "(--coarsen), or give allow_certainty=True (--allow-certainty) if it may go out in clear.",
                columns=found.columns,
            )
        warnings.warn(words, LeakwiseWarning, stacklevel=3)
    elif given is not None and counts:
        _warn_of_determined(counts, given, row.secret)


def _copy_alone(source: Source, row: RowColumns, letters: Alphabet) -> NearCopy | None:
    """A given column that says what the secret is by itself, where columns are few: each one is read once more."""
    for name in row.given if len(row.given) <= _FEW_COLUMNS else ():
        domain = _domain(source, row, name)
        if domain is not None and len(domain) > 1:
            by = GivenColumns({name: domain})
            found = near_copy(source.tally(letters, by), by, row.secret, letters.labels)
            if found is not None:
                return found
    return None


def _copy_words(found: NearCopy) -> str:
    """How well columns say what the secret is."""
    says, them = ("says", "it") if len(found.columns) == 1 else ("say", "them")
    start = f"{joined(map(repr, found.columns))} {says} what {joined(found.secret)} is"
    return (
        f"{start}: the best guess from {them} alone is "
        f"right for {found.right:,} of {found.rows:,} rows ({percent_at_least(found.right / found.rows)}), and for "
        f"{found.without:,} without {them}. It goes out in clear, whatever is drawn for it, because the guarantee is "
        "about what an outcome adds."
    )


def _warn_of_determined(counts: Mapping[Label, Sequence[int]], given: GivenColumns, secret: Sequence[Hashable]) -> None:
    """Warn where given columns say what the secret is: it goes out in clear then, whatever is drawn for it.

    Of a stratum that is too small to be sure nothing is said: its rows may have one value by chance.
    """
    table = np.array(list(counts.values()), dtype=np.float64)
    sizes, shares = table.sum(axis=1), table.sum(axis=0) / table.sum()
    by_chance = sizes * np.log(np.maximum(shares[table.argmax(axis=1)], 1e-300)) + math.log(len(table))
    sure = (table.max(axis=1) == sizes) & (by_chance < math.log(FALSE_ALARM))
    if not sure.any():
        return
    first = next(key for key, one in zip(counts, sure, strict=True) if one)
    does = "determines" if len(given) == 1 else "determine"
    warnings.warn(
        f"In {int(sizes[sure].sum()):,} of {int(sizes.sum()):,} rows {given.words} {does} {joined(secret)}, such as "
        f"where {given.described(first)}: it goes out in clear, whatever is drawn for it, because the guarantee is "
        "about what an outcome adds. Drop columns (drop=, --drop), or send them out in bins (coarsen=, --coarsen).",
        LeakwiseWarning,
        stacklevel=4,
    )


def _cells(counts: Mapping[Label, Sequence[int]], given: int, columns: int) -> tuple[Cells, list[Label], list[Label]]:
    """Return counts by given and other columns as cells, the strata of the given ones, and the values of the others."""
    strata: dict[Any, int] = {}
    values: dict[Any, int] = {}
    places = np.empty((len(counts), 2), dtype=np.int64)
    for place, key in enumerate(counts):
        parts: Any = key if columns > 1 else (key,)
        places[place, 0] = strata.setdefault(parts[:given], len(strata))
        places[place, 1] = values.setdefault(parts[given:], len(values))
    order = _sorted(values)
    rank = np.empty(len(values), dtype=np.int64)
    rank[[values[one] for one in order]] = np.arange(len(values))
    table = np.array(list(counts.values()), dtype=np.int64)
    return (
        Cells(places[:, 0], rank[places[:, 1]], table),
        [one[0] if given == 1 else one for one in strata],
        [one[0] if columns - given == 1 else one for one in order],
    )


def _sorted(values: Iterable[tuple[Any, ...]]) -> list[tuple[Any, ...]]:
    """Return values in their natural order: numbers as numbers, also where a file holds them as texts."""
    listed = list(values)
    numbers = [all(_number(one[place]) is not None for one in listed) for place in range(len(listed[0]))]
    return sorted(
        listed,
        key=lambda one: [_number(part) if plain else str(part) for part, plain in zip(one, numbers, strict=True)],
    )


def _number(value: Any) -> float | None:
    try:
        return -math.inf if value is None else float(value)
    except (TypeError, ValueError):
        return None
