"""Families at a leakage and at a utility: the last ε that was seen to hold, and a word where they are not monotone."""

from __future__ import annotations

import functools
import math

import pytest

import leakwise as lw
from leakwise.optimize.comparison.families import Family, at_leakage, at_utility, family_names, read_mechanisms

PRIOR = lw.Prior({"a": 0.5, "b": 0.3, "c": 0.2})


def _leakage(mechanism):
    return lw.epsilon(mechanism, PRIOR)


@pytest.mark.parametrize("name", family_names())
def test_every_family_of_the_catalog_reaches_the_limit_and_no_more(name):
    family = read_mechanisms([name], PRIOR.alphabet)[name]
    for limit in (0.1, 0.6, 1.2):
        found = at_leakage(family, _leakage, limit, limit)
        assert _leakage(found.mechanism) <= limit
        assert found.mechanism == family(found.parameter)
        if found.remark is None:  # one step further there is more than that
            assert _leakage(family(found.parameter * (1 + 1e-6))) > limit


def test_the_least_epsilon_for_a_utility_reaches_it_and_less_does_not():
    family = read_mechanisms([lw.randomized_response], PRIOR.alphabet)["randomized_response"]

    def worth(mechanism):
        return lw.utility(mechanism, PRIOR, "frequencies")

    found = at_utility(family, worth, -6.0)
    assert worth(found.mechanism) >= -6.0 > worth(family(found.parameter * (1 - 1e-6)))
    assert at_utility(family, worth, -0.1) is None  # the frequencies themselves vary more


def test_where_nothing_is_required_nothing_is_leaked():
    family = read_mechanisms(["randomized_response"], PRIOR.alphabet)["randomized_response"]
    found = at_utility(family, lambda made: lw.utility(made, PRIOR), 0.0)
    assert found.parameter == 0.0


def test_a_limit_of_zero_and_one_beyond_every_lift():
    family = read_mechanisms(["randomized_response"], PRIOR.alphabet)["randomized_response"]
    assert _leakage(at_leakage(family, _leakage, 0.0, 0.0).mechanism) == 0.0
    assert _leakage(at_leakage(family, _leakage, 5.0, math.inf).mechanism) == pytest.approx(math.log(5))


def test_a_leakage_that_falls_is_said_and_the_limit_kept():
    def strange(epsilon):  # between 1 and 2 it tells as little as at 0
        return lw.randomized_response(list("abc"), epsilon=0.0 if 1 < epsilon < 2 else epsilon)

    found = at_leakage(Family("strange", strange), _leakage, 0.3, 0.3)
    assert _leakage(found.mechanism) <= 0.3
    assert "another one" in found.remark
    found = at_utility(Family("strange", strange), lambda made: lw.utility(made, PRIOR), 0.02)
    assert lw.utility(found.mechanism, PRIOR) >= 0.02


def test_a_family_that_leaks_at_zero_is_refused():
    family = Family("open", lambda epsilon: lw.identity(list("abc")))
    with pytest.raises(lw.InvalidInput, match=r"mechanisms\['open'\] leaks more than the limit at epsilon=0"):
        at_leakage(family, _leakage, 0.5, 0.5)


def test_families_are_given_in_many_ways():
    partly = functools.partial(lw.catalog.optimized_local_hashing, hashes=3)
    given = {
        "name": "randomized-response",
        "of values": lw.randomized_response,
        "of epsilon": lambda epsilon: lw.randomized_response(list("abc"), epsilon),
        "partly": partly,
    }
    found = read_mechanisms(given, PRIOR.alphabet)
    assert [family(1.0).inputs for family in found.values()] == [("a", "b", "c")] * 4
    assert found["name"](1.0) == found["of values"](1.0) == found["of epsilon"](1.0)
    assert list(read_mechanisms(lw.randomized_response, PRIOR.alphabet)) == ["randomized_response"]
    assert list(read_mechanisms([lw.constant(3)], PRIOR.alphabet)) == ["mechanism 1"]


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (["randomised_response"], "Did you mean 'randomized_response'"),
        (["shuffled_randomized_response"], "not a mechanism of the catalog that takes values and ε alone"),
        ({"mine": 3}, r"mechanisms\['mine'\] must be a lw.Mechanism"),
        (7, "must map names"),
        (["subset_selection", "subset-selection"], "twice"),
    ],
)
def test_what_is_no_mechanism_is_named(given, words):
    with pytest.raises(lw.InvalidInput, match=words):
        read_mechanisms(given, PRIOR.alphabet)


def test_a_function_that_gives_no_mechanism_is_named():
    with pytest.raises(lw.InvalidInput, match=r"mechanisms\['f'\] must give a lw.Mechanism for every epsilon"):
        Family("f", lambda epsilon: epsilon)(1.0)
