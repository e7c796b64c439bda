"""What a user gives to describe strata: names of columns, tables, counts and weights."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping
from fractions import Fraction
from typing import Any

from leakwise.alphabet import Alphabet, GivenColumns, Label, StratumCounts, encode_column, joined
from leakwise.errors import InvalidInput, did_you_mean, some_of
from leakwise.exact import exact_fraction
from leakwise.priors.prior_set import PriorSet

__all__ = ["any_counted", "columns_of_strata", "counts_of_table", "stratum_weights", "table_column"]


def counts_of_table(
    data: Any, secret: Hashable, given: Any, values: Alphabet
) -> tuple[GivenColumns, dict[Label, list[int]]]:
    """Return the given columns of a table, and how often each value of the secret occurs in each stratum."""
    held = data.collect() if hasattr(data, "collect") else data
    columns = GivenColumns.read(given, secret, lambda name: table_column(held, name))
    codes = secret_codes(held, secret, values)
    counts = StratumCounts(columns, len(values))
    counts.add(columns.encode([table_column(held, name) for name in columns.names]), codes)
    if not codes.size:
        raise InvalidInput("data must contain at least one row. Got none.")
    return columns, counts.strata()


def columns_of_strata(given: Any, strata: Iterable[Any], secret: Hashable) -> GivenColumns:
    """The given columns, with the values that the strata have where no domain is declared."""
    keys = list(strata)

    def values(name: Hashable) -> list[Any]:
        place = names.index(name)
        if len(names) == 1:
            return [key[0] if isinstance(key, tuple) and len(key) == 1 else key for key in keys]
        if wrong := [key for key in keys if not isinstance(key, tuple) or len(key) != len(names)]:
            raise InvalidInput(
                f"A stratum must be a tuple of {len(names)} values, one for each of {joined(names)}. Got "
                f"{some_of(wrong)}."
            )
        return [key[place] for key in keys]

    names = [given] if isinstance(given, str) or not isinstance(given, Iterable) else list(given)
    return GivenColumns.read(given, secret, values)


def stratum_weights(
    priors: Mapping[Label, PriorSet], columns: GivenColumns, weights: Mapping[Any, Any] | None
) -> dict[Label, Fraction]:
    if weights is None:
        sizes = [prior.nominal.sample_size for prior in priors.values()]
        shares = [Fraction(size or 1) for size in sizes] if all(sizes) else [Fraction(1)] * len(priors)
    else:
        told = {columns.stratum(key): weight for key, weight in weights.items()}
        if odd := [key for key in (*told, *priors) if (key in told) != (key in priors)]:
            raise InvalidInput(f"weights and priors must be of the same strata. Only one of them has {some_of(odd)}.")
        shares = [exact_fraction(told[key], f"the weight of stratum {key!r}") for key in priors]
        if min(shares) <= 0:
            raise InvalidInput("weights must be positive. Leave out strata that do not occur.")
    total = sum(shares, Fraction(0))
    return {key: share / total for key, share in zip(priors, shares, strict=True)}


def any_counted(counts: Any) -> bool:
    values = counts.values() if hasattr(counts, "values") and callable(counts.values) else counts
    return any(values)


def table_column(table: Any, name: Hashable) -> Any:
    names = getattr(table, "column_names", None)  # pyarrow
    known = (
        list(table) if names is None and isinstance(table, Mapping) else list(names or getattr(table, "columns", []))
    )
    if known.count(name) != 1:
        raise InvalidInput(
            f"column {name!r} must be in the table once; the columns are {some_of(known, 12)}."
            + did_you_mean(name, known)
        )
    return table[name]


def secret_codes(table: Any, secret: Hashable, values: Alphabet) -> Any:
    if isinstance(secret, (tuple, list)) and not (isinstance(table, Mapping) and secret in table):
        parts = [table_column(table, name) for name in secret]
        listed = [part.to_pylist() if hasattr(part, "to_pylist") else list(part) for part in parts]
        return encode_column(list(zip(*listed, strict=True)), values, name="the secret")
    return encode_column(table_column(table, secret), values, name=f"column {secret!r}")
