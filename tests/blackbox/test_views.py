"""Answers of many parts: the bits, pairs and scores that give an input away, and bounds that hold all the same."""

from __future__ import annotations

import datetime
import json
import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import leakwise as lw
from leakwise.blackbox import asking
from leakwise.blackbox.features import Features
from leakwise.blackbox.parts import Parts
from leakwise.blackbox.views import learned_views


def unary(generator: np.random.Generator, bits: int, epsilon: float) -> Callable[[int, int], Any]:
    """Symmetric unary encoding: every bit of the one-hot code is flipped with probability 1/(e^{ε/2} + 1)."""

    def program(x: int, count: int) -> Any:
        code = (np.arange(bits) == x).astype(np.int8)
        return code ^ (generator.random((count, bits)) < 1 / (math.exp(epsilon / 2) + 1))

    return program


def test_unary_encoding_of_2_is_not_of_1_8() -> None:
    program = unary(np.random.default_rng(1), 12, 2.0)
    found = lw.audit_program(program, [0, 1], epsilon=1.8, batch=True, samples=60_000)
    assert found.verdict == "refuted"
    assert found.measures["ldp"].lower <= 2.0
    assert found.events["ldp"].outcomes in [
        ("answer[0] is 1 and answer[1] is 0",),
        ("answer[0] is 0 and answer[1] is 1",),
    ]
    assert found.measures["maximal_leakage"].lower > 0.3
    true = lw.audit_program(program, [0, 1], epsilon=2.0, batch=True, samples=20_000)
    assert true.verdict == "not refuted"


@pytest.mark.parametrize(
    "shown",
    [
        tuple,
        list,
        np.array,
        lambda bits: sum(bit << place for place, bit in enumerate(bits)),
        lambda bits: np.packbits(bits).tobytes(),
        lambda bits: "".join(map(str, bits)),
        lambda bits: json.dumps({"report": list(bits)}),
        lambda bits: ["yes" if bit else "no" for bit in bits],
        lambda bits: [*bits[:9], [float(bits[9])], bits[10:]],
    ],
)
def test_a_bit_is_found_whatever_carries_it(shown: Callable[[list[int]], Any]) -> None:
    """Sixteen bits, of which one is the input in three of four cases; all answers differ."""
    generator = np.random.default_rng(2)

    def program(x: int) -> Any:
        bits = (generator.random(16) < 0.5).astype(int).tolist()
        bits[9] = x if generator.random() < 0.75 else 1 - x
        return shown(bits)

    found = lw.audit_program(program, [0, 1], epsilon=0.7, samples=16_000)
    assert found.verdict == "refuted"
    assert found.measures["ldp"].lower <= math.log(3)


def test_two_bits_that_tell_only_together() -> None:
    generator = np.random.default_rng(3)

    def program(x: int, count: int) -> Any:
        bits = generator.integers(0, 2, (count, 20))
        bits[:, 3] = bits[:, 14] ^ np.where(generator.random(count) < 0.8, x, 1 - x)
        return bits

    found = lw.audit_program(program, [0, 1], epsilon=1.0, batch=True, samples=20_000)
    assert found.verdict == "refuted"
    assert all(name in found.events["ldp"].outcomes[0] for name in ("answer[3] is", "answer[14] is"))


def test_many_weak_bits_are_found_by_a_score() -> None:
    """No bit nor pair of bits tells more than a lift of 1.5, all forty together much more."""
    generator = np.random.default_rng(4)

    def program(x: bool, count: int) -> Any:
        return generator.random((count, 40)) < (0.55 if x else 0.45)

    found = lw.audit_program(program, [False, True], lift=3, batch=True, samples=20_000)
    assert found.verdict == "refuted"
    assert found.events["ldp"].outcomes[0].startswith("score for False against True (mostly by: answer[")


def test_the_last_digits_of_a_float_give_the_input_away() -> None:
    """Mironov (2012): Laplace noise of ε = 0.5 in floats ends at other binary digits when added to other numbers."""
    generator = np.random.default_rng(5)
    found = lw.audit_program(
        lambda x, n: x + generator.laplace(0, 2, n), [0.0, 1.0], epsilon=0.5, batch=True, samples=20_000
    )
    assert found.verdict == "refuted"
    assert found.measures["ldp"].lower > 1
    assert "last binary digit" in found.sentence


def test_answers_that_say_nothing_show_nothing() -> None:
    """What was learned from answers is tested on others: with events chosen and tested on the same, all would fail."""
    generator, wrong, runs = np.random.default_rng(6), 0, 25
    prior = lw.Prior([0.5, 0.3, 0.2])
    for run in range(runs):
        answers = generator.integers(0, 2, (450, 12))
        found = lw.audit_samples([0, 1, 2] * 150, list(answers), prior=prior, failure=0.5, seed=run)
        wrong += any(one.lower > 0 for one in found.measures.values())
    assert wrong / runs <= 0.5


