"""What a person exports: files, and the lines that reproduce what is on the screen and name these files."""

from __future__ import annotations

import csv
import io
import json
import shlex
import tempfile
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leakwise.leakage import Audit
from leakwise.priors import Prior
from leakwise.studio.limits import LIMITS
from leakwise.studio.reading import are_numbers, further_arguments, label, matrix_entries, utility_matrix
from leakwise.studio.state import (
    Catalog,
    DesignGoal,
    Distance,
    File,
    Matrix,
    MechanismGoal,
    Named,
    PriorState,
    State,
    WorstCaseGoal,
)

if TYPE_CHECKING:
    from leakwise.studio.answers import Solved

__all__ = [
    "NAMES",
    "command_line",
    "design_lines",
    "files",
    "further_limits",
    "how_to_reproduce",
    "in_python",
    "listed",
    "python_lines",
    "where_from",
]

# What the page saves each file as: every line that reads or writes one names it by this.
NAMES = {
    "mechanism": "mechanism.json",
    "certificate": "certificate.json",
    "report": "report.html",
    "prior": "prior.csv",
    "utility": "utility.csv",
    "matrix": "matrix.csv",
}
_BUTTONS = {"mechanism": "Mechanism", "prior": "Prior (CSV)", "utility": "Utility (CSV)", "matrix": "Matrix (CSV)"}
_JSON, _CSV, _HTML = "application/json", "text/csv", "text/html"


def files(solved: Solved, looked: Audit) -> dict[str, File]:
    """Every file that can be exported."""
    from leakwise.studio.report import page

    found = {
        "mechanism": File(NAMES["mechanism"], _JSON, _saved(solved.mechanism)),
        "certificate": File(NAMES["certificate"], _JSON, _saved(solved.certificate)),
        "report": File(NAMES["report"], _HTML, page(solved, looked)),
        "prior": File(NAMES["prior"], _CSV, _prior_csv(solved.state.prior)),
    }
    goal = solved.state.goal
    if isinstance(goal, DesignGoal) and not isinstance(goal.utility, Named):
        found["utility"] = File(NAMES["utility"], _CSV, _utility_csv(goal.utility, solved.nominal))
    if isinstance(goal, MechanismGoal) and isinstance(goal.source, Matrix):
        found["matrix"] = File(NAMES["matrix"], _CSV, _matrix_csv(goal.source, solved))
    return found


def _saved(document: Any) -> str:
    """The text of a document that the library writes to a path: one of our own, gone right after."""
    with tempfile.TemporaryDirectory(prefix="leakwise-studio-") as folder:
        path = Path(folder) / "document.json"
        document.save(path)
        return path.read_text(encoding="utf-8")


