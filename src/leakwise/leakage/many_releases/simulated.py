"""The envelope and the tail of many releases by simulation: bounds that hold with a stated confidence.

The upper bound on the envelope rests on its dual ([EN] asks for the value; see
:mod:`leakwise.leakage.envelopes.dual`): for every vector v ≥ 0 the probability of a leakage of at least log t after
any post-processing is at most the mean of max(0, max_x 1 + v_x (λ_x(Y) - t)), a number between 0 and max_x 1 + v_x
(1/π_x - t). One half of the draws chooses v and the candidates for t; the other half bounds the means (betting,
Waudby-Smith and Ramdas 2024). Candidates are tested from the largest down, and the first that fails ends the test, so
that all of them together err as rarely as one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakwise.charts.shown import Parts, Shown, Table
from leakwise.errors import InvalidInput
from leakwise.exact import float_below, last_that_holds
from leakwise.guarantee import at_least, at_most, lift_above
from leakwise.leakage.bounds.mean import betting
from leakwise.leakage.envelopes.one_delta import open_delta
from leakwise.leakage.measures.arguments import checked, single_prior
from leakwise.mechanism import Composition, Mechanism
from leakwise.mechanism.composition import compose
from leakwise.priors import Prior
from leakwise.priors.binomial import lower_bounds
from leakwise.types import Floats

__all__ = ["SimulatedEnvelope", "simulated_envelope"]

# Multiples of the root that are tried, and how many shares of δ for the quantile; draws that choose the dual vector.
_CANDIDATES = 1 + np.geomspace(3.0, 2e-3, 40)
_SHARES = np.geomspace(4.0, 1.0, 24)
_FOR_DUAL = 5_000
_EDGES = np.concatenate([np.linspace(0.0, 0.9, 10), [0.93, 0.96, 0.98, 0.99]])
_HALVINGS, _SWEEPS = 14, 2
_LEAST_DRAWS = 1_000


@dataclass(frozen=True, repr=False)
class SimulatedEnvelope(Shown):
    """The envelope of many releases, between two numbers with a stated confidence; in nats.

    Attributes
    ----------
    delta
        The probability over outcomes that may be given up.
    lower, upper
        The envelope is between them, except with probability ``1 - confidence`` over the draws of the simulation.
    confidence, draws
        How sure that is, and how many joint outcomes were drawn for it.
    releases
        How many releases there are in all.
    """

    delta: float
    lower: float
    upper: float
    confidence: float
    draws: int
    releases: int

    def _shown(self) -> Parts:
        said = (
            f"After {self.releases:,} releases, and whatever is made of their outcomes, no guess becomes more than "
            f"{at_most(lift_above(self.upper))} times as likely, except with probability {at_most(self.delta)}. This "
            f"is simulated: it holds with confidence {at_least(self.confidence, 12)} over {self.draws:,} simulated "
            "outcomes, and is not a proof."
        )
        rows = [["envelope, at least", at_least(self.lower, 6)], ["envelope, at most", at_most(self.upper, 6)]]
        return [said, Table(["", "nats"], rows, f"Simulated envelope at δ = {at_most(self.delta, 6)}")]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**vars(self), "proven": False}


def simulated_envelope(
    mechanism: Mechanism,
    prior: Any,
    delta: object,
    *,
    draws: int = 200_000,
    confidence: float = 0.99,
    seed: int | None = None,
) -> SimulatedEnvelope:
    """Bound the PML envelope of a composition with too many joint outcomes to list, by simulation.

    Parameters
    ----------
    mechanism
        A composition (``m.repeat(n)``, ``lw.compose``), or any mechanism.
    prior
        A Prior.
    delta
        The probability over outcomes that may be given up, strictly between 0 and 1.
    draws
        How many joint outcomes are simulated.
    confidence
        Both bounds hold together with at least this probability over the simulation.
    seed
        Gives the same draws again.

    Examples
    --------
    >>> from leakwise import Prior, randomized_response
    >>> many = randomized_response(12, epsilon=0.2).repeat(90)
    >>> print(f"{many.count_vectors:,} count vectors")
    158,940,114,100,040 count vectors
    >>> found = simulated_envelope(many, Prior.uniform(12), 0.01, seed=1, draws=20_000)
    >>> print(f"between {found.lower:.2f} and {found.upper:.2f}")
    between 1.52 and 1.81
    """
    given = checked(mechanism)
    composition = given if isinstance(given, Composition) else compose(given)
    known = single_prior(prior, composition)
    allowed = float_below(open_delta(delta))
    if isinstance(draws, bool) or not isinstance(draws, int) or draws < _LEAST_DRAWS:
        raise InvalidInput(f"draws must be a whole number, at least {_LEAST_DRAWS:,}. Got {draws!r} instead.")
    if not 0.5 <= confidence < 1:
        raise InvalidInput(f"confidence must be between 0.5 and 1, for example 0.99. Got {confidence!r} instead.")
    generator = np.random.default_rng(seed)
    log_level = math.log((1 - confidence) / 2)
    few = min(draws // 6, _FOR_DUAL)
    each = (draws - 2 * few) // 2
    sizes = (few, few, each, each)
    drawn = [_lifts(composition, known, generator, size, place % 2 == 1) for place, size in enumerate(sizes)]
    most = known.epsilon_max
    # Half of the draws are by the prior and half even over the values, so that rare values are met, too.
    upper = _upper(np.hstack(drawn[:2]), np.hstack(drawn[2:]), known, allowed, log_level)
    lower = _lower(drawn[0], drawn[2], allowed, log_level)
    return SimulatedEnvelope(allowed, min(lower, most), min(upper, most), confidence, draws, composition.releases)


def _lifts(composition: Composition, prior: Prior, generator: np.random.Generator, size: int, evenly: bool) -> Floats:
    """The lifts of all values that can occur (rows) at joint outcomes (columns) of values by the prior, or even."""
    rows = np.flatnonzero(prior.support)
    mass = prior.probabilities[rows]
    values = generator.choice(len(rows), size, p=None if evenly else mass / mass.sum())
    logs = np.zeros((len(rows), size))
    for part, count in zip(composition.parts, composition.counts, strict=True):
        matrix = part.matrix[rows]
        counts = generator.multinomial(count, matrix[values] / matrix[values].sum(axis=1, keepdims=True))
        with np.errstate(divide="ignore"):
            log = np.log(matrix)
        possible = np.isfinite(log)
        logs += np.where(possible, log, 0.0) @ counts.T
        logs[(~possible).astype(np.float64) @ counts.T > 0] = -np.inf
    logs -= logs.max(axis=0)
    likelihood = np.exp(logs)
    found: Floats = likelihood / (mass @ likelihood)
    return found


def _rarity(lift: Floats) -> Floats:
    """P(y)/R(y) for outcomes drawn half by the prior and half evenly over the values, which is R."""
    found: Floats = 2 / (1 + lift.mean(axis=0))
    return found


def _upper(first: Floats, second: Floats, prior: Prior, delta: float, log_level: float) -> float:
    """The smallest candidate at which a mean is below δ for certain, all larger ones having passed."""
    root, edges = _dual(first, delta)
    ends = 1 / prior.probabilities[prior.support]
    found = prior.epsilon_max
    rarity = _rarity(second)
    for t in (root * _CANDIDATES).tolist():
        if math.log(t) >= prior.epsilon_max:
            continue  # no lift is so large
        dual = 1 / (t - root * edges)
        heights = rarity * np.maximum(0.0, (1 + dual[:, None] * (second - t)).max(axis=0))
        # Where one value has the lift l, R is at least half of 1 + l/N: the height is largest at an end.
        tops = np.maximum(0.0, 1 + dual * (ends - t)) * 2 / (1 + ends / len(ends))
        most = float(tops.max(initial=0.0)) * (1 + 1e-9)
        if most <= 0:
            found = min(found, math.log(t) + 1e-12)
            continue
        # The mean is below δ where the mean of what is missing to the most is above.
        values, counts = np.unique(np.clip(1 - heights / most, 0.0, 1.0), return_counts=True)
        if (1 - betting(values, counts, log_level)) * most >= delta:
            break
        found = min(found, math.log(t) + 1e-12)
    return found


def _dual(lift: Floats, delta: float) -> tuple[float, Floats]:
    """About the root t of V(t) = δ over these draws, and edges (v_x = 1 / (t - e_x t)) that nearly attain V there."""
    rarity = _rarity(lift)
    largest = lift.max(axis=1)
    edges = np.full(len(lift), 0.8)

    def below(power: float) -> bool:
        nonlocal edges
        edges, value = _best_edges(lift, rarity, math.exp(power), edges)
        return value < delta

    root = math.exp(last_that_holds(below, math.log(float(largest.max())), 0.0, _HALVINGS))
    return root, edges


def _best_edges(lift: Floats, rarity: Floats, t: float, edges: Floats) -> tuple[Floats, float]:
    """Lower the mean height one value at a time; with v_x = 1 / (t - e_x t) lifts below the edge e_x t add nothing."""
    edges = edges.copy()
    heights = np.maximum(0.0, (lift - (edges * t)[:, None]) / (t - edges * t)[:, None])
    for _ in range(_SWEEPS):
        for place in range(len(lift)):
            others = np.delete(heights, place, axis=0).max(axis=0, initial=0.0)
            tried = [np.maximum(others, (lift[place] - edge * t) / (t - edge * t)) @ rarity for edge in _EDGES]
            edges[place] = _EDGES[int(np.argmin(tried))]
            heights[place] = np.maximum(0.0, (lift[place] - edges[place] * t) / (t - edges[place] * t))
    return edges, float(heights.max(axis=0) @ rarity) / lift.shape[1]


def _lower(first: Floats, second: Floats, delta: float, log_level: float) -> float:
    """A leakage that outcomes of probability δ at least have (the quantile that bounds the envelope from below)."""
    leakage = np.sort(first.max(axis=0))[::-1]
    seen = np.log(second.max(axis=0))
    found = 0.0
    # From small leakages up; the first that is not certain ends the test.
    for share in _SHARES.tolist():
        place = min(int(share * delta * len(leakage)), len(leakage) - 1)
        candidate = math.log(float(leakage[place]))
        if float(lower_bounds(int((seen >= candidate).sum()), len(seen), log_level)) < delta:
            break
        found = max(found, candidate - 1e-12)
    return found
