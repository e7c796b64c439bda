"""Problems 2 and 3: both sides, closed forms for parity, and each the inverse of the other."""

from __future__ import annotations

import math

import numpy as np
import pytest

from leakwise import records
from leakwise.errors import InvalidInput
from leakwise.records.bounds.closed_form import binary_entropy, inverse_binary_entropy

LOG2 = math.log(2)


def alpha_of(n: int, b: float) -> float:
    return inverse_binary_entropy(max(0.0, b - (n - 1) * LOG2))


def least_leakage_truth(n: int, d: float, b: float) -> float:
    a = alpha_of(n, b)
    return LOG2 - binary_entropy(d * (1 - a) + (1 - d) * a)


def least_distortion_truth(n: int, leakage: float, b: float) -> float:
    a = alpha_of(n, b)
    return max(0.0, (inverse_binary_entropy(LOG2 - leakage) - a) / (1 - 2 * a))


@pytest.mark.parametrize(
    ("n", "d", "b"),
    [
        (2, 0.3, 0.0),
        (3, 0.1, 1.5),
        (3, 0.2, 1.6),
        (4, 0.4, 2.5),
        (1000, 0.25, 999.5 * LOG2),
        (3, 0.5, 0.0),
        (3, 0.0, 1.9),
    ],
)
def test_least_leakage_of_parity(n: int, d: float, b: float) -> None:
    result = records.least_leakage(records.parity(n), distortion=d, entropy=b)
    truth = least_leakage_truth(n, d, b)
    assert result.closed
    assert result.value == pytest.approx(truth, abs=1e-5)
    assert result.bound - 1e-9 <= truth <= result.value + 1e-9
    assert result.distortion <= d + 1e-12


@pytest.mark.parametrize(
    ("n", "leakage", "b"), [(2, 0.1, 0.0), (2, 0.3, 0.0), (3, 0.05, 1.6), (4, 0.02, 2.5), (2, 0.0, 0.0), (3, 0.6, 2.0)]
)
def test_least_distortion_of_parity(n: int, leakage: float, b: float) -> None:
    result = records.least_distortion(records.parity(n), leakage=leakage, entropy=b)
    truth = least_distortion_truth(n, leakage, b)
    assert result.closed
    assert result.value == pytest.approx(truth, abs=1e-5)
    assert result.bound - 1e-9 <= truth <= result.value + 1e-9
    assert result.leakage <= leakage + 1e-12
    # The mechanism keeps its promise when it is measured again.
    assert records.leakage(result.channel, b, tolerance=1e-7).value <= leakage + 1e-9


def test_one_inverts_the_other_where_the_constraint_is_active() -> None:
    q = records.parity(3)
    for d, b in ((0.2, 0.0), (0.15, 1.6)):
        leaks = records.least_leakage(q, distortion=d, entropy=b).value
        assert records.least_distortion(q, leakage=leaks, entropy=b).value == pytest.approx(d, abs=2e-5)


def test_answers_alone_do_not_suffice() -> None:
    """Sum mod 3, n = 3, D = .3, b = 1.6: 0.1786 by count, 0.2033 if q sees only the answer."""
    result = records.least_leakage(records.modular_sum(3, 3), distortion=0.3, entropy=1.6, tolerance=1e-3)
    assert result.closed
    assert result.bound <= 0.17865 <= result.value + 1e-9
    assert result.value < 0.2
    assert result.channel.by_answer() is None


def test_one_inverts_the_other_beyond_parity() -> None:
    q = records.modular_sum(3, 3)
    first = records.least_leakage(q, distortion=0.3, entropy=1.6, tolerance=1e-3)
    second = records.least_distortion(q, leakage=first.value, entropy=1.6, tolerance=3e-3)
    assert second.bound <= 0.3 + 1e-9
    assert second.value == pytest.approx(0.3, abs=6e-3)


