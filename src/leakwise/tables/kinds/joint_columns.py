"""Several columns as one: an alphabet of tuples, encoded and decoded part by part without a tuple per row."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Sequence
from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet, code_dtype, encode_column
from leakwise.errors import InvalidInput, some_of
from leakwise.types import Array, Counts

__all__ = ["Product", "decode_parts", "encode_columns", "parts_of", "plain_alphabet"]

Encode = Callable[..., Any]

# Pairs of parts up to this many are looked up in a table; beyond, by search.
_TABLE = 1 << 22


class Product(Alphabet):
    """All combinations of the letters of several alphabets, as tuples; a part may be bins of numbers.

    >>> Product([Alphabet(["f", "m"]), Alphabet([1, 2])]).labels
    (('f', 1), ('f', 2), ('m', 1), ('m', 2))
    """

    __slots__ = ("parts",)

    parts: tuple[Alphabet, ...]

    def __init__(self, parts: Sequence[Alphabet]) -> None:
        super().__init__(list(itertools.product(*parts)), name="combinations")
        self.parts = tuple(parts)


def plain_alphabet(alphabet: Alphabet) -> Alphabet:
    """Return the labels alone: what was released of binned numbers are the names of the bins, not numbers."""
    return alphabet if type(alphabet) is Alphabet else Alphabet(alphabet.labels, declared=alphabet.declared)


def encode_columns(
    columns: Sequence[Any], names: Sequence[Hashable], alphabet: Alphabet, what: str, *, encode: Encode = encode_column
) -> Any:
    """Return the codes of one column, or of rows of several in an alphabet of tuples.

    ``what`` says in messages what the alphabet is: the inputs or the outputs of the mechanism. ``encode`` makes codes
    of one column of the kind at hand.
    """
    titles = [f"column {name!r}" for name in names]
    if len(columns) == 1:
        return encode(columns[0], alphabet, name=titles[0])
    parts = parts_of(alphabet, names, what)
    codes: Array | None = None
    prefixes: Counts = np.zeros(len(alphabet), dtype=np.int64)
    for place, (column, title) in enumerate(zip(columns, titles, strict=True)):
        part = alphabet.parts[place] if isinstance(alphabet, Product) else Alphabet(dict.fromkeys(parts[place]))
        rows = encode(column, part, name=title)
        letters = np.array([part.index[value] for value in parts[place]], dtype=np.int64)
        if codes is None:
            codes, prefixes = rows, letters
            continue
        if rows.size != codes.size:
            raise InvalidInput(f"{title} has {rows.size} rows and {titles[0]} has {codes.size}.")
        # The beginnings of the tuples are numbered again at each step, so that the numbers stay small.
        known, prefixes = np.unique(prefixes * len(part) + letters, return_inverse=True)
        codes = _find(codes, rows, len(part), known, columns[: place + 1], alphabet, names)
    assert codes is not None
    # All parts read: the prefixes are the letters, in sorted order; back to the order of the alphabet.
    order = np.empty(len(alphabet), dtype=code_dtype(len(alphabet)))
    order[prefixes] = np.arange(len(alphabet))
    return order[codes]


def decode_parts(codes: Array, alphabet: Alphabet, names: Sequence[Hashable]) -> list[Any]:
    """For each column of a joint outcome its labels and its codes in them."""
    result = []
    for values in parts_of(alphabet, names, "outputs"):
        part = Alphabet(dict.fromkeys(values))
        table = np.array([part.index[value] for value in values], dtype=code_dtype(len(part)))
        result.append((part.labels, table[codes]))
    return result


def parts_of(alphabet: Alphabet, names: Sequence[Hashable], what: str) -> list[list[Any]]:
    """Return the first, second, … part of every label, where all labels are tuples of one part per column."""
    wrong = [label for label in alphabet.labels if not isinstance(label, tuple) or len(label) != len(names)]
    if wrong:
        raise InvalidInput(
            f"The columns {', '.join(map(repr, names))} are released together, so the mechanism's {what} must be "
            f"tuples of {len(names)} values, one for each column. Got {some_of(wrong)} among them. Make the mechanism "
            f"over tuples, such as ({', '.join(map(repr, names))})"
            + (", or release the columns one by one." if what == "inputs" else ", with outputs that are tuples too.")
        )
    return [[label[place] for label in alphabet.labels] for place in range(len(names))]  # type: ignore[index]


def _find(
    codes: Array,
    rows: Array,
    size: int,
    known: Counts,
    columns: Sequence[Any],
    alphabet: Alphabet,
    names: Sequence[Hashable],
) -> Array:
    """The place of every pair (prefix, part) among the known ones; a pair that is not known is an error."""
    pairs = codes.astype(np.int64) * size + rows
    found: Counts
    top = int(known[-1])
    if top < _TABLE:
        table = np.full(max(top, int(pairs.max(initial=0))) + 1, -1, dtype=np.int64)
        table[known] = np.arange(known.size)
        found = table[pairs]
    else:
        found = np.minimum(np.searchsorted(known, pairs), known.size - 1)
        found[known[found] != pairs] = -1
    outside = np.flatnonzero(found < 0)
    if outside.size:
        _, first = np.unique(pairs[outside], return_index=True)
        shown = [tuple(_value(column, int(outside[place])) for column in columns) for place in first[:6]]
        raise InvalidInput(
            f"The columns {', '.join(map(repr, names))} have {outside.size} of {pairs.size} rows with combinations "
            f"outside the declared domain: {some_of(shown)}. The domain is {some_of(alphabet.labels)}. Declare every "
            "combination that can occur, or clean the columns."
        )
    return found


def _value(column: Any, row: int) -> Any:
    value = column.iloc[row] if hasattr(column, "iloc") else column[row]
    if hasattr(value, "as_py"):
        return value.as_py()
    return value.item() if isinstance(value, np.generic) else value
