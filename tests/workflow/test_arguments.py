"""The arguments of a release that contradict each other, or that tell more than they seem to."""

from __future__ import annotations

import warnings

import pytest

import leakwise as lw
from leakwise.workflow.arguments import check_costs


def test_combinations_of_few_rows_that_use_their_own_frequencies_are_warned_of():
    with pytest.warns(lw.LeakwiseWarning, match=r"least_rows \(--least-rows\) is 5: .* tells of single persons"):
        assert check_costs("table", 5, None) is None


@pytest.mark.parametrize(("prior", "least", "cost"), [("table", 100, None), ("table", 5, "0.1"), (object(), 5, None)])
def test_enough_rows_noise_and_public_priors_are_not(prior, least, cost):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        check_costs(prior, least, cost)


@pytest.mark.parametrize("least", [0, -1, 2.5, True, "10"])
def test_a_number_of_rows_is_a_whole_one(least):
    with pytest.raises(lw.InvalidInput, match="least_rows"):
        check_costs("table", least, None)