def test_less_leakage_than_the_named_mechanisms() -> None:
    q = records.count(3)
    for channel in (q.laplace(1.0), q.exponential(1.0), q.symmetric_channel(0.3)):
        best = records.least_leakage(q, min(channel.distortion(), 0.75), 1.0, tolerance=2e-3)
        assert best.bound <= records.leakage(channel, 1.0, tolerance=1e-4).bound
        assert best.value <= records.leakage(channel, 1.0, tolerance=1e-4).bound + 2e-3


def test_no_leakage_for_somebody_who_knows_nothing() -> None:
    """At b = log|X| the parity may be told outright: every single bit stays a fair coin."""
    q = records.parity(3)
    result = records.least_distortion(q, leakage=0.0, entropy=q.max_entropy)
    assert result.value == pytest.approx(0.0, abs=1e-9)
    assert records.leakage(result.channel, q.max_entropy).value < 1e-12


def test_biased_data_and_other_metrics() -> None:
    q = records.parity(2)
    biased = records.least_leakage(q, 0.1, 0.5, data=[0.8, 0.2], tolerance=1e-3)
    assert biased.closed
    assert biased.channel.distortion(data=[0.8, 0.2]) <= 0.1 + 1e-9
    joint = records.least_leakage(q, 0.1, 0.5, data=[0.64, 0.16, 0.16, 0.04], tolerance=1e-3)
    assert joint.value == pytest.approx(biased.value, abs=2e-3)
    hamming = records.least_leakage(q, 0.1, 0.5, metric="hamming")
    assert hamming.value == pytest.approx(records.least_leakage(q, 0.1, 0.5).value, abs=1e-5)


def test_a_limit_of_time_keeps_both_sides() -> None:
    result = records.least_leakage(records.count(6), 0.7, 2.0, tolerance=1e-7, time_limit=1.0)
    assert not result.closed
    assert 0 <= result.bound <= result.value
    assert "not closed" in repr(result)
    checked = records.leakage(result.channel, 2.0, tolerance=1e-2, time_limit=10)
    assert checked.value <= result.value + 1e-9


def test_curves() -> None:
    q = records.parity(2)
    down = records.least_leakage_curve(q, 4, 0.0, tolerance=1e-4)
    assert (np.diff(down.value) <= 1e-4).all()
    assert down.value[-1] == 0
    up = records.least_distortion_curve(q, 3, 0.0, tolerance=1e-4)
    assert up.value == pytest.approx([least_distortion_truth(2, x, 0.0) for x in up.x], abs=2e-4)
    for curve in (down, up):
        assert curve.chart()["$schema"]
    assert records.least_distortion_curve(q, [0.1], 0.0, tolerance=1e-3).x.tolist() == [0.1]
    assert records.least_leakage_curve(q, [0.25], 0.0, tolerance=1e-3).results[0].closed


def test_the_result_speaks() -> None:
    result = records.least_leakage(records.parity(2), 0.25)
    assert "least leakage" in repr(result)
    assert "<table" in result._repr_html_()
    data = result.to_dict()
    assert data["value"] >= data["bound"]
    assert np.array(data["rows"]).shape == (2, 2)
    assert result.mechanism is result.channel


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda q: records.least_leakage(q, -0.1), "least possible"),
        (lambda q: records.least_leakage(q, 0.6), r"constant answer has 0\.5"),
        (lambda q: records.least_leakage(q, 0.05, outputs=[0.1, 0.9]), "least possible with these outputs is 0.1"),
        (lambda q: records.least_leakage(q, 0.2, 99.0), r"log\|X\|"),
        (lambda q: records.least_leakage(q, 0.2, method="guess"), "method"),
        (lambda q: records.least_leakage(q, math.nan), "expected a number"),
        (lambda q: records.least_distortion(q, -1.0), "at least 0"),
        (lambda q: records.least_distortion(q, 0.1, -2.0), "at least 0"),
    ],
)
def test_bad_input(call: object, words: str) -> None:
    with pytest.raises(InvalidInput, match=words):
        call(records.parity(3))  # type: ignore[operator]
