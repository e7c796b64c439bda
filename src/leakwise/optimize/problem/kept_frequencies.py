"""Labelled utilities with the frequencies kept: outcomes are the values, and come as often as those do (πP = π)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet
from leakwise.errors import InvalidInput
from leakwise.exact import exact_fraction, float_above
from leakwise.optimize.problem.utilities import LinearUtility, as_utility
from leakwise.priors import Prior, PriorSet
from leakwise.proof import OptimalityClaim
from leakwise.types import Bools, Floats

__all__ = ["KeptFrequencies", "Masks", "kept_frequencies"]


@dataclass(frozen=True)
class Masks:
    """On the values of positive probability: outcomes that must never occur for a value (N×N), and shares kept."""

    zeros: Bools
    shares: tuple[Fraction, ...]  # the least probability that a value is released as it is
    own_lifts: Floats  # the same as a lift of the value in its own outcome

    @property
    def empty(self) -> bool:
        """Whether nothing is asked for."""
        return not self.zeros.any() and not any(self.shares)


class KeptFrequencies(LinearUtility):
    """Σ_ij π_i p_ij u_ij over the mechanisms with the values as outcomes and πP = π, pairs forbidden, shares kept.

    An outcome is worth what it says, not what the best guess after it would be.
    """

    def __init__(self, goal: LinearUtility, forbidden: tuple[tuple[Any, Any], ...], least: Any) -> None:
        self.goal, self.forbidden, self.kept_shares = goal, forbidden, least
        self.name = goal.name
        self.missed = Fraction(0)  # how much the probability of an outcome differs from that of its value

    kind = "kept"

    def within(self, missed: Fraction) -> KeptFrequencies:
        """Return the same, to be claimed of a mechanism that keeps the frequencies up to so much."""
        found = KeptFrequencies(self.goal, self.forbidden, self.kept_shares)
        found.missed = missed
        return found

    def masks(self, prior: Prior) -> Masks:
        """Return what is forbidden and what is to be kept, on the values of positive probability."""
        here = prior.support
        shares = [share for share, seen in zip(self._shares(prior), here.tolist(), strict=True) if seen]
        masses = [mass for mass in prior.fractions if mass]
        lifts = [float_above(share / mass) for share, mass in zip(shares, masses, strict=True)]
        return Masks(self._zeros(prior)[np.ix_(here, here)], tuple(shares), np.array(lifts))

    def gains(self, prior: Prior) -> Floats:
        """Return what each outcome (column) is worth for each value (row), both in the order of the prior."""
        gains, says = self.goal.gains(prior), self.goal.says(prior)
        if gains.shape != (len(prior), len(prior)):
            raise InvalidInput(
                "keep_frequencies needs the values as outcomes: a square matrix, one column for each value. The "
                f"utility matrix has {gains.shape[1]} columns for {len(prior)} values."
            )
        places = {label: place for place, label in enumerate(says.labels)}
        missing = [label for label in prior.labels if label not in places]
        if missing:
            raise InvalidInput(
                f"keep_frequencies needs the values as outcomes. The utility has no outcome {missing[0]!r}; it has "
                f"{', '.join(map(repr, says.labels))}."
            )
        return gains[:, [places[label] for label in prior.labels]]

    def says(self, prior: Prior) -> Alphabet:
        """Return the values themselves."""
        return prior.alphabet

    def _zeros(self, prior: Prior) -> Bools:
        """Return which outcomes (columns) must never occur for which values (rows)."""
        found = np.zeros((len(prior), len(prior)), dtype=bool)
        for value, outcome in self.forbidden:
            found[_seen(prior, value, "forbidden"), _place(prior, outcome, "forbidden")] = True
        return found

    def _shares(self, prior: Prior) -> list[Fraction]:
        """Return the least probability that each value is released as it is."""
        if not isinstance(self.kept_shares, Mapping):
            share = Fraction(0) if self.kept_shares is None else _share(self.kept_shares)
            return [share if weight else Fraction(0) for weight in prior.weights.tolist()]
        found = [Fraction(0)] * len(prior)
        for value, share in self.kept_shares.items():
            found[_seen(prior, value, "keep_at_least")] = _share(share)
        return found

    def claim(self, claim: OptimalityClaim, priors: PriorSet) -> tuple[OptimalityClaim | None, str | None]:
        if not self.masks(priors.nominal).empty:
            return None, "the checker does not know forbidden pairs and shares to be kept"
        full, remark = super().claim(claim, priors)
        return None if full is None else replace(full, kept=self.missed), remark

    def value(self, lifts: Floats, law: Floats, prior: Prior) -> float:
        gains = self.gains(prior)[:, prior.support] if lifts.shape[1] < len(prior) else self.gains(prior)
        return float(law @ (gains * prior.probabilities[:, None] * lifts).sum(axis=0))


def _place(prior: Prior, value: Any, argument: str) -> int:
    try:
        return prior.alphabet.index[value]
    except (KeyError, TypeError):
        raise InvalidInput(
            f"{argument} names {value!r}, which is not a value of the prior. Its values are "
            f"{', '.join(map(repr, prior.labels))}."
        ) from None


def _seen(prior: Prior, value: Any, argument: str) -> int:
    """The place of a value that must have a positive probability: the rows of others follow the frequencies of all."""
    place = _place(prior, value, argument)
    if prior.weights[place] == 0:
        raise InvalidInput(
            f"{argument} names the value {value!r}, which has probability zero in the prior and never comes out. Give "
            "it a positive probability."
        )
    return place


def _share(share: Any) -> Fraction:
    found = exact_fraction(share, "keep_at_least")
    if not 0 <= found <= 1:
        raise InvalidInput(f"keep_at_least must be probabilities, between 0 and 1. Got {share!r} instead.")
    return found


_REASONS = {
    "frequencies": "its outcomes are not values, and the frequencies are estimated from them; with keep_frequencies "
    "they are those of the released column as it stands",
    "worst_case": "lw.WorstCase decides which outcomes a value may have, as forbidden= does",
}


def kept_frequencies(utility: Any, forbidden: Any, keep_at_least: Any) -> KeptFrequencies:
    """Return a labelled utility with the frequencies kept; refuse utilities that do not say what an outcome means."""
    if isinstance(utility, KeptFrequencies):
        return utility
    goal = as_utility(utility)
    if not isinstance(goal, LinearUtility):
        reason = _REASONS.get(goal.kind, "it does not depend on what an outcome is called: its outcomes are not values")
        raise InvalidInput(
            f"keep_frequencies does not go with utility={goal.name!r}: {reason}. Use 'guessing', lw.Expected(matrix) "
            "or lw.Gain(matrix), or leave keep_frequencies out."
        )
    return KeptFrequencies(goal, _pairs(forbidden), keep_at_least)


def _pairs(forbidden: Any) -> tuple[tuple[Any, Any], ...]:
    if forbidden is None:
        return ()
    if not isinstance(forbidden, Iterable) or isinstance(forbidden, (str, bytes, Mapping)):
        raise InvalidInput(f"forbidden must be pairs (value, outcome). Got {forbidden!r} instead.")
    pairs = []
    for pair in forbidden:
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise InvalidInput(f"forbidden must be pairs (value, outcome). Got {pair!r} among them.")
        pairs.append((pair[0], pair[1]))
    return tuple(pairs)
