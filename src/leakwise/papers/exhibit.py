"""What the papers show, as data: one function for each figure, table or example, and the list of them all.

An exhibit is a function with the paper's parameters as keyword defaults. It gives back a :class:`Result`: the rows
of its table, its chart, and what became of each thing that the paper states (:class:`Finding`).
"""

from __future__ import annotations

import csv
import importlib
import inspect
import io
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from leakwise.charts.specs import Spec
from leakwise.errors import InvalidInput, did_you_mean

__all__ = [
    "ARTICLE",
    "COMPUTED",
    "PAPERS",
    "SHOWN",
    "Exhibit",
    "Finding",
    "Paper",
    "Progress",
    "Result",
    "compared",
    "exhibit",
    "exhibits",
    "find",
    "further",
    "one_by_one",
    "stated",
]

Progress = Callable[[float, str], None]
"""Called with the share done, in [0, 1], and a few words on what is being done."""

_Item = TypeVar("_Item")

# Enough to see any difference that means something, and short of the digits that change with a library's version.
_DIGITS = 10
# A theorem is not in its paper's figures and tables: we show it all the same, under its own name.
_KINDS = ("example", "figure", "table", "theorem")
_NAME = re.compile(rf"({'|'.join(_KINDS)})_[0-9]+[a-z]?(_[a-z0-9]+)*")


@dataclass(frozen=True, slots=True)
class Paper:
    """One of the five papers.

    Attributes
    ----------
    key, name, module
        Its short name, its name, and the module that recomputes it.
    subject
        What it is about.
    drawn
        Its figures and tables that compute nothing, and what they show: they are not recomputed.
    """

    key: str
    name: str
    module: str
    subject: str
    drawn: Mapping[str, str] = field(default_factory=dict)


PAPERS: Mapping[str, Paper] = {
    paper.key: paper
    for paper in (
        Paper("EX", "extremal-mechanisms", "extremal_mechanisms", "optimal mechanisms for a known prior"),
        Paper("WC", "worst-case-utility", "worst_case_utility", "least leakage under a worst-case utility"),
        Paper(
            "ED",
            "empirical-distributions",
            "empirical_distributions",
            "priors known only from data",
            {"Figure 1": "the steps from samples to a guarantee"},
        ),
        Paper(
            "PR",
            "per-record-leakage",
            "per_record_leakage",
            "datasets against an entropy-bounded adversary",
            {
                "Figure 2": "which algorithm calls which",
                "Table 1": "the symbols",
                "Table 2": "its problems and those of information theory",
            },
        ),
        Paper("EN", "leakage-envelopes", "leakage_envelopes", "guarantees that survive post-processing"),
    )
}
"""The papers by their short names, in the order of the gallery."""

ARTICLE = Paper("LW", "leakwise-article", "our_article", "what the five papers leave open, with proofs")
"""Our own article, docs/paper: theorems that have something to show."""

SHOWN: Mapping[str, Paper] = {**PAPERS, ARTICLE.key: ARTICLE}
"""Whatever has exhibits."""


COMPUTED = "every computed figure and table of the five papers (not the schematic ones: {})".format(
    "; ".join(f"[{paper.key}] {', '.join(paper.drawn)}" for paper in PAPERS.values() if paper.drawn)
)
"""What is recomputed, in words: the schematic figures and tables are named."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that the paper states, and what we get.

    Attributes
    ----------
    claim
        What is stated, in words.
    printed
        The number or text of the paper; None where it prints none.
    ours
        The number or text that we compute.
    agrees
        Whether the two say the same.
    why
        Why they differ, or how ours goes further; empty where they say the same.
    beyond
        Whether the paper's statement is right and ours goes further: a sharper number, or a case left open.
    """

    claim: str
    printed: float | str | None
    ours: float | str
    agrees: bool
    why: str = ""
    beyond: bool = False

    def __post_init__(self) -> None:
        for name in ("printed", "ours", "agrees"):  # a NumPy number would not be plain data
            value = getattr(self, name)
            object.__setattr__(self, name, value.item() if hasattr(value, "item") else value)
        if (self.beyond or not self.agrees) and not self.why:
            raise InvalidInput(f"The finding {self.claim!r} is not what the paper prints: say why, in `why`.")
        if self.beyond and not self.agrees:
            raise InvalidInput(f"The finding {self.claim!r} either contradicts the paper or goes beyond it, not both.")

    def to_dict(self) -> dict[str, Any]:
        """The finding as plain data."""
        return {name: getattr(self, name) for name in ("claim", "printed", "ours", "agrees", "why", "beyond")}


