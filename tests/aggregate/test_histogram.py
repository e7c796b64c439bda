"""A histogram of records as a mechanism on one of them."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from tests.aggregate.brute import lifts, released

import leakwise as lw
from leakwise.proof import AggregateCertificate, EnvelopeCertificate

histogram = lw.aggregate.histogram
PRIOR = {"a": Fraction(1, 2), "b": Fraction(3, 10), "c": Fraction(1, 5)}
CELLS = {"a": (1, 0, 0), "b": (0, 1, 0), "c": (0, 0, 1)}


@pytest.mark.parametrize("m", [1, 2])
@pytest.mark.parametrize("noise", [None, 1.0])
def test_lifts_are_those_of_every_dataset(m: int, noise: float | None) -> None:
    found = histogram(unknown=m, prior=PRIOR, noise=noise)
    truth = lifts(PRIOR, released(PRIOR, CELLS, m, found.ratio, 1))
    assert found.largest == max(truth.values())
    told = dict(zip(found.mechanism.outputs, lw.pml(found.mechanism, found.prior), strict=True))
    for y, lift in truth.items():
        clamped = tuple(min(max(cell, 0), m) for cell in y)
        assert told[clamped] == pytest.approx(math.log(lift), abs=1e-12)
    assert lw.epsilon(found.mechanism, found.prior) == found.epsilon


def test_a_record_moves_two_cells() -> None:
    found = histogram(unknown=50, prior=PRIOR, noise=1)
    t = math.exp(2)
    assert found.anyone == pytest.approx(t)
    assert found.lift == pytest.approx(t / (0.8 + 0.2 * t))
    assert histogram(unknown=50, prior=PRIOR).lift == pytest.approx(5)


@pytest.mark.parametrize("noise", [None, 1.0])
def test_small_histograms_are_exact_and_the_bound_for_large_ones_is_above(noise: float | None) -> None:
    found = histogram(unknown=5, prior=PRIOR, noise=noise)
    exact = found.envelope("0.05")
    assert isinstance(exact.certificate, EnvelopeCertificate)
    assert exact.epsilon == lw.envelope(found.mechanism, found.prior, "0.05").epsilon
    from leakwise.aggregate.envelope import by_thresholds

    bound, proof, _ = by_thresholds(found, [found._least], Fraction(1, 20), Fraction(0))
    assert bound is not None
    assert proof is not None
    assert math.log(bound) >= exact.attained
    proof.verify()


def test_large_histograms_have_a_bound_near_what_one_cell_tells() -> None:
    found = histogram(unknown=10**5, prior=PRIOR, noise=1).envelope(1e-6)
    assert isinstance(found.certificate, AggregateCertificate)
    assert found.attained < found.epsilon < 1.001 * found.attained
    assert found.method == "thresholds on the cells"
    assert found.epsilon < histogram(unknown=10**3, prior=PRIOR, noise=1).envelope(1e-6).epsilon


def test_two_cells_tell_what_their_count_tells() -> None:
    """Without noise one cell determines the other."""
    two, one = histogram(unknown=9, prior=[0.7, 0.3]), lw.aggregate.count(unknown=9, prior=0.3)
    assert two.envelope(0.01).epsilon == pytest.approx(one.envelope(0.01).epsilon, abs=1e-12)


def test_a_set_of_priors_counts_the_least_probability_of_each_value() -> None:
    prior = lw.Prior(PRIOR)
    ball = histogram(unknown=10**4, prior=prior.ball("0.1"), noise=1)
    member = histogram(unknown=10**4, prior={"a": "0.55", "b": "0.3", "c": "0.15"}, noise=1)
    assert ball.lift == member.lift > histogram(unknown=10**4, prior=prior, noise=1).lift
    assert ball.envelope(1e-6).epsilon >= member.envelope(1e-6).epsilon
    assert "with probabilities of at least 0.45, 0.25, 0.15, and all but 10,000" in ball.sentence
    with pytest.raises(lw.InvalidInput, match="one prior"):
        _ = ball.mechanism


def test_a_sample_is_named_with_its_failure_probability() -> None:
    counted = lw.Prior.from_counts({"a": 500, "b": 300, "c": 200})
    for known, words in ((counted.confidence(1e-6), "1e-6"), (counted, "an estimate from 1,000 rows")):
        for made in (histogram(unknown=9, prior=known, noise=1), histogram(unknown=9, prior=known).noise_for(lift=2)):
            assert words in made.sentence
        assert words in histogram(unknown=10**5, prior=known, noise=1).envelope(1e-3).sentence


def test_values_without_probability_are_outside_the_support() -> None:
    found = histogram(unknown=3, prior=["0.5", "0.5", 0], noise=1)
    assert found.lift == histogram(unknown=3, prior=["0.5", "0.5"], noise=1).lift
    assert found.lift == pytest.approx(math.exp(lw.epsilon(found.mechanism, found.prior)))
    assert histogram(unknown=3, prior=[1, 0]).lift == 1
    with pytest.raises(lw.InvalidInput, match="two values"):
        histogram(unknown=3, prior=[1])


def test_draws_keep_to_the_cells() -> None:
    found = histogram(unknown=4, prior=PRIOR, noise=0.5)
    drawn = [found.sample([1, 3, 0]) for _ in range(50)]
    assert all(len(one) == 3 and min(one) >= 0 and max(one) <= 4 for one in drawn)
    assert found.with_noise(None).sample([1, 3, 0]) == [1, 3, 0]
    for wrong in ([1, 3, 1], [1, 3], [5, -1, 0], [1.0, 3.0, 0.0]):
        with pytest.raises(lw.InvalidInput, match="whole numbers"):
            found.sample(wrong)


def test_many_values_of_few_records_are_written_out() -> None:
    """Without noise the outcomes are few; a table with an axis for each value would have 3^24 places."""
    for m, cells in ((1, 70), (2, 24)):
        found = histogram(unknown=m, prior=lw.Prior.uniform(cells))
        assert found.mechanism.shape == (cells, math.comb(m + cells - 1, cells - 1))
        assert found.envelope(1e-6).lift == pytest.approx(cells)


def test_counts_do_not_wrap_around() -> None:
    """The sum of these is 2 in 64 bits."""
    found = histogram(unknown=2, prior=lw.Prior.uniform(4))
    for kind in (np.int64, np.uint64):
        with pytest.raises(lw.InvalidInput, match="whole numbers"):
            found.sample(np.array([2**62, 2**62, 2**62, 2**62 + 2], dtype=kind))
        assert found.sample(np.array([1, 0, 1, 0], dtype=kind)) == [1, 0, 1, 0]
    with pytest.raises(lw.InvalidInput, match="whole numbers"):
        found.sample([True, 1, 0, 0])


def test_a_delta_that_no_float_holds() -> None:
    for found in (histogram(unknown=3, prior=PRIOR, noise=1), histogram(unknown=3, prior=PRIOR)):
        envelope = found.envelope("1e-1000")
        assert envelope.lift <= found.lift
        assert envelope.certificate is not None
        envelope.certificate.verify()
