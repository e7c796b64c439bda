"""How leakage grows when one secret is released again and again: tables, bounds, and adaptive releases.

PML does not add up: two releases of ε-PML can leak more than 2ε together. What holds without looking at the joint
release are Σ ε_LDP (never more than the prior allows) for ε, and Σ 𝓛 + log 1/δ for the envelope ([EN] section IV-A).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from leakwise.alphabet import Label
from leakwise.charts.shown import Drawn, Parts, Shown, Table
from leakwise.charts.specs import lines
from leakwise.charts.table import number
from leakwise.errors import InvalidInput, some_of
from leakwise.exact import as_typed, float_above, log_upper
from leakwise.guarantee import at_least, at_most, lift_above
from leakwise.leakage.envelopes.one_delta import envelope, open_delta
from leakwise.leakage.many_releases.information import information_bounds
from leakwise.leakage.many_releases.largest_lift import largest_lift
from leakwise.leakage.many_releases.simulated import SimulatedEnvelope, simulated_envelope
from leakwise.leakage.measures.arguments import checked, single_prior
from leakwise.leakage.measures.average import maximal_leakage
from leakwise.leakage.measures.differential import ldp
from leakwise.leakage.measures.information import mutual_information
from leakwise.leakage.measures.pointwise import epsilon
from leakwise.mechanism import Composition, DenseKernel, Mechanism
from leakwise.mechanism.mechanism import align_prior
from leakwise.priors import Prior

__all__ = [
    "CompositionBounds",
    "CompositionTable",
    "adaptive",
    "adaptive_bound",
    "composition_bounds",
    "composition_rows",
    "composition_table",
    "conditional_maximal_leakage",
]


@dataclass(frozen=True, repr=False)
class CompositionBounds(Shown):
    """What many releases of one secret reveal together, from both sides, in nats; nothing is enumerated.

    Attributes
    ----------
    releases, count_vectors, delta
        How many releases there are, how many joint outcomes when only counts matter, and the δ that was asked for.
    epsilon_lower, epsilon_upper
        Some joint outcome leaks at least the first; none leaks more than the second. They meet, except for rounding,
        unless branch and bound was stopped.
    envelope_lower, envelope_upper
        The envelope of as many of the releases as can be enumerated in seconds (20,000 entries of the joint mechanism;
        ignoring the others is a post-processing), and min{Σ 𝓛 + log 1/δ, epsilon_upper}.
    information_lower, information_upper
        Around the mutual information.
    ldp, ldp_delta
        The ε of local differential privacy, and that of (ε, δ)-local differential privacy, rounded up.
    simulated
        The envelope by simulation, with its confidence; None where no confidence was asked for.
    """

    releases: int
    count_vectors: int
    delta: float
    epsilon_lower: float
    epsilon_upper: float
    envelope_lower: float
    envelope_upper: float
    information_lower: float
    information_upper: float
    ldp: float
    ldp_delta: float
    simulated: SimulatedEnvelope | None = None

    def _shown(self) -> Parts:
        delta = at_most(self.delta, 6)
        rows = [
            ["ε, for every outcome", at_least(self.epsilon_lower, 6), at_most(self.epsilon_upper, 6), "proven"],
            [
                f"ε_c({delta}), after processing",
                at_least(self.envelope_lower, 6),
                at_most(self.envelope_upper, 6),
                "proven",
            ],
            ["mutual information", at_least(self.information_lower, 6), at_most(self.information_upper, 6), "proven"],
            ["ε of LDP, for any prior", "", at_most(self.ldp, 6), "proven"],
            [f"ε of LDP at δ = {delta}", "", at_most(self.ldp_delta, 6), "proven"],
        ]
        if self.simulated is not None:
            sure = f"confidence {self.simulated.confidence:.12g}"
            ends = [at_least(self.simulated.lower, 6), at_most(self.simulated.upper, 6)]
            rows.insert(2, [f"ε_c({delta}), simulated", *ends, sure])
        said = (
            f"After {self.releases:,} releases no guess becomes more than {at_most(lift_above(self.epsilon_upper))} "
            "times as likely as the prior makes it."
        )
        title = f"{self.releases:,} releases of one secret ({self.count_vectors:,} joint outcomes), in nats"
        return [said, Table(["", "at least", "at most", ""], rows, title)]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {**vars(self), "simulated": None if self.simulated is None else self.simulated.to_dict()}


def composition_bounds(
    composition: Composition,
    prior: Any,
    delta: object,
    *,
    confidence: float | None = None,
    draws: int = 200_000,
    seed: int | None = None,
) -> CompositionBounds:
    """Return bounds from both sides on what a composition reveals, however many releases it has.

    Parameters
    ----------
    composition
        ``m.repeat(n)`` or ``lw.compose(m1, m2, …)``.
    prior
        A Prior.
    delta
        The probability over outcomes that may be given up by the envelope, strictly between 0 and 1.
    confidence, draws, seed
        With a confidence the envelope is also simulated
        (:func:`~leakwise.leakage.many_releases.simulated.simulated_envelope`).

    Examples
    --------
    >>> from leakwise import Prior, randomized_response
    >>> many = randomized_response(12, epsilon=0.1).repeat(90)
    >>> bounds = composition_bounds(many, Prior.uniform(12), 0.01)
    >>> f"between {bounds.epsilon_lower:.6f} and {bounds.epsilon_upper:.6f}"
    'between 2.483550 and 2.483550'
    """
    if not isinstance(composition, Composition):
        raise InvalidInput(
            f"composition must be a lw.results.Composition (lw.compose, m.repeat). "
            f"Got {type(composition).__name__} instead."
        )
    allowed = open_delta(delta)
    known = single_prior(prior, composition)
    worst = largest_lift(composition, known)
    averages = maximal_leakage(composition, known)
    fewer = _that_fits(composition)
    found = envelope(fewer, known, allowed)
    least, most = information_bounds(composition, known)
    # Each release more can only leak more: the enumerated part bounds the whole from below.
    return CompositionBounds(
        composition.releases,
        composition.count_vectors,
        float(allowed),
        worst.lower,
        worst.upper,
        found.attained,
        min(averages + log_upper(1 / allowed), worst.upper),
        max(least, mutual_information(fewer, known) * (1 - 1e-9)),
        min(most, mutual_information(composition, known)),
        ldp(composition),
        ldp(composition, allowed),
        None
        if confidence is None
        else simulated_envelope(composition, known, allowed, confidence=confidence, draws=draws, seed=seed),
    )


_MOST_ENTRIES = 20_000  # of the joint mechanism: its envelope takes seconds


def _that_fits(composition: Composition) -> Composition:
    """As many of the releases as can be enumerated: of all parts alike, then part by part as many more as fit."""

    def fits(counts: tuple[int, ...]) -> bool:
        smaller = Composition(composition.parts[: len(counts)], counts)
        return smaller.enumerable and smaller.count_vectors * smaller.parts[0].shape[0] <= _MOST_ENTRIES

    def most(low: int, high: int, counts: Callable[[int], tuple[int, ...]]) -> int:
        """The largest number up to ``high`` whose counts fit, ``low`` at least: more releases have more vectors."""
        while low < high:
            middle = (low + high + 1) // 2
            low, high = (middle, high) if fits(counts(middle)) else (low, middle - 1)
        return low

    parts, asked = composition.parts, composition.counts
    number = most(1, len(parts), lambda k: (1,) * k)
    alike = most(1, max(asked[:number]), lambda k: tuple(min(k, count) for count in asked[:number]))
    found = [min(alike, count) for count in asked[:number]]
    for place in range(number):
        found[place] = most(
            found[place],
            asked[place],
            lambda k, place=place: (*found[:place], k, *found[place + 1 :]),  # type: ignore[misc]
        )
    return Composition(parts[:number], tuple(found))


# ---------------------------------------------------------------------------------------------------- the table


Row: TypeAlias = tuple[int, float, float, float, float, float]


@dataclass(frozen=True, repr=False)
class CompositionTable(Drawn):
    """How ε, ε_c(δ), maximal leakage and LDP grow with the number of releases; in nats.

    ``rows`` holds (n, ε, n times the ε of one release, ε_c(δ), 𝓛, ε_LDP); the third is what adding up would say, and
    is neither an upper nor a lower bound.
    """

    delta: Fraction
    rows: tuple[Row, ...]
    epsilon_max: float

    HEADERS = ("n", "ε exact", "n·ε (not a bound)", "ε_c(δ)", "𝓛", "ε of LDP")

    def _title(self) -> str:
        most = at_most(self.epsilon_max)
        return f"Leakage of n releases of one secret, δ = {at_most(as_typed(self.delta), 6)}, ε_max = {most}"

    def _shown(self) -> Parts:
        # What is added up is neither bound; all else is rounded up.
        rows = [
            [n, at_most(exact), number(added), *(at_most(one) for one in others)]
            for n, exact, added, *others in self.rows
        ]
        return [Table(self.HEADERS, rows, self._title(), align="r" * len(self.HEADERS))]

    def chart(self) -> dict[str, Any]:
        """The growth as a Vega-Lite line chart."""
        counts = [row[0] for row in self.rows]
        series = {
            name: (
                [n for n, row in zip(counts, self.rows, strict=True) if math.isfinite(row[place])],
                [row[place] for row in self.rows if math.isfinite(row[place])],
            )
            for place, name in ((1, "ε exact"), (3, "ε_c(δ)"), (4, "maximal leakage"), (5, "ε of LDP"))
        }
        return lines(
            {name: points for name, points in series.items() if points[0]},
            title=self._title(),
            x_title="releases",
            y_title="nats",
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        names = ("n", "epsilon", "n_times_epsilon", "envelope", "maximal_leakage", "ldp")
        return {
            "delta": float_above(self.delta),
            "epsilon_max": self.epsilon_max,
            "rows": [dict(zip(names, row, strict=True)) for row in self.rows],
        }


def composition_table(
    mechanism: Mechanism, prior: Any, delta: object = 0.01, counts: Iterable[int] = (1, 2, 3, 5, 10, 20, 50)
) -> CompositionTable:
    """How ε, the envelope, maximal leakage and LDP grow with the number of releases, each exact for the joint release.

    >>> from leakwise import Prior, randomized_response
    >>> table = composition_table(randomized_response(2, lift=3), Prior.uniform(2), 0.1, counts=(1, 2, 10))
    >>> [f"{row[1]:.4f}" for row in table.rows]
    ['0.4055', '0.5878', '0.6931']
    """
    known = single_prior(prior, checked(mechanism))
    allowed = open_delta(delta)
    return CompositionTable(allowed, tuple(composition_rows(mechanism, known, allowed, counts)), known.epsilon_max)


def composition_rows(mechanism: Mechanism, known: Prior, allowed: Fraction, counts: Iterable[int]) -> Iterator[Row]:
    """Yield the rows of :func:`composition_table` one by one, as they are found."""
    single = float(epsilon(mechanism, known))
    for count in counts:
        joint = mechanism.repeat(count)
        yield (
            joint.releases if not isinstance(mechanism, Composition) else count,
            float(epsilon(joint, known)),
            count * single,
            envelope(joint, known, allowed).epsilon,
            maximal_leakage(joint, known),
            count * ldp(mechanism),
        )


# ----------------------------------------------------------------------------------------------------- adaptive


def _aligned_later(first: Mechanism, later: Mapping[Label, Mechanism]) -> list[Mechanism]:
    missing = [outcome for outcome in first.outputs if outcome not in later]
    if missing:
        raise InvalidInput(
            f"later must give a mechanism for every outcome of the first release. It lacks {some_of(missing)}."
        )
    followed = []
    for outcome in first.outputs:
        mechanism = checked(later[outcome], "later")
        order = first.input_alphabet.positions_in(mechanism.input_alphabet, mine="first mechanism", theirs="later one")
        kernel = mechanism.kernel if order is None else mechanism.kernel.take_rows(order)
        followed.append(Mechanism.from_kernel(kernel, first.input_alphabet, mechanism.output_alphabet))
    return followed


def adaptive(first: Mechanism, later: Mapping[Label, Mechanism]) -> Mechanism:
    """Return the joint release of a first mechanism and one that is chosen by its outcome; outcomes are pairs.

    >>> from leakwise import constant, randomized_response
    >>> rr = randomized_response(2, lift=3)
    >>> adaptive(rr, {0: rr, 1: constant(2)}).outputs
    ((0, 0), (0, 1), (1, '*'))
    """
    followed = _aligned_later(checked(first), later)
    scale = math.lcm(*(mechanism.denominator for mechanism in followed))
    columns, labels = [], []
    for place, (outcome, mechanism) in enumerate(zip(first.outputs, followed, strict=True)):
        before = first.weights[:, place].astype(np.object_)
        for second, label in enumerate(mechanism.outputs):
            after = mechanism.weights[:, second].astype(np.object_) * (scale // mechanism.denominator)
            columns.append(before * after)
            labels.append((outcome, label))
    kernel = DenseKernel(np.stack(columns, axis=1), first.denominator * scale)
    return Mechanism.from_kernel(kernel, first.input_alphabet, labels)


def conditional_maximal_leakage(first: Mechanism, later: Mapping[Label, Mechanism], prior: Any = None) -> float:
    """𝓛(X→Y2|Y1) = max_{y1} log Σ_{y2} max_{x: P(x|y1)>0} P(y2|x,y1), in nats, never below the truth ([EN] section
    IV-A).
    """
    followed = _aligned_later(checked(first), later)
    everybody = np.ones(first.shape[0], dtype=np.bool_)
    support = everybody if prior is None else align_prior(prior, first).support
    worst = Fraction(1)
    for place, mechanism in enumerate(followed):
        possible = support & np.asarray(first.weights[:, place] != 0, dtype=np.bool_)
        if possible.any():
            largest = mechanism.kernel.column_max(possible)
            worst = max(worst, Fraction(sum(largest.tolist()), mechanism.denominator))
    return log_upper(worst)


def adaptive_bound(
    first: Mechanism,
    later: Sequence[Mapping[Label, Mechanism]] | Mapping[Label, Mechanism],
    delta: object,
    prior: Any = None,
) -> float:
    """An upper bound on the envelope of adaptive releases: 𝓛(X→Y1) + 𝓛(X→Y2|Y1) + log 1/δ, in nats ([EN] section IV-A).

    ``later`` maps each outcome of the first release to the mechanism of the second; a list of such maps continues,
    each over the outcomes of the joint release before it.
    """
    allowed = open_delta(delta)
    steps = [later] if isinstance(later, Mapping) else list(later)
    joint = checked(first)
    total = maximal_leakage(joint, prior)
    for place, step in enumerate(steps):
        total += conditional_maximal_leakage(joint, step, prior)
        if place + 1 < len(steps):
            joint = adaptive(joint, step)
    return (total + log_upper(1 / allowed)) * (1 + 1e-15)
