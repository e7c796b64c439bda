"""The privacy loss distribution for dp_accounting: equal to the privacy profile on its grid, and never below it."""

from __future__ import annotations

import math
import sys
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import leakwise as lw
from leakwise.errors import InvalidInput, MissingExtra

pld_module = pytest.importorskip(
    "dp_accounting.pld.privacy_loss_distribution",
    reason="dp-accounting is not installed (pip install leakwise[interop])",
)

profile = lw.measures.privacy_profile
ASKED = [0.0, 1e-6, 0.1, 0.3, 0.69, math.log(2), 1.0, math.log(3), 1.5, 3.0, 10.0, 50.0]


@st.composite
def mechanisms(draw: Any, values: int = 5, least: int = 2) -> lw.Mechanism:
    """Mechanisms with zeros, equal entries, and entries of very different sizes."""
    rows, columns = draw(st.integers(least, values)), draw(st.integers(1, 5))
    entry = st.one_of(st.just(0), st.integers(1, 6), st.sampled_from([1, 10**6, 10**12]))
    row = st.lists(entry, min_size=columns, max_size=columns).filter(any)
    return mechanism(draw(st.lists(row, min_size=rows, max_size=rows)))


def mechanism(weights: list[list[int]]) -> lw.Mechanism:
    return lw.Mechanism([[Fraction(weight, sum(row)) for weight in row] for row in weights])


# Nearly everything is told: their sums lose the last digit of what is infinite.
TOLD = mechanism([[1, 0, 10**12, 10**12], [10**6, 1, 1, 1], [10**6, 10**12, 3, 0]])


def brute(m: lw.Mechanism, t: Fraction) -> Fraction:
    """Max over ordered pairs of Σ (p - t p')₊, on fractions."""
    rows = [[Fraction(int(weight), m.denominator) for weight in row] for row in m.weights]
    return max(
        sum((max(Fraction(0), p - t * q) for p, q in zip(one, other, strict=True)), Fraction(0))
        for one in rows
        for other in rows
    )


@settings(max_examples=40)
@example(m=TOLD, asked=0.5, interval=0.37)
@given(m=mechanisms(), asked=st.floats(0, 30), interval=st.sampled_from([1e-4, 0.01, 0.37, math.log(3), 5.0]))
def test_it_is_never_below_the_profile(m: lw.Mechanism, asked: float, interval: float) -> None:
    pld, ours = m.to_pld(interval), profile(m)
    for epsilon in (asked, *ASKED):
        assert pld.get_delta_for_epsilon(epsilon) >= ours.delta(epsilon)  # which is rounded up itself
    # Also where they sum up all at once, which loses more digits.
    assert (pld.get_delta_for_epsilon(ASKED) >= [ours.delta(epsilon) for epsilon in ASKED]).all()
    lift = Fraction(3, 2)
    assert pld.get_delta_for_epsilon(math.nextafter(math.log(lift), 0)) >= brute(m, lift)


@settings(max_examples=40)
@given(m=mechanisms(), step=st.integers(0, 3000))
def test_it_is_the_profile_on_the_grid_and_near_it_elsewhere(m: lw.Mechanism, step: int) -> None:
    interval = 1e-3
    pld = m.to_pld(interval)
    assert pld.get_delta_for_epsilon(step * interval) == pytest.approx(profile(m).delta(step * interval), abs=1e-12)
    # Between two points it is below the line that connects them: within an eighth of the square of the interval.
    between = (step + 0.5) * interval
    assert pld.get_delta_for_epsilon(between) <= profile(m).delta(between) + interval
    for delta in (0.0, 1e-9, 0.01, 0.3):
        ours, theirs = lw.ldp(m, delta), pld.get_epsilon_for_delta(delta)
        assert ours - 1e-12 <= theirs <= ours + 2 * interval or ours == theirs == math.inf


@settings(max_examples=40)
@given(m=mechanisms(values=4))
def test_it_is_one_pair_of_distributions(m: lw.Mechanism) -> None:
    """Under P and under Q it sums to 1, so that composing it means something."""
    pmf = m.to_pld(0.01)._pmf_remove
    total = math.fsum([pmf._infinity_mass, *pmf._loss_probs.values()])
    assert total == pytest.approx(1, abs=1e-11)
    # Q is P with the losses turned round: what is missing there is where Q alone can be.
    under_q = math.fsum(p * math.exp(-place * 0.01) for place, p in pmf._loss_probs.items())
    assert under_q == pytest.approx(1 - pmf._infinity_mass, abs=1e-9)