def test_parts_of_an_answer_depend_on_it_alone() -> None:
    """The row of an answer is the same whichever answers it is read with."""
    answers: list[Any] = [[0, 1.5], [True, -0.0], (2**70, 3), [10**400, 1], ["a", None], [1], [], 7, "[4, 5]", [3, [4]]]
    parts = Parts(answers)
    together = parts.read(answers)
    alone = np.concatenate([parts.read([answer]) for answer in answers])
    np.testing.assert_array_equal(together, alone)
    np.testing.assert_array_equal(together[8, :2], [4, 5])
    odd: list[Any] = [
        np.array([1, 2], dtype=np.longdouble),
        np.array([3, 4], dtype=">i4"),
        "x",
        b"\x01\x02",
        3.5,
        {"b": 2, "a": 1},
        None,
        math.nan,
    ]
    np.testing.assert_array_equal(parts.read(odd), np.concatenate([parts.read([one]) for one in odd]))


class Thing:
    """An answer of which only its identity is known: its address, which its repr shows, is not for an attacker."""


def test_answers_without_parts_are_counted_as_they_are() -> None:
    things = [[Thing() for _ in range(100)] for _ in range(2)]
    views = learned_views([own * 2 for own in things], [0, 1])
    assert [view.family for view in views.all] == ["answers"]
    days = [datetime.date(2020, 1, 1) + datetime.timedelta(days) for days in range(100)]
    found = lw.audit_samples([0, 1] * 1_000, [days[n % 80 + 20 * (n % 2)] for n in range(2_000)], epsilon=0.5)
    assert found.verdict == "refuted"


def test_the_last_binary_digit() -> None:
    parts = Parts([0.5, 0.75, 3.0, 0.1, 2.0**-1074])
    told = parts.read([0.5, 0.75, 3.0, 12.0, 2.0**-1074, 0.0, math.inf, -0.625])[:, 1]
    np.testing.assert_array_equal(told, [-1, -2, 0, 2, -1074, np.nan, np.nan, -3])


def test_the_sum_counts_numbers_of_both_signs_and_no_texts() -> None:
    parts = Parts([[1, -2, "a"], [0.5, 0, "b"]])
    assert parts.names[-1] == "the sum"
    assert parts.read([[1, -2, "a"], [4, None, "b"]])[:, -1].tolist() == [-1, 4]


def test_questions_have_names() -> None:
    rows = [[[0, "red"]] * 10 + [[1, "blue"]] * 10, [[1, "red"]] * 10 + [[1, "blue"]] * 5 + [[1]] * 5]
    features = Features(rows)
    assert {"answer[0] is 0", "answer[1] is 'red'", "answer[1] is missing", "the length is 2"} <= set(features.names)
    assert features.ask([[0, "red"]])[0, features.names.index("answer[1] is 'red'")]


# ------------------------------------------------------------------------------------------------------ time limits


class Clock:
    """A clock that moves only when a program runs."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    made = Clock()
    monkeypatch.setattr(asking, "time", made)
    return made


def test_a_slow_program_stops_in_time(clock: Clock) -> None:
    calls = 0

    def program(x: int) -> int:
        nonlocal calls
        calls += 1
        clock.now += 0.01
        return calls % 2

    found = lw.audit_program(program, [0, 1], epsilon=0.5, seconds=30)
    assert found.verdict == "not refuted"
    assert 20 <= clock.now - 100 <= 30
    assert found.samples <= calls <= 3_000


def test_a_round_cut_short_is_not_looked_at(clock: Clock) -> None:
    """It becomes slow in the middle, and the answers that would refute it come then."""
    calls = 0

    def program(x: int) -> int:
        nonlocal calls
        calls += 1
        clock.now += 0.001 if calls < 4_000 else 10
        return x if calls >= 3_000 else calls % 2

    found = lw.audit_program(program, [0, 1], epsilon=0.5, seconds=15)
    assert found.verdict == "not refuted"
    assert found.samples < calls


@pytest.mark.parametrize("each", [0.1, 0.3, 100.0])
def test_a_program_too_slow_to_judge_says_so(clock: Clock, each: float) -> None:
    def program(x: int) -> int:
        clock.now += each
        return 0

    with pytest.raises(lw.InvalidInput, match="seconds must be enough for 40 answers to each input"):
        lw.audit_program(program, [0, 1], epsilon=0.5, seconds=7)
