"""[EN] leakage envelopes: the four examples and Figure 1; Figure 2 and the conjecture are in a module of their own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from leakwise.charts.specs import lines
from leakwise.leakage import envelope, event_leakage, failure_probability, pml, pml_quantiles, psi1, tail_probability
from leakwise.mechanism import Mechanism
from leakwise.papers.exhibit import Progress, Result, compared, exhibit, one_by_one, stated
from leakwise.papers.leakage_envelopes_response import figure_2a, figure_2b, figure_2c, figure_2d, theorem_5_conjecture
from leakwise.priors import Prior

__all__ = [
    "example_1",
    "example_2",
    "example_3",
    "example_4",
    "figure_1",
    "figure_2a",
    "figure_2b",
    "figure_2c",
    "figure_2d",
    "theorem_5_conjecture",
]

FOUR = (("0", "0", "1/2", "1/2"), ("0", "0", "1/2", "1/2"), ("0", "1/5", "2/5", "2/5"), ("1/5", "0", "2/5", "2/5"))
"""The mechanism (7) of Example 1, for a uniform prior."""

ERASURE = (("9/10", "0", "1/10"), ("0", "9/10", "1/10"))
"""The mechanism of Example 3, for a fair bit."""

_SAME = 1e-12


@exhibit(
    paper="EN",
    title="A guarantee that post-processing breaks",
    shows="Two rare outcomes leak log 4, two frequent ones log 10/9. With probability 0.9 the leakage is at most log "
    "10/9; but merging a rare with a frequent outcome gives two outcomes that leak log 6/5 each. Each row is an "
    "outcome. The same mechanism proves the first part of Theorem 1: ψ1 grows under that merging. We add the exact "
    "envelope, what no post-processing can break: e^{ε_c} = 4 up to δ = 0.1 and 8/9 + 14/(45 δ) from there on.",
    printed="ℓ = log 4, log 4, log 10/9, log 10/9; after merging log 6/5 twice; ψ1 = 13/180 before and 2/27 after.",
)
def example_1(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    mechanism: Sequence[Sequence[Any]] = FOUR,
    merged: Sequence[Sequence[int]] = ((0, 2), (1, 3)),
) -> Result:
    """The leakage of each outcome before and after the post-processing of [EN] Example 1, and the envelope."""
    released = Mechanism(mechanism)
    prior = Prior.uniform(released.shape[0])
    after = released.then(_merging(released.shape[1], merged))
    rows: list[dict[str, Any]] = []
    for name, made in (("Y", released), ("Z", after)):
        law = prior.probabilities @ made.matrix
        for outcome, (leak, mass) in enumerate(zip(pml(made, prior).tolist(), law.tolist(), strict=True)):
            rows.append(
                {"release": name, "outcome": outcome + 1, "probability": mass, "leakage": leak, "lift": math.exp(leak)}
            )
    for delta in ("1/10", "1/5", "1/2", "9/10"):
        value = envelope(released, prior, delta).epsilon
        rows.append({"release": "envelope", "delta": delta, "leakage": value, "lift": math.exp(value)})
    before = [row["leakage"] for row in rows if row["release"] == "Y"]
    later = [row["leakage"] for row in rows if row["release"] == "Z"]
    exact = [row["lift"] for row in rows if row["release"] == "envelope"]
    return Result(
        rows,
        None,
        [
            compared("the leakage of outcomes 1 and 2 (nats)", math.log(4), before[0], within=_SAME),
            compared("the leakage of outcomes 3 and 4 (nats)", math.log(10 / 9), before[2], within=_SAME),
            compared("P(ℓ(Y) > log 10/9)", 0.1, tail_probability(released, prior, lift="10/9"), within=_SAME),
            compared("the leakage of both merged outcomes (nats)", math.log(6 / 5), max(later), within=_SAME),
            compared("ψ1 of Y at ε = log 10/9", 13 / 180, psi1(released, prior, lift="10/9"), within=_SAME),
            compared("ψ1 of Z at ε = log 10/9", 2 / 27, psi1(after, prior, lift="10/9"), within=_SAME),
            stated(
                "exact e^ε_c at δ = 0.1, 0.2, 0.5, 0.9",
                None,
                ", ".join(f"{value:.6f}" for value in exact),
                np.allclose(exact, [4, 22 / 9, 68 / 45, 100 / 81], rtol=1e-9),
            ),
        ],
    )


def _merging(outcomes: int, groups: Sequence[Sequence[int]]) -> list[list[int]]:
    return [[int(outcome in group) for group in groups] for outcome in range(outcomes)]


@exhibit(
    paper="EN",
    title="The two quantiles of the leakage",
    shows="For the mechanism of Example 1 and δ = 0.1: the lower quantile is the best bound that holds with "
    "probability 1-δ, the upper one the largest that fails with probability at least δ. After post-processing the two "
    "are the same (Theorem 2): the envelope is the upper one here.",
    printed="log 10/9 and log 4 at δ = 0.1; the envelope is log 4 for all δ up to 0.1.",
)
def example_2(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    mechanism: Sequence[Sequence[Any]] = FOUR,
    deltas: Sequence[str] = ("1/100", "1/20", "1/10", "3/20", "1/5"),
) -> Result:
    """The quantiles of ℓ(Y) and the envelope at several δ."""
    released = Mechanism(mechanism)
    prior = Prior.uniform(released.shape[0])
    rows = []
    for delta in deltas:
        quantiles = pml_quantiles(released, prior, delta)
        rows.append(
            {
                "delta": delta,
                "lower_quantile": quantiles.lower,
                "upper_quantile": quantiles.upper,
                "envelope": envelope(released, prior, delta).epsilon,
            }
        )
    tenth = pml_quantiles(released, prior, "1/10")
    return Result(
        rows,
        None,
        [
            compared("the lower quantile at δ = 0.1 (nats)", math.log(10 / 9), tenth.lower, within=_SAME),
            compared("the upper quantile at δ = 0.1 (nats)", math.log(4), tenth.upper, within=_SAME),
            compared(
                "the envelope at δ = 0.1 (nats)", math.log(4), envelope(released, prior, "1/10").epsilon, within=_SAME
            ),
            compared(
                "the envelope at δ = 0.001 (nats)",
                math.log(4),
                envelope(released, prior, "1/1000").epsilon,
                within=_SAME,
            ),
        ],
    )


@exhibit(
    paper="EN",
    title="The leakage of a union of events",
    shows='A fair bit is released with probability 0.9 and erased with probability 0.1. The events "0 was released" '
    'and "1 was released" leak log 2 each, their union nothing. Each row is an event.',
    printed="log 2, log 2 and 0.",
)
def example_3(
    *, fast: bool = False, progress: Progress | None = None, mechanism: Sequence[Sequence[Any]] = ERASURE
) -> Result:
    """The leakage of the events of [EN] Example 3."""
    found = _events(Mechanism(mechanism), ((1,), (2,), (1, 2)))
    return Result(
        _event_rows(found),
        None,
        [
            compared("the leakage of {1} (nats)", math.log(2), found[(1,)], within=_SAME),
            compared("the leakage of {2} (nats)", math.log(2), found[(2,)], within=_SAME),
            compared("the leakage of {1, 2} (nats)", 0.0, found[(1, 2)], within=_SAME),
        ],
    )


@exhibit(
    paper="EN",
    title="The leakage of an event is not monotone",
    shows="The mechanism of Example 3: {3} ⊂ {1, 3} leaks less than the larger event, {1} ⊂ {1, 3} more. Each "
    "row is an event.",
    printed="0 for {3}, log 1/0.55 for {1, 3}, log 2 for {1}.",
)
def example_4(
    *, fast: bool = False, progress: Progress | None = None, mechanism: Sequence[Sequence[Any]] = ERASURE
) -> Result:
    """The leakage of the events of [EN] Example 4."""
    found = _events(Mechanism(mechanism), ((3,), (1, 3), (1,)))
    return Result(
        _event_rows(found),
        None,
        [
            compared("the leakage of {3} (nats)", 0.0, found[(3,)], within=_SAME),
            compared("the leakage of {1, 3} (nats)", math.log(1 / 0.55), found[(1, 3)], within=_SAME),
            compared("the leakage of {1} (nats)", math.log(2), found[(1,)], within=_SAME),
        ],
    )


def _events(released: Mechanism, events: Sequence[tuple[int, ...]]) -> dict[tuple[int, ...], float]:
    """Event-wise leakage for a uniform prior; the papers number outcomes from 1."""
    prior = Prior.uniform(released.shape[0])
    return {event: event_leakage(released, prior, [released.outputs[k - 1] for k in event]) for event in events}


def _event_rows(found: dict[tuple[int, ...], float]) -> list[dict[str, Any]]:
    return [
        {"event": "{" + ", ".join(map(str, event)) + "}", "leakage": leak, "lift": math.exp(leak)}
        for event, leak in found.items()
    ]


@exhibit(
    paper="EN",
    title="The distribution of the leakage, and its two quantiles",
    shows="The distribution function of ℓ(Y) for the mechanism of Example 1 with the two quantiles at δ = 0.1, and, "
    "as a further curve, 1 - δ_c: the probability that no post-processing can bring below it. The gap between the two "
    "curves is what a guarantee without post-processing forgets.",
    printed="The function is 0 up to log 10/9, 0.9 up to log 4, then 1; the quantiles are its two jumps.",
)
def figure_1(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    mechanism: Sequence[Sequence[Any]] = FOUR,
    delta: str = "1/10",
    points: int = 200,
) -> Result:
    """C_Y(t) = P(ℓ(Y) ≤ t) over t, with the quantiles at δ and the closed failure probability."""
    released = Mechanism(mechanism)
    prior = Prior.uniform(released.shape[0])
    corners = sorted(set(pml(released, prior).tolist()))
    grid = sorted({*np.linspace(0.0, 1.05 * corners[-1], 20 if fast else points).tolist(), *corners})
    rows = []
    for t in one_by_one(grid, progress, "t = {:.3f}"):
        within = t <= prior.epsilon_max
        rows.append(
            {
                "t": t,
                "distribution": 1.0 - tail_probability(released, prior, t) if within else 1.0,
                "after_post_processing": 1.0 - failure_probability(released, prior, t) if within else 1.0,
            }
        )
    quantiles = pml_quantiles(released, prior, delta)
    between = [row["distribution"] for row in rows if corners[0] <= row["t"] < corners[-1] - 1e-9]
    at = [row["t"] for row in rows]
    chart = lines(
        {
            "P(ℓ(Y) ≤ t)": (at, [row["distribution"] for row in rows]),
            "after any post-processing": (at, [row["after_post_processing"] for row in rows]),
        },
        title="The distribution of the leakage",
        x_title="t (nats)",
        y_title="probability",
        step=True,
        rules=[(quantiles.lower, "lower quantile"), (quantiles.upper, "upper quantile")],
    )
    return Result(
        rows,
        chart,
        [
            compared("P(ℓ(Y) ≤ t) between the two jumps", 0.9, between[0] if between else math.nan, within=1e-9),
            compared("the lower quantile (nats)", math.log(10 / 9), quantiles.lower, within=_SAME),
            compared("the upper quantile (nats)", math.log(4), quantiles.upper, within=_SAME),
        ],
    )
