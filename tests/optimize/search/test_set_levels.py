"""Robust designs of twenty values over Clopper-Pearson boxes and KL balls: gaps within 1%, proven, in seconds."""

from __future__ import annotations

import itertools
from fractions import Fraction

import numpy as np
import pytest

import leakwise as lw
from leakwise.optimize.problem.prior_set_cone import RobustCone
from leakwise.optimize.problem.utilities import as_utility
from leakwise.optimize.search import limits
from leakwise.optimize.search.limits import Limits
from leakwise.optimize.search.set_levels import has_levels, search_levels

GENERATOR = np.random.default_rng(1)
SAMPLE = lw.Prior.from_counts(GENERATOR.multinomial(10**5, GENERATOR.dirichlet(np.full(20, 2.0))))


@pytest.mark.parametrize(
    ("method", "lift", "least"), [("clopper-pearson", 4, 1.3125), ("kl", 1.5, 0.3829), ("kl", 4, 1.3313)]
)
def test_twenty_values_are_within_one_percent_of_the_optimum(method: str, lift: float, least: float) -> None:
    priors = SAMPLE.confidence(failure=1e-6, method=method)
    found = lw.design(priors, lift=lift)
    assert found.value > least
    assert found.gap <= 0.005 * found.value
    assert found.certificate.optimality is not None
    assert found.certificate.optimality.bound == found.bound
    assert lw.epsilon(found.mechanism, priors) <= np.log(lift)


def test_columns_of_a_box_are_inside_and_add_up() -> None:
    prior = lw.Prior.from_counts([50, 1, 9, 9, 8, 7, 6, 10])
    priors = prior.confidence(failure=0.1, method="clopper-pearson")
    cone = RobustCone(priors, Fraction(3))
    assert has_levels(cone)
    found = search_levels(cone, as_utility("mutual_information").f, Limits(1e-9))
    assert found.lifts @ found.weights == pytest.approx(np.ones(8), abs=1e-9)
    assert (found.lifts.max(axis=0) <= 3 * priors.least_mass(found.lifts) * (1 + 1e-9)).all()
    assert not has_levels(RobustCone(prior.ball(beta=0.1), Fraction(3)))


@pytest.mark.parametrize("method", ["clopper-pearson", "kl"])
def test_values_never_seen_do_not_loosen_the_bound_beyond_the_entropy(method: str) -> None:
    prior = lw.Prior.from_counts([0, 500, 400, 300, 300, 200, 200, 100])
    found = lw.design(prior.confidence(failure=1e-6, method=method), lift=1000)
    p = prior.probabilities[1:]
    assert found.bound <= -float(p @ np.log(p)) * (1 + 1e-6)


def test_little_time_is_shared_by_the_stages(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search that spent it all on its first columns would have none to make a mechanism of them."""
    ticks = itertools.count()
    monkeypatch.setattr(limits, "now", lambda: next(ticks) / 600)
    priors = SAMPLE.confidence(failure=1e-6, method="clopper-pearson")
    told: list[str] = []
    with pytest.warns(lw.LeakwiseWarning, match="proven gap"):
        found = lw.design(priors, lift=2, time_limit=0.5, progress=lambda stage, value, bound: told.append(stage))
    assert found.value > 0.3
    assert "upper bound" in told