_OTHERWISE = "not so with these parameters"


def stated(claim: str, printed: float | str | None, ours: float | str, holds: bool, why: str = _OTHERWISE) -> Finding:
    """The finding on a statement; `why` is told only where the statement does not hold."""
    return Finding(claim, printed, ours, holds, "" if holds else why)


def compared(claim: str, printed: float, ours: float, *, within: float, why: str = _OTHERWISE) -> Finding:
    """The finding on a printed number: it agrees where ours is not further away than its last digit allows.

    >>> compared("log 2 to two digits", 0.69, 0.693147, within=0.005)
    Finding(claim='log 2 to two digits', printed=0.69, ours=0.693147, agrees=True, why='', beyond=False)
    """
    return stated(claim, printed, ours, abs(printed - ours) <= within, why)


def further(claim: str, printed: float | str | None, ours: float | str, why: str) -> Finding:
    """The finding on a statement that is right, where ours goes further; `why` says how.

    >>> further("samples that suffice", 11_420, 6_667, "with the divergence in place of its bound").ours
    6667
    """
    return Finding(claim, printed, ours, True, why, beyond=True)


def one_by_one(items: Sequence[_Item], progress: Progress | None, words: str) -> Iterator[_Item]:
    """Yield the items, and tell after each which share is done; ``words`` are about the item, such as ``"m = {:,}"``.

    >>> list(one_by_one([10, 2000], lambda share, words: print(share, words), "m = {:,}"))
    0.5 m = 10
    1.0 m = 2,000
    [10, 2000]
    """
    for done, item in enumerate(items, 1):
        yield item
        if progress is not None:
            progress(done / len(items), words.format(item))


@dataclass(frozen=True, slots=True)
class Result:
    """What an exhibit gives back.

    Attributes
    ----------
    rows
        The table, one mapping of column names to numbers, texts, truth values or None for each row.
    chart
        A Vega-Lite specification made by :mod:`leakwise.charts.specs`; None where a picture would say nothing.
    findings
        What the paper states beside what is true.
    """

    rows: Sequence[Mapping[str, object]]
    chart: Spec | None = None
    findings: Sequence[Finding] = ()

    def __post_init__(self) -> None:
        if not self.rows:
            raise InvalidInput("rows is empty. An exhibit shows at least one row.")

    @property
    def columns(self) -> list[str]:
        """The names of the columns, in the order in which the rows first use them."""
        return list(dict.fromkeys(name for row in self.rows for name in row))

    def column(self, name: str) -> list[Any]:
        """One column, with None where a row has no such entry."""
        if name not in self.columns:
            raise InvalidInput(
                f"name must be one of {', '.join(self.columns)}. Got {name!r} instead."
                f"{did_you_mean(name, self.columns)}"
            )
        return [row.get(name) for row in self.rows]

    def csv(self) -> str:
        """The rows as CSV text: ten significant digits, an empty field for None, the same bytes every time.

        >>> print(Result([{"epsilon": 0.5, "value": 1 / 3}, {"epsilon": 1.0, "value": None}]).csv(), end="")
        epsilon,value
        0.5,0.3333333333
        1,
        """
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows([_field(row.get(name)) for name in self.columns] for row in self.rows)
        return text.getvalue()


def _field(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if hasattr(value, "item"):  # a NumPy scalar
        value = value.item()
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, float):
        # "-0" and "0" are one number, and which of them comes out may depend on the library.
        return "nan" if math.isnan(value) else format(value + 0.0, f".{_DIGITS}g")
    return str(value)  # a fraction, say


@dataclass(frozen=True, slots=True)
class Exhibit:
    """A figure, table or example: where it stands in its paper, and the function that recomputes it.

    Calling it calls the function.
    """

    paper: str
    number: str
    title: str
    shows: str
    printed: str
    seed: int | None
    function: Callable[..., Result]

    @property
    def name(self) -> str:
        """The name of the function, such as ``figure_1a``."""
        return str(self.function.__name__)

    @property
    def full_name(self) -> str:
        """The name on the command line and in file names, such as ``extremal-mechanisms/figure_1a``."""
        return f"{SHOWN[self.paper].name}/{self.name}"

    @property
    def parameters(self) -> dict[str, object]:
        """The paper's parameters: the keyword defaults of the function."""
        parameters = inspect.signature(self.function).parameters.values()
        return {p.name: p.default for p in parameters if p.name not in ("fast", "progress")}

    def __call__(self, *, fast: bool = False, progress: Progress | None = None, **parameters: object) -> Result:
        return self.function(fast=fast, progress=progress, **parameters)


