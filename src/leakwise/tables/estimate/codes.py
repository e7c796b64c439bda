"""Frequencies of thousands of letters that were released by a code: unbiased linear estimates, without a matrix.

The windows that hold a letter are counted, weighed place by place: any two letters share equally many windows, so that
the counts have the mean that they should have, up to a constant for each letter. :mod:`leakwise.proof.codes` says why.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from leakwise.exact import ratio_array
from leakwise.mechanism import CodeKernel
from leakwise.mechanism.kernel import refuse_large
from leakwise.tables.estimate.intervals import score_interval
from leakwise.tables.estimate.inversion import Inversion
from leakwise.types import Array, Counts, Floats, Indices

__all__ = ["code_law", "invert_code", "linear_inversion", "onto_simplex"]


@dataclass(frozen=True)
class _Weighing:
    """What a window that holds a letter counts at each place, less its part of what every window counts."""

    each: Floats  # α of each place
    centre: float  # γ
    constant: Floats  # c of each letter

    @classmethod
    def of(cls, kernel: CodeKernel) -> _Weighing:
        places = kernel.places
        q, d, m, multiples = places.q, places.raised, places.digits, places.multiples
        low, step = _parts(kernel)
        scale = (q - 1) / (multiples * d * (q - d) * float(q) ** (m - 1))
        each, centre = scale / step, d / q
        same, other = (float(q) ** (m - 1) - 1) / (q - 1), float(q) ** (m - 1)
        shared = multiples * (same * d + other * d * (d - 1) / (q - 1)) - d * centre * places.count
        tables = each[:, None] * (kernel.covering(low) - centre * low.sum(axis=1)[:, None])
        return cls(each, centre, -kernel.by_letter(tables[:, :, None])[:, 0] - scale * shared)


def invert_code(counts: Counts, kernel: CodeKernel, *, confidence: float, simultaneous: bool) -> Inversion:
    """Recover the frequencies of the true letters: unbiased linear estimates, brought onto the simplex.

    Their standard errors are those of the linear estimates, and the intervals are score intervals about them. They are
    not the most likely frequencies, which would take a matrix: ``gap`` says what is missing to those.
    """
    places, n = kernel.places, int(counts.sum())
    observed = _windows_of(counts / n, kernel)
    weighing = _Weighing.of(kernel)
    low, step = _parts(kernel)
    each, centre, constant = weighing.each, weighing.centre, weighing.constant
    squares = (each**2 * (1 - 2 * centre))[:, None]
    own_windows = kernel.covering(low) + (places.raised * step)[:, None]
    seen_windows = kernel.covering(observed)
    tables = np.stack([each[:, None] * seen_windows, squares * seen_windows, squares * own_windows], axis=2)
    mean, seen, own = kernel.by_letter(tables).T
    place, seen_place = low.sum(axis=1) + places.raised * step, observed.sum(axis=1)
    mean = mean - centre * float(each @ seen_place)
    estimate = mean + constant
    # E b² = E e² + 2c·E e + c², and E e = 1 - c for the letter itself.
    second = seen + centre**2 * float(each**2 @ seen_place) + constant * (2 * mean + constant)
    alone = own + centre**2 * float(each**2 @ place) + constant * (2 * (1 - constant) + constant)
    p = onto_simplex(estimate)
    with np.errstate(divide="ignore", invalid="ignore"):
        others = np.where(p < 1, np.maximum((second - p * alone) / (1 - p), 0.0), alone)
    claims = len(p) if simultaneous else 1
    ends = score_interval(estimate, alone, others, n, (1 - confidence) / claims)
    law = code_law(kernel, p)
    came = counts > 0
    likelihood = float(counts[came] @ np.log(law[came])) if (law[came] > 0).all() else -math.inf
    fit = likelihood, _gap(kernel, counts / n, law)
    covariance = partial(_covariance, kernel, weighing, counts / n, estimate, n)
    return linear_inversion(p, second - estimate**2, ends, fit, n, confidence, simultaneous, covariance)


def linear_inversion(
    frequencies: Floats,
    variance: Floats,
    ends: tuple[Floats, Floats],
    fit: tuple[float, float],
    n: int,
    confidence: float,
    simultaneous: bool,
    covariance: Callable[[Indices], Floats],
) -> Inversion:
    """Return what linear estimates of every value say, brought onto the simplex; ``fit`` is log-likelihood and gap."""
    return Inversion(
        frequencies=frequencies,
        standard_error=np.sqrt(np.maximum(variance, 0.0) / n),
        intervals=np.stack((np.minimum(ends[0], frequencies), np.maximum(ends[1], frequencies)), axis=1),
        identifiable=np.ones(frequencies.size, dtype=np.bool_),
        unique=True,
        method="linear",
        log_likelihood=fit[0],
        gap=fit[1],
        sample_size=n,
        confidence=confidence,
        simultaneous=simultaneous,
        _covariance=covariance,
    )


def code_law(kernel: CodeKernel, p: Floats) -> Floats:
    """Return the distribution of the outcomes where the letters have these frequencies."""
    low, step = _parts(kernel)
    inside = kernel.windows(kernel.by_symbol(p[:, None]))[:, :, 0]
    last = [kernel.rest / kernel.denominator] if kernel.rest else []
    return np.concatenate([(low + step[:, None] * inside).ravel(), last])


def _parts(kernel: CodeKernel) -> tuple[Floats, Floats]:
    return ratio_array(kernel.low, kernel.denominator), ratio_array(kernel.step, kernel.denominator)


def _windows_of(outcomes: Array, kernel: CodeKernel) -> Floats:
    """What is given for each outcome, place by place, without the outcome that tells nothing."""
    places = kernel.places
    return np.asarray(outcomes[: places.count * places.q], dtype=np.float64).reshape(places.count, places.q)


def onto_simplex(estimate: Floats) -> Floats:
    """The closest frequencies: all lowered (or raised) alike, and zero where that leads below."""
    order = np.sort(estimate)[::-1]
    excess = (np.cumsum(order) - 1) / np.arange(1, len(order) + 1)
    kept = int(np.flatnonzero(order > excess)[-1])
    closest = np.maximum(estimate - excess[kept], 0.0)
    return np.asarray(closest / closest.sum())


def _gap(kernel: CodeKernel, observed: Floats, law: Floats) -> float:
    """By how much other frequencies can be more likely, per row: the largest Σ_j w_j P_ij / q_j, less one."""
    came = observed > 0
    if not (law[came] > 0).all():
        return math.inf
    ratios = np.where(came, observed / np.where(came, law, 1.0), 0.0)
    low, step = _parts(kernel)
    windows = _windows_of(ratios, kernel)
    common = float((low * windows).sum()) + kernel.rest / kernel.denominator * (float(ratios[-1]) if kernel.rest else 0)
    slope = kernel.by_letter((step[:, None] * kernel.covering(windows))[:, :, None])[:, 0]
    return max(float(slope.max() + common) - 1.0, 0.0)


# A function of the module, so that an estimate can be pickled.
def _covariance(
    kernel: CodeKernel, weighing: _Weighing, observed: Floats, estimate: Floats, n: int, letters: Indices
) -> Floats:
    refuse_large(len(letters), kernel.shape[1], "Name fewer letters.")
    places = kernel.places
    b = np.empty((len(letters), kernel.shape[1]))
    symbols = places.spelled(kernel.words[letters]) @ places.functions.T % places.q
    for line, several in zip(b, symbols, strict=True):
        inside = (several[:, None] - np.arange(places.q)) % places.q < places.raised
        line[: inside.size] = (weighing.each[:, None] * (inside - weighing.centre)).ravel()
        line[inside.size :] = 0.0
    b += weighing.constant[letters, None]
    mean = estimate[letters]
    return np.asarray(((b * observed) @ b.T - np.outer(mean, mean)) / n)
