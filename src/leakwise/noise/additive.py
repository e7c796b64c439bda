"""What Laplace and Gaussian noise have in common: on finitely many reals, and through :class:`OnDensity` on a density.

An outcome y speaks most for the value nearest to it, so the real line falls into the cells of the values. On the cell
of x_k the lift is 1/D_k(y) with D_k(y) = Σ_i π_i f(y-x_i)/f(y-x_k), and each ratio is monotone in y on the whole line.
"""

from __future__ import annotations

import itertools
import math
import numbers
from abc import abstractmethod
from collections.abc import Iterable
from functools import cached_property
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt

from leakwise.alphabet import Alphabet
from leakwise.charts.shown import Parts, Table
from leakwise.charts.table import number
from leakwise.errors import Infeasible, InvalidInput
from leakwise.exact import exact_fraction, last_that_holds, level, log_lower
from leakwise.guarantee import at_most
from leakwise.mechanism import Mechanism
from leakwise.noise.continuous.density import Density
from leakwise.noise.continuous.on_density import OnDensity
from leakwise.priors import Prior, PriorSet, as_prior, as_prior_set
from leakwise.types import Bools, Floats

__all__ = ["AdditiveNoise"]

Noise = TypeVar("Noise", bound="AdditiveNoise")

# Every leakage is raised by this relative amount: many times what its few float operations can lose.
UP = 1 + 2.0**-40


