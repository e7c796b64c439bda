"""The release of an opened table as it was decided on the page: once as a command, as settings, and as Python."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from leakwise.alphabet.given import joined
from leakwise.documents.settings import settings_text
from leakwise.priors import Prior
from leakwise.studio.reading import label, number, read_nominal
from leakwise.studio.several import EMPTY, FAILURE, made_for, own_bins, own_domain, own_lift, quoted, second_limit
from leakwise.studio.state import DesignGoal, Named, OtherColumns, PriorState, State
from leakwise.studio.takeaway import further_limits, in_python, listed

__all__ = ["TableRelease", "value_of"]


@dataclass(frozen=True)
class TableRelease:
    """What was decided about a table whose rows are open in the page."""

    state: State
    others: OtherColumns

    # -- names of files --------------------------------------------------------------------------------------------

    @property
    def stem(self) -> str:
        """The name of the table without its ending."""
        return self.others.table.rpartition(".")[0] or self.others.table

    @property
    def out(self) -> str:
        """The name of the released table."""
        ending = self.others.table.rpartition(".")[2] if "." in self.others.table else "csv"
        return f"{self.stem}_released.{ending}"

    @property
    def settings_name(self) -> str:
        """The name of the file of settings."""
        return f"{self.stem}_release.toml"

    # -- what was decided ------------------------------------------------------------------------------------------

    @property
    def lift(self) -> str:
        """The lift as it is typed."""
        return own_lift(self.state)

    @property
    def failure(self) -> str:
        """The failure probability as it is typed, a number with a point."""
        sample = self.state.prior.sample
        text = FAILURE if sample is None else sample.failure.strip()
        return repr(float(number(text, "The failure probability"))) if "/" in text else text

    @property
    def from_table(self) -> bool:
        """Whether the prior is estimated from the rows: always where it must be known for each of the given columns."""
        return self.state.prior.origin == "table" or bool(self.others.given)

    @property
    def options(self) -> dict[str, Any]:
        """The options of ``leakwise release`` by the names that are typed; those that may be repeated are lists."""
        found: dict[str, Any] = {"column": [self.others.column]}
        found |= {"domain": [own_domain(self.state, counted=True)], "lift": self.lift}
        if self.from_table:
            found |= {"prior-from-table": True, "failure": self.failure}
        else:
            found["prior"] = [_typed_prior(self.state.prior)]
        if second := second_limit(self.state, Fraction(self.lift)):
            found["anyone"] = second[1]
        for name, given in self._value_limits.items():
            pairs = [f"{'' if value is None else quoted(str(value))}={text}" for value, text in given]
            found[name.replace("_", "-")] = pairs
        if self.for_reading:
            found["for"] = "reading"
        columns = {"given": self.others.given, "unrelated": self.others.unrelated, "drop": self.others.drop}
        found |= {option: [quoted(name) for name in names] for option, names in columns.items() if names}
        return {**found, "order": "shuffle"}

    @property
    def for_reading(self) -> bool:
        """Whether outcomes are values to be read."""
        return isinstance(self.state.goal, DesignGoal) and self.state.goal.utility == Named("reading")

    @property
    def _value_limits(self) -> dict[str, list[tuple[object, str]]]:
        return {name: given for name, given in further_limits(self.state, value_of).items() if name != "anyone"}

    @property
    def note(self) -> str:
        """What the release does otherwise than the screen shows."""
        words = made_for(self.state)
        if self.others.given and self.state.prior.origin != "table":
            words.append(
                "What is known beforehand is estimated from the table: where columns are given, it must be known for "
                "each of their combinations, and your prior is of the secret alone."
            )
        if self.others.unrelated:
            names = joined(self.others.unrelated)
            words.append(f"It releases nothing if the table shows that the secret is not unrelated to {names}.")
        return " ".join(words)

    # -- as words, as a file, as Python ----------------------------------------------------------------------------

    @property
    def command(self) -> str:
        """The whole command."""
        words = []
        for option, value in self.options.items():
            for one in value if isinstance(value, list) else [value]:
                words += [f"--{option}"] if one is True else [f"--{option}", one]
        return self._command(words)

    @property
    def short_command(self) -> str:
        """The command with the file of settings."""
        return self._command(["--config", self.settings_name])

    def _command(self, words: list[str]) -> str:
        table = self.others.table if not self.others.table.startswith("-") else f"./{self.others.table}"
        return shlex.join(["leakwise", "release", table, *words, "-o", self.out])

    @property
    def settings(self) -> str:
        """The file of settings, as ``--save-config`` writes it; the mechanism is only there after a release."""
        return settings_text("release", self.settings_name, self.options)

    @property
    def python(self) -> list[str]:
        """Lines of Python that release the table."""
        made = own_bins(self.state)
        values = listed(map(value_of, self.state.prior.labels)) if made is None else f"lw.bins({', '.join(made)})"
        given: dict[str, str] = {"lift": in_python(self.lift)}
        if self.from_table:
            given |= {"prior": '"table"', "failure": self.failure}
        else:
            given["prior"] = '"uniform"' if _is_uniform(self.state.prior) else "prior"
        if second := second_limit(self.state, Fraction(self.lift)):
            given["anyone"] = "None" if second[1] == "none" else in_python(second[1])
        for name, pairs in self._value_limits.items():
            inside = ", ".join(f"{in_python(value)}: {in_python(text)}" for value, text in pairs)
            given[name] = f"{{{inside}}}"
        if self.for_reading:
            given["use"] = '"reading"'
        columns = {"given": self.others.given, "unrelated": self.others.unrelated, "drop": self.others.drop}
        given |= {name: listed(names) for name, names in columns.items() if names}
        given |= {"order": '"shuffle"', "out": in_python(self.out)}
        return [
            f"domain = {values}",
            "r = lw.protect(",
            f"    {in_python(self.others.table)},",
            f"    {in_python(self.others.column)},",
            "    domain=domain,",
            *(f"    {name}={value}," for name, value in given.items()),
            ")",
            "r",
        ]


def value_of(text: str) -> object:
    """Return a value of an opened table: what the page calls an empty cell is a missing one."""
    return None if text.strip() == EMPTY else label(text)


def _is_uniform(state: PriorState) -> bool:
    known: Prior = read_nominal(state)
    return len(set(known.fractions)) == 1


def _typed_prior(state: PriorState) -> str:
    """The prior after ``--prior``."""
    if _is_uniform(state):
        return "uniform"
    known = read_nominal(state)
    names = ("" if value_of(text) is None else quoted(text.strip()) for text in state.labels)
    return ",".join(f"{name}={share}" for name, share in zip(names, known.fractions, strict=True))
