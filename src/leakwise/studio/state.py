"""What the page sends and gets back, as types: a field that is missing, unknown or of another kind is refused by name.

Numbers that a person types travel as text, so that 0.1 means one tenth and not the float nearest to it.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from leakwise.studio.limits import LIMITS

__all__ = [
    "Asked",
    "Catalog",
    "DesignGoal",
    "Distance",
    "Event",
    "Failed",
    "File",
    "FileAsked",
    "Further",
    "Level",
    "Matrix",
    "MechanismGoal",
    "Named",
    "Part",
    "PriorState",
    "Progressed",
    "RowState",
    "Sample",
    "State",
    "ValueLimit",
    "WorstCaseGoal",
]

Text = Annotated[str, Meta(max_length=LIMITS.text)]
Labels = Annotated[list[Text], Meta(min_length=1, max_length=LIMITS.letters)]
Row = Annotated[list[Text], Meta(min_length=1, max_length=LIMITS.outputs)]
Rows = Annotated[list[Row], Meta(min_length=1, max_length=LIMITS.letters)]


class _Strict(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """No field is ignored."""


# ------------------------------------------------------------------------------------------------- what is asked


class Sample(_Strict, frozen=True):
    """The prior is the frequencies of a sample; with probability ``failure`` the sample misleads."""

    failure: Text
    method: Literal["weissman", "weissman-phi", "clopper-pearson", "best"] = "weissman"
    size: Annotated[int, Meta(ge=1, le=10**12)] | None = None  # only for probabilities: counts have their own


class PriorState(_Strict, frozen=True):
    """One number for each value of the secret."""

    kind: Literal["probabilities", "counts"]
    labels: Labels
    values: Labels
    sample: Sample | None = None
    origin: Literal["given", "table"] = "given"  # a table: its rows were counted in the page


class Level(_Strict, frozen=True):
    """The bound on leakage, as ε in nats or as the factor e^ε: whichever the person set last."""

    kind: Literal["epsilon", "lift"]
    value: Text


class ValueLimit(_Strict, frozen=True):
    """The limits of one value: its largest lift, its largest posterior, its least lift. An empty one is no limit."""

    value: Text
    lift_of: Text = ""
    ceiling: Text = ""
    floor: Text = ""


class Named(_Strict, frozen=True, tag_field="kind", tag="named"):
    """A utility that has a name. Reading is guessing with the frequencies kept."""

    name: Literal["frequencies", "mutual_information", "guessing", "reading"]


class Distance(_Strict, frozen=True, tag_field="kind", tag="distance"):
    """The expected distance between the answer and the truth: of numbers, or steps between values in their order."""

    power: Literal[1, 2] = 1


class WorstCaseGoal(_Strict, frozen=True, tag_field="kind", tag="worst_case"):
    """What each answer is worth for each value; the worst that can occur is to be as good as possible."""

    matrix: Rows
    by: Literal["value", "order"] = "value"
    then: Literal["nothing", "mutual_information", "expected"] = "nothing"
    outputs: Row | None = None


class DesignGoal(_Strict, frozen=True, tag_field="kind", tag="design"):
    """Find the best mechanism for a utility."""

    utility: Named | Distance | WorstCaseGoal


class Catalog(_Strict, frozen=True, tag_field="kind", tag="catalog"):
    """A mechanism by name, with its one parameter."""

    name: Literal[
        "randomized_response", "symmetric_channel", "truncated_geometric", "k_singular", "identity", "constant"
    ]
    parameter: Literal["epsilon", "lift", "flip", "k", "none"] = "none"
    value: Text = ""


class Matrix(_Strict, frozen=True, tag_field="kind", tag="matrix"):
    """A mechanism as its matrix: a row for each value of the secret, a column for each outcome."""

    rows: Rows
    outputs: Row | None = None


class MechanismGoal(_Strict, frozen=True, tag_field="kind", tag="mechanism"):
    """Look at a mechanism that the person brings."""

    source: Catalog | Matrix


class Further(_Strict, frozen=True):
    """A further secret of the same rows: its column, every value that it can have, and its lift."""

    name: Text = ""
    values: Annotated[str, Meta(max_length=LIMITS.domain)] = ""
    lift: Text = ""


class RowState(_Strict, frozen=True):
    """The secrets of a row: what the table and the column of the first one are called, the others, and their total."""

    table: Text = ""
    name: Text = ""
    further: Annotated[list[Further], Meta(max_length=LIMITS.secrets)] = []
    total: Text = ""


class State(_Strict, frozen=True):
    """Everything that is on the screen."""

    prior: PriorState
    level: Level
    goal: DesignGoal | MechanismGoal
    version: Literal[1] = 1
    anyone: Text | None = None  # the limit for anyone; None, as in links of older pages, is none
    values: Annotated[list[ValueLimit], Meta(max_length=LIMITS.letters)] = []
    row: RowState | None = None


Names = Annotated[list[Text], Meta(max_length=LIMITS.columns)]


class OtherColumns(_Strict, frozen=True):
    """The other columns of an opened table, and how often each value occurs in each combination of the given ones."""

    table: Text
    column: Text
    given: Names = []
    unrelated: Names = []
    drop: Names = []
    keys: Annotated[list[Names], Meta(max_length=LIMITS.combinations)] = []
    counts: Annotated[
        list[Annotated[list[int], Meta(max_length=LIMITS.letters)]], Meta(max_length=LIMITS.combinations)
    ] = []


class Asked(_Strict, frozen=True):
    """A request of one panel of one page. A newer one of the same panel and page takes its place."""

    client: Annotated[str, Meta(min_length=1, max_length=64)]
    state: State
    draft: bool = False  # the knob is turning: what moves on the screen, as quickly as can be
    view: Literal["mechanism", "lifts"] = "mechanism"  # which heat map a draft draws
    others: OtherColumns | None = None  # of a table that is open in the page


class FileAsked(_Strict, frozen=True):
    """A request for a file to take away."""

    client: Annotated[str, Meta(min_length=1, max_length=64)]
    state: State
    what: Literal["mechanism", "certificate", "report", "prior", "utility", "matrix"]


# ----------------------------------------------------------------------------------------------- what is answered


class File(msgspec.Struct, frozen=True):
    """A file to take away. Its name is chosen here and never by the page."""

    name: str
    type: str
    text: str


class Progressed(msgspec.Struct, frozen=True, tag_field="event", tag="progress"):
    """How a search is doing."""

    stage: str
    done: float | None = None  # from 0 to 1, where that is known


class Part(msgspec.Struct, frozen=True, tag_field="event", tag="part"):
    """Something to show; an answer may come in several."""

    name: str
    body: Any


class Failed(msgspec.Struct, frozen=True, tag_field="event", tag="error"):
    """What went wrong, in words, and whose part it is about."""

    kind: str
    message: str
    about: str = "answer"


Event = Progressed | Part | Failed
