"""The tangent of the information: a bound for every belief and multiplier, exact near the largest entropy."""

from __future__ import annotations

from dataclasses import replace
from decimal import Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise import records
from leakwise.proof import RecordInformationCertificate, TangentProof
from leakwise.records.adversaries.local import feasible
from leakwise.records.bounds.tangent import _value, contraction, tangent_bound
from leakwise.records.queries.problem import Problem, information


@pytest.mark.parametrize(
    ("channel", "part"),
    [
        (records.count(20).geometric(1.0), 0.995),
        (records.count(20).geometric(1.0), 0.9999),
        (records.count(20).geometric(0.3), 0.9999),
        (records.count(20).symmetric_channel(0.3), 0.995),
        (records.modular_sum(8, 5).symmetric_channel(0.3), 0.995),
    ],
    ids=lambda x: x.name if isinstance(x, records.Channel) else str(x),
)
def test_near_the_largest_entropy_the_gap_closes_without_boxes(channel: records.Channel, part: float) -> None:
    """Counts of 20 bits with geometric noise had gaps of 0.03 there after ten seconds."""
    r = records.leakage(channel, part * channel.query.max_entropy, tolerance=1e-6, time_limit=30)
    assert r.closed
    assert r.gap <= 1e-6
    assert r.boxes <= 1
    assert r.method == "the tangent of the information at the worst belief"


def random_problem(generator: np.random.Generator, letters: int) -> Problem:
    letter = np.repeat(np.arange(letters), generator.integers(1, 4, size=letters))
    rows = generator.dirichlet(np.full(int(generator.integers(2, 4)), 0.7), size=len(letter))
    return Problem(rows, letter, tuple(int(m) for m in generator.integers(1, 50, size=len(letter))))


@given(st.integers(0, 10**6), st.integers(2, 3), st.floats(0.0, 0.99), st.floats(1.0, 3.0))
@settings(max_examples=60, deadline=None)
def test_any_belief_and_multiplier_bound_every_other_belief(seed: int, letters: int, part: float, more: float) -> None:
    generator = np.random.default_rng(seed)
    problem = random_problem(generator, letters)
    b = part * problem.room
    others = generator.dirichlet(np.full(len(problem.letter), 0.4), size=200)
    reached = information(problem, feasible(problem, others, b)).max()
    at = generator.dirichlet(np.full(len(problem.letter), 2.0)) * (1 - 1e-6) + 1e-6 / len(problem.letter)
    assert _value(problem, at, more * contraction(problem), b) >= reached
    best, proof = tangent_bound(problem, b, at)
    assert best >= reached
    assert proof.scale >= contraction(problem)


def test_half_of_the_contraction_would_prove_too_much() -> None:
    """The condition on the multiplier is needed: with less the tangent is below beliefs that exist."""
    problem = records.parity(2).symmetric_channel(0.1).cases[0].problem
    at = np.full(4, 0.25)
    knowing = np.array([0.5, 0.0, 0.5, 0.0]) if problem.rows[0, 0] != problem.rows[2, 0] else np.array([0.5, 0, 0, 0.5])
    assert information(problem, knowing[None])[0] > _value(problem, at, 0.5 * contraction(problem), np.log(2))
    assert information(problem, knowing[None])[0] <= _value(problem, at, contraction(problem), np.log(2))


def test_a_tangent_is_stored_and_checked(tmp_path: Path) -> None:
    channel = records.count(20).geometric(1.0)
    r = records.leakage(channel, 0.999 * channel.query.max_entropy, certificate=True)
    assert isinstance(r.certificate, RecordInformationCertificate)
    assert r.gap <= 1e-6
    r.certificate.save(tmp_path / "c.json")
    again = lw.verify(tmp_path / "c.json")
    assert isinstance(again, RecordInformationCertificate)
    (proof,) = again.proofs
    assert isinstance(proof, TangentProof)
    for forged, words in (
        (replace(proof, scale=0.5), "too small"),
        (replace(proof, scale=2 * proof.scale), "more than the"),
        (replace(proof, belief=tuple(x if k % 2 else 3 * x for k, x in enumerate(proof.belief))), "more than the"),
        (replace(proof, belief=proof.belief[1:]), "for each class"),
        (replace(proof, belief=(0.0, *proof.belief[1:])), "for each class"),
    ):
        with pytest.raises(lw.CertificateRejected, match=words):
            replace(again, proofs=(forged,)).verify()
    with pytest.raises(lw.CertificateRejected, match="more than the"):
        replace(again, bound=Fraction(r.value) - Fraction(1, 10**6)).verify()


@pytest.mark.parametrize("n", [2, 3, 5])
def test_a_hair_below_the_largest_entropy_more_than_the_uniform_belief_is_left(n: int) -> None:
    """A belief of entropy log|X| - δ tells √δ more than the uniform one: 4e-9 where δ is a rounding error."""
    query = records.Query(lambda x: x[0], [2] * n)
    b = float(np.nextafter(np.nextafter(query.max_entropy, 0), 0))
    channel = query.channel([[0.9, 0.1], [0.2, 0.8]])
    rows = [[Decimal(p) for p in row] for row in channel.rows.tolist()]

    def told(one: Decimal) -> Decimal:
        """The information when the record is 1 with this probability, and the others are uniform."""
        joint = [[p * share / sum(row) for p in row] for share, row in zip((1 - one, one), rows, strict=True)]
        output = [sum(column) for column in zip(*joint, strict=True)]
        return sum(p * (p / sum(row) / out).ln() for row in joint for p, out in zip(row, output, strict=True))

    with localcontext() as context:
        context.prec = 60
        half, log2 = Decimal("0.5"), Decimal(2).ln()
        lost = n * log2 - Decimal(b)
        assert 0 < lost < Decimal("2e-15")
        tilt = Decimal("0.499") * (2 * lost).sqrt()
        law = half - tilt, half + tilt
        assert (n - 1) * log2 - sum(p * p.ln() for p in law) >= Decimal(b)
        truth = max(map(told, law))
        assert truth > told(half) + Decimal("1e-10")
        r = records.leakage(channel, b)
        assert r.bound >= truth
        assert r.closed


def test_a_tangent_for_rows_that_all_but_exclude_each_other_is_stored() -> None:
    """η is 1 in floating point, and the checker's ball for it ends a hair above."""
    channel = records.count(2).channel([[1, 1e-40], [1e-40, 1], [1, 0]], outputs=[0, 1])
    r = records.leakage(channel, 1.3, certificate=True, tolerance=1e-3)
    assert r.certificate is not None
    assert r.certificate.verify().bound <= Fraction(r.bound)
