"""Certificates of counts and histograms: what they prove is true, and what is changed in them is rejected."""

from __future__ import annotations

import dataclasses
import itertools
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.proof.aggregates import AggregateCertificate, load_aggregate_certificate


@pytest.fixture(scope="module")
def proof() -> AggregateCertificate:
    found = lw.aggregate.count(unknown=1000, prior=(0.4, 0.6), noise=1).envelope(1e-6).certificate
    assert isinstance(found, AggregateCertificate)
    return found


def test_a_stored_certificate_says_the_same_and_is_checked(proof: AggregateCertificate, tmp_path: Path) -> None:
    file = tmp_path / "count.json"
    proof.save(file)
    read = lw.verify(file)
    assert isinstance(read, AggregateCertificate)
    assert read.sentence == proof.sentence
    assert read.to_dict() == proof.to_dict()
    assert "a probability from 0.4 to 0.6, and all but 1,000 of the records" in read.sentence
    assert file.stat().st_size < 10_000
    damaged = file.read_text(encoding="utf-8").replace('"count"', '"total"')
    file.write_text(damaged, encoding="utf-8")
    with pytest.raises(lw.InvalidInput, match="checksum"):
        load_aggregate_certificate(file)


def test_what_is_changed_is_rejected(proof: AggregateCertificate) -> None:
    first, *rest = proof.pieces
    (slope, place), other = proof.marks[0]
    bad: list[dict[str, object]] = [
        {"lift": proof.lift - Fraction(1, 10**9)},
        {"lift": Fraction(1, 2)},
        {"delta": proof.delta * Fraction(999_999, 10**6)},
        {"delta": Fraction(-1, 10)},
        {"unknown": 999},
        {"unknown": 0},
        {"unknown": 10**40},
        {"ratio": Fraction(0)},
        {"ratio": Fraction(1)},
        {"kind": "total"},
        {"kind": "histogram"},
        {"pieces": proof.pieces[:-1]},
        {"pieces": ((first[0] - Fraction(1, 100), first[1]), *rest)},
        {"pieces": ((first[0], first[1] + Fraction(1, 100)), *rest)},
        {"pieces": ((Fraction(3, 4), Fraction(1, 2)), *rest)},
        {"marks": (((slope, place + 40), other), *proof.marks[1:])},
        {"marks": (((slope, max(0, place - 40)), other), *proof.marks[1:])},
        {"marks": (((slope, 10**6), other), *proof.marks[1:])},
        {"marks": (((proof.lift, place), other), *proof.marks[1:])},
        {"marks": (((-slope, place), other), *proof.marks[1:])},
        {"marks": proof.marks[:-1]},
    ]
    for change in bad:
        with pytest.raises(lw.CertificateRejected):
            dataclasses.replace(proof, **change).verify()  # type: ignore[arg-type]


def test_an_exception_once_claimed_cannot_be_left_out() -> None:
    found = lw.aggregate.histogram(unknown=1000, prior=[0.5, 0.3, 0.2]).envelope(1e-6).certificate
    assert isinstance(found, AggregateCertificate)
    found.verify()
    with pytest.raises(lw.CertificateRejected):
        dataclasses.replace(found, delta=Fraction(0)).verify()


def test_marks_at_outcomes_that_never_occur_prove_nothing() -> None:
    half, none = Fraction(1, 2), Fraction(0)
    # A value that may be as rare as it likes, without noise: outcomes from 2 on have probability 0 either way.
    rare = AggregateCertificate("count", 10, none, ((none, half),), (((none, 10), (none, 0)),), Fraction(2), none)
    with pytest.raises(lw.CertificateRejected, match=r"prove a probability of 0\.5"):
        rare.verify()
    assert dataclasses.replace(rare, delta=half).verify().bound() == half
    # Below 0 nothing changes its sign.
    mark = (Fraction(11, 10), -2)
    for kind in ("count", "histogram"):
        with pytest.raises(lw.CertificateRejected, match="names the outcome -2"):
            AggregateCertificate(kind, 10, none, ((half, half),), ((mark, mark),), Fraction(6, 5), none).verify()


@settings(max_examples=40, deadline=None)
@given(
    m=st.integers(1, 8),
    p=st.fractions("1/20", "19/20", max_denominator=20),
    ratio=st.sampled_from([Fraction(0), Fraction(1, 2), Fraction(15, 16)]),
    lift=st.fractions("1.01", 5, max_denominator=100),
    marks=st.tuples(*[st.tuples(st.fractions(0, 4, max_denominator=50), st.integers(0, 8))] * 2),
)
def test_whatever_the_marks_the_bound_is_never_below_the_truth(
    m: int, p: Fraction, ratio: Fraction, lift: Fraction, marks: tuple[tuple[Fraction, int], ...]
) -> None:
    claim = AggregateCertificate("count", m, ratio, ((p, 1 - p),), (marks,), lift, Fraction(0))
    try:
        bound = claim.bound()
    except lw.CertificateRejected:
        return
    made = dataclasses.replace(lw.aggregate.count(unknown=m, prior=p), ratio=ratio)
    if lift * min(p, 1 - p) >= 1:
        assert bound == 0
        return
    assert bound >= Fraction(lw.failure_probability(made.mechanism, made.prior, lift=lift)) - Fraction(1, 10**12)


def test_the_prior_of_a_claim_is_shown(proof: AggregateCertificate) -> None:
    single = lw.aggregate.count(unknown=10, prior="0.3", noise=1).certificate
    assert single is not None
    assert "probability of each value, at least  0.3, 0.7" in repr(single)
    assert single.to_dict()["least"] == [0.3, 0.7]
    assert "0.4, 0.4" in repr(proof)


def test_a_forged_file_gets_no_endless_computation(proof: AggregateCertificate, tmp_path: Path) -> None:
    half, none, most = Fraction(1, 2), Fraction(0), 10**9
    for chance, ratio in ((half, none), (Fraction(1, 1 << 60), none), (Fraction(1, 1 << 60), Fraction(1, 1 << 60))):
        mark = (Fraction(1), most)
        claim = AggregateCertificate(
            "count", most, ratio, ((chance, 1 - chance),), ((mark, mark),), Fraction(11, 10), half
        )
        with pytest.raises(lw.CertificateRejected, match="too rare"):
            claim.verify()
    with pytest.raises(lw.CertificateRejected, match="1e400"):
        dataclasses.replace(proof, delta=Fraction(10**400)).verify()
    many = 65
    edges = [Fraction(2, 5) + Fraction(i, 5 * many) for i in range(many + 1)]
    pieces = tuple((left, 1 - right) for left, right in itertools.pairwise(edges))
    with pytest.raises(lw.CertificateRejected, match="a mark for every value"):
        dataclasses.replace(proof, pieces=pieces, marks=(proof.marks[0],) * many).verify()
    dataclasses.replace(proof, lift=Fraction(2**300_000 + 1, 2**300_000)).save(tmp_path / "long.json")
    with pytest.raises(lw.InvalidInput, match="more than 262,144 bits"):
        lw.verify(tmp_path / "long.json")
