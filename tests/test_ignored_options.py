"""Options that mean nothing for what they stand beside: each is refused by name, none is passed over."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import leakwise as lw

PRIOR = lw.Prior({"a": 5, "b": 3, "c": 2})
MECHANISM = lw.randomized_response(["a", "b", "c"], lift=3)
COLUMN = ["a", "b", "c", "a"]
WORST = lw.WorstCase(np.eye(3))


@pytest.mark.parametrize(
    ("prior", "options", "named"),
    [
        (PRIOR, {"utility": WORST, "ldp": 1}, "ldp="),
        (PRIOR, {"utility": WORST, "lip": 1}, "lip="),
        (PRIOR, {"utility": WORST, "method": "enumeration"}, "enumeration"),
        (PRIOR, {"utility": "guessing", "method": "enumeration"}, "enumeration"),
        (PRIOR.ball("0.01"), {"lip": 1}, "lip="),
        (PRIOR.ball("0.01"), {"method": "enumeration"}, "enumeration"),
        (PRIOR, {"epsilon": 1}, "both"),
    ],
)
def test_design_refuses_what_it_would_ignore(prior: Any, options: dict[str, Any], named: str) -> None:
    with pytest.raises(lw.InvalidInput, match=named):
        lw.design(prior, lift=2, **options)


@pytest.mark.parametrize(("options", "named"), [({"column": "x"}, "column"), ({"overwrite": True}, "overwrite|out")])
def test_release_refuses_what_it_would_ignore(options: dict[str, Any], named: str) -> None:
    with pytest.raises(lw.InvalidInput, match=named):
        lw.release(COLUMN, MECHANISM, **options)


@pytest.mark.parametrize("options", [{"column": "x"}, {"by": "x"}])
def test_estimate_refuses_what_it_would_ignore(options: dict[str, Any]) -> None:
    with pytest.raises(lw.InvalidInput, match="column and by need a table"):
        lw.estimate(COLUMN, MECHANISM, **options)


def test_audit_takes_one_level() -> None:
    with pytest.raises(lw.InvalidInput, match="both"):
        lw.audit(MECHANISM, PRIOR, epsilon=1, lift=2)


@pytest.mark.parametrize(
    ("data", "column", "options", "named"),
    [
        ({"s": COLUMN}, "s", {"lift": 2, "out": "x.csv"}, "out='x.csv'"),
        ({"s": COLUMN}, "s", {"lift": 2, "overwrite": True}, "overwrite=True"),
        ({"s": COLUMN}, "s", {"lift": 2, "epsilon": 1}, "both"),
        (COLUMN, "s", {"lift": 2}, "column='s'"),
    ],
)
def test_protect_refuses_what_it_would_ignore(data: Any, column: str, options: dict[str, Any], named: str) -> None:
    with pytest.raises(lw.InvalidInput, match=named):
        lw.protect(data, column, prior=PRIOR, **options)


def test_protect_refuses_a_failure_beside_a_set_that_has_its_own() -> None:
    with pytest.raises(lw.InvalidInput, match="failure must not be given with a set of priors"):
        lw.protect({"s": COLUMN}, "s", prior=PRIOR.ball("0.01"), lift=2, failure=1e-6)


def test_what_protect_takes_without_effect_is_documented() -> None:
    told = " ".join(str(lw.protect.__doc__).split())
    assert "``use`` and ``time_limit`` then have no effect" in told
    assert "For files: called with the stage" in told


def test_certify_takes_one_level() -> None:
    with pytest.raises(lw.InvalidInput, match="both"):
        lw.certify(MECHANISM, PRIOR, epsilon=1, lift=2)


def test_tradeoff_sends_a_worst_case_to_its_own_curve() -> None:
    with pytest.raises(lw.InvalidInput, match=r"lw\.worst_case_curve"):
        lw.tradeoff(PRIOR, utility=WORST)
