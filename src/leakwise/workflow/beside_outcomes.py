"""What is known of a secret once earlier ones were drawn for: the priors that its mechanism must hold for."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet, Label
from leakwise.errors import InvalidInput, some_of
from leakwise.mechanism import AnyMechanism, StratifiedMechanism
from leakwise.priors import AllPriors, Box, Prior, PriorByStratum, PriorSet
from leakwise.proof import least_mass_prover
from leakwise.tables.kinds.joint_columns import parts_of
from leakwise.types import Array

__all__ = ["JointPriors", "given_outcomes", "implied", "margin_of"]

# Bounds are rounded outwards to so many bits, so that a checker with other last digits agrees with them.
_BITS = 40


def given_outcomes(secrets: Sequence[tuple[Sequence[Hashable], AnyMechanism]]) -> dict[Hashable, list[Label]]:
    """Return the columns of secrets that were drawn for, with the outcomes that each can have."""
    found: dict[Hashable, list[Label]] = {}
    for names, mechanism in secrets:
        outcomes = mechanism.output_alphabet
        parts = [list(outcomes.labels)] if len(names) == 1 else parts_of(outcomes, names, "outputs")
        found.update((name, list(dict.fromkeys(values))) for name, values in zip(names, parts, strict=True))
    return found


def implied(known: PriorSet | PriorByStratum, lift: Fraction, anyone: Fraction | None) -> PriorSet | PriorByStratum:
    """Return every prior that outcomes with such lifts can make of what was known: Q ≤ t P, and ≥ P/a with a limit.

    >>> box = implied(Prior({"no": 0.75, "yes": 0.25}), Fraction(2), Fraction(20))
    >>> [round(float(one), 4) for one in box.upper], [round(float(one), 4) for one in box.lower]
    ([1.0, 0.5], [0.0375, 0.0125])
    """
    if isinstance(known, PriorByStratum):
        return known.replaced({key: _implied(known[key], lift, anyone) for key in known})
    return _implied(known, lift, anyone)


def _implied(known: PriorSet, lift: Fraction, anyone: Fraction | None) -> PriorSet:
    if isinstance(known, AllPriors):
        return known
    size = len(known.nominal)
    lower, upper = [], []
    # By the numbers of the checker, which is to agree that nothing is left out.
    prove = None if isinstance(known, Prior) else least_mass_prover(known)
    for place in range(size):
        if prove is None:
            least = most = known.nominal.fractions[place]
        else:
            alone = [int(other == place) for other in range(size)]
            least, most = prove(alone), 1 - prove([1 - one for one in alone])
        lower.append(Fraction(0) if anyone is None else _outwards(least / anyone, up=False))
        upper.append(min(Fraction(1), _outwards(lift * most, up=True)))
    inside = all(low <= here <= high for low, here, high in zip(lower, known.nominal.fractions, upper, strict=True))
    # The estimate of rounded frequencies need not be in its own set.
    return Box(known.nominal, lower, upper) if inside else AllPriors(known.nominal)


def _outwards(value: Fraction, *, up: bool) -> Fraction:
    scaled = value * (1 << _BITS)
    if not value:
        return value
    return Fraction(math.floor(scaled) + 2 if up else max(math.floor(scaled) - 1, 0), 1 << _BITS)


@dataclass(frozen=True)
class _Cell:
    """The law of the secrets that are not drawn for yet, with what was: whole numbers over a denominator."""

    weights: Array
    denominator: int

    @property
    def share(self) -> Fraction:
        return Fraction(int(self.weights.sum()), self.denominator)


def margin_of(
    joint: Prior | PriorByStratum, secrets: Sequence[tuple[tuple[Hashable, ...], Alphabet]], place: int
) -> Prior | PriorByStratum:
    """Return what a prior of several secrets together says of one of them."""
    start = sum(len(names) for names, _ in secrets[:place])
    names, letters = secrets[place]

    def margin(known: PriorSet) -> Prior:
        sums = [0] * len(letters)
        for label, weight in zip(known.labels, known.nominal.weights.tolist(), strict=True):
            parts: Any = label if isinstance(label, tuple) else (label,)
            value = parts[start] if len(names) == 1 else parts[start : start + len(names)]
            sums[letters.index[value]] += int(weight)
        return Prior.from_integers(letters, sums)

    if isinstance(joint, Prior):
        return margin(joint)
    given = joint.given_columns
    return PriorByStratum(
        {key: margin(joint[key]) for key in joint},
        dict(zip(given.names, given.domains, strict=True)),
        joint.weights,
        secret=names[0] if len(names) == 1 else names,
    )


class JointPriors:
    """The priors of several secrets that follow from a joint one, given what was drawn for those before.

    Parameters
    ----------
    joint
        A prior over tuples with a part for each column of the secrets, in their order; or by stratum.
    secrets
        The columns and the values of each secret.
    """

    def __init__(self, joint: Prior | PriorByStratum, secrets: Sequence[tuple[tuple[Hashable, ...], Alphabet]]) -> None:
        self._secrets = list(secrets)
        self._given: dict[Hashable, Any] = {}
        self._cells: dict[tuple[Label, ...], _Cell] = {}
        if isinstance(joint, Prior):
            self._cells[()] = self._start(joint, Fraction(1))
            return
        given = joint.given_columns
        self._given = dict(zip(given.names, given.domains, strict=True))
        for key in joint:
            known = joint[key]
            if not isinstance(known, Prior):
                raise InvalidInput("prior of several secrets together must be known in every stratum, not a set.")
            self._cells[given.parts(key)] = self._start(known, joint.weights[key])

    def _start(self, joint: Prior, share: Fraction) -> _Cell:
        weights = np.zeros([len(letters) for _, letters in self._secrets], dtype=np.object_)
        columns = sum(len(names) for names, _ in self._secrets)
        for label, weight in zip(joint.labels, joint.weights.tolist(), strict=True):
            row: Any = label if columns > 1 else (label,)
            if not isinstance(row, tuple) or len(row) != columns:
                every = [name for own, _ in self._secrets for name in own]
                raise InvalidInput(
                    f"prior must be over tuples of {columns} values, one for each of {some_of(every, 12)}. Got "
                    f"{label!r} among them."
                )
            place, at = [], 0
            for names, letters in self._secrets:
                value = row[at] if len(names) == 1 else row[at : at + len(names)]
                at += len(names)
                place.append(letters.code(value, name=f"value of {some_of(names)}"))
            weights[tuple(place)] += int(weight) * share.numerator
        return _Cell(weights, joint.denominator * share.denominator)

    @property
    def strata(self) -> int:
        """How many combinations of given columns and outcomes there are."""
        return len(self._cells)

    @property
    def cells(self) -> int:
        """How many numbers they have in all."""
        return sum(one.weights.size for one in self._cells.values())

    def prior(self) -> Prior | PriorByStratum:
        """Return the priors of the next secret."""
        names, letters = self._secrets[0]
        found = {key: Prior.from_integers(letters, _margin(one.weights)) for key, one in self._cells.items()}
        if not self._given:
            return found[()]
        alone = len(self._given) == 1
        shares = {key[0] if alone else key: one.share for key, one in self._cells.items()}
        return PriorByStratum(
            {key[0] if alone else key: one for key, one in found.items()},
            self._given,
            shares,
            secret=names[0] if len(names) == 1 else names,
        )

    def draw(self, mechanism: AnyMechanism) -> None:
        """Go on to the secret after the next one, which was drawn for by a mechanism."""
        names, letters = self._secrets.pop(0)
        own = list(self._given)
        outcomes = given_outcomes([(names, mechanism)])
        found: dict[tuple[Label, ...], _Cell] = {}
        for key, cell in self._cells.items():
            if isinstance(mechanism, StratifiedMechanism):
                chosen = mechanism[tuple(key[own.index(name)] for name in mechanism.given)]
            else:
                chosen = mechanism
            weights = np.asarray(chosen.kernel.weights).astype(np.object_)
            order = [chosen.input_alphabet.index[label] for label in letters]
            for place, label in enumerate(chosen.outputs):
                drawn = np.tensordot(weights[order, place], cell.weights, axes=1)
                drawn = np.asarray(drawn, dtype=np.object_)
                if drawn.sum():
                    parts: tuple[Any, ...] = label if len(names) > 1 and isinstance(label, tuple) else (label,)
                    found[(*key, *parts)] = _Cell(drawn, cell.denominator * chosen.denominator)
        self._given |= outcomes
        self._cells = found


def _margin(weights: Array) -> list[int]:
    """The weights of the values of the first secret."""
    sums = [int(one) for one in weights.reshape(len(weights), -1).sum(axis=1)]
    common = math.gcd(*sums) or 1
    return [one // common for one in sums]
