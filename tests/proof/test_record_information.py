"""Certificates of the information about a record: the tree of boxes is stored, checked again, and not to be forged."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise import records
from leakwise.proof import PosteriorTree, RecordInformationCertificate

ASKED = {
    "parity": (lambda: records.parity(4).symmetric_channel(0.3), 2.5, 1e-4),
    "no entropy is needed": (lambda: records.parity(4).symmetric_channel(0.3), 2.0, 1e-6),
    "a thousand": (lambda: records.modular_sum(1000, 3).symmetric_channel(0.3), 692.8, 3e-3),
    "count": (lambda: records.count(5).geometric(1.0), 2.6, 3e-3),
    "two kinds of records": (lambda: records.weighted_sum([1, 1, 2]).geometric(0.5), 1.6, 2e-3),
    "ternary": (lambda: records.modular_sum(2, 2, alphabet=3).symmetric_channel(0.3), 1.9, 1e-2),
    "only the uniform belief": (lambda: records.count(3).geometric(1.0), records.count(3).max_entropy, 1e-4),
    "an outcome that excludes": (lambda: records.count(2).channel([[1, 0, 0], [0, 0.5, 0.5], [0, 0, 1]]), 1.2, 1e-3),
}


@cache
def found(name: str) -> records.RecordLeakage:
    make, b, tolerance = ASKED[name]
    return records.leakage(make(), b, tolerance=tolerance, certificate=True)


def proof(name: str) -> RecordInformationCertificate:
    certificate = found(name).certificate
    assert isinstance(certificate, RecordInformationCertificate)
    return certificate


@pytest.mark.parametrize("name", ASKED)
def test_the_tree_is_stored_and_proves_the_bound(name: str, tmp_path: Path) -> None:
    r, (make, b, tolerance) = found(name), ASKED[name]
    assert r.closed
    assert r.gap <= tolerance
    proof(name).save(tmp_path / "c.json")
    again = lw.verify(tmp_path / "c.json")
    assert isinstance(again, RecordInformationCertificate)
    assert again.sentence == proof(name).sentence
    assert float(again.bound) <= r.bound
    # What is not kept is found all the same: the two calls agree within what was asked for.
    assert abs(records.leakage(make(), b, tolerance=tolerance).value - r.value) <= tolerance
    assert (proof(name).proofs[0] is None) == (name == "no entropy is needed")


@pytest.mark.parametrize("name", ASKED)
def test_less_than_what_is_reached_is_rejected(name: str) -> None:
    below = Fraction(max(0.0, found(name).value - 1e-6))
    if below:
        with pytest.raises(lw.CertificateRejected, match="more than the"):
            replace(proof(name), bound=below).verify()


def test_forged_trees_are_rejected() -> None:
    good = proof("parity")
    (tree,) = good.proofs
    assert tree is not None
    size = len(tree.multipliers)
    forged = {
        "ends before": PosteriorTree(tree.nodes[:-1], tree.multipliers),
        "beyond its last leaf": PosteriorTree((*tree.nodes, None), tree.multipliers),
        "not a posterior": PosteriorTree(((5, 1, 0.5), *tree.nodes[1:]), tree.multipliers),
        "of at least 0": PosteriorTree(tree.nodes, -tree.multipliers),
        "multipliers": PosteriorTree(tree.nodes, tree.multipliers[: size - 1]),
        # One leaf for all, and leaves whose multipliers are those of others: true, but they prove less.
        "more than the": PosteriorTree((None,), tree.multipliers[:1]),
    }
    for words, one in forged.items():
        with pytest.raises(lw.CertificateRejected, match=words):
            replace(good, proofs=(one,)).verify()
    with pytest.raises(lw.CertificateRejected, match="more than the"):
        replace(good, proofs=(PosteriorTree(tree.nodes, tree.multipliers[::-1]),)).verify()
    with pytest.raises(lw.CertificateRejected, match="more than the"):
        replace(good, proofs=(None,)).verify()  # without the entropy it is more
    with pytest.raises(lw.CertificateRejected, match="more than the"):
        replace(good, entropy=good.entropy - Fraction(1, 100)).verify()


@given(st.integers(0, 10**6), st.integers(2, 3), st.floats(0.0, 0.98))
@settings(max_examples=15, deadline=None)
def test_whatever_the_tree_no_belief_is_above_what_it_proves(seed: int, letters: int, part: float) -> None:
    """Random trees and multipliers: what they prove is weak, and true."""
    generator = np.random.default_rng(seed)
    rows = generator.dirichlet(np.full(2, 0.7), size=2 * letters)
    rows[generator.random(rows.shape) < 0.1] = 0.0
    rows[rows.sum(axis=1) == 0] = 0.5
    query = records.Query(np.arange(2 * letters).reshape(letters, 2), [letters, 2])
    channel = query.channel(rows / rows.sum(axis=1, keepdims=True), by="dataset")
    trees = []
    for case in channel.cases:
        split = [1] if case.problem.letters == 2 else list(range(case.problem.letters))
        nodes: list[tuple[int, int, float] | None] = []
        left = 1
        while left:
            inner = generator.random() < 0.5 and len(nodes) < 20
            place = int(generator.integers(2)), split[int(generator.integers(len(split)))], float(generator.random())
            nodes.append(place if inner else None)
            left += 1 if inner else -1
        leaves = sum(node is None for node in nodes)
        trees.append(PosteriorTree(tuple(nodes), generator.exponential(0.5, size=(leaves, 1 + 4 * len(split)))))
    b = part * query.max_entropy
    given_tree = records.leakage(channel, b, tolerance=1e-2, certificate=True)
    assert isinstance(given_tree.certificate, RecordInformationCertificate)
    assert replace(given_tree.certificate, proofs=tuple(trees)).proven() >= Fraction(given_tree.value) - Fraction(
        1, 10**9
    )


def test_what_is_reached_at_the_largest_entropy_is_what_is_proven() -> None:
    """The proof is sought at a hair less entropy, but its adversary, who learns 5e-7 more, is not asked for."""
    channel = records.count(2).symmetric_channel(0.0)
    r = records.leakage(channel, channel.query.max_entropy, tolerance=1e-3, certificate=True)
    assert isinstance(r.certificate, RecordInformationCertificate)
    assert r.value == pytest.approx(np.log(2) / 2, abs=1e-12)
    assert r.value <= r.certificate.bound


@pytest.mark.parametrize(("b", "rows"), [(0.0, (1, 0, 1, 0, 0, 0)), (0.7330828665187334, (0, 1, 1, 1, 1, 0))])
def test_mechanisms_without_noise(b: float, rows: tuple[int, ...]) -> None:
    """The dual is flat along sides, where a Newton system has no one solution."""
    channel = records.Query(np.arange(6).reshape(3, 2), [3, 2]).channel([[x, 1 - x] for x in rows], by="dataset")
    r = records.leakage(channel, b, tolerance=1e-3, time_limit=5, certificate=True)
    assert isinstance(r.certificate, RecordInformationCertificate)
    assert r.closed
    assert r.value == pytest.approx(np.log(2), abs=1e-3)
    r.certificate.verify()


def test_a_forged_file_gets_no_endless_computation(tmp_path: Path) -> None:
    real = proof("parity")
    replace(real, bound=real.bound + Fraction(1, 2**40_000)).save(tmp_path / "c.json")
    with pytest.raises(lw.InvalidInput, match="more than 8,192 digits"):
        lw.verify(tmp_path / "c.json")
    case = real.cases[0]
    doubled = replace(case, datasets=tuple(m << (1 << 22) for m in case.datasets))
    replace(real, cases=(doubled,)).save(tmp_path / "c.json")
    with pytest.raises(lw.InvalidInput, match="datasets are more than"):
        lw.verify(tmp_path / "c.json")
    wide = replace(case, rows=tuple((*row, *[0.0] * 3000) for row in case.rows))
    outcomes = tuple(map(str, range(len(wide.rows[0]))))
    tree = PosteriorTree((None,), np.zeros((1, 1 + 2 * len(outcomes))))
    with pytest.raises(lw.CertificateRejected, match="posteriors at most"):
        replace(real, cases=(wide,), outcomes=outcomes, proofs=(tree,)).verify()
    classes = [k for k in range(2) for _ in range(200)]
    many = replace(case, letter=tuple(classes), datasets=(1,) * 400, rows=(wide.rows[0],) * 400)
    with pytest.raises(lw.CertificateRejected, match="too many outcomes"):
        replace(real, cases=(many,), outcomes=outcomes, proofs=(None,)).verify()
