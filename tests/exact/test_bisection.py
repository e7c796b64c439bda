"""Bisection: the answer was seen to hold, on either side, for one point or many."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from leakwise.exact import last_that_holds


@given(st.floats(0, 1), st.integers(0, 60))
def test_the_answer_holds_and_is_close_from_below_and_from_above(edge: float, steps: int) -> None:
    below = last_that_holds(lambda x: x <= edge, 0.0, 1.0, steps)
    above = last_that_holds(lambda x: x >= edge, 1.0, 0.0, steps)
    assert below <= edge <= above
    assert above - below <= 2 * 2.0**-steps + 1e-15


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_many_points_are_as_each_alone(edges: list[float]) -> None:
    limits = np.array(edges)
    together = last_that_holds(lambda x: x <= limits, np.zeros(len(edges)), np.ones(len(edges)), 40)
    alone = [last_that_holds(lambda x, edge=edge: x <= edge, 0.0, 1.0, 40) for edge in edges]
    assert together.tolist() == alone


def test_a_condition_without_order_still_gives_a_point_that_was_seen_to_hold() -> None:
    seen: dict[float, bool] = {}

    def holds(x: float) -> bool:
        return seen.setdefault(x, int(x * 1000) % 3 == 0)

    found = last_that_holds(holds, 0.0, 1.0, 30)
    assert found == 0.0 or seen[found]
