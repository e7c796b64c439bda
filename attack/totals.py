"""Limits on all outcomes together: mechanisms within them that are worth more than was proven are tried at random."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
from cases import letters, random_prior
from truth import must

import leakwise as lw

__all__ = ["totals_campaign"]

Generator = np.random.Generator
UTILITIES = ("mutual_information", "total_variation", "chi_square", "hellinger", "guessing")


def _worth(utility: str, p: np.ndarray, rows: np.ndarray) -> float:
    law = p @ rows
    lifts = rows[:, law > 0] / law[law > 0]
    if utility == "guessing":
        return float((p[:, None] * rows).max(axis=0).sum())
    f = {
        "mutual_information": lambda x: x * np.log(np.where(x > 0, x, 1.0)),
        "total_variation": lambda x: np.abs(x - 1) / 2,
        "chi_square": lambda x: (x - 1) ** 2,
        "hellinger": lambda x: (1 - np.sqrt(x)) ** 2,
    }
    return float(p @ f[utility](lifts) @ law[law > 0])


def _maxima(m: lw.Mechanism, prior: lw.Prior) -> Fraction:
    columns = zip(*m.weights.tolist(), strict=True)
    here = prior.support.tolist()
    return sum(Fraction(max(v for v, seen in zip(c, here, strict=True) if seen), m.denominator) for c in columns)


def totals_campaign(generator: Generator) -> None:
    """A design under maximal leakage or an envelope: exact limits, and no random mechanism within them is better."""
    delta = None if generator.random() < 0.6 else float(generator.choice([1e-6, 0.01, 0.2, 0.5, generator.random()]))
    prior = random_prior(generator, letters(generator, 8 if delta is None else 4))
    utility = str(generator.choice(UTILITIES))
    most = float(generator.choice([1e-3, 0.1, generator.uniform(0, math.log(len(prior)) + 0.1)]))
    asked: dict[str, object] = {"maximal_leakage": most} if delta is None else {"epsilon": most, "delta": delta}
    if delta is None and generator.random() < 0.4:
        asked["lift"] = float(1 + 10.0 ** generator.uniform(-2, 1))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LeakwiseWarning)
        d = lw.design(prior, utility=utility, tolerance=1e-4, time_limit=10.0, **asked)
    c = d.certificate.verify()
    must(d.value <= d.bound, f"value {d.value} above bound {d.bound}")
    must(c.optimality is None or c.optimality.bound >= d.value, "the bound of the claim is below the value")
    p = prior.probabilities
    if delta is None:
        must(float(_maxima(d.mechanism, prior)) <= math.exp(most) * (1 + 1e-12), "more maximal leakage than asked")
    elif (p[p > 0] > 1e-12).all():
        survives = lw.envelope(d.mechanism, prior, delta).epsilon
        must(survives <= most + 1e-9, f"{survives} survives post-processing, more than {most}")
    for _ in range(30):
        rows = generator.dirichlet(np.full(int(generator.integers(2, 5)), 0.3), len(prior))
        if delta is None:
            room = (math.exp(most) - 1) / max(rows[p > 0].max(axis=0).sum() - 1, 1e-300)
        else:
            room = _room(rows, p, math.exp(most), delta)
        if "lift" in asked:
            lifts = (rows / (p @ rows))[p > 0]
            room = min(room, (float(str(asked["lift"])) - 1) / max(float(lifts.max()) - 1, 1e-300))
        share = min(1.0, room * (1 - 1e-9))
        mixed = share * rows + (1 - share) * (p @ rows)
        found = _worth(utility, p, mixed)
        must(found <= d.bound + 1e-9 * (1 + abs(d.bound)), f"a mechanism within the limit is worth {found} > {d.bound}")
    _forged(c, generator)


def _room(rows: np.ndarray, p: np.ndarray, t: float, delta: float) -> float:
    """How much of a mechanism may be mixed with a constant: λ - 1 scales, and so do t - 1 and w, by weights at random.

    With a share a the condition is 1 + a(λ_x - 1) ≤ t - w_x r: for a = 1 at the limit t' = 1 + (t - 1)/a.
    """
    lifts = (rows / (p @ rows))[p > 0]
    best, law = (t - 1) / max(float(lifts.max()) - 1, 1e-300), p @ rows
    for a in np.linspace(0.02, 1.0, 25):
        high = 1 + (t - 1) / a
        for part in (0.2, 0.5, 0.8, 1.0):
            w = part * (high - 1) / (1 - delta)
            sure = np.minimum(1.0, ((high - lifts) / w).min(axis=0))
            if law @ sure >= 1 - delta:
                best = max(best, float(a))
    return best


def _forged(c: lw.results.Certificate, generator: Generator) -> None:
    """A larger claim than was proven is refused: less leakage, a smaller δ, a smaller bound."""
    asked = c.further
    if asked.maximal_leakage is not None and c.ratio is not None and c.ratio > 1:
        total = _maxima(c.mechanism, c.prior.nominal)
        if total > 1 + Fraction(1, 10**6):
            less = lw.certify(c.mechanism, c.prior, maximal_leakage=math.log(total) * (1 - 1e-3))
            must(not less.holds, "less maximal leakage than there is was believed")
    if asked.envelope is not None and any(c.dual):
        wrong = [value * Fraction(float(generator.uniform(0.2, 3.0))) for value in c.dual]
        changed = replace(c, dual=tuple(wrong))
        must(not changed.holds or changed.kept[0].found <= asked.envelope[1], "a wrong vector was believed")
