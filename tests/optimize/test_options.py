"""Every option either works for a combination of utility, prior and method, or is refused with a way out."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import leakwise as lw
from leakwise.optimize import Utility

DISTANCE = -np.abs(np.subtract.outer(range(3), range(3))).astype(float)
LAW = lw.Prior({"a": 0.5, "b": 0.3, "c": 0.2})


class Largest(Utility):
    """A convex utility of one's own."""

    name = "largest"

    def columns_worth(self, lifts: Any, prior: lw.Prior) -> Any:
        return lifts.max(axis=0)


UTILITIES: dict[str, Any] = {
    "information": "mutual_information",
    "own f": lw.FInformation(lambda x: (x - 1) ** 4),
    "guessing": "guessing",
    "gain": lw.Gain(DISTANCE + 2),
    "expected": lw.Expected(DISTANCE),
    "frequencies": "frequencies",
    "worst case": lw.WorstCase(DISTANCE),
    "worst case, then": lw.WorstCase(DISTANCE, then="chi_square"),
    "worst case, then own": lw.WorstCase(DISTANCE, then=Largest()),
    "own": Largest(),
}
SETS: dict[str, Any] = {
    "ball": LAW.ball(0.05),
    "box": lw.Box(LAW, [0.4, 0.2, 0.1], [0.6, 0.4, 0.3]),
    "hull": lw.Hull([LAW, lw.Prior({"a": 0.4, "b": 0.4, "c": 0.2})]),
    "KL ball": lw.KLBall(LAW, 0.002),
    "all priors": lw.AllPriors(LAW),
    "layer cake": lw.Prior.from_counts({"a": 500, "b": 300, "c": 200}).confidence(1e-3, method="layer-cake"),
}
PRIORS: dict[str, Any] = {"prior": LAW, "zero mass": lw.Prior({"a": 0.6, "b": 0.4, "c": 0}), **SETS}
WAY_OUT = ("Leave", "leave", "Use", "use", "Give", "give", "Pass")


def refused(utility: str, prior: str, method: str) -> bool:
    """What design() refuses: the table that the documentation of method= states."""
    if method == "enumeration" and (prior in SETS or utility.startswith("worst case")):
        return True
    if method == "enumeration" and utility in ("guessing", "gain", "expected"):
        return True
    # A layer cake does not name its worst prior exactly, which the proof of the least leakage needs.
    return utility.startswith("worst case") and (prior == "layer cake" or ("then" in utility and prior in SETS))


@pytest.mark.filterwarnings("ignore:The proven gap")
@pytest.mark.parametrize("method", ["auto", "columns", "enumeration"])
@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("utility", UTILITIES)
def test_a_method_works_or_is_refused_with_a_way_out(utility: str, prior: str, method: str) -> None:
    def asked() -> Any:
        return lw.design(PRIORS[prior], lift="9/5", utility=UTILITIES[utility], method=method, time_limit=20)

    if refused(utility, prior, method):
        with pytest.raises(lw.InvalidInput) as told:
            asked()
        assert any(words in str(told.value) for words in WAY_OUT)
        return
    design = asked()
    assert design.certificate.verify_for_the_set().holds
    assert design.epsilon <= np.log(1.8) + 1e-12
    assert design.value <= design.bound


LIMITS: dict[str, dict[str, Any]] = {
    "ldp": {"ldp": 0.5},
    "lip": {"lip": 0.5},
    "lift and ldp": {"lift": 1.5, "ldp": 1.0},
    "lift and lip": {"lift": 1.5, "lip": 1.0},
}


@pytest.mark.filterwarnings("ignore:The proven gap")
@pytest.mark.parametrize(("limit", "prior"), list(itertools.product(LIMITS, ["prior", "ball"])))
@pytest.mark.parametrize("utility", UTILITIES)
def test_other_limits_work_or_are_refused_with_a_way_out(utility: str, prior: str, limit: str) -> None:
    def asked() -> Any:
        return lw.design(PRIORS[prior], utility=UTILITIES[utility], time_limit=20, **LIMITS[limit])

    if utility.startswith("worst case") or (prior == "ball" and "lip" in LIMITS[limit]):
        with pytest.raises(lw.InvalidInput) as told:
            asked()
        assert any(words in str(told.value) for words in WAY_OUT)
        return
    design = asked()
    assert design.value <= design.bound
    matrix, law = design.mechanism.matrix, LAW.probabilities @ design.mechanism.matrix
    if "ldp" in LIMITS[limit]:
        assert (matrix.max(axis=0) <= np.exp(LIMITS[limit]["ldp"]) * matrix.min(axis=0) + 1e-12).all()
    if "lip" in LIMITS[limit]:
        assert (matrix >= np.exp(-LIMITS[limit]["lip"]) * law - 1e-12).all()


@pytest.mark.parametrize("call", [lw.tradeoff, lw.design_from_data])
def test_a_worst_case_goes_to_its_own_curve(call: Any) -> None:
    given = {"epsilons": [0.5]} if call is lw.tradeoff else {"lift": 2, "failure": 0.1}
    known = lw.Prior.from_counts({"a": 500, "b": 300, "c": 200})
    with pytest.raises(lw.InvalidInput, match=r"lw\.WorstCase"):
        call(known, utility=lw.WorstCase(DISTANCE), **given)
