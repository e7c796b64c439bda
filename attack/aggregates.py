"""Counts, histograms and totals: an event is sought that tells more about a record than was proven."""

from __future__ import annotations

import itertools
import math

import numpy as np
from truth import aggregate_probability, clamped_noise, must, must_be_true

import leakwise as lw

__all__ = ["aggregates_campaign"]

Generator = np.random.Generator


def aggregates_campaign(generator: Generator) -> None:
    """A random release of few or many records, at the extremes as often as not."""
    [_count, _interval, _histogram, _total, _least_noise][int(generator.integers(5))](generator)


def _noise(generator: Generator) -> float | None:
    return None if generator.random() < 0.3 else float(10.0 ** generator.uniform(-4, 1.5))


def _chance(generator: Generator) -> float:
    extremes = [1e-12, 1e-3, 0.5, 1 - 1e-9, 10.0 ** -generator.uniform(0, 9)]
    return float(generator.choice(extremes) if generator.random() < 0.5 else generator.random())


def _delta(generator: Generator) -> float:
    return float(generator.choice([1e-290, 1e-100, 1e-12, 1e-6, 1e-3, 0.5, 0.999, generator.random()]))


def _records(generator: Generator) -> int:
    return int(generator.choice([1, 2, 3, 10, 50, 300]))


def _true(found: lw.results.AggregateEnvelope) -> None:
    must(found.attained <= found.epsilon, "the bounds cross")
    must(found.epsilon <= found.aggregate.epsilon * (1 + 1e-12), "an envelope above ε")
    if isinstance(found.certificate, lw.results.AggregateCertificate):
        must_be_true(found.certificate.verify())


def _count(generator: Generator) -> None:
    made = lw.aggregate.count(unknown=_records(generator), prior=_chance(generator), noise=_noise(generator))
    delta = _delta(generator)
    found = made.envelope(delta)
    _true(found)
    must(found.gap <= 1e-9, f"a gap of {found.gap}")
    # Just below the attained lift the event must be there, by brute force.
    lift = math.exp(found.attained) * (1 - 1e-9)
    reached = aggregate_probability(
        "count", made.unknown, float(made.ratio), [float(made.low), float(1 - made.low)], lift
    )
    must(lift <= 1 or reached >= delta * (1 - 1e-6) - 1e-12, f"attained is not: {reached} for {delta}")
    must(bool(np.all(made.pml <= made.epsilon)), "an outcome above the largest")


def _interval(generator: Generator) -> None:
    low, high = sorted([_chance(generator), _chance(generator)])
    unknown, noise, delta = _records(generator), _noise(generator), _delta(generator)
    _true(lw.aggregate.count(unknown=unknown, prior=(low, high), noise=noise).envelope(delta))


def _histogram(generator: Generator) -> None:
    many = generator.random() < 0.2  # values of few records
    weights = generator.integers(0, 9, int(generator.integers(4, 40) if many else generator.integers(2, 4)))
    weights[0] += 1
    unknown, noise = (int(generator.integers(1, 3)), None) if many else (_records(generator), _noise(generator))
    made = lw.aggregate.histogram(unknown=unknown, prior=lw.Prior.from_counts(weights), noise=noise)
    _true(made.envelope("1e-1000" if generator.random() < 0.1 else _delta(generator)))


def _total(generator: Generator) -> None:
    """Every dataset of a few records, in floats."""
    values = np.sort(generator.choice(np.arange(-3, 4), int(generator.integers(2, 4)), replace=False)).tolist()
    weights = generator.integers(1, 9, len(values))
    m, noise = int(generator.integers(1, 5)), _noise(generator)
    prior = lw.Prior.from_counts(dict(zip(values, weights.tolist(), strict=True)))
    made = lw.aggregate.total(unknown=m, prior=prior, noise=noise)
    p = weights / weights.sum()
    steps = [(v - values[0]) / made.unit for v in values]
    kernel = clamped_noise(float(made.ratio), m * int(steps[-1]))
    rows = np.zeros((len(values), m * int(steps[-1]) + 1))
    for data in itertools.product(range(len(values)), repeat=m):
        rows[data[0]] += math.prod(p[i] for i in data[1:]) * kernel[int(sum(steps[i] for i in data))]
    law = p @ rows
    worst = float((rows[:, law > 0] / law[law > 0]).max())
    must(made.lift >= worst * (1 - 1e-9), f"a lift of {worst} above {made.lift}")
    must(made.lift <= worst * (1 + 1e-9), f"a lift of {made.lift} far above {worst}")


def _least_noise(generator: Generator) -> None:
    made = lw.aggregate.count(unknown=_records(generator), prior=_chance(generator))
    lift, delta = float(1 + 10.0 ** generator.uniform(-3, 1)), float(generator.choice([0, 1e-6, 0.01]))
    found = made.noise_for(lift=lift, delta=delta, within=1e-3)
    must(found.found.lift <= lift * (1 + 1e-12), "the limit is broken")
    _true(found.found)
