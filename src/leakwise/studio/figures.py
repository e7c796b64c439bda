"""The numbers in a row above the pictures: each in one unit, its gap in the same."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from leakwise.guarantee import at_least, at_most, percent_at_least, percent_at_most
from leakwise.leakage import Audit

if TYPE_CHECKING:
    from leakwise.studio.answers import Solved

__all__ = ["between", "first_figures", "gap_words", "more_figures", "upper_bound", "worth_shown"]

_UTILITIES = {
    "mutual_information": ("Information kept", "mutual information"),
    "frequencies": ("Standard error", "of the frequencies, from one row"),
    "guessing": ("Guessed right", "by the best guess after the outcome"),
    "reading": ("Rows that keep their value", "outcomes are values, as frequent as those"),
    "expected": ("Expected worth", "minus the expected distance"),
    "worst_case": ("Worst answer", "no answer that can occur is worth less"),
}
_SHARES = ("guessing", "reading")  # utilities that are probabilities


def first_figures(solved: Solved) -> list[dict[str, str]]:
    """Return the leakage and the utility."""
    certificate, design = solved.certificate, solved.design
    lift = f"at most {certificate.printed_lift} times as likely"
    shown = [_figure("Leakage", f"{at_most(certificate.epsilon_upper)} nats", lift)]
    if solved.utility is not None:
        title, note = _UTILITIES[solved.utility]
        better = gap_words(solved.utility, design.value, design.bound)
        shown.append(_figure(title, worth_shown(solved.utility, design.value), f"{note}; {better}"))
    return shown


def more_figures(solved: Solved, looked: Audit) -> list[dict[str, str]]:
    """Return the other numbers, which wait until the knob rests."""
    shown = []
    if solved.utility != "mutual_information":
        information = at_most(looked.mutual_information)
        shown.append(_figure("Information kept", f"{information} nats", "mutual information"))
    infinite = math.isinf(looked.ldp)
    shown.append(
        _figure(
            "Without a prior",
            "no limit" if infinite else f"{at_most(looked.ldp)} nats",
            "local differential privacy gives none" if infinite else "ε of local differential privacy",
        )
    )
    rows, columns = solved.mechanism.shape
    shown.append(_figure("Outcomes", f"{columns:,}", f"for {rows:,} values"))
    return shown


def _figure(name: str, value: str, note: str) -> dict[str, str]:
    return {"name": name, "value": value, "note": note}


# -------------------------------------------------------------------------------------------------- in one unit


def _standard_error(utility: float) -> float | None:
    """The standard error of which the utility is minus the square; None where the frequencies are not determined."""
    return math.sqrt(-utility) if math.isfinite(utility) and utility <= 0 else None


def worth_shown(utility: str, value: float) -> str:
    """Return a utility that is reached, in its unit and on the safe side.

    >>> worth_shown("frequencies", -6.25), worth_shown("guessing", 0.5678), worth_shown("mutual_information", 0.25)
    ('2.5', '56.7%', '0.25 nats')
    """
    if utility == "frequencies":
        error = _standard_error(value)
        return "not determined" if error is None else at_most(error)
    if utility in _SHARES:
        return percent_at_least(value)
    return f"{at_least(value)} nats" if utility == "mutual_information" else at_least(value)


def upper_bound(utility: str, bound: float) -> str:
    """Return what no mechanism within the limit passes, in words.

    >>> print(upper_bound("frequencies", -6.76))
    no mechanism within the limit has a standard error per row below 2.5999
    """
    if utility == "frequencies":
        # The root of a float may be off by half a unit in its last place.
        least = at_least((_standard_error(min(bound, 0.0)) or 0.0) * (1 - 2.0**-50))
        return f"no mechanism within the limit has a standard error per row below {least}"
    if utility in _SHARES:
        most = percent_at_most(min(bound, 1.0))
        if utility == "reading":
            return f"no mechanism within the limit that keeps the frequencies keeps more than {most} of the rows"
        return f"no mechanism within the limit is guessed right more often than {most}"
    unit = " nats" if utility == "mutual_information" else ""
    return f"no mechanism within the limit has a utility above {at_most(bound)}{unit}"


def gap_words(utility: str, value: float, bound: float) -> str:
    """Return how far the value may be from the best, in the unit of the value.

    >>> gap_words("frequencies", -6.25, -4.0)
    'gap at most 0.5'
    """
    if not (math.isfinite(value) and math.isfinite(bound)):
        return "no upper bound yet"
    gap = max(0.0, bound - value)
    if gap <= 1e-6 * max(1.0, abs(value)):
        return "nothing is better"
    if utility == "frequencies":
        reached, least = _standard_error(value), _standard_error(min(bound, 0.0))
        assert reached is not None
        assert least is not None
        return f"gap at most {at_most(reached - least, 2)}"
    if utility in _SHARES:
        return f"gap at most {at_most(100 * gap, 2)} percentage points"
    return f"gap at most {at_most(gap, 2)}{' nats' if utility == 'mutual_information' else ''}"


def between(utility: str, value: float, bound: float) -> str | None:
    """Return how far a search has come, in the unit of the answer; None where nothing is known yet."""
    if not (math.isfinite(value) and math.isfinite(bound)):
        return None
    if utility == "frequencies":
        bound = min(bound, 0.0)
    low, high = sorted((value, bound), key=lambda one: -one if utility == "frequencies" else one)
    return f"between {worth_shown(utility, low)} and {worth_shown(utility, high)}"
