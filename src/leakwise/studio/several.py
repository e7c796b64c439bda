"""Further secrets of the same rows: what all outcomes of a row tell together, and the command that releases them."""

from __future__ import annotations

import math
import re
import shlex
from fractions import Fraction

from leakwise.alphabet import bins
from leakwise.errors import InvalidInput
from leakwise.guarantee import at_least, at_most, lift_below
from leakwise.studio.reading import number, read_nominal
from leakwise.studio.state import DesignGoal, Further, MechanismGoal, Named, Part, State, WorstCaseGoal

__all__ = [
    "EMPTY",
    "FAILURE",
    "made_for",
    "own_bins",
    "own_domain",
    "own_lift",
    "quoted",
    "second_limit",
    "several_secrets",
]

FAILURE = "1e-6"
EMPTY = "(empty)"  # what the page calls an empty cell of a table that it counted
_BIN = re.compile(r"\[(?P<low>[^,\s]+), (?P<high>[^,\s]+)[)\]]")


def several_secrets(state: State) -> Part:
    """What the outcomes of a row tell together, and the command that releases all of its secrets in one account.

    Without a further secret the words and the command are None.
    """
    row = state.row
    further = [] if row is None else [one for one in row.further if any(map(str.strip, (one.name, one.values)))]
    if row is None or not further:
        return Part("several", {"words": None, "beyond": False, "cli": None, "note": ""})
    read_nominal(state.prior)
    names = [_name(row.name, "The secret above"), *(_name(one.name, "A further secret") for one in further)]
    if twice := [name for place, name in enumerate(names) if name in names[:place]]:
        raise InvalidInput(f"{twice[0]!r} is named twice. A column is one secret, with one lift.")
    lifts = [own_lift(state), *(one.lift.strip() for one in further)]
    exact = [_lift(text, f"The lift of {name}") for name, text in zip(names, lifts, strict=True)]
    whole = math.prod(exact, start=Fraction(1))
    total = _lift(row.total, "The total") if row.total.strip() else None
    if total is not None and total < max(exact):
        place = exact.index(max(exact))
        raise InvalidInput(
            f"The total is {row.total.strip()}, and {names[place]} alone has a lift of {lifts[place]}: what is told "
            "about one secret is told about the row. Type a total of at least that, or smaller lifts."
        )
    table = row.table.strip() or "table.csv"
    words = ["leakwise", "release", f"./{table}" if table.startswith("-") else table]
    for name, lift in zip(names, lifts, strict=True):
        words += ["--protect", f"{name}={lift}"]
    for domain in (own_domain(state), *map(_domain, further)):
        words += ["--domain", domain]
    failure = FAILURE if state.prior.sample is None else state.prior.sample.failure.strip()
    number(failure, "The failure probability")
    words += ["--prior-from-table", "--failure", failure]
    words += second_limit(state, exact[0])
    if isinstance(state.goal, DesignGoal) and state.goal.utility == Named("reading"):
        words += ["--for", "reading"]
    if total is not None:
        words += ["--total", row.total.strip()]
    beyond = total is not None and whole > total
    told = {"words": _promise(whole, total), "beyond": beyond, "cli": shlex.join(words), "note": _note(state)}
    return Part("several", told)


def _promise(whole: Fraction, total: Fraction | None) -> str:
    """The guarantee for the whole row, in words."""
    said = f"All outcomes of a row together: no guess about a row becomes more than {at_most(whole)} times as likely"
    if total is None or whole <= total:
        return f"{said}."
    most = at_most(total)
    return (
        f"{said}. That is beyond your total of {most}: with --total the command gives the secrets smaller lifts, which "
        f"multiply to at most {most}."
    )


def _note(state: State) -> str:
    """What the command does otherwise than the screen, and what it needs."""
    notes = [
        "What is known of each secret beforehand is estimated from the table, also of the one above. Columns that are "
        "no secret go out as they are (given), and the guarantee is about what the outcomes add to what those tell; "
        "add --drop NAME for those that are not to go out."
    ]
    notes += made_for(state)
    if any((one.lift_of + one.ceiling + one.floor).strip() for one in state.values):
        notes.append("Limits of single values are for one secret, and are left out.")
    return " ".join(notes)


