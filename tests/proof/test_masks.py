"""The checker of mask certificates: what it proves is true by brute force, and forgeries are refused."""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.proof.masks import load_mask_certificate, proven_ratio

CYCLE = np.array([[3, 2, 1], [1, 3, 2], [2, 1, 3]]) >= 2


def largest(letters: list[int], y: list[int], p: list[Fraction], ratio: Fraction) -> Fraction | None:
    """max y·λ over 0 ≤ λ ≤ ratio on the letters, π·λ = 1, over all vertices; None when there is none."""
    best = None
    for count in range(len(letters) + 1):
        for chosen in itertools.combinations(letters, count):
            rest = 1 - ratio * sum((p[i] for i in chosen), Fraction(0))
            for free in letters:
                if free not in chosen and 0 <= rest / p[free] <= ratio:
                    value = ratio * sum(y[i] for i in chosen) + y[free] * rest / p[free]
                    best = value if best is None else max(best, value)
    return best


@settings(max_examples=80, deadline=None)
@given(st.data())
def test_the_proven_ratio_is_where_the_knapsacks_pass_zero(data: st.DataObject) -> None:
    size, count = data.draw(st.integers(2, 4)), data.draw(st.integers(1, 4))
    weights = data.draw(st.lists(st.integers(1, 9), min_size=size, max_size=size))
    p = [Fraction(weight, sum(weights)) for weight in weights]
    allowed = np.array(data.draw(st.lists(st.booleans(), min_size=size * count, max_size=size * count)))
    allowed = allowed.reshape(size, count)
    y = data.draw(st.lists(st.integers(-6, 6), min_size=size, max_size=size))
    prior = lw.Prior(p)
    if sum(y) < 0:
        with pytest.raises(lw.CertificateRejected):
            proven_ratio(prior, allowed, y)
        return
    found = proven_ratio(prior, allowed, y)
    top = Fraction(1000) if found is None else found
    for output in range(count):
        letters = np.flatnonzero(allowed[:, output]).tolist()
        for below in (top * Fraction(999, 1000), top * Fraction(1, 2)):
            value = largest(letters, y, p, below)
            # Σ y > 0: no smaller ratio has a column with y·λ > 0. Σ y = 0: none with y·λ ≥ 0.
            assert value is None or value < 0 or (value == 0 and sum(y) > 0)


def certificate() -> Any:
    return lw.least_leakage(lw.Prior(["0.4", "0.35", "0.25"]), CYCLE).certificate


def test_a_certificate_goes_through_a_file(tmp_path: Path) -> None:
    path = tmp_path / "mask.json"
    made = certificate()
    made.save(path)
    read = load_mask_certificate(path).verify()
    assert (read.ratio, read.lower, read.epsilon_upper) == (made.ratio, made.lower, made.epsilon_upper)
    assert read.holds
    assert "No mechanism" in read.sentence
    assert "<table" in read._repr_html_()
    ball = lw.least_leakage(lw.Prior(["0.4", "0.35", "0.25"]).ball("0.1"), CYCLE).certificate
    ball.save(path)
    assert load_mask_certificate(path).verify().ratio == ball.ratio


def test_forged_claims_are_refused(tmp_path: Path) -> None:
    made = certificate()
    with pytest.raises(lw.CertificateRejected, match="duals prove"):
        dataclasses.replace(made, ratio=made.ratio * Fraction(1001, 1000)).verify()
    with pytest.raises(lw.CertificateRejected, match="less than zero"):
        dataclasses.replace(made, duals=(-1, 0, 0)).verify()
    narrower = made.allowed.copy()
    row, column = np.argwhere(made.guarantee.mechanism.weights > 0)[0]
    narrower[row, made.outputs.index(made.guarantee.mechanism.outputs[column])] = False
    forged = dataclasses.replace(made, allowed=narrower)
    assert not forged.holds
    with pytest.raises(lw.CertificateRejected, match="mask forbids"):
        forged.verify()


@pytest.mark.parametrize("kind", ["ball", "box", "kl", "hull"])
def test_witnesses_outside_the_set_are_refused(kind: str) -> None:
    prior = lw.Prior(["0.4", "0.35", "0.25"])
    priors: Any = {
        "ball": prior.ball("0.1"),
        "box": lw.Box(prior, ["0.3", "0.3", "0.2"], ["0.5", "0.4", "0.3"]),
        "kl": lw.KLBall(prior, "0.01"),
        "hull": lw.Hull([prior, ["0.3", "0.4", "0.3"]]),
    }[kind]
    made = lw.least_leakage(priors, CYCLE).certificate
    assert made.witnesses is not None
    outside = (1, 0, 0) if kind != "hull" else (1, 0, 0, 0)
    with pytest.raises(lw.CertificateRejected):
        dataclasses.replace(made, witnesses=(outside, *made.witnesses[1:])).verify()
    with pytest.raises(lw.CertificateRejected):
        dataclasses.replace(made, witnesses=None).verify()
    with pytest.raises(lw.CertificateRejected, match="negative weight"):
        dataclasses.replace(made, witnesses=((0, 0, 0), *made.witnesses[1:])).verify()


def test_damaged_files_are_named(tmp_path: Path) -> None:
    path = tmp_path / "mask.json"
    made = certificate()
    dataclasses.replace(made, duals=made.duals[:2]).save(path)
    with pytest.raises(lw.InvalidInput, match="not a valid mask certificate"):
        load_mask_certificate(path)