class AdditiveNoise(OnDensity):
    """Y = X + noise for a secret X on finitely many reals, or on an interval.

    Parameters
    ----------
    values
        The reals that the secret can take, in the order of the prior's letters; none for a secret with a density.
    scale
        The scale of the noise.
    """

    name: ClassVar[str]
    values: tuple[float, ...]
    scale: float

    def __init__(self, values: Iterable[Any] | None = None, scale: Any = None) -> None:
        if values is not None and (isinstance(values, str) or not isinstance(values, Iterable)):
            plain = isinstance(values, numbers.Real)
            raise InvalidInput(
                "values must be the reals that the secret can take, such as [0, 1]. Got "
                f"{repr(values) if plain or isinstance(values, str) else type(values).__name__} instead. The scale has "
                "a name, and a secret with a density needs no values: "
                f"lw.noise.{type(self).__name__}(scale={values if plain else 2})."
            )
        points = [] if values is None else [float(exact_fraction(value, "each of values")) for value in values]
        if values is not None and (len(points) < 2 or len(set(points)) < len(points)):
            raise InvalidInput(f"values must be at least two different reals. Got {len(points)}, not all different.")
        object.__setattr__(self, "values", tuple(points))
        object.__setattr__(self, "scale", self._positive(scale, "scale"))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"A noise mechanism cannot be changed ({name!r}); make a new one.")

    # -- shape of the noise -------------------------------------------------------------------------------------

    @abstractmethod
    def log_density(self, distance: Floats) -> Floats:
        """Return log f at a distance from the value, up to a constant."""

    @abstractmethod
    def ratio_root(self, place: int, other: int, log_ratio: float) -> float | None:
        """Return the outcome where log f(y - x_other)/f(y - x_place) takes a value ≤ 0, or None where it never does."""

    def shape(self, distance: Floats) -> Floats:
        values: Floats = np.exp(self.log_density(distance))
        return values

    # -- alignment ----------------------------------------------------------------------------------------------

    @cached_property
    def points(self) -> Floats:
        """The values as an array, in their order."""
        return np.array(self.values)

    def _known(self, prior: Any) -> PriorSet:
        known = as_prior_set(prior)
        self._refuse_none()
        order = Alphabet(self.values).positions_in(known.alphabet, mine="noise mechanism", theirs="prior")
        return known if order is None else known.reordered(order)

    def _refuse_none(self) -> None:
        if not self.values:
            raise InvalidInput(
                f"This {self.name} noise was made without values: ask it with a density (lw.noise.Density), or give it "
                "the values of the prior."
            )

    def _density(self, prior: Any) -> Density:
        if self.values and isinstance(prior, Density):
            raise InvalidInput(
                f"This {self.name} noise was made for {len(self.values)} values, and a density has no such values. "
                f"Leave them out: lw.noise.{type(self).__name__}(scale={self.scale:g})."
            )
        return super()._density(prior)

    def _cells(self, possible: Bools) -> list[tuple[int, float, float]]:
        """For each possible value its place and the ends of its cell, from left to right."""
        places = [place for place in np.argsort(self.points) if possible[place]]
        edges = [-math.inf, *((self.values[a] + self.values[b]) / 2 for a, b in itertools.pairwise(places)), math.inf]
        return [(int(place), edges[i], edges[i + 1]) for i, place in enumerate(places)]

    def ratios(self, y: npt.ArrayLike, place: int) -> Floats:
        """Return f(y - x_i) / f(y - x_place), one row per value, one column per outcome."""
        outcomes = np.atleast_1d(np.asarray(y, dtype=np.float64))
        logs = self.log_density(outcomes - self.points[:, None])
        own = self.log_density(outcomes - self.points[place])
        ratios: Floats = np.exp(np.minimum(logs - own, 700.0))
        return ratios

    # -- leakage ------------------------------------------------------------------------------------------------

    def pml(self, outcomes: npt.ArrayLike, prior: Any) -> Floats:
        """The pointwise maximal leakage at each outcome, in nats; for a set of priors the largest over the set."""
        if isinstance(prior, Density):
            return super().pml(outcomes, prior)
        known = self._known(prior)
        y = np.atleast_1d(np.asarray(outcomes, dtype=np.float64))
        if not np.isfinite(y).all():
            raise InvalidInput("outcomes must be finite numbers.")
        logs = self.log_density(y - self.points[:, None])
        relative = np.exp(logs - logs[known.support].max(axis=0))
        with np.errstate(divide="ignore"):
            leakage: Floats = np.maximum(-np.log(known.least_mass(np.minimum(relative, 1e300))), 0.0)
        return leakage * UP

    @property
    def span(self) -> float:
        """The distance of the two outermost values."""
        self._refuse_none()
        return float(self.points.max() - self.points.min())

    @classmethod
    def for_epsilon(
        cls: type[Noise],
        values: Iterable[Any] | None = None,
        prior: Any = None,
        epsilon: object = None,
        *,
        lift: object = None,
    ) -> Noise:
        """Return the least noise whose leakage for the prior (or for every prior of a set) is at most ε.

        For a secret with a density leave the values out: ``for_epsilon(prior=density, epsilon=1)``. More noise always
        leaks less here. An error says when no noise is needed, or none is enough.
        """
        one = cls(values, 1)
        points = one.values or None
        limit = log_lower(level(epsilon, lift).below)

        def holds(scale: float) -> bool:
            return cls(points, scale).epsilon(prior) <= limit

        if isinstance(prior, Density) and math.isinf(one.every_prior(one._density(prior))):
            raise Infeasible(
                f"{cls.name} noise on a density has no limit that holds for every outcome, whatever its scale. Allow "
                f"a probability delta: lw.noise.{cls.__name__}(scale=…).envelope_bounds(prior, delta). Or make a "
                "finite mechanism of it, which has one: best_bins(prior, bins).",
                witness=limit,
            )
        width = prior.high - prior.low if isinstance(prior, Density) else one.span
        low, high = width * 2.0**-20, width * 2.0**40
        if not holds(high):
            raise Infeasible(
                f"No {cls.name} noise keeps ε = {limit:g} here: even at a scale of {high:g} it leaks "
                f"{cls(points, high).epsilon(prior):g}. Allow more leakage, or use a finite mechanism (lw.design).",
                witness=limit,
            )
        if holds(low):
            raise InvalidInput(f"ε = {limit:g} needs no noise: the secret itself may be released for this prior.")
        # On a logarithmic scale: the answer may be anywhere in eighteen orders of magnitude.
        return cls(points, width * 2.0 ** last_that_holds(lambda power: holds(width * 2.0**power), 40.0, -20.0, 80))

    # -- tails --------------------------------------------------------------------------------------------------

    def mass(self, intervals: Iterable[tuple[float, float]]) -> Floats:
        """For each value the probability that the outcome falls into one of the disjoint intervals."""
        total = np.zeros(len(self.values))
        for left, right in intervals:
            total += np.array([self.between(left - x, right - x) for x in self.values])
        return np.minimum(total, 1.0)

    @abstractmethod
    def cell_minimum(self, place: int, left: float, right: float, prior: Prior) -> float:
        """Return the outcome of the cell where D is least; infinite where it is approached there."""

    def violations(self, prior: Any, epsilon: object = None, *, lift: object = None) -> list[tuple[float, float]]:
        """Return the outcomes that leak more than ε for a single prior: at most one interval for each value."""
        known = as_prior(self._known(as_prior(prior)))
        limit = float(1 / level(epsilon, lift).above)
        found = []
        for place, left, right in self._cells(known.support):
            bottom = self.cell_minimum(place, left, right, known)
            if not self._mixture(bottom, place, known) < limit:
                continue
            found.append(
                (
                    self._border(bottom, left, place, known, limit),
                    self._border(bottom, right, place, known, limit),
                )
            )
        return found

    def _mixture(self, y: float, place: int, prior: Prior) -> float:
        """D at an outcome; at infinity only the own value (and none beyond it) is left."""
        if math.isinf(y):
            return self._limit(place, prior, y > 0)
        return float(prior.probabilities @ self.ratios(y, place)[:, 0])

    def _limit(self, place: int, prior: Prior, right: bool) -> float:
        reach = self.points.max() if right else self.points.min()
        far = reach + (1 if right else -1) * 200 * (self.scale + self.span)
        return float(prior.probabilities @ self.ratios(far, place)[:, 0])

    def _border(self, inside: float, end: float, place: int, prior: Prior, limit: float) -> float:
        """Where D leaves the level on the way from ``inside`` to the end of the cell, on the far side of the root."""
        if self._mixture(end, place, prior) < limit:
            return end
        side = 1.0 if end > inside else -1.0
        reach = 200 * (self.scale + self.span)
        low = inside if math.isfinite(inside) else self.values[place] - side * reach
        high = end if math.isfinite(end) else self.values[place] + side * reach
        return last_that_holds(lambda y: not self._mixture(y, place, prior) < limit, high, low)

    def tail(self, prior: Any, epsilon: object = None, *, lift: object = None) -> float:
        """Return the probability, over outcomes, of a leakage above ε, for a single prior; rounded up."""
        if isinstance(prior, Density):
            return super().tail(prior, epsilon, lift=lift)
        known = as_prior(self._known(as_prior(prior)))
        intervals = self.violations(known, epsilon, lift=lift)
        return min(1.0, float(known.probabilities @ self.mass(intervals)) * UP)

    def envelope_bounds(self, prior: Any, delta: object, *, grid: int = 96) -> tuple[float, float]:
        """Enclose the (ε, δ) envelope: what holds after any post-processing, except with probability δ ([EN]).

        Above: min{𝓛 + log 1/δ, ε} (Theorem 3). Below: the largest t that the leakage reaches with probability δ. For a
        density both are closer, by a linear program on a ``grid`` (see
        :mod:`leakwise.noise.continuous.envelope`).
        """
        if isinstance(prior, Density):
            return super().envelope_bounds(prior, delta, grid=grid)
        chance = float(self._chance(delta))
        known = as_prior(self._known(as_prior(prior)))
        most = self.epsilon(known)
        upper = min(self.maximal_leakage() - math.log(chance), most) * UP
        if self.tail(known, 0.0) / UP < chance:
            return 0.0, upper
        reached = last_that_holds(lambda at: self.tail(known, at) / UP**2 >= chance, 0.0, most, 60)
        return min(reached, upper), upper

    # -- the exact mechanism ------------------------------------------------------------------------------------

    def discretize(
        self,
        outcomes: int | Iterable[Any] | None = None,
        *,
        prior: Any = None,
        epsilon: object = None,
        lift: object = None,
    ) -> Mechanism:
        """Return an exact mechanism over integers that rounds the noisy value to a grid: what a release draws from.

        Parameters
        ----------
        outcomes
            The reals to round to: a list, or how many evenly spaced ones from the least value to the largest. By
            default the values themselves, or for Laplace noise on a lattice the lattice (clipped two-sided geometric
            noise). One that comes with a probability below 2^-30, whatever the value, is put together with its
            neighbour.
        prior, epsilon, lift
            A promise to keep: the integers are certified for it, and mixed with a little of the average row where the
            rounding to integers had pushed them over.

        Rounding to a grid is post-processing: for every prior it leaks at most what the continuous mechanism does, up
        to 1e-6 nats for the integers, which ``lw.certify`` counts exactly. The LDP ε of Laplace noise is never
        exceeded.
        """
        from leakwise.noise.discrete import discretize

        self._refuse_none()
        return discretize(self, outcomes, prior=prior, epsilon=epsilon, lift=lift)

    # -- equality and looks -------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        assert isinstance(other, AdditiveNoise)
        return self.values == other.values and self.scale == other.scale

    def __hash__(self) -> int:
        return hash((type(self), self.values, self.scale))

    def _shown(self) -> Parts:
        rows = [["values", "any real, with a density"], ["scale", number(self.scale)]]
        if self.values:
            ends = f"{number(min(self.values))} to {number(max(self.values))}"
            rows[0] = ["values", f"{len(self.values)} from {ends}"]
            rows.append(["maximal leakage (nats)", at_most(self.maximal_leakage())])
        return [Table(["", self.name], rows, f"Additive {self.name} noise", align="ll")]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {"noise": self.name, "values": list(self.values), "scale": self.scale}
