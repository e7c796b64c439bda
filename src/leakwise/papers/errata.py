"""Notes on the papers: errors of theirs, warnings to those who implement them, and results that go further.

Each note has a demonstration that runs.

>>> from leakwise.papers.errata import errata
>>> entry = next(entry for entry in errata("ED") if entry.name == "ed_linear_composition")
>>> entry.kind
'warning'
>>> for finding in entry.demonstrate():
...     print(finding.claim, round(finding.ours, 6))
e^ε of one release 1.5
e^ε of the second release for anyone who saw the first 2.0
e^ε of both together 3.0
"""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from leakwise.errors import InvalidInput
from leakwise.papers.exhibit import PAPERS, Finding

__all__ = ["KINDS", "WEIGHTS", "Entry", "Kind", "beyond", "errata", "erratum", "markdown", "warning"]

WEIGHTS = ("safety-critical", "wrong", "loose", "harmless")
"""How much an erratum matters. Safety-critical: anyone who relies on it promises more privacy than there is. Wrong: a
statement or number that does not hold. Loose: it errs on the safe side. Harmless: a misprint that the context corrects.
"""


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of note: its heading, what it is, and the word in front of our side of it."""

    heading: str
    about: str
    answer: str


KINDS = {
    "erratum": Kind(
        "Errata",
        "A statement, formula or number of a paper that does not hold as printed. Only these have a weight. "
        "Safety-critical: anyone who relies on it promises more privacy than there is. Wrong: it does not hold. Loose: "
        "it errs on the safe side. Harmless: a misprint that the context corrects.",
        "Correction",
    ),
    "warning": Kind(
        "Warnings to implementers",
        "The paper is not in error here; an implementation that reads it in haste easily is.",
        "Mind",
    ),
    "beyond": Kind(
        "Further results",
        "The paper is right. What we add is sharper, more general, or settles what it leaves open.",
        "We add",
    ),
}
"""The kinds of notes, in the order of the pages."""

Demonstration = Callable[[], Sequence[Finding]]


@dataclass(frozen=True, slots=True)
class Entry:
    """One note on a place of a paper: what it says, what we say to it, and a function that shows it.

    Attributes
    ----------
    where
        The place in the paper.
    kind
        A key of :data:`KINDS`.
    weight
        One of :data:`WEIGHTS` for an erratum; empty for the others.
    says, truth
        What the paper says, and the correction, the warning, or what we add.
    demonstrate
        Gives what is printed with what is true.
    """

    where: str
    kind: str
    weight: str
    says: str
    truth: str
    demonstrate: Demonstration

    @property
    def name(self) -> str:
        """The name of the demonstration, such as ``ed_linear_composition``."""
        return str(self.demonstrate.__name__)

    @property
    def paper(self) -> str:
        """The short name of the paper, with which that of the demonstration begins."""
        return self.name.partition("_")[0].upper()


_ENTRIES: dict[str, Entry] = {}
# The modules register what they hold.
_MODULES = ("errata_mechanisms", "errata_data", "errata_records", "empirical_distributions.slips",
            "per_record_leakage.slips")  # fmt: skip

Register = Callable[[Demonstration], Demonstration]


def erratum(*, where: str, weight: str, says: str, truth: str) -> Register:
    """Register a demonstration as an erratum of a paper; the function itself stays as it is."""
    if weight not in WEIGHTS:
        raise InvalidInput(f"weight must be one of {', '.join(WEIGHTS)}. Got {weight!r} instead.")
    return _registering("erratum", where, weight, says, truth)


def warning(*, where: str, says: str, truth: str) -> Register:
    """Register a demonstration as a warning to implementers: not an error of the paper."""
    return _registering("warning", where, "", says, truth)


def beyond(*, where: str, says: str, truth: str) -> Register:
    """Register a demonstration as a result that goes beyond a paper that is right."""
    return _registering("beyond", where, "", says, truth)


def _registering(kind: str, where: str, weight: str, says: str, truth: str) -> Register:
    def register(demonstrate: Demonstration) -> Demonstration:
        entry = Entry(where, kind, weight, says, truth, demonstrate)
        if entry.paper not in PAPERS:
            raise InvalidInput(f"{entry.name} must begin with one of {', '.join(PAPERS).lower()}, the paper it is on.")
        _ENTRIES[entry.name] = entry
        return demonstrate

    return register


def errata(paper: str | None = None, kind: str | None = None) -> list[Entry]:
    """Return the notes on a paper, or on all five, of one kind or of all.

    They are in the order of the papers and, within one, of their kind, weight and name.
    """
    if paper is not None and paper not in PAPERS:
        raise InvalidInput(f"paper must be one of {', '.join(PAPERS)}. Got {paper!r} instead.")
    if kind is not None and kind not in KINDS:
        raise InvalidInput(f"kind must be one of {', '.join(KINDS)}. Got {kind!r} instead.")
    for module in _MODULES:
        importlib.import_module(f"leakwise.papers.{module}")
    papers, kinds = list(PAPERS), list(KINDS)
    chosen = [entry for entry in _ENTRIES.values() if paper in (None, entry.paper) and kind in (None, entry.kind)]
    return sorted(
        chosen,
        key=lambda entry: (
            papers.index(entry.paper),
            kinds.index(entry.kind),
            WEIGHTS.index(entry.weight) if entry.weight else 0,
            entry.name,
        ),
    )


def markdown() -> str:
    """Return the notes as Markdown, kind by kind, for the documentation."""
    parts = []
    for name, kind in KINDS.items():
        parts += [f"## {kind.heading}", _wrapped(kind.about)]
        for paper in PAPERS.values():
            own = errata(paper.key, name)
            if not own:
                continue
            parts.append(f"### [{paper.key}] {paper.name}")
            for entry in own:
                mark = f"{entry.weight}, `{entry.name}`" if entry.weight else f"`{entry.name}`"
                parts.append(f"**{_escaped(entry.where)}** ({mark})")
                parts += [_wrapped(f"The paper: {entry.says}"), _wrapped(f"{kind.answer}: {entry.truth}")]
    return "\n\n".join(parts) + "\n"


def _wrapped(text: str) -> str:
    return "\n".join(textwrap.wrap(_escaped(text), 118, break_long_words=False, break_on_hyphens=False))


def _escaped(text: str) -> str:
    for mark in "\\|*_<$":
        text = text.replace(mark, f"\\{mark}")
    return text
