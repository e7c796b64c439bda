"""Clouds of points: drawn below the curves, all of them, and counted in words."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from leakwise.charts import specs
from leakwise.errors import InvalidInput

X = np.linspace(0.0, 1.0, 7)


def made() -> dict[str, Any]:
    words = {"name": "a draw </b>", "title": "T", "x_title": "x", "y_title": "y"}
    return specs.cloud((X, X**2), {"bound": (X, X)}, **words)


def test_altair_draws_it() -> None:
    alt = pytest.importorskip("altair")
    assert alt.Chart.from_dict(made()).to_dict()["layer"]


def test_the_dots_are_the_points_and_lie_below_the_curves() -> None:
    first = made()["layer"][0]
    assert first["mark"]["type"] == "circle"
    assert first["data"]["values"] == [{"x": float(a), "y": float(a) ** 2} for a in X]
    assert [layer["mark"]["type"] for layer in made()["layer"]].index("line") > 0


def test_the_subtitle_says_what_a_dot_is() -> None:
    spec = made()
    assert "7 grey dots: a draw </b>." in " ".join(spec["title"]["subtitle"])
    assert "7 grey dots" in spec["description"]


@pytest.mark.parametrize("points", [([], []), ([1.0], []), (range(20_001), range(20_001)), ([float("nan")], [1.0])])
def test_points_that_cannot_be_drawn_are_refused(points: Any) -> None:
    with pytest.raises(InvalidInput):
        specs.cloud(points, {"c": (X, X)}, name="n", title="T", x_title="x", y_title="y")
