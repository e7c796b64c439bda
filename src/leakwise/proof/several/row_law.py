"""A joint prior and the mechanisms of the secrets of a row, gone through row by row, in exact integers."""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from leakwise.alphabet import Label
from leakwise.errors import CertificateRejected
from leakwise.mechanism import Mechanism, StratifiedMechanism
from leakwise.priors import Prior, PriorByStratum

__all__ = ["MOST_CELLS", "RowLaw", "Secrets"]

MOST_CELLS = 1_000_000
"""Rows times combinations of outcomes up to which they are gone through."""

Row = tuple[Any, ...]
Secrets = Sequence[tuple[tuple[Hashable, ...], Mechanism | StratifiedMechanism]]


@dataclass(frozen=True)
class _Cell:
    """What was drawn so far, by column, and how probable each row is together with it: whole numbers in proportion."""

    seen: dict[Hashable, Label]
    rows: dict[Row, int]


class RowLaw:
    """The rows of a joint prior, by given columns, with what is drawn for their secrets one after the other.

    Parameters
    ----------
    joint
        A prior over tuples, with a part for each column of the secrets in their order; by stratum with given columns.
    secrets
        The columns of each secret, and its mechanism.
    """

    def __init__(self, joint: Prior | PriorByStratum, secrets: Secrets) -> None:
        self.secrets = secrets
        self._columns = [name for names, _ in secrets for name in names]
        self._starts: list[tuple[dict[Hashable, Label], Prior]] = []
        if isinstance(joint, Prior):
            self._starts.append(({}, joint))
        else:
            given = joint.given_columns
            for key in joint:
                known = joint[key]
                if not isinstance(known, Prior):
                    raise CertificateRejected("A joint prior of several secrets must be known in every stratum.")
                self._starts.append((dict(zip(given.names, given.parts(key), strict=True)), known))

    def _start(self) -> Iterator[_Cell]:
        for seen, known in self._starts:
            weights = zip(known.labels, known.weights.tolist(), strict=True)
            rows = {self._row(label): int(weight) for label, weight in weights if weight}
            yield _Cell(seen, rows)

    def _row(self, label: Any) -> Row:
        row = label if len(self._columns) > 1 and isinstance(label, tuple) else (label,)
        if len(row) != len(self._columns):
            raise CertificateRejected(
                f"The joint prior must be over {len(self._columns)} columns. Got the value {label!r} instead."
            )
        return row

    def _value(self, place: int, row: Row) -> Any:
        start = sum(len(names) for names, _ in self.secrets[:place])
        names = self.secrets[place][0]
        return row[start] if len(names) == 1 else row[start : start + len(names)]

    def priors(self, place: int) -> Iterator[tuple[dict[Hashable, Label], dict[Any, int]]]:
        """Each combination of given columns and earlier outcomes, with the weights of the values of a secret in it."""
        for cell in self._cells(place):
            weights: dict[Any, int] = {}
            for row, weight in cell.rows.items():
                value = self._value(place, row)
                weights[value] = weights.get(value, 0) + weight
            yield cell.seen, weights

    def _cells(self, upto: int) -> Iterator[_Cell]:
        cells: Iterator[_Cell] = self._start()
        for place in range(upto):
            cells = self._drawn(cells, place)
        return cells

    def _drawn(self, cells: Iterator[_Cell], place: int) -> Iterator[_Cell]:
        names, stated = self.secrets[place]
        for cell in cells:
            mechanism = _of_stratum(stated, cell.seen)
            weights, index = mechanism.kernel.weights, mechanism.input_alphabet.index
            codes = {row: index[self._value(place, row)] for row in cell.rows}
            for outcome, label in enumerate(mechanism.outputs):
                rows = {row: weight * int(weights[codes[row], outcome]) for row, weight in cell.rows.items()}
                if rows := {row: weight for row, weight in rows.items() if weight}:
                    parts: tuple[Any, ...] = label if len(names) > 1 and isinstance(label, tuple) else (label,)
                    yield _Cell({**cell.seen, **dict(zip(names, parts, strict=True))}, rows)

    @property
    def size(self) -> int:
        """Rows times combinations of outcomes, about."""
        outcomes = 1
        for _, mechanism in self.secrets:
            outcomes *= len(mechanism.outputs)
        return outcomes * sum(len(known) for _, known in self._starts)

    def largest_lifts(self, parts: Sequence[tuple[int, ...]]) -> list[Fraction]:
        """Return the largest lift of any value of some secrets together, from all outcomes, for anyone who knows u.

        ``parts`` are the places of the secrets that are looked at together.
        """
        largest = [Fraction(1)] * len(parts)
        for (seen, known), start in zip(self._starts, self._start(), strict=True):
            one = RowLaw(known, self.secrets)
            one._starts = [(seen, known)]
            total = sum(start.rows.values())
            before = [self._sums(start.rows, some) for some in parts]
            for cell in one._cells(len(self.secrets)):
                here = sum(cell.rows.values())
                scale = Fraction(total, here)
                for at, some in enumerate(parts):
                    for value, weight in self._sums(cell.rows, some).items():
                        largest[at] = max(largest[at], Fraction(weight, before[at][value]) * scale)
        return largest

    def _sums(self, rows: Mapping[Row, int], some: tuple[int, ...]) -> dict[Any, int]:
        found: dict[Any, int] = {}
        for row, weight in rows.items():
            value = tuple(self._value(place, row) for place in some)
            found[value] = found.get(value, 0) + weight
        return found


def _of_stratum(mechanism: Mechanism | StratifiedMechanism, seen: Mapping[Hashable, Label]) -> Mechanism:
    """The mechanism of a combination of given columns and outcomes."""
    if isinstance(mechanism, Mechanism):
        return mechanism
    parts = tuple(seen[name] for name in mechanism.given)
    found = mechanism.otherwise
    domains = mechanism.given_columns.domains
    if all(part in domain.index for part, domain in zip(parts, domains, strict=True)):
        key = mechanism.given_columns.stratum(parts)
        if key in mechanism:
            return mechanism[key]
    if found is None:
        raise CertificateRejected(f"There is no mechanism where {dict(seen)!r}, which the joint prior says can occur.")
    return found
