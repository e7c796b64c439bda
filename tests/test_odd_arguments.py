"""Arguments of a wrong kind end in an error that names them, not in one of another library."""

from __future__ import annotations

import math

import pandas as pd
import pytest

import leakwise as lw

PRIOR = lw.Prior([0.5, 0.3, 0.2])
Density = lw.noise.Density
LEVEL = Density.uniform(0, 10)
HUGE = 10**400

ODD = {
    "a gain of text": (lambda: lw.Gain("x"), "matrix"),
    "a gain that is missing": (lambda: lw.Gain(pd.NA), "matrix"),
    "a huge gain": (lambda: lw.Expected([[HUGE]]), "matrix"),
    "a mapping as utility": (lambda: lw.Expected({}), "matrix"),
    "a huge mask": (lambda: lw.least_leakage(PRIOR, [[HUGE]]), "mask"),
    "a huge worst case": (lambda: lw.WorstCase([[HUGE]], by="value"), "utility"),
    "one number for a list": (lambda: lw.tradeoff(PRIOR, epsilons=1.0), "epsilons"),
    "a list as strategy": (
        lambda: lw.design_from_data(lw.Prior.from_counts([5, 5]), lift=2, failure=0.1, strategy=[]),
        "strategy",
    ),
    "a path as mechanism": (
        lambda: lw.protect({"s": [0, 1, 2]}, "s", prior=PRIOR, lift=2, mechanism="m.json"),
        "mechanism must be a Mechanism",
    ),
    "a prior as secrets": (lambda: lw.audit_samples(PRIOR, [1, 2]), "x must be"),
    "more letters than memory": (lambda: lw.randomized_response(2**64, lift=3), "letters"),
    "a scale for values": (lambda: lw.noise.Laplace(5), r"values must be .* Got 5 .*lw\.noise\.Laplace\(scale=5\)"),
    "a density for values": (lambda: lw.noise.Gaussian(LEVEL), "values must be .* Got Density"),
    "a list as a mixture": (lambda: Density.mixture([LEVEL, LEVEL]), "parts must map densities to their weights"),
    "the ends the wrong way round": (lambda: Density.uniform(10, 0), "low and high must be .* Got 10, 0"),
    "a mode beyond the end": (lambda: Density.triangular(0, 30, 20), "low, mode and high must be .* Got 0, 30, 20"),
    "one number for edges": (lambda: Density.piecewise(5, [1]), "edges must be .* Got 5"),
    "a count below 0": (lambda: Density.histogram([0, 1, 2], [1, -2]), "counts must be .* Got 1.0, -2.0"),
    "no counts above 0": (lambda: Density.histogram([0, 1], [0]), "counts must be .* not all 0"),
    "a text for seconds": (lambda: lw.design(PRIOR, lift=2, time_limit="5"), "time_limit .* Got '5'"),
    "a time before now": (lambda: lw.design(PRIOR, lift=2, time_limit=-1), "time_limit .* Got -1"),
    "no number of seconds": (lambda: lw.design(PRIOR, lift=2, time_limit=math.nan), "time_limit .* Got nan"),
    "no time for a release": (
        lambda: lw.protect({"s": [0, 1]}, "s", prior=lw.Prior([0.5, 0.5]), lift=2, time_limit=0),
        "time_limit .* Got 0",
    ),
    "no time for a sample": (
        lambda: lw.design_from_data(lw.Prior.from_counts([5, 5]), lift=2, failure=0.1, time_limit=0),
        "time_limit .* Got 0",
    ),
    "more bins than memory": (lambda: lw.bins(0, 1, 2**64), "count"),
}


@pytest.mark.parametrize("kind", ODD)
def test_odd_arguments_are_refused_by_name(kind: str) -> None:
    call, name = ODD[kind]
    with pytest.raises(lw.InvalidInput, match=name):
        call()
