"""Weights that add up to one: near the given ones, and found without an information matrix for each step."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest

import leakwise as lw
from leakwise.optimize.pricing.balanced_sets import balanced_sets, set_columns
from leakwise.optimize.problem.cones import pml_cone
from leakwise.optimize.search.frequencies import weights as module


def test_two_information_matrices_are_enough_for_weights_to_add_up(monkeypatch):
    generator = np.random.default_rng(0)
    prior = lw.Prior(generator.dirichlet(np.ones(30)))
    columns = set_columns(pml_cone(prior, Fraction(2)), balanced_sets(30, 0.5, 240, generator), generator)
    given = np.exp(0.2 * generator.standard_normal(columns.shape[1])) / columns.shape[1]
    formed = []
    plain = module.information
    monkeypatch.setattr(module, "information", lambda *parts: formed.append(1) or plain(*parts))
    found, miss = module.adding_up(columns, given)
    assert len(formed) <= 2  # not one for each step
    assert miss < 1e-12
    assert columns @ found == pytest.approx(np.ones(30), abs=1e-12)
    assert (found > 0).all()
    # Closest in relative entropy: each is changed by a factor whose logarithm is linear in its column.
    change = np.log(found / given)
    assert np.linalg.lstsq(columns.T, change, rcond=None)[1] == pytest.approx(0, abs=1e-6)


def test_columns_that_cannot_tell_all_letters_apart_add_up_as_well():
    columns = np.array([[1.5, 0.5], [1.5, 0.5], [0.0, 2.0]])
    found, miss = module.adding_up(columns, np.array([0.7, 0.2]))
    assert miss < 1e-9
    assert found == pytest.approx([0.5, 0.5])
