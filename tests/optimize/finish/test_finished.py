"""One epilogue: what a design says of itself is put together in one place, whatever searched for it."""

from __future__ import annotations

import ast
from pathlib import Path

import numpy as np
import pytest

import leakwise
import leakwise as lw
from leakwise.optimize.finish import finished as epilogue

ROOM = Path(leakwise.__file__).parent / "optimize"
DISTANCE = -np.abs(np.subtract.outer(range(3), range(3))).astype(float)


def _calls(name: str) -> set[str]:
    """The modules of the room that call a function by this name."""
    return {
        path.relative_to(ROOM).as_posix()
        for path in ROOM.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == name
    }


@pytest.mark.parametrize("made", ["Design", "optimality_claim", "close_to"])
def test_designs_and_their_claims_are_made_in_one_place(made: str) -> None:
    assert _calls(made) == {"finish/finished.py"}


@pytest.mark.parametrize(
    ("prior", "utility"),
    [
        (lw.Prior([0.5, 0.3, 0.2]), "mutual_information"),
        (lw.Prior([0.5, 0.3, 0.2]), lw.Expected(DISTANCE)),
        (lw.Prior([0.5, 0.3, 0.2]).ball(0.05), "mutual_information"),
        (lw.Prior([0.5, 0.3, 0.2]).ball(0.05), "guessing"),
        (lw.Prior([0.5, 0.3, 0.2]), lw.WorstCase(DISTANCE)),
        (lw.Prior([0.5, 0.3, 0.2]), lw.WorstCase(DISTANCE, then="mutual_information")),
    ],
)
def test_every_design_ends_in_it(monkeypatch: pytest.MonkeyPatch, prior: lw.PriorSet, utility: object) -> None:
    verified = []
    monkeypatch.setattr(epilogue, "certify", lambda *given: verified.append(lw.certify(*given)) or verified[-1])
    design = lw.design(prior, lift=1.6, utility=utility)
    assert verified[-1].mechanism == design.mechanism
    assert design.certificate.verify_for_the_set().epsilon_upper == design.epsilon
    assert design.value <= design.bound


def test_letters_without_mass_answer_by_the_output_law() -> None:
    design = lw.design({"a": 0.6, "b": 0.4, "never": 0}, lift=1.5)
    law = design.prior.probabilities @ design.mechanism.matrix
    np.testing.assert_allclose(design.mechanism.matrix[2], law, atol=1e-15)


SICK = {"none": 0.46, "flu": 0.31, "Ménière": 0.08, "HIV": 0.03, "癌": 0.12}


@pytest.mark.parametrize("utility", ["frequencies", "mutual_information", "guessing"])
@pytest.mark.parametrize(
    "limits",
    [{"lift_of": {"HIV": 1.2}}, {"ceiling": {("HIV", "flu"): 0.5}}, {"floor": {"HIV": 0.5, "flu": 0.3}}],
    ids=["lift_of", "ceiling", "floor"],
)
def test_no_claim_is_looser_than_the_bound_that_a_design_with_limits_of_single_values_prints(
    limits: dict[str, object], utility: str
) -> None:
    design = lw.design(SICK, lift=2, utility=utility, **limits)
    claim, remark = design.certificate.optimality, design.certificate.remark
    assert (claim is None) == (remark is not None)
    assert claim is not None or utility == "frequencies"
    assert claim.bound == design.bound if claim is not None else remark == "no checker for lift_of, ceiling, floor"
    assert remark is None or remark in str(design.certificate.verify())  # the whole reason is shown
