"""A count of records as a mechanism on one of them: against every dataset, the linear program, and its own proof."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.aggregate.brute import lifts, released

import leakwise as lw
from leakwise.aggregate.side import Side, proven_lift

count = lw.aggregate.count
BINARY = {0: (0,), 1: (1,)}


@pytest.mark.parametrize("m", [1, 2, 5])
@pytest.mark.parametrize("noise", [None, 0.7])
def test_lifts_are_those_of_every_dataset(m: int, noise: float | None) -> None:
    """Also far beyond 0 … m, where all lifts are those of the ends: clamping changes nothing."""
    p = Fraction(3, 10)
    found = count(unknown=m, prior=p, noise=noise)
    truth = lifts({0: 1 - p, 1: p}, released({0: 1 - p, 1: p}, BINARY, m, found.ratio, 3))
    assert found.largest == max(truth.values())
    for (y,), lift in truth.items():
        told = found.pml[min(max(y, 0), m)]
        assert math.log(lift) <= told + 1e-15
        assert told <= math.log(lift) + 1e-12
    exact = lw.pml(found.mechanism, found.prior)
    assert np.abs(exact - found.pml).max() < 1e-12
    assert lw.epsilon(found.mechanism, found.prior) == found.epsilon


def test_the_largest_lift_is_that_of_the_tail_for_every_m() -> None:
    """log(e^ε/(1-p+pe^ε)), 0.584 at p = 0.3 and ε = 1; merged tails would say less."""
    for m in (1, 10, 1000, 10**6):
        assert count(unknown=m, prior=0.3, noise=1).epsilon == pytest.approx(math.log(math.e / (0.7 + 0.3 * math.e)))
    assert count(unknown=1000, prior=0.3, noise=1).epsilon == pytest.approx(0.584, abs=5e-4)
    assert count(unknown=1000, prior=0.3, noise=1).epsilon < 1
    assert count(unknown=7, prior=0.9).lift == pytest.approx(10)


@settings(max_examples=25, deadline=None)
@given(
    m=st.integers(1, 14),
    p=st.fractions("1/50", "49/50", max_denominator=50),
    noise=st.none() | st.floats(0.05, 4),
    delta=st.fractions("1/1000", "9/10", max_denominator=1000),
)
def test_the_envelope_is_that_of_the_linear_program(m: int, p: Fraction, noise: float | None, delta: Fraction) -> None:
    found = count(unknown=m, prior=p, noise=noise)
    mine, general = found.envelope(delta), lw.envelope(found.mechanism, found.prior, delta)
    assert mine.epsilon == pytest.approx(general.epsilon, abs=1e-9)
    assert mine.attained <= general.epsilon + 1e-12
    assert general.attained <= mine.epsilon + 1e-12
    assert mine.gap < 1e-9


@pytest.mark.parametrize(
    ("m", "p", "noise", "delta"),
    [
        (2, 0.5120724871852653, 0.43450382342345745, 0.5212196755161387),  # the commoner value's lift jumps first
        (300, 6.208470657662784e-05, None, "1e-290"),  # rarer than floats can find
        (300, 6.208470657662784e-05, None, "1e-900"),
    ],
)
def test_cases_that_an_attack_found(m: int, p: float, noise: float | None, delta: object) -> None:
    found = count(unknown=m, prior=p, noise=noise).envelope(delta)
    assert found.gap < 1e-9
    assert found.epsilon < found.aggregate.epsilon


@pytest.mark.parametrize(("m", "noise"), [(1000, 1), (10**5, None), (10**5, 0.01), (10**6, 1)])
def test_large_counts_are_proven_to_the_last_digits(m: int, noise: float | None) -> None:
    found = count(unknown=m, prior=0.3, noise=noise).envelope(1e-6)
    assert found.gap < 1e-12
    assert found.certificate is not None
    found.certificate.verify()


def test_a_count_without_noise_against_the_normal_distribution() -> None:
    """The best event of probability δ is a tail: its lift is 1 + sqrt(q/(pm)) φ(z)/δ, up to terms of 1/m."""
    from statistics import NormalDist

    normal, m, p, delta = NormalDist(), 10**7, 0.3, 1e-3
    z = normal.inv_cdf(1 - delta)
    guess = 1 + math.sqrt((1 - p) / (p * m)) * normal.pdf(z) / delta
    assert count(unknown=m, prior=p).envelope(delta).lift - 1 == pytest.approx(guess - 1, rel=0.01)


def test_the_envelope_falls_with_m_and_with_delta() -> None:
    by_m = [count(unknown=m, prior=0.2, noise=1).envelope(1e-4).epsilon for m in (1, 3, 10, 100, 1000, 10**5)]
    assert by_m == sorted(by_m, reverse=True)
    assert by_m[0] > by_m[-1]
    some = count(unknown=50, prior=0.2, noise=1)
    by_delta = [some.envelope(delta).epsilon for delta in (0, "1e-300", 1e-250, 1e-30, 1e-6, 0.01, 0.5)]
    assert by_delta == sorted(by_delta, reverse=True)
    assert by_delta[0] == by_delta[1] == some.epsilon
    assert some.envelope(1e-250).epsilon == pytest.approx(some.epsilon)


def test_one_unknown_record_is_the_single_record() -> None:
    """m = 1 is two-sided geometric noise on one bit, whose mechanism the catalog has."""
    found = count(unknown=1, prior="0.3", noise=1)
    catalog = lw.truncated_geometric([0, 1], epsilon=1)
    assert np.abs(found.mechanism.matrix - catalog.matrix).max() < 1e-15
    assert found.epsilon == pytest.approx(lw.epsilon(catalog, [0.7, 0.3]), abs=1e-12)


# ------------------------------------------------------------------------------------------- priors in an interval


@settings(max_examples=8, deadline=None)
@given(
    m=st.integers(1, 40),
    ends=st.tuples(st.integers(0, 40), st.integers(0, 40)).map(sorted),
    inner=st.integers(0, 10),
    noise=st.none() | st.floats(0.1, 3),
    delta=st.sampled_from(["0.001", "0.05", "0.3"]),
)
def test_an_interval_bounds_every_prior_in_it(
    m: int, ends: list[int], inner: int, noise: float | None, delta: str
) -> None:
    low, high = (Fraction(end, 40) for end in ends)
    whole = count(unknown=m, prior=(low, high), noise=noise)
    inside = low + (high - low) * Fraction(inner, 10)
    single = count(unknown=m, prior=inside, noise=noise)
    assert single.lift <= whole.lift
    assert single.envelope(delta).attained <= whole.envelope(delta).epsilon + 1e-12


@pytest.mark.parametrize("ratio", [Fraction(0), Fraction(1, 2), Fraction(9, 10)])
def test_the_rarer_a_value_the_more_a_count_tells_about_it(ratio: Fraction) -> None:
    """The theorem behind intervals: the envelope of one value falls as its probability grows."""
    for m in (1, 2, 30):
        for delta in (Fraction(1, 1000), Fraction(1, 10), Fraction(1, 2)):
            lift = [proven_lift([Side(m, Fraction(p, 20), ratio, ratio)], delta)[0] for p in range(0, 21, 2)]
            assert None not in lift[1:]
            steps = [float(one) for one in lift if one is not None]
            assert all(a >= b - 1e-12 for a, b in itertools.pairwise(steps))


def test_an_interval_of_width_zero_is_its_point() -> None:
    for noise in (None, 1):
        point, pair = (count(unknown=30, prior=p, noise=noise) for p in (0.3, (0.3, 0.3)))
        assert point.lift == pair.lift
        assert point.envelope(0.01).epsilon == pair.envelope(0.01).epsilon


def test_an_interval_from_zero_has_no_bound_without_noise_or_delta() -> None:
    found = count(unknown=100, prior=(0, 0.4))
    assert found.lift == math.inf
    assert found.certificate is None
    assert "no bound" in repr(found)
    # With δ Markov's inequality is left: an event of probability δ has a lift of at most 1/δ.
    assert found.envelope(0.01).lift == pytest.approx(100, rel=0.02)
    assert count(unknown=100, prior=(0, 0.4), noise=1).lift == pytest.approx(math.e)


# -------------------------------------------------------------------------------------------------- the edges


@pytest.mark.parametrize("p", [0, 1])
def test_a_certain_record_is_no_secret(p: int) -> None:
    for noise in (None, 1):
        found = count(unknown=5, prior=p, noise=noise)
        assert found.lift == 1
        assert found.envelope(0.01).lift == 1
        assert found.pml.tolist() == [0.0] * 6
        assert found.certificate is not None


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"unknown": 0}, "from 1 to"),
        ({"unknown": 2.5}, "whole number"),
        ({"unknown": True}, "whole number"),
        ({"unknown": 10**12}, "from 1 to"),
        ({"prior": 1.2}, "between 0 and 1"),
        ({"prior": (0.4, 0.2)}, "lower and the upper"),
        ({"prior": (0.1, 0.2, 0.3)}, "two ends"),
        ({"noise": 0}, "above 0"),
        ({"noise": -1}, "above 0"),
        ({"noise": 1e-30}, "larger one"),
        ({"noise": float("nan")}, "finite"),
    ],
)
def test_wrong_arguments_are_named(arguments: dict[str, object], words: str) -> None:
    with pytest.raises(lw.InvalidInput, match=words):
        count(**{"unknown": 10, "prior": 0.3, "noise": 1, **arguments})  # type: ignore[arg-type]


def test_delta_is_a_probability() -> None:
    for wrong in (-0.1, 1, "2"):
        with pytest.raises(lw.InvalidInput, match="below 1"):
            count(unknown=10, prior=0.3).envelope(wrong)


def test_much_noise_and_next_to_none() -> None:
    loud = count(unknown=100, prior=0.3, noise=1e-9)
    assert loud.epsilon == pytest.approx(0.7e-9, rel=1e-6)
    assert loud.envelope(0.1).epsilon <= loud.epsilon
    quiet, silent = count(unknown=100, prior=0.3, noise=200), count(unknown=100, prior=0.3)
    assert quiet.envelope(0.01).epsilon == pytest.approx(silent.envelope(0.01).epsilon, abs=1e-9)


def test_too_large_a_matrix_is_refused_and_not_needed() -> None:
    found = count(unknown=10**6, prior=0.3, noise=1)
    with pytest.raises(lw.InvalidInput, match="need no matrix"):
        _ = found.mechanism
    assert found.pml.shape == (10**6 + 1,)
    assert found.pml.max() <= found.epsilon


# ---------------------------------------------------------------------------------------------------- drawing


def test_draws_have_the_distribution_of_the_mechanism() -> None:
    from leakwise.sampling import SecureStream

    found = count(unknown=4, prior=0.3, noise=1)
    with pytest.warns(lw.UnsafeSeedWarning):
        stream = SecureStream(unsafe_seed=7)
    drawn = np.array([found.sample(3, stream=stream) for _ in range(4000)])
    alpha = float(found.ratio)
    law = [alpha**3 / (1 + alpha)] + [(1 - alpha) / (1 + alpha) * alpha ** abs(y - 3) for y in (1, 2, 3)]
    law.append(1 - sum(law))
    expected = np.array(law) * len(drawn)
    seen = np.bincount(drawn, minlength=5)
    assert ((seen - expected) ** 2 / expected).sum() < 30
    assert found.with_noise(None).sample(3) == 3
    assert found.with_noise(None).sample(30, records=40) == 30
    assert {found.sample(40, records=40, stream=stream) for _ in range(50)} <= set(range(20, 41))
    with pytest.raises(lw.InvalidInput, match="at least the 4 unknown"):
        found.sample(1, records=3)
    with pytest.raises(lw.InvalidInput, match="4 records can add up to"):
        found.sample(5)


def test_outcomes_beyond_the_ends_come_only_without_clamping() -> None:
    loud = count(unknown=1, prior=0.3, noise=0.01)
    assert {loud.sample(1) for _ in range(50)} <= {0, 1}
    assert any(loud.sample(1, clamp=False) not in (0, 1) for _ in range(50))


def test_noise_that_would_take_for_ever_to_draw_is_refused() -> None:
    with pytest.raises(lw.InvalidInput, match="of an ε of at least 1e-08"):
        count(unknown=5, prior=0.3, noise=1e-12).sample(3)


def test_probabilities_below_all_floats() -> None:
    for p in (Fraction(1, 10**400), 1 - Fraction(1, 10**400)):
        silent = count(unknown=300, prior=p)
        assert silent.lift == math.inf
        assert silent.largest == 10**400
        assert silent.envelope(1e-6).lift == pytest.approx(1e6)
        assert silent.envelope("1e-500").epsilon == silent.epsilon == pytest.approx(400 * math.log(10))
        assert count(unknown=300, prior=p, noise=0.1).envelope("1e-500").lift == pytest.approx(math.exp(0.1))
        with pytest.raises(lw.InvalidInput, match="at least 1e-300"):
            silent.pml  # noqa: B018
