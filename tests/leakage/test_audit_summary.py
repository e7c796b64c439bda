"""The picture for people who decide: plain numbers, rounded to the safe side, none of them in nats."""

from __future__ import annotations

from fractions import Fraction

import pytest

import leakwise as lw
from charts.test_readable import cut_off
from leakwise.charts import render

RESPONSE = lw.randomized_response(["no", "yes"], lift=3)


def texts(spec: dict) -> list[list[str]]:
    return [[record["t"] for record in part["data"]["values"]] for part in spec["vconcat"]]


def test_it_says_how_far_each_value_is_raised_and_how_many_times_any_guess() -> None:
    spec = lw.audit(RESPONSE, lw.Prior({"no": "3/4", "yes": "1/4"}), delta=0.5).chart("summary")
    assert texts(spec) == [
        ["from 25% to at most 50%: 2 times as likely", "from 75% to at most 90%: 1.2 times as likely"],
        ["at most 2 times as likely", "at most 1.61 times as likely", "at most 3 times as likely"],
    ]
    names = [record["label"] for record in spec["vconcat"][1]["data"]["values"]]
    assert names == ["the worst outcome", "processed further, 50% of cases", "for anyone, whatever they knew before"]
    shown = render.svg(spec)
    assert "nats" not in shown
    assert cut_off(shown) == []


def test_what_is_above_the_limit_says_so_in_words_and_the_limit_itself_does_not() -> None:
    audit = lw.audit(RESPONSE, lw.Prior({"no": "3/4", "yes": "1/4"}))
    values, anyone = texts(audit.chart("summary", limit="1.9"))
    assert values[0].endswith("2 times as likely, above the limit")
    assert anyone == ["at most 2 times as likely, above the limit"] * 2 + ["at most 3 times as likely"]
    assert not any("above" in text for part in texts(audit.chart("summary", limit=2)) for text in part)
    marks = [record["m"] for record in audit.chart("summary", limit=2)["vconcat"][0]["data"]["values"]]
    assert marks == [0.5, 1.0]
    with pytest.raises(lw.errors.InvalidInput, match="Did you mean 'summary'"):
        audit.chart("sumary")
    with pytest.raises(lw.errors.InvalidInput, match="limit= goes with"):
        audit.plot(limit=2)


def test_no_figure_is_below_what_is_proven() -> None:
    prior = lw.Prior([Fraction(1, 7), Fraction(2, 7), Fraction(4, 7)])
    audit = lw.audit(lw.randomized_response(3, lift=2), prior)
    (first, *_), (most, *_) = texts(audit.chart("summary"))
    assert Fraction(audit.ratio) == Fraction(7, 4)
    assert (first, most) == ("from 14.3% to at most 25%: 1.75 times as likely", "at most 1.75 times as likely")


def test_without_a_bound_of_a_set_and_of_many_values() -> None:
    identity = lw.audit(lw.Mechanism([[1, 0], [0, 1]]), [0.5, 0.5]).chart("summary")
    assert texts(identity)[1][-1] == "no limit holds"
    around = lw.audit(RESPONSE, lw.Prior({"no": 0.75, "yes": 0.25}).ball(0.05)).chart("summary")
    assert len(texts(around)[1]) == 2
    assert "At the estimated frequencies" in around["description"]
    many = lw.audit(lw.randomized_response(20, lift=2), lw.Prior(range(1, 21))).chart("summary")
    assert len(texts(many)[0]) == 15
    assert "5 more are raised less" in many["description"]
    nothing = lw.audit(lw.Mechanism([[1], [1]]), [0.5, 0.5]).chart("summary")
    assert texts(nothing)[0][0] == "from 50% to at most 50%: no more likely"
    for spec in (identity, around, many, nothing):
        assert cut_off(render.svg(spec)) == []
