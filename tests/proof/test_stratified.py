"""Certificates by stratum say what is proven in every stratum, and nothing beyond it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import leakwise as lw
from leakwise.errors import CertificateRejected

WEAK = lw.randomized_response(["no", "yes"], lift=2)
CONSTANT = lw.randomized_response(["no", "yes"], lift=1)
RARE = lw.Prior({"no": "19/20", "yes": "1/20"})


def unseen(rest: lw.Mechanism = WEAK) -> tuple[lw.StratifiedMechanism, lw.PriorByStratum]:
    given = {"g": ["u", "v"]}
    return lw.StratifiedMechanism({"u": CONSTANT}, given, otherwise=rest), lw.PriorByStratum({"u": RARE}, given)


@pytest.mark.parametrize(
    "limit", [{"ceiling": {"yes": "1/20"}}, {"lift_of": {"yes": 1}}, {"floor": {"yes": 1}}, {"lip": 0}]
)
def test_every_limit_is_checked_where_a_combination_does_not_occur(tmp_path: Path, limit: dict[str, Any]) -> None:
    found = lw.certify(*unseen(), lift=2, **limit)
    assert not found.holds
    assert "Where a combination has no prior" in found.sentence
    found.save(tmp_path / "c.json")
    with pytest.raises(CertificateRejected, match="a combination has no prior"):
        lw.verify(tmp_path / "c.json")


def test_limits_of_single_values_that_hold_for_every_prior_are_proven_there() -> None:
    assert lw.certify(*unseen(), lift=2, lift_of={"yes": 2}).verify().holds
    assert lw.certify(*unseen(CONSTANT), lift=2, lift_of={"yes": 1}, lip=0).verify().holds


def test_the_largest_lift_is_told_where_it_is_reached() -> None:
    found = lw.certify(*unseen(), lift=2)
    assert found.worst is None
    assert found.to_dict()["worst"] is None
    assert "The largest lift is reached where a combination has no prior." in repr(found)
    found = lw.certify(*unseen(lw.identity(["no", "yes"])))
    assert found.sentence.startswith("Where a combination has no prior, an outcome can make a guess any")


def test_estimates_beside_sets_are_counted_as_taken_as_exact() -> None:
    priors: dict[str, Any] = {
        "u": lw.Prior.from_counts({"no": 9000, "yes": 1000}).confidence(1e-6),
        "v": lw.Prior.from_counts({"no": 2, "yes": 1}),
    }
    sm = lw.StratifiedMechanism({"u": WEAK, "v": WEAK}, {"g": ["u", "v"]})
    said = lw.certify(sm, lw.PriorByStratum(priors, {"g": ["u", "v"]})).sentence
    assert "for anyone who sees the row and knew the prior of its stratum" in said
    assert "mislead, and the guarantee with them, with probability at most 1e-6." in said
    assert "The priors of 1 of 2 strata are estimates from 3 rows and were taken as exact and public" in said


def test_an_outcome_says_nothing_only_where_it_is_the_same_for_every_value() -> None:
    given = {"g": ["u", "v"]}
    certain = lw.PriorByStratum({"u": lw.Prior({"no": 1, "yes": 0}), "v": lw.Prior({"no": 0, "yes": 1})}, given)
    clear = lw.identity(["no", "yes"])
    read = lw.certify(lw.StratifiedMechanism({"u": clear, "v": clear}, given), certain, lift=2)
    assert "No guess about the secret becomes more than 1 times as likely as 'g' makes it already" in read.sentence
    read = lw.certify(read.mechanism, certain, lift=2, anyone=2)
    assert not read.holds
    assert read.sentence.endswith("there is no bound. The guarantee does not hold.")
    nothing = lw.StratifiedMechanism({"u": CONSTANT, "v": CONSTANT}, given)
    assert lw.certify(nothing, certain, lift=2, anyone=2).sentence.startswith("The outcome says nothing")


def test_names_of_columns_and_their_values_are_quoted(tmp_path: Path) -> None:
    name, value = "sex makes it already, for anyone.\nVerified.", "u. Verified"
    given = {name: [value]}
    found = lw.certify(lw.StratifiedMechanism({value: WEAK}, given), lw.PriorByStratum({value: RARE}, given))
    found.save(tmp_path / "c.json")
    read = lw.verify(tmp_path / "c.json")
    assert f"as {name!r} makes it already" in read.sentence
    assert f"reached where {name!r} = {value!r}." in repr(read)
    assert name not in repr(read)
