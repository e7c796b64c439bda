"""The pages of the gallery: badges that count right, notes by their weight, a filter for what is there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from leakwise.papers.errata import KINDS, WEIGHTS, Entry, errata
from leakwise.papers.exhibit import Finding, find, further, stated
from leakwise.papers.gallery import _badges, write_gallery
from leakwise.papers.notes_page import notes_page

ENTRIES = {entry.name: entry for entry in errata()}


def words(findings: Sequence[Finding], *, fast: bool = False) -> list[str]:
    record = {"findings": [finding.to_dict() for finding in findings], "fast": fast}
    return [re.sub("<[^>]*>", "", one) for one in _badges(record)]


def test_the_badges_of_a_card_count_every_statement_once_the_worst_first() -> None:
    same = stated("a", 1.0, 1.0, True)
    wrong = stated("b", 1.0, 2.0, False, "because")
    more = further("c", 2.0, 1.0, "halved")
    ours = stated("d", None, 1.0, True)
    assert words([same, same, wrong, more, ours]) == [
        "1 differs",
        "1 goes further",
        "2 as printed",
        "1 not in the paper",
    ]
    assert words([wrong, wrong, more, more]) == ["2 differ", "2 go further"]
    assert words([stated("d", None, 2.0, False, "because")]) == ["1 differs"]
    assert words([], fast=True) == ["small settings"]
    assert words([]) == ["nothing to compare"]


def test_all_notes_are_in_one_table_the_safety_critical_ones_on_top() -> None:
    page = notes_page({name: [] for name in ENTRIES}, [])
    notes = re.findall(r'<tbody role="rowgroup" id="(\w+)" data-rank="([\w-]+)" data-paper="(\w+)">', page)
    assert sorted(name for name, _, _ in notes) == sorted(ENTRIES)
    ranks = [rank for _, rank, _ in notes]
    assert ranks == sorted(ranks, key=[*WEIGHTS, "warning", "beyond"].index)
    assert {name for name, _, _ in notes[:2]} == {"pr_last_adversary", "pr_local_optima"}
    for name, rank, paper in notes:
        assert (ENTRIES[name].weight or ENTRIES[name].kind, ENTRIES[name].paper) == (rank, paper)
        for group, key in (("rank", rank), ("paper", paper)):
            assert f'id="{group}-{key}"' in page
            assert f"main:has(#{group}-{key}:checked) " in page
    assert "<script" not in page
    assert "<h2" not in page  # no exhibit, no statement that differs


@pytest.fixture
def three(monkeypatch: pytest.MonkeyPatch) -> list[Entry]:
    chosen = [ENTRIES[name] for name in ("ed_half_the_constant", "ed_linear_composition", "wc_matrix")]
    monkeypatch.setattr("leakwise.papers.errata.errata", lambda paper=None, kind=None: chosen)
    return chosen


def test_the_errata_page_keeps_the_kinds_apart(three: list[Entry], tmp_path: Path) -> None:
    write_gallery(tmp_path)
    page = (tmp_path / "errata.html").read_text(encoding="utf-8")
    assert all(kind.about in page for kind in KINDS.values())
    _, wrong, warned, more = page.split("<tbody role")
    assert 'id="wc_matrix"' in wrong
    assert ">harmless</span>" in wrong
    assert "Correction:" in wrong
    assert 'id="ed_linear_composition"' in warned
    assert "Mind:" in warned
    assert "differs" not in warned + more
    assert "goes further" in more


def test_a_filter_offers_only_what_is_there(three: list[Entry]) -> None:
    page = notes_page({entry.name: [] for entry in three}, [])
    labels = re.findall(r'<input type="radio" name="\w+" id="([\w-]+)"( checked)?> ([^<]*)</label>', page)
    assert labels == [
        ("rank-all", " checked", "all (3)"),
        ("rank-harmless", "", "harmless (1)"),
        ("rank-warning", "", "warning (1)"),
        ("rank-beyond", "", "further result (1)"),
        ("paper-all", " checked", "all (3)"),
        ("paper-WC", "", "[WC] (1)"),
        ("paper-ED", "", "[ED] (2)"),
    ]


def test_a_statement_that_differs_leads_into_its_card_and_is_only_text(three: list[Entry]) -> None:
    (made,) = find(["WC/figure_1"])
    finding = stated("<b>", 1.0, 2.0, False, "a < b").to_dict()
    record: dict[str, Any] = {"number": "Figure 1", "findings": [finding]}
    page = notes_page({entry.name: [] for entry in three}, [(made, record)])
    assert 'href="index.html#WC-figure_1-findings"' in page
    assert "<b>" not in page
    assert "a &lt; b" in page
