"""Optimality within limits of single values is part of what a certificate proves, and no limit can be bent for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import leakwise as lw
from leakwise.proof import asked_limits, value_box
from leakwise.proof.optimality.branching import Region
from leakwise.proof.optimality.functions import FUNCTIONS

PRIOR = lw.Prior({"a": 0.5, "b": 0.3, "c": 0.2})
VALUES = {
    "lift of a value": {"lift_of": {"a": 1.2}},
    "ceiling of a value": {"ceiling": {"b": 0.4}},
    "ceiling of two": {"ceiling": {("b", "c"): 0.7}},
    "floor": {"floor": {"c": 0.5}},
    "all": {"lift_of": {"a": 1.2}, "ceiling": {("b", "c"): 0.7}, "floor": {"c": 0.3}},
}
UTILITIES = {
    **{name: name for name in FUNCTIONS},
    "guessing": "guessing",
    "gain": lw.Gain(np.array([[1.0, 0.2, 0.5], [0.0, 1.0, 0.5], [0.3, 0.1, 0.6]])),
}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
@pytest.mark.parametrize("utility", UTILITIES.values(), ids=UTILITIES)
def test_every_utility_but_frequencies_is_proven_optimal_within_limits_of_values(utility, values):
    design = lw.design(PRIOR, lift=2, utility=utility, **values)
    claim = design.certificate.optimality
    assert claim is not None, design.certificate.remark
    assert design.gap < 3e-7
    assert claim.bound == design.bound
    assert "the limits of single values" in str(design.certificate)
    assert "and the limits of single values" in design.certificate.to_dict()["optimality"]["compared_with"]
    design.certificate.verify()


@pytest.mark.parametrize("utility", ["mutual_information", "guessing"])
def test_with_a_limit_for_anyone_and_with_the_frequencies_kept(utility):
    design = lw.design(PRIOR, lift=2, anyone=20, utility=utility, **VALUES["all"])
    assert design.certificate.verify().optimality.bound < design.value + 3e-7
    kept = lw.design(PRIOR, lift=2, anyone=20, utility="guessing", keep_frequencies=True, **VALUES["all"])
    assert kept.certificate.verify().optimality.bound < kept.value + 3e-7


def test_two_values_are_proven_for_frequencies_as_well():
    pair = lw.Prior({"no": 0.7, "yes": 0.3})
    design = lw.design(pair, lift=2, anyone=20, utility="frequencies", lift_of={"yes": 1.3})
    assert design.certificate.verify().optimality.bound < design.value + 1e-6 * abs(design.value)
    three = lw.design(PRIOR, lift=2, utility="frequencies", lift_of={"a": 1.2}).certificate
    assert three.optimality is None
    assert "lift_of" in three.remark


def test_the_nominal_prior_of_a_set_narrows_as_well():
    """Limits that hold for every prior of a set hold at its nominal one, where that is in the set."""
    limits = asked_limits(lift_of={"a": 1.2})
    box = value_box(limits, PRIOR.ball("1/50"), PRIOR.alphabet)
    assert box is not None
    assert box.high.tolist() == [1.2, pytest.approx(1 / 0.3), pytest.approx(1 / 0.2)]
    outside = lw.Hull([[0.5, 0.3, 0.2], [0.4, 0.4, 0.2]], nominal=lw.Prior([0.2, 0.2, 0.6]))
    assert value_box(limits.on(PRIOR.alphabet), outside, PRIOR.alphabet) is None
    design = lw.design(PRIOR.ball("1/50"), lift=2, utility="guessing", lift_of={"a": 1.2})
    assert design.certificate.verify().holds


def test_a_proof_within_limits_does_not_hold_for_looser_ones_nor_for_a_smaller_bound():
    certificate = lw.design(PRIOR, lift=2, lift_of={"a": 1.2}).certificate
    claim = certificate.optimality
    looser = lw.design(PRIOR, lift=2, lift_of={"a": 1.4})
    assert looser.value > claim.bound + 1e-3
    for forged in (
        replace(certificate, further=asked_limits(lift_of={"a": 1.4})),  # the bound is not that of these
        replace(certificate, further=asked_limits(lift_of={"a": 1.1})),  # the mechanism does not keep these
        replace(certificate, further=asked_limits(ceiling={"b": 0.9})),
        replace(certificate, further=asked_limits()),
        replace(certificate, optimality=replace(claim, bound=claim.value + 1e-9)),
        replace(certificate, optimality=replace(claim, duals=claim.duals * 1.01)),
        replace(looser.certificate, optimality=replace(claim, value=looser.value)),
    ):
        with pytest.raises(lw.CertificateRejected):
            forged.verify()


def test_the_proof_goes_through_a_file(tmp_path):
    design = lw.design(PRIOR, lift=2, anyone=20, **VALUES["all"])
    design.certificate.save(tmp_path / "proof.json")
    assert lw.verify(tmp_path / "proof.json").optimality.bound == design.bound


@pytest.mark.parametrize("seed", range(6))
def test_no_column_within_the_limits_exceeds_what_the_region_proves(seed):
    """Random columns, mixed with the constant until they keep the limits, against the bounds of linear programs."""
    random = np.random.default_rng(seed)
    size = int(random.integers(3, 7))
    prior = lw.Prior.from_counts({f"v{i}": int(w) for i, w in enumerate(random.integers(1, 20, size))})
    p = prior.probabilities
    limits = asked_limits(
        lift_of={"v0": 1.5}, ceiling={("v1", "v2"): float(min(1.0, 1.2 * (p[1] + p[2])))}, floor={"v2": 0.4}
    )
    box = value_box(limits, prior, prior.alphabet)
    low, high = box.narrowed(np.zeros(size), np.minimum(2.5, 1 / p))
    columns = []
    for _ in range(300):
        column = random.random(size) ** random.integers(1, 9)
        lifts = column / (p @ column)
        for share in np.linspace(0, 1, 201):
            mixed = (1 - share) * lifts + share
            inside = (mixed >= low).all() and (mixed <= high).all()
            if inside and all(row @ mixed <= most for row, most in box.sums):
                columns.append(mixed)
                break
    columns = np.array(columns).T
    assert (columns != 1).any(axis=0).mean() > 0.9
    region = Region(p, low, high, 2.5, prior, box.sums)
    costs = random.normal(size=size)
    assert (costs @ columns).max() <= region.linear(costs)
    f, y = FUNCTIONS["mutual_information"], random.normal(size=size) / 10
    assert (p @ f(columns) - y @ columns).max() <= region.largest(f, y, -np.inf, 200)
