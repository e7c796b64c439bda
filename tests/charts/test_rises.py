"""How far something rises: rings, dots, marks and words."""

from __future__ import annotations

from typing import Any

import pytest

from leakwise.charts import render
from leakwise.charts.specs import rises
from leakwise.errors import InvalidInput

WORDS = {"title": "T", "value_title": "v"}


def drawn(**options: Any) -> dict[str, Any]:
    given = {"before": [1.0, 1.0], "after": [1.5, None], "texts": ["up", "no limit"], "allowed": [1.2, None]}
    return rises(["a", "b"], **{**given, **WORDS, **options})


def test_what_is_above_what_is_allowed_has_another_colour_and_what_is_nowhere_none() -> None:
    spec = drawn(least=1.0)
    assert [record["over"] for record in spec["data"]["values"]] == [True, False]
    picture = render.svg(spec)
    assert ("#D55E00" in picture, "no limit" in picture) == (True, True)
    assert spec["description"] == "T. a: up. b: no limit."


@pytest.mark.parametrize(
    ("after", "least", "kind"), [([1.5, 4.9], 1.0, None), ([1.5, 1e6], 1.0, "log"), ([0.5, 9.0], 0.0, None)]
)
def test_the_axis_is_logarithmic_where_the_small_would_vanish(
    after: list[float], least: float, kind: str | None
) -> None:
    spec = drawn(after=after, least=least, allowed=[None, None])
    assert spec["layer"][0]["encoding"]["x"]["scale"].get("type") == kind
    render.svg(spec)


def test_nothing_that_rises_is_a_picture_too() -> None:
    assert render.svg(drawn(after=[1.0, 1.0], allowed=[1.0, None], least=1.0)).startswith("<svg")


def test_lists_of_different_lengths_are_refused() -> None:
    with pytest.raises(InvalidInput, match="texts"):
        drawn(texts=["one"])