_REGISTRY: dict[tuple[str, str], Exhibit] = {}
_Function = TypeVar("_Function", bound=Callable[..., Result])


def exhibit(
    *, paper: str, title: str, shows: str, printed: str, number: str | None = None, seed: int | None = None
) -> Callable[[_Function], _Function]:
    """Register a function as a figure, table or example of a paper; the function itself stays as it is.

    Parameters
    ----------
    paper
        The short name of the paper: a key of :data:`SHOWN`.
    title, shows, printed
        A heading, a paragraph on what it shows, and what the paper prints.
    number
        What the paper calls it, where that is not the name of the function: ``figure_1a`` is Figure 1a.
    seed
        The seed of its random draws. The function then has a parameter ``seed`` with this default.
    """
    if paper not in SHOWN:
        raise InvalidInput(f"paper must be one of {', '.join(SHOWN)}. Got {paper!r} instead.")

    def register(function: _Function) -> _Function:
        called = function.__name__.replace("_", " ").capitalize() if number is None else number
        made = Exhibit(paper, called, title, shows, printed, seed, function)
        parameters = inspect.signature(function).parameters
        loose = [p.name for p in parameters.values() if p.kind is not p.KEYWORD_ONLY or p.default is p.empty]
        if not _NAME.fullmatch(made.name) or loose or not {"fast", "progress"} <= parameters.keys():
            raise InvalidInput(
                f"{made.name} must be named like figure_1a, table_3, example_2 or theorem_5 and take keywords with "
                "defaults only, fast and progress among them. "
                f"Not so: {', '.join(loose) or 'its name, or fast and progress'}."
            )
        if seed is not None and made.parameters.get("seed") != seed:
            raise InvalidInput(f"{made.name} must take seed={seed} as a keyword default, as its exhibit says.")
        known = _REGISTRY.get((paper, made.name))
        if known is not None and known.function.__module__ != function.__module__:
            raise InvalidInput(f"{made.full_name} is there twice: rename one of the functions.")
        _REGISTRY[paper, made.name] = made
        return function

    return register


def exhibits(paper: str | None = None) -> list[Exhibit]:
    """Every exhibit of a paper, or of all, ours last: examples first, then figures, tables, theorems."""
    if paper is not None and paper not in SHOWN:
        raise InvalidInput(f"paper must be one of {', '.join(SHOWN)}. Got {paper!r} instead.")
    wanted = list(SHOWN) if paper is None else [paper]
    for key in wanted:
        importlib.import_module(f"leakwise.papers.{SHOWN[key].module}")
    return [
        made
        for key in wanted
        for made in sorted((made for made in _REGISTRY.values() if made.paper == key), key=_place)
    ]


def _place(made: Exhibit) -> tuple[int, int, str]:
    kind, number, rest = re.match(r"([a-z]+)_([0-9]+)(.*)", made.name).groups()  # type: ignore[union-attr]
    return _KINDS.index(kind), int(number), rest


def find(names: Sequence[str] = ()) -> list[Exhibit]:
    """The exhibits that the names ask for, each once; all of them for no name.

    A name is a paper (``EX`` or ``extremal-mechanisms``), an exhibit (``EX/figure_1a``), or an exhibit's own name
    (``figure_1a``), which then stands for that of every paper.
    """
    everything = exhibits()
    found: dict[str, Exhibit] = {}
    for asked in names:
        matching = [made for made in everything if asked.lower().strip("/") in _names(made)]
        if not matching:
            known = sorted({name for made in everything for name in _names(made)})
            raise InvalidInput(
                f"There is no paper and no exhibit named {asked!r}.{did_you_mean(asked.lower(), known)} "
                "`leakwise papers --list` names them all."
            )
        found |= {made.full_name: made for made in matching}
    return [made for made in everything if not names or made.full_name in found]


def _names(made: Exhibit) -> tuple[str, ...]:
    key, paper = made.paper.lower(), SHOWN[made.paper].name
    return key, paper, made.name, f"{key}/{made.name}", f"{paper}/{made.name}"
