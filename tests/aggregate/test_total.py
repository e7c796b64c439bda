"""A total of numbers as a mechanism on one record."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from tests.aggregate.brute import lifts, released

import leakwise as lw

total = lw.aggregate.total
THREE = {0: Fraction(9, 20), 1: Fraction(1, 10), 2: Fraction(9, 20)}


@pytest.mark.parametrize("m", [1, 2, 4])
@pytest.mark.parametrize("noise", [None, 2.0])
def test_lifts_are_those_of_every_dataset(m: int, noise: float | None) -> None:
    found = total(unknown=m, prior=THREE, noise=noise)
    truth = lifts(THREE, released(THREE, {x: (x,) for x in THREE}, m, found.ratio, 3))
    assert found.largest == max(truth.values())
    told = dict(zip(found.mechanism.outputs, lw.pml(found.mechanism, found.prior), strict=True))
    for (y,), lift in truth.items():
        assert told[min(max(y, 0), 2 * m)] == pytest.approx(math.log(lift), abs=1e-12)


def test_a_single_record_is_only_an_upper_bound() -> None:
    """Three values, the one in the middle rare: 4.51 alone, 2.12 with twelve, which is what the tails tell."""
    by_m = [total(unknown=m, prior=THREE, noise=2) for m in (1, 2, 4, 12)]
    lift = [one.lift for one in by_m]
    assert lift == sorted(lift, reverse=True)
    assert lift[0] == pytest.approx(1 / (0.1 + 0.9 * math.exp(-2)))
    assert lift[0] == pytest.approx(4.51, abs=5e-3)
    assert lift[-1] == by_m[-1].tail == pytest.approx(2.12, abs=5e-3)


def test_zeros_and_ones_are_a_count() -> None:
    for noise in (None, 1.0):
        mine = total(unknown=8, prior={0: "0.7", 1: "0.3"}, noise=noise)
        count = lw.aggregate.count(unknown=8, prior="0.3", noise=noise)
        assert mine.largest == count.largest
        assert mine.envelope("0.02").epsilon == pytest.approx(count.envelope("0.02").epsilon, abs=1e-9)


def test_the_lattice_and_its_noise_follow_the_values() -> None:
    plain = total(unknown=3, prior={0: "0.5", 1: "0.25", 3: "0.25"}, noise=1)
    moved = total(unknown=3, prior={"-1": "0.5", "-0.5": "0.25", "0.5": "0.25"}, noise=2)
    assert moved.unit == Fraction(1, 2)
    assert (moved.lift, moved.anyone, moved.deviation) == (plain.lift, plain.anyone, plain.deviation / 2)
    assert moved.with_noise(None).sample("-1.5") == -1.5
    assert moved.sample("-1.5") in [-3 + step / 2 for step in range(10)]
    with pytest.raises(lw.InvalidInput, match="add up to"):
        moved.sample("-1.25")


def test_many_records_are_bounded_by_fewer_or_by_their_histogram() -> None:
    few, many = total(unknown=60, prior=THREE, noise=2), total(unknown=10**5, prior=THREE, noise=2)
    assert few.exact
    assert not many.exact
    assert many.tail <= many.lift <= few.lift
    found = many.envelope("0.01")
    assert found.epsilon < few.envelope("0.01").epsilon
    assert found.method == "an upper bound, from the histogram"
    assert found.certificate is not None
    found.certificate.verify()
    assert "(upper bound)" in repr(many)
    assert "tell no more" in repr(many)


def test_a_prior_that_was_counted_is_named_as_an_estimate() -> None:
    found = total(unknown=3, prior=lw.Prior.from_counts({0: 5, 1: 0, 4: 15}), noise=1)
    assert found.values == (0, 4)
    assert "an estimate from 20 rows" in found.sentence
    assert "an estimate from 20 rows" in found.envelope(0.01).sentence


def test_wrong_priors_are_named() -> None:
    with pytest.raises(lw.InvalidInput, match="must be a number"):
        total(unknown=3, prior={"a": 0.5, "b": 0.5})
    with pytest.raises(lw.InvalidInput, match="two numbers"):
        total(unknown=3, prior={0: 1, 1: 0})
    with pytest.raises(lw.InvalidInput, match="twice"):
        total(unknown=3, prior={"1": 0.5, "1.0": 0.5})
    with pytest.raises(lw.InvalidInput, match="too large"):
        total(unknown=3, prior={0: 0.5, 1: 0.25, 10**6: 0.25}).lift  # noqa: B018
    with pytest.raises(lw.InvalidInput, match="decimals as text"):
        total(unknown=3, prior={0.1: 0.5, 0.2: 0.25, 0.3: 0.25}).lift  # noqa: B018
    with pytest.raises(lw.InvalidInput, match="within 1e300"):
        total(unknown=3, prior={"1e400": 0.5, "2e400": 0.5})


def test_numbers_far_apart() -> None:
    """Nothing is raised to the power of a billion."""
    far = total(unknown=1, prior={0: 0.5, 1: 0.25, 10**9: 0.25}, noise=1e-9)
    assert far.anyone == pytest.approx(math.e)
    assert far.anyone >= math.exp(-1e9 * math.log1p(-float(1 - far.ratio))) * (1 - 1e-12)
    assert far.with_noise(1).anyone == math.inf
    with pytest.raises(lw.InvalidInput, match="too large"):
        far.tail  # noqa: B018
    for noise in (None, 1):
        with pytest.raises(lw.InvalidInput, match="at most 2\\^62 steps"):
            total(unknown=3, prior={0: 0.5, 1: 0.25, 2**70: 0.25}, noise=noise).sample(2**70)


def test_a_delta_that_no_float_holds() -> None:
    found = total(unknown=4, prior=THREE, noise=1)
    envelope = found.envelope("1e-1000")
    assert (envelope.lift, envelope.attained) == (found.lift, 0)
    assert envelope.certificate is not None
    envelope.certificate.verify()
