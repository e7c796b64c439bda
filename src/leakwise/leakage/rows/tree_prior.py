"""A joint distribution of many columns shaped like a tree: given one other column, each depends on nothing else."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet, as_alphabet, encode_column, found_domain
from leakwise.charts.shown import Parts, Shown, Table
from leakwise.errors import InvalidInput
from leakwise.priors import Prior, PriorByStratum
from leakwise.types import Codes, Counts, Floats

__all__ = ["TreePrior"]


class TreePrior(Shown):
    """The joint distribution of the columns of a row, each by one other column.

    Parameters
    ----------
    priors
        From each column to its prior: a Prior for the first one, and for every other a :class:`PriorByStratum` by one
        column that came before.

    Examples
    --------
    >>> from leakwise import Prior, PriorByStratum
    >>> ill = PriorByStratum({"f": [0.9, 0.1], "m": [0.8, 0.2]}, {"sex": ["f", "m"]}, secret="ill")
    >>> tree = TreePrior({"sex": Prior({"f": 0.5, "m": 0.5}), "ill": ill})
    >>> tree.parents
    {'sex': None, 'ill': 'sex'}
    """

    def __init__(self, priors: Mapping[Hashable, Prior | PriorByStratum]) -> None:
        if not priors:
            raise InvalidInput("priors must have at least one column. Got none.")
        self.priors: dict[Hashable, Prior | PriorByStratum] = {}
        self.parents: dict[Hashable, Hashable | None] = {}
        for name, one in priors.items():
            if not self.priors:
                if not isinstance(one, Prior):
                    raise InvalidInput(f"The prior of the first column, {name!r}, must be a lw.Prior. Got {one!r}.")
                self.parents[name] = None
            else:
                self.parents[name] = self._parent(name, one)
            self.priors[name] = one

    def _parent(self, name: Hashable, one: Any) -> Hashable:
        """The column that another one is by, all of whose values must have a prior."""
        if not isinstance(one, PriorByStratum) or len(one.given) != 1 or one.given[0] not in self.priors:
            raise InvalidInput(
                f"The prior of {name!r} must be a lw.PriorByStratum by one of the columns before it, "
                f"{', '.join(map(repr, self.priors))}. Got {type(one).__name__}"
                + (f" by {one.given_columns.quoted}." if isinstance(one, PriorByStratum) else ".")
            )
        parent = one.given[0]
        if missing := [value for value in self.labels(parent) if value not in one]:
            raise InvalidInput(f"The prior of {name!r} has none where {parent!r} is {missing[0]!r}.")
        if wrong := [value for value in one if not isinstance(one[value], Prior)]:
            raise InvalidInput(f"The prior of {name!r} where {parent!r} is {wrong[0]!r} must be one prior, not a set.")
        return parent

    @classmethod
    def from_data(
        cls, data: Any, columns: Sequence[Hashable], *, domain: Mapping[Hashable, Any] | None = None, extra: bool = True
    ) -> TreePrior:
        """Return the tree that fits a table best (Chow and Liu): the one with the most mutual information on its edges.

        Parameters
        ----------
        data
            A mapping from names to columns, or a table that is one: of pandas, polars or Arrow.
        columns
            Those that are in the tree.
        domain
            The values of columns; those that occur where nothing is said.
        extra
            Whether every pair of values counts as half a row more than it occurs, so that none is impossible.
        """
        names = list(columns)
        if len(names) != len(set(names)) or not names:
            raise InvalidInput(f"columns must be different columns of the table, at least one. Got {names!r}.")
        domains: dict[Hashable, Alphabet] = {}
        codes: dict[Hashable, Codes] = {}
        for name in names:
            column, said = data[name], (domain or {}).get(name)
            domains[name] = found_domain(column, name=str(name)) if said is None else as_alphabet(said, name=str(name))
            codes[name] = encode_column(column, domains[name], name=str(name))
        if len({len(one) for one in codes.values()}) != 1 or not len(codes[names[0]]):
            raise InvalidInput("The columns must have the same number of rows, at least one.")

        def pair(one: Hashable, two: Hashable) -> Counts:
            sizes = len(domains[one]), len(domains[two])
            flat = codes[one].astype(np.int64) * sizes[1] + codes[two]
            return np.bincount(flat, minlength=math.prod(sizes)).reshape(sizes)

        more = 1 if extra else 0
        first = names[0]
        root = np.bincount(codes[first], minlength=len(domains[first]))
        priors: dict[Hashable, Prior | PriorByStratum] = {
            first: Prior.from_integers(domains[first], [int(2 * count + more) for count in root])
        }
        for parent, child in _best_tree(names, pair):
            table = 2 * pair(parent, child) + more
            # Where a value of the parent never occurs nothing is known of the child, and it does not matter.
            table[table.sum(axis=1) == 0] = 1
            rows = dict(zip(domains[parent].labels, table.tolist(), strict=True))
            laws = {value: Prior.from_integers(domains[child], row) for value, row in rows.items()}
            priors[child] = PriorByStratum(laws, {parent: domains[parent].labels}, secret=child)
        return cls(priors)

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self.priors)

    def labels(self, name: Hashable) -> tuple[Any, ...]:
        """Return the values of a column."""
        return self.priors[name].labels

    def matrix(self, name: Hashable) -> Floats:
        """Return the probabilities of the values of a column, a row for each value of the column that it is by."""
        one = self.priors[name]
        if isinstance(one, Prior):
            return one.probabilities[None, :]
        parent = self.parents[name]
        return np.array([one[value].nominal.probabilities for value in self.labels(parent)])

    def _shown(self) -> Parts:
        rows = [[name, len(self.labels(name)), self.parents[name]] for name in self.priors]
        return [Table(["column", "values", "by"], rows, f"A prior of {len(rows)} columns, each by one other.")]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {str(name): {"by": self.parents[name], "prior": one.to_dict()} for name, one in self.priors.items()}


def _best_tree(names: Sequence[Hashable], pair: Any) -> list[tuple[Hashable, Hashable]]:
    """The edges of the tree with the most information, from the first column on (Prim)."""
    inside = [names[0]]
    outside = list(names[1:])
    known = {name: (_information(pair(names[0], name)), names[0]) for name in outside}
    edges = []
    while outside:
        best = max(outside, key=lambda name: known[name][0])
        edges.append((known[best][1], best))
        outside.remove(best)
        inside.append(best)
        for name in outside:
            if (found := _information(pair(best, name))) > known[name][0]:
                known[name] = found, best
    return edges


def _information(counts: Counts) -> float:
    """The mutual information of two columns with these counts, in nats."""
    shares = counts / counts.sum()
    alone = np.outer(shares.sum(axis=1), shares.sum(axis=0))
    some = shares > 0
    return float((shares[some] * np.log(shares[some] / alone[some])).sum())
