"""Several secrets of a row as arrays: their joint distribution, and the mechanisms that are drawn from in turn."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from leakwise.alphabet import GivenColumns, Label, joined
from leakwise.errors import InvalidInput, some_of
from leakwise.mechanism import Mechanism, StratifiedMechanism
from leakwise.priors import Prior, PriorByStratum, as_prior
from leakwise.types import Array, Floats

__all__ = ["Column", "Row", "Secret", "secret_name", "secrets_of", "strata_of"]

# Combinations of the values of all secrets.
_MOST_CELLS = 1 << 22


@dataclass(frozen=True)
class Column:
    """The probabilities of one mechanism for the values of the joint distribution, as integers and as floats.

    The floats of an outcome are divided by the largest of them: no lift depends on that, and small probabilities do not
    vanish in a product. Outcomes that no value leads to have zeros.
    """

    mechanism: Mechanism
    weights: Array
    lifts: Floats

    @classmethod
    def of(cls, mechanism: Mechanism, codes: Sequence[int]) -> Column:
        """Return those of the values with these codes."""
        weights = mechanism.weights[np.asarray(codes)].astype(np.object_)
        tops = weights.max(axis=0)
        tops[tops == 0] = 1
        return cls(mechanism, weights, (weights / tops).astype(np.float64))


class Secret:
    """One secret: its values in the joint distribution, and the mechanism for what was seen before.

    Parameters
    ----------
    name, values
        The column or columns, and the values that occur in the joint distribution.
    mechanism
        For everyone, or by given columns, among them the outcomes of earlier secrets.
    seen
        The given columns of the joint distribution.
    earlier
        The names of the secrets before it.
    """

    def __init__(
        self,
        name: Hashable,
        values: Sequence[Label],
        mechanism: Mechanism | StratifiedMechanism,
        seen: Sequence[Hashable],
        earlier: Sequence[Hashable],
    ) -> None:
        self.name, self.values, self._mechanism = name, tuple(values), mechanism
        index = mechanism.input_alphabet.index
        if unknown := [one for one in values if one not in index]:
            raise InvalidInput(
                f"The mechanism of {secret_name(name)} has no value {some_of(unknown)}, which the prior has. Its "
                f"values are {some_of(mechanism.inputs)}."
            )
        self._codes = [index[one] for one in values]
        self._columns: dict[int, Column] = {}
        # For each given column of the mechanism: its place in u, or the earlier secret, and the part of its outcome.
        self._places: list[tuple[int | None, int, int | None]] = []
        if isinstance(mechanism, StratifiedMechanism):
            self._places = _places(secret_name(name), mechanism.given, seen, earlier)

    @property
    def adaptive(self) -> bool:
        """Whether the mechanism depends on earlier outcomes."""
        return any(place is None for place, _, _ in self._places)

    def column(self, given: tuple[Label, ...], outcomes: tuple[Label, ...]) -> Column:
        """Return the probabilities where these are the given columns and the earlier outcomes."""
        one = self._mechanism
        if isinstance(one, StratifiedMechanism):
            parts = tuple(
                given[place] if place is not None else _part(outcomes[secret], part)
                for place, secret, part in self._places
            )
            one = one[parts if len(parts) != 1 else parts[0]]
        if id(one) not in self._columns:
            self._columns[id(one)] = Column.of(one, self._codes)
        return self._columns[id(one)]

    @property
    def most_outcomes(self) -> int:
        """How many outcomes the largest mechanism has."""
        one = self._mechanism
        several = one.mechanisms if isinstance(one, StratifiedMechanism) else (one,)
        return max(each.shape[1] for each in several)

    @property
    def widest(self) -> int:
        """A number that no two positive probabilities of one outcome differ by more than."""
        one = self._mechanism
        several = one.mechanisms if isinstance(one, StratifiedMechanism) else (one,)
        found = 1
        for each in several:
            weights = each.weights.astype(np.object_)
            tops = weights.max(axis=0)
            least = np.where(weights > 0, weights, tops + 1).min(axis=0)
            found = max(found, int((tops // least).max()) + 1)
        return found


def _part(outcome: Label, part: int | None) -> Label:
    """An outcome, or what it is in one of the columns of its secret."""
    return outcome if part is None or not isinstance(outcome, tuple) else outcome[part]


def _places(
    title: str, given: Sequence[Hashable], seen: Sequence[Hashable], earlier: Sequence[Hashable]
) -> list[tuple[int | None, int, int | None]]:
    """Where the value of each given column of a mechanism is found: in u, or in the outcome of an earlier secret.

    A column of an earlier secret stands for its outcome. Columns with other names are the outcomes of all of them.
    """
    columns: dict[Hashable, tuple[int, int | None]] = {}
    for place, name in enumerate(earlier):
        columns[name] = place, None
        for part, column in enumerate(name if isinstance(name, tuple) else ()):
            columns[column] = place, part
    own = [one for one in given if one not in seen and one not in columns]
    if own and (len(own) != len(earlier) or any(one in columns and one not in seen for one in given)):
        raise InvalidInput(
            f"The mechanism of {title} is by {joined(map(repr, given))}, and the prior by "
            f"{joined(map(repr, seen)) if seen else 'nothing'}: the columns that it is by must be given columns of the "
            "prior, or those of earlier secrets, whose outcomes they are."
        )
    in_turn = iter(range(len(earlier)))
    found: list[tuple[int | None, int, int | None]] = []
    for one in given:
        if one in seen:
            found.append((seen.index(one), 0, None))
        else:
            found.append((None, *(columns[one] if one in columns else (next(in_turn), None))))
    return found


@dataclass(frozen=True)
class Row:
    """The joint distribution of the secrets in one stratum: integers with an axis for each secret."""

    given: tuple[Label, ...]
    weights: Array

    @property
    def total(self) -> int:
        """The sum of the weights."""
        return int(self.weights.sum())

    def probabilities(self) -> Floats:
        """Return floats, each within one rounding of the truth."""
        total = self.total
        divide = np.frompyfunc(lambda weight: weight / total, 1, 1)
        floats: Floats = divide(self.weights).astype(np.float64)
        return floats

    def least(self) -> Fraction:
        """Return the least probability that is not zero."""
        return Fraction(min(int(one) for one in self.weights.flat if one), self.total)


def secret_name(name: Hashable) -> str:
    """A secret in words: a column, or several."""
    return joined(map(str, name)) if isinstance(name, tuple) else str(name)


def secrets_of(
    prior: Prior | PriorByStratum, mechanisms: Mapping[Any, Mechanism | StratifiedMechanism]
) -> tuple[list[Secret], list[list[int]]]:
    """Return the secrets in turn, and for each value of the prior the places of its parts."""
    if not isinstance(mechanisms, Mapping) or not mechanisms:
        raise InvalidInput(
            "mechanisms must be a mapping from each secret, a column or a tuple of columns, to its mechanism, in the "
            f"order in which they are drawn. Got {type(mechanisms).__name__} instead."
        )
    for name, one in mechanisms.items():
        if not isinstance(one, Mechanism | StratifiedMechanism):
            raise InvalidInput(
                f"The mechanism of {secret_name(name)} must be a lw.Mechanism or a lw.StratifiedMechanism. Got "
                f"{type(one).__name__} instead."
            )
    seen = prior.given if isinstance(prior, PriorByStratum) else ()
    widths = [len(name) if isinstance(name, tuple) else 1 for name in mechanisms]
    rows = [_parts(label, widths) for label in prior.labels]
    secrets, places = [], []
    for at, (name, one) in enumerate(mechanisms.items()):
        values = list(dict.fromkeys(row[at] for row in rows))
        index = {value: place for place, value in enumerate(values)}
        secrets.append(Secret(name, values, one, seen, list(mechanisms)[:at]))
        places.append([index[row[at]] for row in rows])
    return secrets, places


def _parts(label: Label, widths: Sequence[int]) -> tuple[Label, ...]:
    """The values of the secrets in a value of the joint prior: one for each, or one for each of their columns."""
    if len(widths) == 1:
        return (label,)
    if isinstance(label, tuple):
        if len(label) == len(widths):
            return label
        if len(label) == sum(widths):
            ends = np.cumsum(widths).tolist()
            return tuple(
                label[end - width] if width == 1 else label[end - width : end]
                for end, width in zip(ends, widths, strict=True)
            )
    raise InvalidInput(
        f"prior must be over tuples of {len(widths)} values, one for each secret, or of {sum(widths)}, one for each "
        f"column. Got {label!r} among them."
    )


def strata_of(prior: Any, secrets: Sequence[Secret], places: Sequence[Sequence[int]]) -> Iterator[Row]:
    """The joint distribution in each stratum of the prior."""
    shape = tuple(len(one.values) for one in secrets)
    if math.prod(shape) > _MOST_CELLS:
        raise InvalidInput(
            f"The secrets have {math.prod(shape):,} combinations of values, more than are computed. Coarsen them, or "
            "give a lw.measures.TreePrior."
        )
    by: GivenColumns | None = prior.given_columns if isinstance(prior, PriorByStratum) else None
    cases = [(None, as_prior(prior))] if by is None else [(key, prior[key]) for key in prior]
    for key, one in cases:
        if not isinstance(one, Prior):
            raise InvalidInput(
                "prior must be one joint distribution, or one for each stratum: for a set of priors there is no exact "
                f"maximum. Got {type(one).__name__}{'' if by is None else f' where {by.described(key)}'}. Give its "
                "nominal prior to see how much that leaks."
            )
        weights = np.zeros(shape, dtype=np.object_)
        np.add.at(weights, tuple(map(np.asarray, places)), one.weights.astype(np.object_))
        yield Row(() if by is None else by.parts(key), weights)
