"""Certificates of envelopes: what is true passes, what is not is rejected, and files keep them."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import leakwise as lw
from leakwise.mechanism import CommonLawKernel, DenseKernel, Mechanism
from leakwise.proof.envelope import EnvelopeCertificate, load_envelope_certificate
from strategies import Matrix, common_laws, laws, matrices

EXAMPLE_1 = [[0, 0, "0.5", "0.5"], [0, 0, "0.5", "0.5"], [0, "0.2", "0.4", "0.4"], ["0.2", 0, "0.4", "0.4"]]


def by_definition(matrix: Matrix, prior: list[Fraction], lift: Fraction, dual: list[Fraction]) -> Fraction:
    q = [sum((p * row[j] for p, row in zip(prior, matrix, strict=True)), Fraction(0)) for j in range(len(matrix[0]))]
    rows = [
        (row, v)
        for p, row, v in zip(prior, matrix, dual, strict=True)
        if p and any(weight > lift * mass for weight, mass in zip(row, q, strict=True))
    ]
    return sum(
        (max([Fraction(0), *(q[j] + v * (row[j] - lift * q[j]) for row, v in rows)]) for j in range(len(q))),
        Fraction(0),
    )


@given(matrices(), st.data())
def test_bound_is_the_dual_function(matrix: Matrix, data: st.DataObject) -> None:
    prior = data.draw(laws(len(matrix)))
    lift = data.draw(st.fractions(1, 6, max_denominator=12))
    dual = data.draw(st.lists(st.fractions(0, 5, max_denominator=9), min_size=len(prior), max_size=len(prior)))
    found = EnvelopeCertificate(Mechanism(matrix), lw.Prior(prior), lift, Fraction(1, 2), tuple(dual)).bound()
    assert found == by_definition(matrix, prior, lift, dual)
    # Weak duality: no post-processing fails more often than any dual vector says.
    assert min(Fraction(1), found) >= Fraction(
        lw.measures.tail_probability(Mechanism(matrix), lw.Prior(prior), lift=lift)
    ) - Fraction(1, 10**15)


@given(common_laws(), st.data())
def test_structured_kernels_are_checked_alike(kernel: tuple[list[int], int], data: st.DataObject) -> None:
    import numpy as np

    common, denominator = kernel
    structured = CommonLawKernel(np.array(common, dtype=object), denominator)
    dense = DenseKernel(structured.weights, denominator)
    prior = lw.Prior(data.draw(laws(len(common))))
    lift = data.draw(st.fractions(1, 6, max_denominator=12))
    dual = tuple(data.draw(st.lists(st.fractions(0, 5, max_denominator=9), min_size=len(common), max_size=len(common))))
    bounds = [
        EnvelopeCertificate(Mechanism.from_kernel(one), prior, lift, Fraction(1, 2), dual).bound()
        for one in (structured, dense)
    ]
    assert bounds[0] == bounds[1]


def test_a_smaller_claim_is_rejected() -> None:
    found = lw.envelope(lw.Mechanism(EXAMPLE_1), lw.Prior.uniform(4), "0.2").certificate
    assert found.verify() is found
    for wrong in (
        replace(found, delta=found.delta - Fraction(1, 10**12)),
        replace(found, lift=found.lift - Fraction(1, 10**12)),
        replace(found, dual=tuple(value * 2 for value in found.dual)),
        replace(found, dual=tuple(Fraction(0) for _ in found.dual)),
        replace(found, dual=found.dual[:-1]),
        replace(found, dual=tuple(-value for value in found.dual)),
        replace(found, lift=Fraction(1, 2)),
    ):
        with pytest.raises(lw.CertificateRejected):
            wrong.verify()


def test_saved_and_read_again(tmp_path: Path) -> None:
    found = lw.envelope(lw.Mechanism(EXAMPLE_1), lw.Prior.uniform(4), "0.2").certificate
    found.save(tmp_path / "envelope.json")
    again = load_envelope_certificate(tmp_path / "envelope.json").verify()
    assert (again.lift, again.delta, again.dual) == (found.lift, found.delta, found.dual)
    assert again.epsilon_upper == found.epsilon_upper


def test_damaged_files_are_refused(tmp_path: Path) -> None:
    found = lw.envelope(lw.Mechanism(EXAMPLE_1), lw.Prior.uniform(4), "0.2").certificate
    replace(found, dual=found.dual[:-1]).save(tmp_path / "short.json")
    with pytest.raises(lw.InvalidInput, match="dual vector"):
        load_envelope_certificate(tmp_path / "short.json")
    text = tmp_path / "text.json"
    text.write_text("{}")
    with pytest.raises(lw.InvalidInput):
        load_envelope_certificate(text)


def test_a_set_of_priors_needs_a_large_enough_dual() -> None:
    m, ball = lw.Mechanism([["0.7", "0.3"], ["0.2", "0.8"]]), lw.Prior([0.4, 0.6]).ball(0.1)
    found = lw.envelope(m, ball, "0.9").certificate
    found.verify()
    with pytest.raises(lw.CertificateRejected, match="at least 1/lift"):
        replace(found, dual=tuple(value / 100 for value in found.dual)).verify()
    with pytest.raises(lw.InvalidInput, match="single prior"):
        found.save("nowhere.json")


def test_words() -> None:
    found = lw.envelope(lw.Mechanism(EXAMPLE_1), lw.Prior.uniform(4), "0.2").certificate
    assert "except with probability at most 0.2" in found.sentence
    assert "0.893818" in repr(found)
    assert "<table" in found._repr_html_()
    assert found.to_dict()["epsilon_upper"] == found.epsilon_upper