@pytest.mark.parametrize("times", [2, 5, 30])
@pytest.mark.parametrize("flip", [Fraction(1, 4), Fraction(1, 100)])
def test_composed_it_is_the_exact_profile_of_binary_responses(flip: Fraction, times: int) -> None:
    m = lw.randomized_response(2, flip=flip)
    composed = m.to_pld(math.log((1 - flip) / flip) / 1000).self_compose(times)  # the loss is on the grid
    exact = profile(m.repeat(times))
    for epsilon in (0.0, 0.5, 1.0, 2.0, 4.0):
        theirs = composed.get_delta_for_epsilon(epsilon)
        assert theirs >= exact.delta(epsilon) - 1e-12  # their convolution is in floats
        assert theirs == pytest.approx(exact.delta(epsilon), abs=1e-9)


@settings(max_examples=40)
@given(one=mechanisms(values=3, least=3), other=mechanisms(values=3, least=3), times=st.integers(1, 2))
def test_composed_it_is_never_below_any_mechanisms_together(one: lw.Mechanism, other: lw.Mechanism, times: int) -> None:
    """Other pairs of values are the worst for other mechanisms; one pair dominates all of them."""
    # They cannot cut the tails of what tells nearly everything.
    composed = one.to_pld(0.05).self_compose(times, 0).compose(other.to_pld(0.05), 0)
    exact = profile(lw.compose(*[one] * times, other))
    for epsilon in (0.0, 0.4, 1.1, 3.0):
        assert composed.get_delta_for_epsilon(epsilon) >= exact.delta(epsilon) - 1e-12


def test_where_pairs_take_turns_no_single_pair_would_do() -> None:
    """The worst pair changes with ε: the distribution is above both, and equal to the larger one."""
    m = lw.Mechanism([["6/10", "3/10", "1/10"], ["3/10", "6/10", "1/10"], ["5/10", "49/100", "1/100"]])
    pairs = [profile(lw.Mechanism([m.matrix[a], m.matrix[b]])) for a, b in ((0, 1), (0, 2), (1, 2))]
    winners = {max(range(3), key=lambda n, e=e: pairs[n].delta(e)) for e in (0.0, 0.6, 1.5)}
    assert len(winners) > 1
    pld = m.to_pld(0.1)
    for step in range(20):
        assert pld.get_delta_for_epsilon(step / 10) == pytest.approx(max(p.delta(step / 10) for p in pairs), abs=1e-12)


def test_their_own_distribution_of_randomized_response_is_met() -> None:
    theirs = pld_module.from_randomized_response(0.4, 3)
    ours = lw.randomized_response(3, flip=Fraction(4, 15)).to_pld()
    for epsilon in (0.1, 0.5, 1.0, 1.5, 2.0):
        assert ours.get_delta_for_epsilon(epsilon) == pytest.approx(theirs.get_delta_for_epsilon(epsilon), abs=1e-4)
    together = ours.compose(pld_module.from_gaussian_mechanism(2.0, value_discretization_interval=1e-4))
    assert together.get_epsilon_for_delta(1e-5) > ours.get_epsilon_for_delta(1e-5)


def test_mechanisms_that_tell_nothing_and_everything() -> None:
    nothing, everything = lw.constant(3).to_pld(), lw.identity(3).to_pld()
    assert nothing.get_epsilon_for_delta(0) == nothing.get_delta_for_epsilon(0.0) == 0
    assert everything.get_delta_for_epsilon(100.0) == 1
    assert everything.get_epsilon_for_delta(0.999) == math.inf


def test_a_mechanism_too_large_for_exact_corners_is_sampled_from_above() -> None:
    random = np.random.default_rng(3)
    m = lw.Mechanism(random.dirichlet(np.ones(60), 60))
    assert not profile(m).exact
    pld = m.to_pld(0.01)
    for epsilon in (0.0, 0.05, 0.7, 2.0, 5.0, 9.0, 40.0):
        ours, theirs = profile(m).delta(epsilon), pld.get_delta_for_epsilon(epsilon)
        assert ours - 1e-13 <= theirs <= ours + 0.01  # ours is rounded up by more where floats must do


@pytest.mark.parametrize("interval", [0, -1e-4, math.inf, math.nan, "1e-4", True, 1000])
def test_an_interval_that_is_none_is_refused(interval: Any) -> None:
    with pytest.raises(InvalidInput, match=r"interval must be .*1e-4"):
        lw.identity(2).to_pld(interval)


def test_without_the_package_it_is_said_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith(("dp_accounting", "opendp"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    monkeypatch.setitem(sys.modules, "opendp", None)
    for asked in (lw.identity(2).to_pld, lw.identity(2).to_opendp, lambda: lw.Mechanism.from_opendp(None)):
        with pytest.raises(MissingExtra, match=r"leakwise\[interop\]"):
            asked()