def _rows_to_csv(rows: Sequence[Sequence[object]]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _prior_csv(state: PriorState) -> str:
    head = ("value", "count" if state.kind == "counts" else "probability")
    pairs = zip(state.labels, state.values, strict=True)
    return _rows_to_csv([head, *((name.strip(), value.strip()) for name, value in pairs)])


def _utility_csv(utility: Distance | WorstCaseGoal, prior: Prior) -> str:
    values = [[float(cell) for cell in row] for row in utility_matrix(utility, prior)]
    outputs: Sequence[object] = prior.labels
    if isinstance(utility, WorstCaseGoal):
        outputs = utility.outputs or (prior.labels if len(values[0]) == len(prior) else range(len(values[0])))
    cells = [["never" if cell == float("-inf") else repr(cell) for cell in row] for row in values]
    body = ([name, *row] for name, row in zip(prior.labels, cells, strict=True))
    return _rows_to_csv([["", *outputs], *body])


def _matrix_csv(source: Matrix, solved: Solved) -> str:
    head = ["", *solved.mechanism.outputs]
    body = ([name, *row] for name, row in zip(solved.nominal.labels, source.rows, strict=True))
    return _rows_to_csv([head, *body])


# ------------------------------------------------------------------------------------------------- lines to run


def in_python(value: object) -> str:
    """Return a label or a number as Python writes it, texts in double quotes."""
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def listed(values: Iterable[object]) -> str:
    """Return labels as a list of Python."""
    return f"[{', '.join(map(in_python, values))}]"


def _mapping(pairs: Iterable[tuple[object, str]]) -> str:
    return f"{{{', '.join(f'{in_python(value)}: {in_python(text)}' for value, text in pairs)}}}"


def how_to_reproduce(solved: Solved) -> dict[str, Any]:
    """A Python snippet and a command line, with the files that the command line reads."""
    line, reads, note = command_line(solved.state, solved.nominal)
    words = " ".join(part for part in (where_from(reads), note) if part)
    return {"python": python_lines(solved.state, solved.nominal), "cli": line, "cli_reads": reads, "cli_note": words}


def where_from(reads: Sequence[str]) -> str:
    """Return which files a command reads, and which buttons of the page save them.

    >>> print(where_from(["utility"]))
    It reads utility.csv (saved by the button "Utility (CSV)").
    """
    files = " and ".join(f'{NAMES[one]} (saved by the button "{_BUTTONS[one]}")' for one in reads)
    return f"It reads {files}." if reads else ""


def python_lines(state: State, prior: Prior) -> str:
    """Python that makes the same mechanism and the same certificate."""
    known = "prior" if state.prior.sample is None else "priors"
    asked = f"{state.level.kind}={in_python(state.level.value.strip())}"
    lines = ["import leakwise as lw", "", *design_lines(state, prior)]
    if isinstance(state.goal, DesignGoal):
        lines += ["print(d)", "", "mechanism, certificate = d.mechanism, d.certificate"]
    else:
        lines.append(f"certificate = lw.certify(mechanism, {known}, {asked})")
    return "\n".join(
        [
            *lines,
            f"print(lw.audit(mechanism, {known}, {asked}))",
            f"mechanism.save({in_python(NAMES['mechanism'])})",
            f"certificate.save({in_python(NAMES['certificate'])})",
            "",
        ]
    )


def design_lines(state: State, prior: Prior, named: Callable[[str], object] = label) -> list[str]:
    """Return Python that makes the prior and the design ``d``, or the ``mechanism`` that was brought."""
    lines = _prior_lines(state.prior, prior, named)
    known = "prior" if state.prior.sample is None else "priors"
    goal = state.goal
    if not isinstance(goal, DesignGoal):
        return [*lines, *_mechanism_lines(goal.source)]
    asked = f"{state.level.kind}={in_python(state.level.value.strip())}"
    for limit, given in further_limits(state, named).items():
        asked += f", {limit}={in_python(given) if isinstance(given, str) else _mapping(given)}"
    name = in_python(goal.utility.name) if isinstance(goal.utility, Named) else "utility"
    if name == '"reading"':
        name = '"guessing", keep_frequencies=True'
    found = f"d = lw.design({known}, {asked}, utility={name}, time_limit={LIMITS.solve:g})"
    return [*lines, *_utility_lines(goal.utility, prior), "", found]


def further_limits(state: State, named: Callable[[str], object] = label) -> dict[str, Any]:
    """Return the limits beyond the lift as typed: a text for anyone, pairs of a value and a text for the others."""
    typed: dict[str, Any] = {}
    for name in further_arguments(state):
        if name == "anyone" and state.anyone is not None:
            typed[name] = state.anyone.strip()
        else:
            pairs = ((named(one.value), getattr(one, name).strip()) for one in state.values)
            typed[name] = [(value, text) for value, text in pairs if text]
    return typed


def _prior_lines(state: PriorState, prior: Prior, named: Callable[[str], object]) -> list[str]:
    pairs = [(named(name), value.strip()) for name, value in zip(state.labels, state.values, strict=True)]
    counted = state.kind == "counts"
    sample = state.sample
    if not counted and sample is not None:
        assert sample.size is not None
        shares = zip(state.labels, prior.fractions, strict=True)
        pairs = [(named(name), str(share * sample.size)) for name, share in shares]
        counted = True
    body = [
        f"    {in_python(name)}: {value if counted and value.isdigit() else in_python(value)}," for name, value in pairs
    ]
    lines = ["prior = lw.Prior.from_counts({" if counted else "prior = lw.Prior({", *body, "})"]
    if sample is not None:
        lines.append(
            f"priors = prior.confidence(failure={in_python(sample.failure.strip())}, method={in_python(sample.method)})"
        )
    return lines


def _utility_lines(utility: Named | Distance | WorstCaseGoal, prior: Prior) -> list[str]:
    if isinstance(utility, Named):
        return []
    power = f", power={utility.power}" if isinstance(utility, Distance) and utility.power != 1 else ""
    if isinstance(utility, Distance):
        make = "distance_utility" if are_numbers(prior.labels) else "ordered_utility"
        return [f"utility = lw.Expected(lw.{make}(prior.labels{power}))"]
    rows = [[float(cell) for cell in row] for row in utility_matrix(utility, prior)]
    lines = ["worth = [", *(f"    {_python_row(row)}," for row in rows), "]"]
    outputs = "" if utility.outputs is None else f", outputs={listed(label(text) for text in utility.outputs)}"
    then = ""
    if utility.then == "mutual_information":
        then = ', then="mutual_information"'
    elif utility.then == "expected":
        then = f", then=lw.Expected(worth{outputs})"
    return [*lines, f'utility = lw.WorstCase(worth, by="{utility.by}"{then}{outputs})']


def _python_row(row: Sequence[float]) -> str:
    cells = (
        'float("-inf")' if cell == float("-inf") else f"{cell:g}" if f"{cell:g}" == str(cell) else repr(cell)
        for cell in row
    )
    return f"[{', '.join(cells)}]"


def _mechanism_lines(source: Catalog | Matrix) -> list[str]:
    if isinstance(source, Catalog):
        value: Any = int(source.value) if source.parameter == "k" else source.value.strip()
        given = "" if source.parameter == "none" else f", {source.parameter}={in_python(value)}"
        return [f"mechanism = lw.{source.name}(prior.labels{given})"]
    exact = not isinstance(matrix_entries(source)[0][0], float)
    rows = [
        [in_python(cell.strip()) if exact else repr(float(value)) for cell, value in zip(line, values, strict=True)]
        for line, values in zip(source.rows, matrix_entries(source), strict=True)
    ]
    outputs = "" if source.outputs is None else f", outputs={listed(label(text) for text in source.outputs)}"
    body = [f"    [{', '.join(row)}]," for row in rows]
    return ["mechanism = lw.Mechanism([", *body, f"], inputs=prior.labels{outputs})"]


# ------------------------------------------------------------------------------------------------- command lines


def command_line(state: State, prior: Prior) -> tuple[str | None, list[str], str]:
    """The command that does the same, the files of this page that it reads, and a word on what it cannot do.

    The line is None where the command line has no words for what is on the screen.
    """
    if state.prior.sample is not None:
        return (
            None,
            [],
            "The command line designs and audits for a single prior. Use the Python lines for a set of them.",
        )
    known, reads = _prior_option(state.prior)
    asked = [f"--{state.level.kind}", state.level.value.strip()]
    audited = asked
    for name, given in further_limits(state).items():
        option = f"--{name.replace('_', '-')}"
        pairs = [given] if isinstance(given, str) else [f"{value}={text}" for value, text in given]
        asked = [*asked, *(word for pair in pairs for word in (option, pair))]
    saved = ["--save", NAMES["mechanism"], "--certificate", NAMES["certificate"]]
    goal = state.goal
    if isinstance(goal, DesignGoal):
        utility = goal.utility
        if isinstance(utility, Named):
            reading = ["guessing", "--keep-frequencies"] if utility.name == "reading" else [utility.name]
            words = ["leakwise", "design", *known, *asked, "--utility", *reading]
        elif isinstance(utility, Distance):
            words = ["leakwise", "design", *known, *asked, "--utility-matrix", NAMES["utility"]]
            reads = [*reads, "utility"]
        else:
            then = [] if utility.then == "nothing" else ["--then", utility.then]
            words = ["leakwise", "worst-case", NAMES["utility"], *known, *asked, "--by", utility.by, *then]
            return shlex.join([*words, *saved]), [*reads, "utility"], ""
        return shlex.join([*words, "--time-limit", f"{LIMITS.solve:g}", *saved]), reads, ""
    text, more = _mechanism_argument(goal.source, prior)
    note = "It prints the audit; its exit code is 1 if the limit is broken. The Python lines write the certificate."
    return shlex.join(["leakwise", "audit", text, *known, *audited]), [*reads, *more], note


def _prior_option(state: PriorState) -> tuple[list[str], list[str]]:
    """The prior as an option, or as a file where its labels cannot stand in one."""
    names = [name.strip() for name in state.labels]
    option = "--counts" if state.kind == "counts" else "--prior"
    if any("," in name or "\n" in name for name in names):
        return ["--prior", NAMES["prior"]], ["prior"]
    values = (value.strip() for value in state.values)
    return [option, ",".join(f"{name}={value}" for name, value in zip(names, values, strict=True))], []


def _mechanism_argument(source: Catalog | Matrix, prior: Prior) -> tuple[str, list[str]]:
    """A named mechanism as a word, or a matrix as a file."""
    if isinstance(source, Matrix):
        return NAMES["matrix"], ["matrix"]
    letters = [str(name) for name in prior.labels]
    if len(letters) == 1 or any(set(name) & set(",/=") for name in letters):
        return NAMES["mechanism"], ["mechanism"]
    given = "" if source.parameter == "none" else f",{source.parameter}={source.value.strip()}"
    return f"{source.name.replace('_', '-')}:letters={'/'.join(letters)}{given}", []
