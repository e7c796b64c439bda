"""Words that were retired must not come back: in the code's texts or on the studio's page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

HOUSE = Path(__file__).parent.parent
RETIRED = {
    r"\btimes likelier": "times as likely",
    r"randomis(?!ed_standard_error)": "randomiz-",
    r"whole,? or not at all": "atomically",
    r"\banew\b": "again",
    r"\bhand(ed)? on\b(?! (the|its) file)": "share, or release unchanged",
    r"honest gap|gap is honest": "proven gap",
    r"[«»“”]": "straight quotes",
    r"\bmends\b": "fixes",
    r"\d %(?![ds(])": "5% without a space",
    r"\bHang the\b": "Add the command",
    r"\b[Ss]omebody\b": "someone",
    r"\b[Aa]nybody\b": "anyone",
    r"\bMATH\b": "a page of the documentation",
    r"\bway back\b": "estimate frequencies",
}


def _texts() -> list[Path]:
    return [path for kind in ("py", "html", "js") for path in sorted((HOUSE / "src").rglob(f"*.{kind}"))]


@pytest.mark.parametrize("pattern", RETIRED)
def test_retired_words_stay_away(pattern: str) -> None:
    met = [
        f"{path.relative_to(HOUSE)}:{number}: {line.strip()[:100]}"
        for path in _texts()
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(pattern, line)
    ]
    assert not met, f"{pattern!r} is retired; write {RETIRED[pattern]!r}:\n" + "\n".join(met)


def test_the_patterns_find_what_they_are_for() -> None:
    sentence = (
        "2 times likelier, randomised, whole or not at all, anew, handed on, honest gap, «x», mends, 5 %, Hang the "
        "command, somebody, anybody, MATH.md, the way back"
    )
    assert [pattern for pattern in RETIRED if not re.search(pattern, sentence)] == []
