"""The audit of a stratified mechanism: the leakage of every stratum, and everything of one."""

from __future__ import annotations

import math

import pytest

import leakwise as lw
from leakwise.errors import InvalidInput

CP = lw.PriorByStratum.from_counts({"f": [50, 50], "m": [90, 10]}, given="sex")
M = lw.Mechanism([["3/4", "1/4"], ["1/4", "3/4"]])
SM = lw.StratifiedMechanism({"f": M, "m": M}, given={"sex": ["f", "m"]})


def test_every_stratum_is_measured_against_its_own_prior() -> None:
    found = lw.audit(SM, CP)
    assert isinstance(found, lw.results.StratifiedAudit)
    assert found.worst == "m"
    assert found.epsilon == pytest.approx(math.log(2.5), abs=1e-9)
    assert found.leakages["f"] == pytest.approx(math.log(1.5), abs=1e-9)
    assert found.ldp == pytest.approx(math.log(3), abs=1e-9)
    assert found.mutual_information == pytest.approx(
        (lw.mutual_information(M, CP["f"]) + lw.mutual_information(M, CP["m"])) / 2
    )
    assert found["m"].epsilon == lw.audit(M, CP["m"]).epsilon
    assert "What an outcome adds to sex in 2 strata" in repr(found)


def test_a_stratified_mechanism_needs_priors_by_stratum() -> None:
    with pytest.raises(InvalidInput, match="PriorByStratum by the given columns of the mechanism, sex"):
        lw.audit(SM, lw.Prior.uniform(2))
    with pytest.raises(InvalidInput, match="audited without limits"):
        lw.audit(SM, CP, lift=3)
