"""The largest lift of a guess about some of the secrets, over all joint outcomes: floats find it, integers prove it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from leakwise.alphabet import Label
from leakwise.leakage.rows.joint import Column
from leakwise.leakage.rows.passes import Block, Passes
from leakwise.types import Array, Floats, Indices

__all__ = ["LargestLift", "largest_lift"]

# Outcomes that floats cannot tell from the worst one: so many are computed on integers, if they have so many cells.
_TIES, _EXACT_CELLS = 32, 2_000_000


@dataclass(frozen=True)
class LargestLift:
    """The largest lift that joint outcomes give a guess, between two numbers.

    Attributes
    ----------
    lower, upper
        The largest lift is between them; equal, and exact, where it was computed on integers.
    outcomes
        Outcomes that have it, or nearly: one of each mechanism.
    values
        What those outcomes make more likely than anything else: a value of each secret that is guessed.
    given
        The stratum that they are in.
    """

    lower: Fraction
    upper: Fraction
    outcomes: tuple[Label, ...]
    values: tuple[Label, ...]
    given: tuple[Label, ...] = ()

    @property
    def exact(self) -> bool:
        """Whether the number is exact."""
        return self.lower == self.upper


@dataclass
class _Found:
    ratio: float
    codes: Indices
    columns: tuple[Column, ...]


def largest_lift(passes: Passes, asked: Sequence[int] = (), steps: list[float] | None = None) -> LargestLift:
    """Return the largest lift of a guess about these secrets from all outcomes; without any, about the whole row."""
    error = passes.error
    best, near = _near(passes, asked, steps, error)
    several = [one for one in near if one.ratio >= best * (1 - 3 * error)]
    cells, above = passes.row.weights.size, Fraction(best * (1 + 2 * error))
    if cells > _EXACT_CELLS:
        below = Fraction(best * (1 - 2 * error))
        return LargestLift(below, above, *_named(passes, several[0], asked, None), passes.row.given)
    exact = [_exact(passes, one, asked) for one in several[: min(_TIES, _EXACT_CELLS // cells)]]
    place = max(range(len(exact)), key=lambda at: exact[at][0])
    lift, values = exact[place]
    whole = len(exact) == len(several)
    upper = lift if whole else max(lift, above)
    return LargestLift(lift, upper, *_named(passes, several[place], asked, values), passes.row.given)


def _near(passes: Passes, asked: Sequence[int], steps: list[float] | None, error: float) -> tuple[float, list[_Found]]:
    """The largest lift by floats, and the outcomes that they do not tell apart from it, one more than are computed."""
    near: list[_Found] = []
    best = 0.0
    masses = _masses(passes, asked)
    for block in passes.blocks(asked, steps):
        ratios = _ratios(block, masses, [len(passes.secrets[place].values) for place in asked])
        best = max(best, float(ratios.max()))
        places = np.flatnonzero(ratios >= best * (1 - 3 * error))
        highest = places[np.argsort(-ratios[places], kind="stable")][: _TIES + 1]
        near += [_Found(float(ratios[place]), block.outcomes[place], block.columns) for place in highest]
        near = sorted((one for one in near if one.ratio >= best * (1 - 3 * error)), key=lambda one: -one.ratio)
        near = near[: _TIES + 1]
    return best, near


def _masses(passes: Passes, asked: Sequence[int]) -> Floats:
    """The probabilities of the values that are asked about, each within one rounding, as the passes order them."""
    total = passes.row.total
    return np.array([int(weight) / total for weight in _marginal(passes.row.weights, asked).flat])


def _marginal(weights: Array, asked: Sequence[int]) -> Array:
    others = tuple(place for place in range(weights.ndim) if place not in asked)
    return np.asarray(weights.sum(axis=others), dtype=np.object_)


def _ratios(block: Block, masses: Floats, shape: Sequence[int]) -> Floats:
    """The largest lift of each outcome of a block."""
    if block.top is not None:
        ratios: Floats = block.top[:, 0] / block.found[:, 0]
        return ratios
    whole = block.found.reshape(-1, *shape)
    while whole.ndim > 1:
        whole = whole.sum(axis=-1)
    parts = np.divide(block.found, masses, out=np.zeros_like(block.found), where=masses > 0)
    found: Floats = parts.max(axis=1) / whole
    return found


def _exact(passes: Passes, found: _Found, asked: Sequence[int]) -> tuple[Fraction, tuple[int, ...]]:
    """The lift of one outcome on integers, and the codes of the values that have it."""
    weights = passes.row.weights
    likely = [one.weights[:, code] for one, code in zip(found.columns, found.codes.tolist(), strict=True)]
    if asked:
        beside = weights
        for place in range(weights.ndim):
            shape = [1] * weights.ndim
            shape[place] = -1
            beside = beside * likely[place].reshape(shape)
        known, masses = _marginal(beside, asked), _marginal(weights, asked)
        law, total = int(known.sum()), passes.row.total
        best, where = Fraction(0), 0
        for place, (one, mass) in enumerate(zip(known.flat, masses.flat, strict=True)):
            if mass and (lift := Fraction(int(one) * total, int(mass) * law)) > best:
                best, where = lift, place
        return best, tuple(int(one) for one in np.unravel_index(where, known.shape))
    law_array, top = weights, (weights > 0).astype(np.object_)
    path = []
    for one in reversed(likely):
        law_array = (law_array * one).sum(axis=-1)
        scaled = top * one
        path.append(scaled.argmax(axis=-1))
        top = scaled.max(axis=-1)
    lift = Fraction(int(top) * passes.row.total, int(law_array))
    values: list[int] = []
    for places in reversed(path):
        values.append(int(places[tuple(values)]))
    return lift, tuple(values)


def _named(
    passes: Passes, found: _Found, asked: Sequence[int], codes: tuple[int, ...] | None
) -> tuple[tuple[Label, ...], tuple[Label, ...]]:
    """The outcomes and the values by their names."""
    outcomes = tuple(one.mechanism.outputs[code] for one, code in zip(found.columns, found.codes.tolist(), strict=True))
    secrets = [passes.secrets[place] for place in asked] or list(passes.secrets)
    values = () if codes is None else tuple(one.values[code] for one, code in zip(secrets, codes, strict=True))
    return outcomes, values
