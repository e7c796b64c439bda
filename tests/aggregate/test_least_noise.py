"""The least noise for a limit, and whether an aggregate needs any."""

from __future__ import annotations

import math
import sys
from fractions import Fraction

import pytest

import leakwise as lw

count = lw.aggregate.count


def test_for_every_outcome_it_is_the_closed_form() -> None:
    """e^ε/(1-p+pe^ε) = t at e^ε = t(1-p)/(1-pt)."""
    for p, t in ((0.3, 1.5), (0.5, 1.2), (0.05, 3.0)):
        found = count(unknown=500, prior=p).noise_for(lift=t, within=1e-9)
        assert found.noise == pytest.approx(math.log(t * (1 - p) / (1 - p * t)), rel=1e-8)
        assert found.aggregate.lift <= t
        assert found.needed
        assert found.aggregate.anyone > t


def test_no_noise_is_needed_where_the_value_is_common_enough() -> None:
    found = count(unknown=5, prior=0.5).noise_for(lift=2)
    assert (found.noise, found.needed) == (None, False)
    assert "needs no noise" in repr(found)


def test_does_this_count_need_noise_at_all() -> None:
    """Ten thousand unknown records hide one, except once in a million times; eight hundred need a little noise."""
    many = count(unknown=10_000, prior=0.3).noise_for(lift=1.1, delta=1e-6)
    assert not many.needed
    assert many.certificate is not None
    many.certificate.verify()
    assert many.found.lift == pytest.approx(1.076, abs=1e-3)
    few = count(unknown=800, prior=0.3).noise_for(lift=1.1, delta=0.05, within=1e-3)
    assert few.noise is not None
    assert few.found.lift <= 1.1 < few.without.lift
    # A little less noise breaks the limit.
    assert few.aggregate.with_noise(few.noise * 1.003).envelope(0.05).lift > 1.1
    assert count(unknown=800, prior=0.3).noise_for(lift=1.1).noise < few.noise / 1.5


def test_intervals_histograms_and_totals() -> None:
    wide = count(unknown=1000, prior=(0.2, 0.4)).noise_for(lift=1.2, delta=1e-6, within=1e-2)
    assert wide.noise is not None
    for p in (0.2, 0.3, 0.4):
        assert count(unknown=1000, prior=p, noise=wide.noise).envelope(1e-6).lift <= 1.2
    cells = lw.aggregate.histogram(unknown=200, prior=[0.5, 0.3, 0.2]).noise_for(lift=1.5, within=1e-6)
    assert cells.noise == pytest.approx(math.log(1.5 * 0.8 / (1 - 0.3)) / 2, rel=1e-5)
    sums = lw.aggregate.total(unknown=6, prior={0: "0.45", 1: "0.1", 2: "0.45"}).noise_for(lift=1.5, within=1e-4)
    assert sums.noise is not None
    assert 1.499 < sums.aggregate.lift <= 1.5


def test_what_is_not_proven_to_need_noise_is_not_said_to(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where the records are too many to write out, a bound above the limit proves no need."""
    prior = {0: "0.45", 1: "0.1", 2: "0.45"}
    few = lw.aggregate.total(unknown=6, prior=prior).noise_for(lift=1.5, within=1e-2)
    assert few.needs
    assert few.sentence.startswith("This total needs noise")
    monkeypatch.setattr(sys.modules[type(few.aggregate).__module__], "_MOST_BITS", 1 << 12)
    many = lw.aggregate.total(unknown=60, prior=prior).noise_for(lift=1.9, delta=1e-3, within=0.1)
    assert many.needed
    assert many.without.attained < math.log(1.9) < many.without.epsilon
    assert not many.needs
    assert many.sentence.startswith("That this total needs no noise is not proven; ε = ")
    assert not many.to_dict()["needs"]


def test_a_bound_from_the_histogram_says_so() -> None:
    found = lw.aggregate.total(unknown=6366, prior={0: "0.4", "0.5": "0.3", 12: "0.3"}).envelope(1e-6)
    assert "whatever is done to the total" in found.sentence
    assert "proven of a histogram of the same records" in found.sentence
    assert "the truth may be lower" in repr(found)


def test_a_limit_that_is_no_float_is_kept() -> None:
    for lift in (1 + Fraction(31, 1 << 54), 1 + Fraction(47, 1 << 54), 1 + Fraction(101, 1 << 55)):
        found = count(unknown=3, prior=(0, 1)).noise_for(lift=lift)
        assert found.aggregate.largest is not None
        assert found.aggregate.largest <= lift


def test_a_limit_without_room_is_refused() -> None:
    with pytest.raises(lw.Infeasible, match="nothing but noise"):
        count(unknown=10, prior=0.3).noise_for(lift=1)
    with pytest.raises(lw.InvalidInput, match="Got neither"):
        count(unknown=10, prior=0.3).noise_for()
    assert count(unknown=10, prior=1).noise_for(lift=1).noise is None


def test_more_noise_never_tells_more() -> None:
    """Noise of a larger ratio is noise of a smaller one plus something independent."""
    found = [count(unknown=20, prior=0.3, noise=noise).envelope(0.01).epsilon for noise in (4, 2, 1, 0.5, 0.1, 0.01)]
    assert found == sorted(found, reverse=True)
    assert found[0] <= count(unknown=20, prior=0.3).envelope(0.01).epsilon


def test_results_show_and_draw_themselves() -> None:
    some = count(unknown=50, prior=0.3, noise=1)
    for one in (some, some.envelope(0.01), some.noise_for(lift=1.3, delta=0.01, within=0.1)):
        assert one.chart()["layer"]
        assert one.to_dict()["sentence"] in one._repr_html_()
    assert count(unknown=5, prior=(0, 0.5)).chart()["layer"]


def test_the_printed_noise_keeps_the_limit() -> None:
    """Rounded down: more ε is less noise. 0.646627… would otherwise be printed as 0.6466 or as 0.6467."""
    for p, lift in ((0.3, 1.5), (0.3, 1.4), (0.2, 1.7), (0.05, 3.0), (0.4, 1.31)):
        found = count(unknown=50, prior=p).noise_for(lift=lift)
        printed = found.sentence.split("ε = ")[1].split(" ")[0]
        assert float(printed) <= (found.noise or 0)
        assert count(unknown=50, prior=p, noise=printed).lift <= lift
        deviation = found.sentence.split("deviation of ")[1].split(". ")[0]
        assert float(deviation) >= found.aggregate.deviation
