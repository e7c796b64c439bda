"""Designs under an envelope (ε, δ), against a grid of mechanisms, other solvers, and the envelope that they have."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import leakwise as lw
from leakwise.errors import CertificateRejected, InvalidInput, LeakwiseWarning
from leakwise.exact import level
from leakwise.optimize.pricing.vertex_list import polytope_vertices
from leakwise.optimize.problem.cones import pml_cone
from leakwise.optimize.problem.utilities import as_utility
from leakwise.optimize.search.any_cone import search_vertices
from leakwise.optimize.search.limits import Limits
from leakwise.optimize.totals.envelope_cone import EnvelopeTotal
from leakwise.optimize.totals.envelope_search import _Weights
from leakwise.optimize.totals.utility import paying

THREE = [0.5, 0.3, 0.2]
INFORMATION = as_utility("mutual_information")


def information(p, rows):
    law = np.einsum("i,nij->nj", p, rows)
    with np.errstate(all="ignore"):
        terms = np.where(rows > 0, rows * np.log(rows / law[:, None, :]), 0.0)
    return np.einsum("i,nij->n", p, terms)


@pytest.mark.parametrize(("p", "most"), [([0.9, 0.1], (0, 5 / 7)), ([0.5, 0.5], (5 / 7, 5 / 7))])
def test_two_values_on_a_grid_of_mechanisms_with_three_outcomes(p, most):
    p, t, delta = np.array(p), 1.5, 0.3
    steps = np.arange(17) / 16
    rows = np.array([(a, b, 1 - a - b) for a in steps for b in steps if a + b <= 1 + 1e-12]).clip(0)
    places = np.stack(np.triu_indices(len(rows)))  # columns may be named in any order
    mechanisms = np.concatenate([rows[places.T], rows[places[::-1].T]])
    law = np.einsum("i,nij->nj", p, mechanisms)
    lifts = mechanisms / np.where(law > 0, law, 1.0)[:, None, :]
    proven = np.zeros(len(mechanisms), dtype=bool)
    for first in np.linspace(0, most[0], 12) if most[0] else [0.0]:
        for second in np.linspace(0, most[1], 12):
            # The dual function of the envelope at v = 1/w, from its definition; at w = 0 no lift may be above t.
            heights, fits = np.zeros_like(law), np.ones(len(law), dtype=bool)
            for letter, weight in enumerate((first, second)):
                if weight:
                    heights = np.maximum(heights, 1 + (lifts[:, letter] - t) / weight)
                else:
                    fits &= (lifts[:, letter] <= t).all(axis=1)
            proven |= fits & (np.einsum("nj,nj->n", law, heights) <= delta)
    best = float(information(p, mechanisms[proven]).max())
    d = lw.design(p, lift=t, delta=delta, tolerance=1e-4)
    assert best > lw.design(p, lift=t).value  # the grid has mechanisms that a limit on each outcome excludes
    assert best <= d.value <= d.bound
    assert d.gap <= 1.1e-4


@pytest.mark.parametrize("utility", ["mutual_information", "total_variation", "guessing"])
@pytest.mark.parametrize("prior", [[0.5, 0.5], [0.9, 0.1], THREE])
def test_what_survives_post_processing_is_within_the_limit(prior, utility):
    pure = lw.design(prior, lift=1.1, utility=utility)
    d = lw.design(prior, lift=1.1, delta=0.2, utility=utility)
    assert math.exp(lw.envelope(d.mechanism, prior, 0.2).epsilon) <= 1.1 + 1e-9
    assert pure.value <= d.value + 1e-9
    assert d.value <= d.bound <= d.value * (1 + 2e-5)
    assert d.certificate.verify().holds
    assert "after any post-processing" in d.constraint
    assert lw.maximal_leakage(d.mechanism) <= math.log(1 + 0.1 / 0.8) + 1e-9


def test_every_column_of_given_weights_is_listed():
    generator = np.random.default_rng(4)
    prior = lw.Prior(THREE)
    inner = pml_cone(prior, 1 / min(prior.fractions))
    for _ in range(6):
        problem = _Weights(inner, 1.25, 0.25, INFORMATION)
        weights, solved = problem.at(generator.random(3) * problem.most)
        cone = EnvelopeTotal(inner, Fraction(5, 4), Fraction(1, 4), [Fraction(w) for w in weights.tolist()])
        vertices = polytope_vertices(cone.prior.probabilities, cone.facets())
        listed = search_vertices(cone, paying(INFORMATION, prior), vertices, Limits())
        value = float(listed.weights @ INFORMATION.columns_worth(listed.lifts[:-1], prior))
        assert solved.value == pytest.approx(value, abs=1e-9)
        low, high = weights * generator.random(3), weights + (problem.most - weights) * generator.random(3)
        assert problem.within(low, high)[0] >= solved.value


def test_the_ends_of_the_range():
    prior = lw.Prior(THREE)
    pure = lw.design(prior, lift=1.3)
    assert lw.design(prior, lift=1.3, delta=0).mechanism == pure.mechanism
    assert lw.design(prior, lift=1.3, delta=1e-3, tolerance=1e-4).value == pytest.approx(pure.value, rel=1e-6)
    whole = lw.design(prior, lift=5, delta=0.1)
    assert whole.value == pytest.approx(lw.design(prior, lift=5).value, abs=1e-10)
    assert lw.design(prior, lift=1, delta=0.1).certificate.ratio == 1
    by_delta = [lw.design(prior, lift=1.1, delta=delta, tolerance=1e-4).value for delta in (0.15, 0.2, 0.3)]
    assert by_delta == sorted(by_delta)
    by_lift = [lw.design(prior, lift=lift, delta=0.2).value for lift in (1.05, 1.1)]
    assert by_lift == sorted(by_lift)


def test_a_value_of_probability_zero_is_left_out():
    d = lw.design({"a": 0.7, "never": 0.0, "b": 0.3}, lift=1.1, delta=0.2)
    assert d.value == pytest.approx(lw.design([0.7, 0.3], lift=1.1, delta=0.2).value, rel=1e-6)
    assert d.certificate.dual[1] == 0
    assert d.certificate.verify().holds


def test_many_values_have_a_bound_all_the_same():
    p = np.random.default_rng(7).dirichlet(np.ones(13))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LeakwiseWarning)
        d = lw.design(p, lift=1.5, delta=0.05)
    assert lw.design(p, lift=1.5).value - 1e-9 <= d.value <= d.bound
    assert d.bound <= math.log(1 + 0.5 / 0.95) + 1e-9
    assert d.certificate.verify().holds


def test_forged_certificates_are_refused(tmp_path):
    d = lw.design([0.7, 0.3], lift=1.1, delta=0.2)
    path = tmp_path / "proof.json"
    d.certificate.save(path)
    loaded = lw.verify(path)
    assert loaded.dual == d.certificate.dual
    assert "except with probability at most 0.2" in loaded.sentence
    asked = d.certificate.further
    forged = [
        replace(d.certificate, dual=tuple(2 * value for value in d.certificate.dual)),
        replace(d.certificate, dual=tuple(-value for value in d.certificate.dual)),
        replace(d.certificate, dual=()),
        replace(d.certificate, dual=d.certificate.dual[:1]),
        replace(d.certificate, further=replace(asked, envelope=(level(lift=Fraction(109, 100)), Fraction(1, 5)))),
        replace(d.certificate, further=replace(asked, envelope=(level(lift=Fraction(11, 10)), Fraction(19, 100)))),
    ]
    for one in forged:
        with pytest.raises(CertificateRejected):
            one.verify()
    forged[0].save(path)
    with pytest.raises(CertificateRejected, match="nothing is proven"):
        lw.verify(path)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"delta": 0.1}, "goes with epsilon= or lift="),
        ({"lift": 2, "delta": 1}, "below 1"),
        ({"lift": 2, "delta": -0.1}, "at least 0"),
        ({"lift": 2, "delta": 0.1, "anyone": 20}, "further limits"),
        ({"lift": 2, "delta": 0.1, "maximal_leakage": 0.3}, "Give one of them"),
        ({"lift": 2, "delta": 0.1, "utility": "frequencies"}, "frequencies"),
        ({"lift": 2, "delta": 0.1, "method": "enumeration"}, "enumeration"),
    ],
)
def test_what_it_does_not_go_with(asked, said):
    with pytest.raises(InvalidInput, match=said):
        lw.design(THREE, **asked)
