"""Two tables that round to the same frequencies: what leaves the house must not tell them apart."""

from __future__ import annotations

import json
import warnings
from datetime import UTC, datetime

import numpy as np

import leakwise as lw
from leakwise.priors.sample import cell_of, coarse_prior, rounded_parts
from leakwise.report import Facts, RowFacts, page

__all__ = ["roundings"]

Generator = np.random.Generator
TIME = datetime(2026, 1, 1, tzinfo=UTC)


def roundings(generator: Generator) -> None:
    """Mechanism and report of a table are those of every other that rounds to the same."""
    size, rows = int(generator.integers(2, 5)), int(10 ** generator.uniform(1, 4))
    counts = generator.multinomial(rows, generator.dirichlet(np.ones(size))).tolist()
    other = _neighbour(generator, counts)
    if other is None:
        return
    options: dict[str, object] = {"lift": float(generator.choice([1.2, 1.5, 2.0, 3.0]))}
    if generator.random() < 0.3:
        options["use"] = "reading"
    elif generator.random() < 0.3:
        options = {"mechanism": lw.randomized_response([f"v{k}" for k in range(size)], lift=3)}
    beside: list[int] | None = None
    if generator.random() < 0.4:  # in one stratum of a table; the other one stays
        beside = generator.multinomial(int(10 ** generator.uniform(0, 4)), generator.dirichlet(np.ones(size))).tolist()
        options |= {"given": ["g"], "least_rows": int(generator.choice([1, 1000]))}
    if _leaves(generator, counts, options, beside) != _leaves(generator, other, options, beside):
        raise AssertionError(f"{counts} and {other} can be told apart ({options}, beside {beside})")


def _neighbour(generator: Generator, counts: list[int]) -> list[int] | None:
    """Another table with the same rounded frequencies: a few rows changed, at an end of the cell half of the time."""
    low, high = cell_of(rounded_parts(counts), sum(counts))
    letters = lw.Prior.uniform(len(counts)).alphabet
    for _ in range(20):
        giver, taker = generator.choice(len(counts), 2, replace=False).tolist()
        room = min(counts[giver] - low[giver], high[taker] - counts[taker])
        if room < 1:
            continue
        moved = list(counts)
        step = room if generator.random() < 0.5 else int(generator.integers(1, room + 1))
        moved[giver], moved[taker] = moved[giver] - step, moved[taker] + step
        if coarse_prior(moved, letters) != coarse_prior(counts, letters):
            raise AssertionError(f"{moved} is in the cell of {counts} and does not round to the same")
        return moved
    return None


def _leaves(generator: Generator, counts: list[int], options: dict[str, object], beside: list[int] | None) -> object:
    """Everything but the draws; an error counts by its kind."""
    labels = [f"v{k}" for k in range(len(counts))]
    rows = generator.permutation(np.repeat(labels, counts)).tolist()
    table = {"s": rows}
    if beside is not None:
        others = generator.permutation(np.repeat(labels, beside)).tolist()
        table = {"s": rows + others, "g": ["u"] * len(rows) + ["v"] * len(others)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LeakwiseWarning)
        try:
            r = lw.protect(table, "s", domain=labels, prior="table", failure=1e-6, dataset="d", **options)
        except lw.LeakwiseError as error:
            return type(error).__name__
    r.certificate.verify()
    object.__setattr__(r.facts, "time", TIME)
    assert isinstance(r.facts, (Facts, RowFacts))
    return json.dumps(r.mechanism.to_dict()), json.dumps(r.facts.to_dict()), page(r.facts), r.guarantee