def made_for(state: State) -> list[str]:
    """Return a word where a release is for something else than what is on the screen."""
    goal = state.goal
    if isinstance(goal, MechanismGoal):
        return ["It designs the best mechanisms for statistics; one that is brought is for one secret."]
    if not isinstance(goal.utility, Named) or goal.utility.name not in ("frequencies", "reading"):
        return ["It is made for statistics: a release is for those, or for reading."]
    return []


def _name(text: str, what: str) -> str:
    name = text.strip()
    if not name:
        raise InvalidInput(f"{what} has no name: type the name of its column in the table.")
    if "+" in name or '"' in name:
        raise InvalidInput(
            f"{what} must be one column. Got {name!r}. Several columns that are one secret are for the command line: "
            "--protect age+sex=3, with a --domain for each."
        )
    return name


def _lift(text: str, what: str) -> Fraction:
    found = number(text, what)
    if found < 1:
        raise InvalidInput(f"{what} must be at least 1 (1 reveals nothing). Got {text.strip()}.")
    return found


def own_lift(state: State) -> str:
    """Return the limit of the screen as a lift; from ε, rounded down, so that the command keeps it."""
    text = state.level.value.strip()
    if state.level.kind == "lift":
        return text
    epsilon = number(text, "ε")
    if not 0 <= epsilon <= 100:
        raise InvalidInput(f"ε must be a number from 0 to 100 here. Got {text!r}.")
    # A float below ε, so that its lift is below, too.
    return at_least(lift_below(max(0.0, math.nextafter(float(epsilon), -1)))).replace(",", "")


def second_limit(state: State, lift: Fraction) -> list[str]:
    """Return the limit for anyone as an option: the command's own is ten times the lift of each secret."""
    goal = state.goal
    if not isinstance(goal, DesignGoal) or isinstance(goal.utility, WorstCaseGoal):
        return []
    if state.anyone is None:
        return ["--anyone", "none"]
    # The page rounds ten times the lift to four digits.
    follows = abs(_lift(state.anyone, "The limit for anyone") / (10 * lift) - 1) < Fraction(1, 1000)
    return [] if follows else ["--anyone", state.anyone.strip()]


def own_bins(state: State) -> tuple[str, str, str] | None:
    """Return low, high and number of the bins that the values of the prior are; None where they are values."""
    labels = [text.strip() for text in state.prior.labels]
    first, last = _BIN.fullmatch(labels[0]), _BIN.fullmatch(labels[-1])
    if not (first and last):
        return None
    try:
        made = list(bins(float(first["low"]), float(last["high"]), len(labels)))
    except (ValueError, InvalidInput):  # names that only look like bins
        return None
    return (first["low"], last["high"], str(len(labels))) if made == labels else None


def own_domain(state: State, *, counted: bool = False) -> str:
    """Return the values of the prior as a domain: those of numbers that were put into bins are bins again."""
    if made := own_bins(state):
        return f"bins:{','.join(made)}"
    counted = counted or state.prior.origin == "table"
    labels = (text.strip() for text in state.prior.labels)
    return ",".join("" if counted and text == EMPTY else quoted(text) for text in labels)


def quoted(text: str) -> str:
    """Return a value as ``--domain`` reads it, or a column as a list of columns does."""
    inside = text.replace('"', '""')
    return f'"{inside}"' if set(text) & set(',"') or text.startswith(("bins:", "@")) else text


def _domain(one: Further) -> str:
    """The values of a further secret as they were typed: between commas, or bins."""
    text = one.values.strip()
    if not text:
        raise InvalidInput(f"{one.name.strip()} has no values: type every value that can occur, such as no,yes.")
    return re.sub(r"^bins:\s*", "bins:", text, flags=re.IGNORECASE)
