"""The errata: each place where a paper's text, formula or number is wrong or loose, with a demonstration to run.

>>> from leakwise.papers.errata import errata
>>> entry = next(entry for entry in errata("ED") if entry.name == "ed_linear_composition")
>>> for finding in entry.demonstrate():
...     print(finding.claim, finding.printed, round(finding.ours, 6))
e^ε of two releases, each with e^ε = 1.5 2.25 3.0
"""

from __future__ import annotations

import importlib
import textwrap
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from leakwise.errors import InvalidInput
from leakwise.papers.exhibit import PAPERS, Finding

__all__ = ["WEIGHTS", "Erratum", "errata", "erratum", "markdown"]

WEIGHTS = ("safety-critical", "wrong", "loose", "harmless")
"""How much it matters. Safety-critical: who relies on it promises more privacy than there is."""

Demonstration = Callable[[], Sequence[Finding]]


@dataclass(frozen=True, slots=True)
class Erratum:
    """One place of a paper: what it says, what is true, and a function that shows it.

    Attributes
    ----------
    paper, where
        The short name of the paper, and the place in it.
    says, truth
        What the paper says, and what is true.
    weight
        One of :data:`WEIGHTS`.
    demonstrate
        Gives what is printed beside what is true.
    """

    paper: str
    where: str
    weight: str
    says: str
    truth: str
    demonstrate: Demonstration

    @property
    def name(self) -> str:
        """The name of the demonstration, such as ``ed_linear_composition``."""
        return str(self.demonstrate.__name__)


_ERRATA: dict[str, Erratum] = {}


def erratum(*, paper: str, where: str, weight: str, says: str, truth: str) -> Callable[[Demonstration], Demonstration]:
    """Register a demonstration as an erratum of a paper; the function itself stays as it is."""
    if paper not in PAPERS or weight not in WEIGHTS:
        raise InvalidInput(
            f"paper must be one of {', '.join(PAPERS)} and weight one of {', '.join(WEIGHTS)}. "
            f"Got {paper!r} and {weight!r} instead."
        )

    def register(demonstrate: Demonstration) -> Demonstration:
        entry = Erratum(paper, where, weight, says, truth, demonstrate)
        _ERRATA[entry.name] = entry
        return demonstrate

    return register


def errata(paper: str | None = None) -> list[Erratum]:
    """The errata of a paper, or of all five, in the order of the papers and, within one, of their weight."""
    # The modules register what they hold; those of the papers have errata of their own.
    for module in ("errata_mechanisms", "errata_data", "errata_records", *(paper.module for paper in PAPERS.values())):
        importlib.import_module(f"leakwise.papers.{module}")
    if paper is not None and paper not in PAPERS:
        raise InvalidInput(f"paper must be one of {', '.join(PAPERS)}. Got {paper!r} instead.")
    order = list(PAPERS)
    chosen = [entry for entry in _ERRATA.values() if paper in (None, entry.paper)]
    return sorted(chosen, key=lambda entry: (order.index(entry.paper), WEIGHTS.index(entry.weight), entry.name))


def markdown() -> str:
    """The errata as Markdown, for the documentation."""
    parts = []
    for paper in PAPERS.values():
        parts.append(f"### [{paper.key}] {paper.name}")
        for entry in errata(paper.key):
            parts.append(f"**{_escaped(entry.where)}** ({entry.weight}, `{entry.name}`)")
            parts += [_wrapped(f"The paper: {entry.says}"), _wrapped(f"True: {entry.truth}")]
    return "\n\n".join(parts) + "\n"


def _wrapped(text: str) -> str:
    return "\n".join(textwrap.wrap(_escaped(text), 118, break_long_words=False, break_on_hyphens=False))


def _escaped(text: str) -> str:
    for mark in "\\|*_<$":
        text = text.replace(mark, f"\\{mark}")
    return text
