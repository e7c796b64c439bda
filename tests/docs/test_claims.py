"""Limits that a page must state, because it once said more than is true."""

from __future__ import annotations

from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.parametrize(
    ("page", "said"),
    [
        ("start/estimate.md", "The guarantee assumes that the mechanism is known"),
        ("explanation/pml-and-dp.md", "for every prior that gives each value some"),
        ("explanation/records.md", "Mutual information is an average"),
        ("explanation/records.md", "It does not analyse row-wise releases"),
    ],
)
def test_a_page_states_its_limits(page: str, said: str) -> None:
    assert said in (DOCS / page).read_text(encoding="utf-8")
