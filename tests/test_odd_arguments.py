"""Arguments of a wrong kind end in an error that names them, not in one of another library."""

from __future__ import annotations

import pandas as pd
import pytest

import leakwise as lw

PRIOR = lw.Prior([0.5, 0.3, 0.2])
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
    "more bins than memory": (lambda: lw.bins(0, 1, 2**64), "count"),
}


@pytest.mark.parametrize("kind", ODD)
def test_odd_arguments_are_refused_by_name(kind: str) -> None:
    call, name = ODD[kind]
    with pytest.raises(lw.InvalidInput, match=name):
        call()
