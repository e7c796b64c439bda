"""Local differential privacy of many releases, by convolving the distributions of the privacy loss.

For two values the loss of a release is log p_xj / p_x'j, drawn by p_x; losses of independent releases add up, and δ(ε)
= E[(1 - e^{ε-L})₊] of their sum. The losses of one release are moved to a grid by splitting each between its two
neighbours so that both p_x and p_x' keep their sums: merging the two again is a post-processing, so that the split
pair tells at least as much, and so do many of them (Doroshenko, Ghazi, Kamath, Kumar and Manurangsi, "Connect the
dots", 2022, choose the same split). The sum over all releases is a product of powers of Fourier transforms. What
floats lose in it, and what falls outside the window (Hoeffding), is added to δ. Moments bound every pair of values
beforehand (Rényi), so that few pairs are convolved.
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import cached_property
from typing import NamedTuple

import numpy as np

from leakwise.exact import last_that_holds, level, log_array, log_lower, log_upper
from leakwise.leakage.measures.arguments import TINY, ULP, checked_delta
from leakwise.leakage.measures.privacy_profile import PrivacyProfile
from leakwise.mechanism import Composition
from leakwise.types import Array, Floats

__all__ = ["ComposedProfile", "joint_ldp"]

# How much the grid may add to ε, about; and the probability of falling outside the window.
_GRID_ADDS, _OUTSIDE = 2e-5, 1e-14
_MOST_CELLS = 1 << 22
# So many ratios of integers are compared at most.
_MOST_RATIOS = 200_000
# Where moments are taken to bound a pair of values.
_ORDERS = np.geomspace(1e-2, 1e3, 41)[:, None]
# log of the largest (1 - e^{-u}) e^{-su}, which ties moments to δ.
_TIED = _ORDERS * np.log(_ORDERS) - (1 + _ORDERS) * np.log1p(_ORDERS)


class _Release(NamedTuple):
    """The losses of one release between two values with their probabilities, and how often it is made."""

    losses: Floats
    masses: Floats
    times: int


class _Pair(NamedTuple):
    """Two values: their finite losses in each release, and how likely an outcome is that the other cannot cause."""

    releases: tuple[_Release, ...]
    lost: float

    def moments(self) -> Floats:
        """log E[e^{sL}] of the sum of all losses, for each order."""
        total = np.zeros(len(_ORDERS))
        for losses, masses, times in self.releases:
            exponents = _ORDERS * losses
            top = exponents.max(axis=1, keepdims=True, initial=-np.inf)
            # Rounded up: an order multiplies what floats lose of the losses.
            off = _ORDERS[:, 0] * self.largest * 8 * ULP + (len(losses) + 64) * ULP
            with np.errstate(divide="ignore"):
                total += times * (top[:, 0] + np.log(np.exp(exponents - top) @ masses) + off)
        return total

    @property
    def largest(self) -> float:
        """More than any finite loss of one release."""
        return 1.0 + max((float(np.abs(one.losses).max(initial=0.0)) for one in self.releases), default=0.0)

    @property
    def unsure(self) -> float:
        """More than what floats lose of a sum of losses."""
        return sum(one.times for one in self.releases) * self.largest * 16 * ULP


class ComposedProfile(PrivacyProfile):
    """δ(ε) of a composition whose joint outcomes are too many to list; every number is rounded up."""

    def __init__(self, composition: Composition) -> None:
        self.mechanism = self.composition = composition
        self.exact = False
        self._structured = False
        self._sums: dict[int, _Sum] = {}

    def delta(self, epsilon: object = None, *, lift: object = None) -> float:
        """Return a δ with (ε, δ)-local differential privacy, never below the least one."""
        asked = max(0.0, log_lower(level(epsilon, lift).below))
        return self._float_delta_at(asked)

    def _float_delta_at(self, asked: float) -> float:
        exponents = (self._moments + _TIED[:, :1] - _ORDERS * asked).min(axis=0)
        bounds = np.minimum(np.exp(np.minimum(exponents, 0.0)) * (1 + 1e-9) + self._lost, 1.0)
        best = 0.0
        for place in np.argsort(-bounds).tolist():
            if bounds[place] <= best:
                break
            found = self._sum(place).delta(asked, self._pairs[place].unsure) + self._lost[place]
            best = max(best, min(float(bounds[place]), found))
        return min(1.0, best)

    def epsilon(self, delta: object) -> float:
        """Return an ε with (ε, δ)-local differential privacy, in nats, never below the least one; infinite if none."""
        exact = checked_delta(delta)
        pure = joint_ldp(self.composition)
        if exact == 0:
            return pure
        allowed = float(exact) * (1 - 4 * ULP)
        if (self._lost >= allowed).any():
            return pure
        exponents = self._moments + _TIED - np.log(allowed - self._lost)
        bounds = (exponents / _ORDERS).min(axis=0).clip(0.0) * (1 + 1e-9)
        best = 0.0
        for place in np.argsort(-bounds).tolist():
            if bounds[place] <= best:
                break
            found = self._sum(place).epsilon(allowed - float(self._lost[place])) + self._pairs[place].unsure
            best = max(best, min(float(bounds[place]), found))
        return min(best, pure)

    @property
    def limit(self) -> float:
        """δ as ε grows without end: the most that can fall on outcomes which another value cannot cause."""
        return float(self._lost.max(initial=0.0))

    def curve(self, points: int = 60, least_end: float = 0.5) -> tuple[list[float], list[float]]:
        """Pairs (ε, δ) for a picture, to where hardly anything changes; each δ is never below the truth."""
        first, last = self._float_delta_at(0.0), self.limit
        end = self.epsilon(last + (first - last) / 500) if first > last else 0.0
        places = np.linspace(0.0, min(max(end, least_end), 50.0), max(2, points)).tolist()
        return places, [self._float_delta_at(place) for place in places]

    # -- pairs of values ------------------------------------------------------------------------------------------

    @cached_property
    def _pairs(self) -> list[_Pair]:
        """Every two values once; pairs with the same probabilities are one."""
        found: dict[object, _Pair] = {}
        parts, counts = self.composition.parts, self.composition.counts
        # Where a probability is below what floats hold to full precision, a little more stands for it.
        matrices = [np.where(part.weights != 0, np.maximum(part.matrix, TINY), 0.0) for part in parts]
        letters = range(self.mechanism.shape[0])
        for x in letters:
            for other in letters:
                if x == other:
                    continue
                stacked = [np.stack([one[x], one[other]]) for one in matrices]
                ordered = [one[:, np.lexsort(one)] for one in stacked]
                key = tuple(one.tobytes() for one in ordered)
                if key not in found:
                    found[key] = _pair([(one[0], one[1]) for one in ordered], counts)
        return list(found.values())

    @cached_property
    def _lost(self) -> Floats:
        return np.array([one.lost for one in self._pairs])

    @cached_property
    def _moments(self) -> Floats:
        return np.array([one.moments() for one in self._pairs]).reshape(-1, len(_ORDERS)).T

    def _sum(self, place: int) -> _Sum:
        if place not in self._sums:
            self._sums[place] = _convolved(self._pairs[place])
        return self._sums[place]


def _pair(rows: list[tuple[Floats, Floats]], counts: tuple[int, ...]) -> _Pair:
    releases, kept = [], 0.0
    for (own, other), times in zip(rows, counts, strict=True):
        both = (own > TINY) & (other > TINY)
        releases.append(_Release(np.log(own[both]) - np.log(other[both]), own[both], times))
        # By its logarithm: 1 - 1e-17 is 1 in floats, and a million releases of it are not.
        gone = math.fsum(own[~both].tolist())
        kept += times * math.log1p(-gone) if gone < 1 else -math.inf
    return _Pair(tuple(releases), min(1.0, -math.expm1(kept) * (1 + 64 * ULP)))


# -------------------------------------------------------------------------------------------------- the convolution


class _Sum(NamedTuple):
    """The distribution of the sum of all losses above 0 on a grid; ``error`` is what it may miss in all."""

    losses: Floats
    masses: Floats
    error: float

    def delta(self, epsilon: float, unsure: float = 0.0) -> float:
        """δ at an ε where each sum of losses may be larger by what is ``unsure``."""
        if epsilon < unsure:
            return self.delta(0.0) + unsure  # δ falls by at most 1 for each nat
        epsilon -= unsure
        first = int(np.searchsorted(self.losses, epsilon, side="right"))
        excess = self.masses[first:] * -np.expm1(epsilon - self.losses[first:])
        return float(excess.sum()) * (1 + 64 * ULP) + self.error

    def epsilon(self, delta: float) -> float:
        """The least ε for a δ; infinite where the error alone exceeds it."""
        if self.error >= delta:
            return math.inf
        if self.delta(0.0) <= delta:
            return 0.0
        return last_that_holds(lambda at: self.delta(at) <= delta, float(self.losses[-1]), 0.0, within=1e-12)


class _OnGrid(NamedTuple):
    """The losses of one release on the grid: masses from the first cell on."""

    first: int
    masses: Floats
    times: int

    @property
    def mean(self) -> float:
        return self.first + float(self.masses @ np.arange(len(self.masses))) / float(self.masses.sum())


def _convolved(pair: _Pair) -> _Sum:
    releases = [one for one in pair.releases if len(one.losses)]
    number = sum(one.times for one in releases)
    spread = sum(one.times * _variance(one) for one in releases)
    if len(releases) < len(pair.releases):
        return _Sum(np.zeros(0), np.zeros(0), 0.0)  # some release rules one of the two out for certain
    if spread <= 0:
        # Every release has one loss only: their sum is above 0 only where the second value has outcomes that the first
        # has not, and those are lost for certain when the two are asked about in the other order.
        return _Sum(np.zeros(0), np.zeros(0), 64 * number * ULP)
    if 2 * math.sqrt(number * math.log(2 / _OUTSIDE) / 2) + 6 > _MOST_CELLS:
        return _Sum(np.zeros(0), np.zeros(0), math.inf)  # no grid is coarse enough: moments speak alone
    widest = max(float(np.ptp(one.losses)) for one in releases)
    step = min(math.sqrt(8 * _GRID_ADDS / number), math.sqrt(spread / number) / 4)
    step = max(step, widest / _MOST_CELLS, pair.largest * 2.0**-45)
    while True:
        grid = [_on_grid(one, step) for one in releases]
        whole = sum(one.times * (len(one.masses) - 1) for one in grid) + 1
        squares = sum(one.times * (len(one.masses) - 1) ** 2 for one in grid)
        half = math.sqrt(squares * math.log(2 / _OUTSIDE) / 2) + 1
        needed = min(whole, 2 * math.ceil(half) + 2)
        cells = 1 << max(4, (needed - 1).bit_length())
        if cells <= _MOST_CELLS:
            break
        step *= 2
    start = sum(one.times * one.first for one in grid)
    window = start if whole <= cells else math.floor(sum(one.times * one.mean for one in grid)) - cells // 2
    product, error = _product(grid, cells)
    masses: Floats = np.roll(np.fft.irfft(product, cells), start - window).clip(0.0)
    first = max(0, 1 - window)
    losses: Floats = np.float64(step) * (window + np.arange(first, cells, dtype=np.float64))
    outside = 0.0 if whole <= cells else _OUTSIDE
    return _Sum(losses, masses[first:], error + outside + 64 * number * ULP)


def _variance(one: _Release) -> float:
    share = one.masses / one.masses.sum()
    mean = share @ one.losses
    return float(share @ (one.losses - mean) ** 2)


def _on_grid(one: _Release, step: float) -> _OnGrid:
    """Split each loss between the two cells around it, so that the probabilities of both values keep their sums."""
    cells = np.floor(one.losses / step).astype(np.int64)
    upper = one.masses * np.expm1(-(one.losses - step * cells)) / math.expm1(-step)
    upper = np.clip(upper, 0.0, one.masses)
    first = int(cells.min())
    masses = np.zeros(int(cells.max()) - first + 2)
    np.add.at(masses, cells - first, one.masses - upper)
    np.add.at(masses, cells - first + 1, upper)
    return _OnGrid(first, masses, one.times)


def _product(grid: list[_OnGrid], cells: int) -> tuple[Array, float]:
    """The Fourier transform of the sum, and a bound on what all roundings come to, added over all cells.

    Each number of a transform of masses that sum to 1 is off by some units per stage; a power multiplies that by its
    exponent.
    """
    unit = 8 * ULP * math.log2(cells)
    product = np.ones(cells // 2 + 1, dtype=np.complex128)
    sizes = np.zeros(cells // 2 + 1)
    shares = np.zeros(cells // 2 + 1)
    number = 0
    for one in grid:
        folded = np.zeros(cells)
        np.add.at(folded, np.arange(len(one.masses)) % cells, one.masses)
        transform = np.fft.rfft(folded)
        product *= transform**one.times
        size = np.abs(transform) + unit
        sizes += one.times * np.log(size)
        shares += one.times / size
        number += one.times
    size = np.exp(sizes)
    return product, float((2 * size * (unit * shares + 16 * number * ULP + unit)).sum())


def joint_ldp(composition: Composition) -> float:
    """Return the ε of local differential privacy of all releases together, in nats, rounded up; infinite if none.

    For two values each release has its own worst outcome, and all of them can come up.
    """
    logs = [log_array(part.weights, part.denominator) for part in composition.parts]
    with np.errstate(invalid="ignore"):
        largest = [np.nan_to_num(one[:, None] - one, nan=-np.inf, posinf=np.inf).max(axis=2) for one in logs]
    total = sum(count * one for one, count in zip(largest, composition.counts, strict=True))
    assert isinstance(total, np.ndarray)
    worst = float(total.max())
    if not math.isfinite(worst):
        return worst
    # Floats choose the pairs that may be the worst; the integers decide, unless there are too many to ask.
    size = max(float(np.abs(one[np.isfinite(one)]).max(initial=1.0)) for one in logs)
    slack = composition.releases * size * 16 * ULP
    near = np.argwhere(total >= worst - slack)
    if len(near) * sum(one.shape[1] for one in logs) > _MOST_RATIOS:
        return worst + slack
    return max(_exact_ldp(composition, int(x), int(other)) for x, other in near)


def _exact_ldp(composition: Composition, x: int, other: int) -> float:
    ratio = Fraction(1)
    total = 0.0
    for part, count in zip(composition.parts, composition.counts, strict=True):
        pairs = zip(part.kernel.row(x).tolist(), part.kernel.row(other).tolist(), strict=True)
        here = max(Fraction(own, others) for own, others in pairs if own)
        if len(composition.parts) == 1 and count == 1:
            ratio = here
        total += count * log_upper(here)
    return log_upper(ratio) if ratio > 1 else total * (1 + len(composition.parts) * ULP)
