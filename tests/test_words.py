"""Words that were retired must not come back: in the code's texts or on the studio's page."""

from __future__ import annotations

import ast
import itertools
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


# ------------------------------------------------------------------------------- sentences that flow

WIDTH, FAR = 120, 15
NOT_PROSE = re.compile(r"^(>>>|\.\.\.|[-*|=:+]|\.\. |\\b|\d+[.)] )|[├└─│]|\S {2,}\S|::$")
OPERATOR = r"[=≤≥≠<>∝/+−·-]"


def _docstrings(text: str) -> list[list[str]]:
    """The lines of every docstring, as they are laid out in the file."""
    lines, kinds = text.splitlines(), (ast.Module, ast.ClassDef, ast.FunctionDef)
    bodies = [node.body[0] for node in ast.walk(ast.parse(text)) if isinstance(node, kinds) and node.body]
    return [
        lines[first.lineno - 1 : first.end_lineno]
        for first in bodies
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    ]


def _first_unit(line: str) -> str:
    """The first word, with all of a code span or a formula that it begins: neither is torn apart."""
    glued = re.sub(r"``.+?``|:\w+:`.+?`", lambda span: span[0].replace(" ", "_"), line.strip())
    return re.sub(rf" (?={OPERATOR} )|(?<= {OPERATOR}) ", "_", glued).split(" ")[0]


def _broken(docstring: list[str]) -> list[str]:
    """Lines that end far before the width although what continues them would have fitted."""
    found, example = [], False
    for line, after in itertools.pairwise(docstring):
        here, following = line.strip(), after.strip()
        example = bool(here) and (example or here.startswith((">>>", "\\b")))
        prose = here and following and not example and not NOT_PROSE.search(here) and not NOT_PROSE.search(following)
        level = len(line) - len(line.lstrip()) == len(after) - len(after.lstrip())
        if prose and level and following != '"""' and len(line) + 1 + len(_first_unit(after)) <= WIDTH - FAR:
            found.append(here)
    return found


def test_docstrings_are_not_broken_in_mid_sentence() -> None:
    met = [
        f"{path.relative_to(HOUSE)}: {line}"
        for path in sorted((HOUSE / "src").rglob("*.py"))
        for docstring in _docstrings(path.read_text(encoding="utf-8"))
        for line in _broken(docstring)
    ]
    assert met == []


def test_a_broken_sentence_is_found_and_a_formula_is_not() -> None:
    assert _broken(['    """What the', "    searches", "    in this room share.", '    """']) == [
        '"""What the',
        "searches",
    ]
    assert _broken(["    " + "x" * 90, "    ⌈L / kl(e^{-ε}‖e^{-ε'})⌉ samples"]) == []
    assert _broken(["    >>> print(1)", "    1", "    2", ""]) == []
    assert _broken(["    The end.", "", "    Parameters", "    ----------", "    name", "        What it is."]) == []


def test_examples_show_a_value_that_teaches_something() -> None:
    """A line that ends in True says only that its author was right."""
    met = [
        f"{path.relative_to(HOUSE)}: {asked.strip()}"
        for path in sorted((HOUSE / "src").rglob("*.py"))
        for asked, told in itertools.pairwise(path.read_text(encoding="utf-8").splitlines())
        if asked.strip().startswith(">>> ") and told.strip() == "True"
    ]
    assert met == []
