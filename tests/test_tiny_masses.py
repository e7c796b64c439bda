"""Probabilities below the least float: what every result says of them, without an error and without a warning."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import leakwise as lw

TINY = Fraction(1, 10**400)
PRIOR = lw.Prior({"a": TINY, "b": 1 - TINY})
IDENTITY = lw.identity(["a", "b"])


def shown(result) -> str:
    """Everything by which a result shows itself."""
    words = [repr(result)]
    for name in ("_repr_html_", "to_dict", "chart", "summary"):
        if hasattr(result, name):
            words.append(str(getattr(result, name)()))
    return "\n".join(words)


@pytest.mark.parametrize(
    "result",
    [
        lambda: PRIOR,
        lambda: lw.certify(IDENTITY, PRIOR),
        lambda: lw.audit(IDENTITY, PRIOR),
        lambda: lw.design(PRIOR, lift=2),
        lambda: lw.design(PRIOR, epsilon=1000),
        lambda: lw.envelope(IDENTITY, PRIOR, 0.1),
        lambda: lw.protect({"s": ["a", "b"] * 5}, "s", prior=PRIOR, mechanism=IDENTITY, allow_certainty=True),
        lambda: lw.tradeoff(PRIOR, [0.5]),
    ],
    ids=["prior", "certificate", "audit", "design", "large design", "envelope", "protection", "tradeoff"],
)
def test_results_show_themselves(result):
    assert shown(result())


def test_a_certificate_of_a_lift_beyond_floats():
    certificate = lw.certify(IDENTITY, PRIOR)
    assert certificate.holds
    assert certificate.largest_lift == float("inf")
    assert certificate.epsilon_upper == pytest.approx(921.034, abs=1e-3)
    assert "1e400" in certificate.sentence


def test_an_entry_of_the_ledger(tmp_path):
    ledger = lw.Ledger(tmp_path / "l.db")
    number = ledger.reserve("d", ("s",), lw.certify(IDENTITY, PRIOR))
    ledger.confirm(number)
    assert shown(ledger.entries()[0])
    assert shown(ledger.total("d", ("s",)))
    assert shown(ledger)


def test_reports_and_files(tmp_path):
    r = lw.protect({"s": ["a", "b"] * 5}, "s", prior=PRIOR, mechanism=IDENTITY, allow_certainty=True)
    assert "1e400" in r.report(tmp_path / "r.html").read_text()
    assert r.report(tmp_path / "r.json").is_file()
    r.certificate.save(tmp_path / "c.json")
    assert lw.verify(tmp_path / "c.json").ratio == 10**400


@pytest.mark.parametrize("digits", [300, 310, 400])
@pytest.mark.parametrize("utility", ["mutual_information", "chi_square", "frequencies"])
def test_a_design_that_floats_cannot_weigh_claims_nothing(digits, utility):
    mass = Fraction(1, 10**digits)
    found = lw.design(lw.Prior({"a": mass, "b": 1 - mass}), epsilon=2000, utility=utility)
    assert found.certificate.verify().holds
    assert found.value <= found.bound  # false for NaN
    assert shown(found)


@pytest.mark.parametrize("digits", [100, 200, 310, 400])
def test_informations_of_tiny_masses_are_never_below_the_truth(digits):
    mass = Fraction(1, 10**digits)
    prior = lw.Prior({"a": mass, "b": 1 - mass})
    assert lw.measures.f_information(IDENTITY, prior, "chi_square") == pytest.approx(1)  # Σ p_ii² π_i / q_i - 1
    for name in ("mutual_information", "total_variation", "hellinger"):
        assert 0 < lw.measures.f_information(IDENTITY, prior, name) < 1e-12
    with np.errstate(over="ignore"):
        assert lw.measures.f_information(IDENTITY, prior, lambda x: (x - 1) ** 4) > 1


@pytest.mark.parametrize("seed", [129, 237, 448])
def test_designs_beside_tiny_masses_close_their_gap(seed):
    # Columns as rare as the values are rounded more than others: mixed with the constant column they lost 1e-6.
    generator = np.random.default_rng(seed)
    letters = int(generator.integers(3, 11))
    masses = generator.dirichlet(np.ones(letters))
    rare = int(generator.integers(1, max(2, letters - 1)))
    masses[generator.choice(letters, rare, replace=False)] = 1e-8 * generator.uniform(0.1, 10, rare)
    found = lw.design(lw.Prior(masses / masses.sum()), lift=2, utility="hellinger")
    assert found.gap < 3e-9
    assert found.certificate.verify().holds
