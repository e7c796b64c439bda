"""Whole datasets: an adversary is sought who learns more about a record than was proven."""

from __future__ import annotations

import math

import numpy as np
from truth import must, must_be_true

from leakwise import records

__all__ = ["records_campaign"]

Generator = np.random.Generator


def random_channel(generator: Generator) -> records.Channel:
    """Any small query through any mechanism, rows with zeros and ties among them; or a named one."""
    if generator.random() < 0.3:
        n = int(generator.integers(1, 6))
        query = [records.parity, records.count][int(generator.integers(2))](n)
        return query.symmetric_channel(generator.random()) if n > 1 else query.symmetric_channel(0.2)
    shape = generator.integers(1, 4, int(generator.integers(1, 4))).tolist()
    size, outcomes = math.prod(shape), int(generator.integers(1, 5))
    weights = generator.integers(0, 5, (size, outcomes)).astype(float) if generator.random() < 0.5 else (
        10.0 ** -generator.uniform(0, 12, (size, outcomes))
    )  # fmt: skip
    weights[weights.sum(axis=1) == 0] = 1.0
    query = records.Query(np.arange(size).reshape(shape), shape)
    return query.channel(weights / weights.sum(axis=1, keepdims=True), by="dataset")


def records_campaign(generator: Generator) -> None:
    """Random and improved priors within the bound on the min-entropy, or on the entropy: none may beat it."""
    channel = random_channel(generator)
    top = channel.query.max_entropy
    b = float(generator.choice([0.0, top, top * generator.random(), top * (1 - 10.0 ** -generator.uniform(0, 12))]))
    found = records.leakage(channel, min_entropy=b, measure="pointwise")
    must(found.value <= found.bound, "the bounds cross")
    must(found.gap <= 1e-9 * max(1.0, found.bound), f"a gap of {found.gap}")
    if found.certificate is not None:
        must_be_true(found.certificate.verify())
    rows, size = channel.by_dataset(), channel.query.datasets
    places = np.array(np.unravel_index(np.arange(size), channel.query.shape)).T
    average = records.leakage(channel, b, tolerance=1e-3, time_limit=2.0, certificate=True)
    must(average.value <= average.bound, "the bounds cross")
    assert average.certificate is not None
    must_be_true(average.certificate.verify())
    # Without a certificate outcomes are merged and P(a) is split: another proof of the same.
    other = records.leakage(channel, b, tolerance=1e-3, time_limit=2.0)
    must(max(average.value, other.value) <= min(average.bound, other.bound) + 1e-12, "two proofs contradict each other")
    most = max(math.exp(-b), 1 / size)
    for _ in range(20):
        p = generator.dirichlet(np.full(size, 10.0 ** generator.uniform(-2, 1)))
        p = _within(p, most)
        for i in range(len(channel.query.shape)):
            joint = np.array([p[places[:, i] == a] @ rows[places[:, i] == a] for a in range(channel.query.shape[i])])
            given, law = joint.sum(axis=1, keepdims=True), joint.sum(axis=0)
            with np.errstate(divide="ignore", invalid="ignore"):
                lift = np.where((joint > 0) & (given > 1e-200), joint / (given * law), 1.0)
            must(math.log(lift.max()) <= found.bound + 1e-9, f"a prior beats the bound: {lift.max()}")
            entropy = -float((p * np.log(np.where(p > 0, p, 1.0))).sum())
            if entropy >= b:
                told = float((joint * np.log(lift)).sum())
                proven = min(average.bound, other.bound)
                must(told <= proven + 1e-9, f"a prior learns {told}, more than {proven}")


def _within(p: np.ndarray, most: float) -> np.ndarray:
    """The prior with what is above the most spread over the rest."""
    for _ in range(100):
        over = np.maximum(p - most, 0).sum()
        p = np.minimum(p, most)
        room = most - p
        if over < 1e-15 or room.sum() <= 0:
            break
        p = p + over * room / room.sum()
    return p
