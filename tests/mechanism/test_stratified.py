"""Mechanisms by stratum: one domain, shared integers, files, draws."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import leakwise as lw
from leakwise.errors import InvalidInput, UnsafeSeedWarning

NO_YES = ["no", "yes"]


def rr(lift: float) -> lw.Mechanism:
    return lw.randomized_response(NO_YES, lift=lift)


def stratified() -> lw.StratifiedMechanism:
    return lw.StratifiedMechanism(
        {("f", "low"): rr(2), ("f", "high"): rr(3), ("m", "low"): rr(2)},
        given={"sex": ["f", "m"], "income": ["low", "high"]},
        secret="ill",
        impossible={("m", "low"): ["yes"]},
        otherwise=rr(2),
    )


def test_strata_that_need_the_same_mechanism_share_it_in_memory_and_on_file(tmp_path: Path) -> None:
    sm = stratified()
    assert len(sm.mechanisms) == 2
    assert sm["f", "low"] is sm["m", "low"] is sm.otherwise
    assert sm["m", "high"] is sm.otherwise
    assert sm["f", "high"] == rr(3)
    sm.save(tmp_path / "sm.json")
    back = lw.StratifiedMechanism.load(tmp_path / "sm.json")
    assert back == sm
    assert back["f", "low"] is back["m", "low"] is back.otherwise
    assert (tmp_path / "sm.json").read_text().count('"common"') == 2
    assert len(sm.to_dict()["mechanisms"]) == 2


def test_the_face_is_what_the_design_says() -> None:
    sm = stratified()
    assert sm.given == ("sex", "income")
    assert sm.strata == (("f", "low"), ("f", "high"), ("m", "low"))
    assert sm.inputs == sm.outputs == ("no", "yes")
    assert sm.impossible(("m", "low")) == ("yes",)
    assert sm.support(("m", "low")).tolist() == [True, False]
    assert "2 different mechanisms for 3 strata by sex and income" in repr(sm)
    one = lw.StratifiedMechanism({"f": rr(2)}, given={"sex": ["f"]})
    assert one["f"] is one["f",]


def test_outcomes_of_all_strata_are_listed_once() -> None:
    other = lw.Mechanism([["1/2", "1/2"], ["1/4", "3/4"]], inputs=NO_YES, outputs=["yes", "maybe"])
    sm = lw.StratifiedMechanism({"f": rr(2), "m": other}, given={"sex": ["f", "m"]})
    assert sm.outputs == ("no", "yes", "maybe")


def test_draws_come_from_the_mechanism_of_the_stratum() -> None:
    sm = stratified()
    with pytest.warns(UnsafeSeedWarning):
        drawn = Counter(sm.sample("no", ("f", "high"), 4000, unsafe_seed=1))
    assert abs(drawn["no"] / 4000 - 0.75) < 0.04
    with pytest.raises(InvalidInput, match="cannot occur where sex = m, income = low"):
        sm.sample("yes", ("m", "low"))


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: lw.StratifiedMechanism({}, given={"sex": ["f"]}), "at least one stratum"),
        (lambda: lw.StratifiedMechanism({"f": 3}, given={"sex": ["f"]}), "must be a lw.Mechanism. Got int"),  # type: ignore[dict-item]
        (lambda: lw.StratifiedMechanism({"x": rr(2)}, given={"sex": ["f"]}), "not a declared value"),
        (lambda: lw.StratifiedMechanism({"f": rr(2)}, given=["sex"]), "mapping from the given columns"),  # type: ignore[arg-type]
        (
            lambda: lw.StratifiedMechanism({"f": rr(2)}, given={"sex": ["f"]}, impossible={"f": NO_YES}),
            "every value in stratum 'f'",
        ),
        (
            lambda: lw.StratifiedMechanism(
                {"f": rr(2), "m": lw.randomized_response(["yes", "no"], lift=2)}, given={"sex": ["f", "m"]}
            ),
            "same inputs, in one order",
        ),
        (lambda: lw.StratifiedMechanism({"f": rr(2)}, given={"sex": ["f", "m"]})["m"], "sex = m was not declared"),
    ],
)
def test_what_does_not_fit_is_refused(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(InvalidInput, match=message):
        make()


def test_a_file_that_a_stranger_changed_is_refused(tmp_path: Path) -> None:
    sm = stratified()
    sm.save(tmp_path / "sm.json")
    with pytest.raises(InvalidInput, match=r"Expected a 'leakwise\.mechanism'"):
        lw.Mechanism.load(tmp_path / "sm.json")
    rr(2).save(tmp_path / "m.json")
    with pytest.raises(InvalidInput, match=r"Expected a 'leakwise\.stratified-mechanism'"):
        lw.StratifiedMechanism.load(tmp_path / "m.json")
