"""The curves beside the answer: what a leakage bound allows, and what the worst answer costs."""

from __future__ import annotations

import itertools
import math
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from leakwise.charts.specs import Spec
from leakwise.errors import InvalidInput, LeakwiseWarning
from leakwise.guarantee import at_most
from leakwise.priors import Prior
from leakwise.studio.answers import checked_prior
from leakwise.studio.limits import LIMITS
from leakwise.studio.reading import further_arguments, label, level_arguments, read_utility, utility_matrix
from leakwise.studio.state import DesignGoal, Distance, Named, Part, State, WorstCaseGoal

__all__ = ["steps", "tradeoff_parts"]

Progress = Callable[[str, float | None], None]

_COARSE = 8
_BORDERS = 12
# The limit for anyone that the page offers; it prints it with four digits.
_TIMES, _DIGITS = 10, 1e-3
_REGIONS = 12


def tradeoff_parts(state: State, *, progress: Progress) -> Iterator[Part]:
    """The trade-off, drawn from a few points first and from more of them as they come.

    For a set of priors it is the curve of the prior in its middle, which no design for the set can pass. Every point
    keeps the limits of single values and the one for anyone: ten times the lift of the point as long as it is that.
    """
    from leakwise.optimize import Tradeoff, tradeoff

    prior = checked_prior(state.prior).nominal
    utility, further = _curve_utility(state, prior), further_arguments(state)
    follows = _ten_times(state, further)
    began = time.monotonic()
    known: dict[float, Any] = {}
    rounds = _rounds(prior)
    total = sum(map(len, rounds))
    for points in rounds:
        found = None
        for epsilon in points:
            if known and time.monotonic() - began > LIMITS.solve:
                break
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", LeakwiseWarning)
                if follows:
                    further["anyone"] = _TIMES * math.exp(epsilon)
                found = tradeoff(prior, [epsilon], utility, **further, time_limit=1.0)
            known[epsilon] = (found.designs[0], found.randomized_response[0], found.ldp)
            progress(f"trade-off: {len(known)} of {total} points", len(known) / total)
        if found is None:
            return
        order = sorted(known)
        curve = Tradeoff(
            np.array(order),
            tuple(known[epsilon][0] for epsilon in order),
            np.array([known[epsilon][1] for epsilon in order]),
            None if known[order[0]][2] is None else np.array([known[epsilon][2][0] for epsilon in order]),
            # Of more regions the borders would be a hatching; the knob shows them.
            found.regions if len(found.regions) <= _REGIONS else found.regions[:1],
            found.utility,
            prior,
        )
        yield Part(
            "tradeoff",
            {
                "chart": with_current_point(curve.chart()),
                "points": len(order),
                "words": _words(state, curve.ldp is not None),
            },
        )


def _words(state: State, local: bool) -> str:
    """What stands below the curve."""
    of = "" if isinstance(state.goal, DesignGoal) else "information kept, as "
    words = f"The solid vertical line is your limit, the circle {of}what you see here. "
    words += "For comparison: randomized response of the same leakage"
    words += ", and the best mechanism with local differential privacy." if local else "."
    further = further_arguments(state)
    if "anyone" in further:
        times = f"{_TIMES} times the lift" if _ten_times(state, further) else f"{at_most(further['anyone'])} times"
        words += f" Every point of the optimum keeps a limit for anyone as well: {times}."
    if len(further) > ("anyone" in further):
        words += " It keeps the limits of single values, too."
    if state.prior.sample is not None:
        words += (
            " The curves are for the prior in the middle of the set; a guarantee for the whole set costs a little more."
        )
    return words


def _ten_times(state: State, further: dict[str, Any]) -> bool:
    """Whether the limit for anyone is the one that follows the lift."""
    if "anyone" not in further:
        return False
    ((kind, value),) = level_arguments(state.level).items()
    lift = float(value) if kind == "lift" else math.exp(min(float(value), 700.0))
    return abs(float(further["anyone"]) - _TIMES * lift) < _DIGITS * _TIMES * lift


def _curve_utility(state: State, prior: Prior) -> Any:
    """What the curve is drawn for: the chosen utility, or mutual information for a mechanism that was brought."""
    goal = state.goal
    if isinstance(goal, DesignGoal):
        if isinstance(goal.utility, WorstCaseGoal):
            raise InvalidInput("A worst-case utility has steps instead of a curve.")
        return read_utility(goal.utility, prior)
    return "mutual_information"


def _rounds(prior: Prior) -> list[list[float]]:
    """Points from 0 to ε_max: a few first, then those between, then the borders of the regions.

    >>> [len(points) for points in _rounds(Prior.uniform(4))]
    [9, 8, 4]
    """
    end = prior.epsilon_max
    if end == 0:
        return [[0.0]]
    # The curve bends near zero: the points lie closer together there.
    coarse = [end * (k / _COARSE) ** 1.5 for k in range(_COARSE + 1)]
    between = [(a + b) / 2 for a, b in itertools.pairwise(coarse)]
    borders = [border for border in prior.regions().tolist() if 0 < border < end]
    step = math.ceil(len(borders) / _BORDERS) or 1
    # Just below a border the last outcome of the region is the best; the border itself belongs to the next one.
    last = [point for border in borders[::step] for point in (border * (1 - 1e-9), border)]
    return [coarse, between, last] if last else [coarse, between]


def with_current_point(spec: Spec) -> Spec:
    """The curve with layers for the point on the screen and for the limit, empty until the page fills them."""
    axes = next(layer["encoding"] for layer in spec["layer"] if "x" in layer["encoding"] and "y" in layer["encoding"])
    point = {
        "data": {"name": "current", "values": []},
        "mark": {"type": "point", "shape": "circle", "size": 150, "strokeWidth": 2.5, "filled": False, "opacity": 1},
        "encoding": {"x": {**axes["x"], "field": "x"}, "y": {**axes["y"], "field": "y"}, "color": {"value": "#D55E00"}},
    }
    limit = {
        "data": {"name": "limit", "values": []},
        "mark": {"type": "rule", "strokeWidth": 2},  # solid: the borders of the regions are dashed
        "encoding": {"x": {**axes["x"], "field": "x"}},
    }
    return {**spec, "layer": [*spec["layer"], limit, point]}


def steps(state: State, *, progress: Progress) -> Iterator[Part]:
    """The least leakage of every level of the worst answer, as steps."""
    from leakwise.optimize import worst_case_curve

    priors = checked_prior(state.prior)
    goal = state.goal
    if not isinstance(goal, DesignGoal) or isinstance(goal.utility, Named):
        raise InvalidInput("Steps are drawn for a worst-case utility or a distance.")
    utility = goal.utility
    by = "value" if isinstance(utility, Distance) else utility.by
    outputs = None
    if isinstance(utility, WorstCaseGoal) and utility.outputs is not None:
        outputs = [label(text) for text in utility.outputs]
    progress("the least leakage of every level", None)
    curve = worst_case_curve(priors, utility_matrix(utility, priors.nominal), by=by, outputs=outputs)
    rows = [
        {"level": f"{level:g}", "epsilon": float(epsilon), "lift": math.exp(float(epsilon))}
        for level, epsilon in zip(curve.levels.tolist(), curve.epsilon.tolist(), strict=True)
    ]
    yield Part("steps", {"chart": curve.chart(), "levels": rows, "free": curve.free_level})
