"""The answer: the mechanism, what it leaks, what it is worth, and how certain that is."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from leakwise.charts.table import number
from leakwise.errors import InvalidInput, LeakwiseError, LeakwiseWarning
from leakwise.guarantee import at_least, at_most, failure_at_most, for_anyone, misleads, no_guess, percent
from leakwise.leakage import Audit, audit, mutual_information
from leakwise.mechanism import Mechanism
from leakwise.priors import Prior, PriorSet
from leakwise.proof import Certificate, certify
from leakwise.report.comparison import Worth, compare
from leakwise.studio.limits import LIMITS
from leakwise.studio.pictures import beliefs, envelope, lifts, outcomes, without_envelope
from leakwise.studio.reading import level_arguments, read_mechanism, read_prior, read_utility
from leakwise.studio.state import DesignGoal, Distance, Named, Part, PriorState, State
from leakwise.studio.takeaway import files, how_to_reproduce

__all__ = ["AboutPrior", "Solved", "answer", "prior_facts", "solve"]

Progress = Callable[[str, float | None], None]


class AboutPrior(InvalidInput):
    """An error that belongs to the panel of the prior."""


@dataclass(frozen=True)
class Solved:
    """What was found for a state.

    ``design`` is None for a mechanism that the person brought. ``complete`` is False when the time limit ended the
    search: what was found is then the best until that moment, with a proven gap.
    """

    state: State
    priors: PriorSet
    mechanism: Mechanism
    certificate: Certificate
    design: Any
    complete: bool
    notes: tuple[str, ...]

    @property
    def nominal(self) -> Prior:
        """The prior, or the one in the middle of the set."""
        return self.priors.nominal

    @property
    def utility(self) -> str | None:
        """The kind of utility that was maximised."""
        if not isinstance(self.state.goal, DesignGoal):
            return None
        utility = self.state.goal.utility
        return (
            utility.name
            if isinstance(utility, Named)
            else "expected"
            if isinstance(utility, Distance)
            else "worst_case"
        )


def solve(state: State, *, draft: bool, progress: Progress) -> Solved:
    """Find or read the mechanism, with its certificate."""
    priors = checked_prior(state.prior)
    asked: dict[str, Any] = level_arguments(state.level)
    if not isinstance(state.goal, DesignGoal):
        mechanism = read_mechanism(state.goal.source, priors.nominal)
        return Solved(state, priors, mechanism, certify(mechanism, priors, **asked), None, True, ())
    from leakwise.optimize import design

    limit = LIMITS.draft if draft else LIMITS.solve
    utility = read_utility(state.goal.utility, priors.nominal)
    began = time.monotonic()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", LeakwiseWarning)
        found = design(priors, utility=utility, time_limit=limit, progress=_told(progress), **asked)
    notes = tuple(dict.fromkeys(str(one.message) for one in told if issubclass(one.category, LeakwiseWarning)))
    complete = not notes and time.monotonic() - began < limit
    return Solved(state, priors, found.mechanism, found.certificate, found, complete, notes)


def _told(progress: Progress) -> Callable[[str, float, float], None]:
    def tell(stage: str, value: float, bound: float) -> None:
        known = math.isfinite(value) and math.isfinite(bound)
        progress(f"{stage}: between {number(value)} and {number(bound)}" if known else stage, None)

    return tell


# ------------------------------------------------------------------------------------------------------ the prior


def checked_prior(state: PriorState) -> PriorSet:
    """The prior or the set of them; what is wrong with it belongs to its panel."""
    try:
        return read_prior(state)
    except LeakwiseError as error:
        raise AboutPrior(str(error)) from error


def prior_facts(state: PriorState) -> Part:
    """What the panels need to know of a prior before anything is solved."""
    priors = checked_prior(state)
    known = priors.nominal
    around = None
    if not isinstance(priors, Prior):
        size = dict(priors.to_dict()["size"]) if hasattr(priors, "to_dict") else {}
        around = {
            "words": _set_words(priors, size),
            "is_everything": bool(getattr(priors, "is_everything", False)),
            "failure": priors.failure,
        }
    return Part(
        "prior",
        {
            "labels": [str(name) for name in known.labels],
            "probabilities": known.probabilities.tolist(),
            "exact": [str(share) for share in known.fractions],
            "sample_size": known.sample_size,
            "epsilon_max": known.epsilon_max,
            "regions": known.regions().tolist(),
            "never": [str(name) for name, here in zip(known.labels, known.support, strict=True) if not here],
            "set": around,
        },
    )


def _set_words(priors: PriorSet, size: dict[str, str]) -> str:
    how = "; ".join(f"{name} {value}" for name, value in size.items())
    words = f"Every prior near the estimate is counted in ({how})." if how else "Every prior near the estimate counts."
    if getattr(priors, "is_everything", False):
        words = (
            "The sample is so small that every prior is possible: only local differential privacy protects. Take a "
            "larger sample or a larger failure probability."
        )
    return f"{words} The true prior is outside with probability at most {failure_at_most(priors)}."


# ----------------------------------------------------------------------------------------------------- the answer


def answer(state: State, *, draft: bool, progress: Progress, view: str = "mechanism") -> Iterator[Part]:
    """The answer in parts: the mechanism with its numbers first, then what survives post-processing.

    A draft, while the knob turns, has only what moves with it: the promise, two figures, and the heat map of the view.
    """
    solved = solve(state, draft=draft, progress=progress)
    if solved.certificate.ratio is None:
        raise InvalidInput(
            f"{solved.certificate.sentence} Take a larger sample, a larger failure probability, or a mechanism that "
            "gives every outcome to every value."
        )
    if draft:
        chart = lifts(solved) if view == "lifts" else solved.mechanism.chart()
        yield Part("answer", {**_moving(solved, draft=True), "charts": {view: chart}})
        return
    looked = audit(solved.mechanism, solved.priors, **level_arguments(state.level))
    yield Part("answer", {**_moving(solved, draft=False), **_resting(solved, looked), "files": files(solved, looked)})
    progress("what survives post-processing", None)
    yield Part("envelope", {"chart": envelope(solved), "words": without_envelope(solved)})


def _moving(solved: Solved, *, draft: bool) -> dict[str, Any]:
    """What is shown anew at every turn of the knob."""
    return {
        "draft": draft,
        "complete": solved.complete,
        "notes": list(solved.notes),
        "promise": _promise(solved),
        "certificate": _certificate(solved),
        "figures": _first_figures(solved),
        "point": _point(solved),
        "shape": list(solved.mechanism.shape),
    }


def _resting(solved: Solved, looked: Audit) -> dict[str, Any]:
    """What is shown when the knob rests."""
    first = looked.sentences[0]
    # The level asked about is the bound itself: that nothing passes it has been said.
    said = [words for words in looked.sentences if words != first and "No outcome makes any" not in words]
    return {
        "sentences": said,
        "figures": [*_first_figures(solved), *_more_figures(solved, looked)],
        "worth": _worth(solved),
        "charts": {
            "mechanism": solved.mechanism.chart(),
            "lifts": lifts(solved),
            "outcomes": outcomes(looked),
            "beliefs": beliefs(looked),
        },
        "code": how_to_reproduce(solved),
    }


def _promise(solved: Solved) -> str:
    return no_guess(solved.certificate.ratio, for_anyone(solved.priors))


def _certificate(solved: Solved) -> dict[str, Any]:
    certificate = solved.certificate
    asked = "" if certificate.asked is None else certificate.asked.words
    exact = certificate.printed_lift
    if certificate.holds:
        words = f"Proven on exact integers: the largest lift is {exact}, within what was asked ({asked})."
    else:
        words = (
            f"Not kept: the largest lift is {exact}, more than was asked ({asked}). It is proven that it is no more."
        )
    claim = certificate.optimality
    if claim is not None and solved.utility == "frequencies":
        least = at_least(math.sqrt(max(0.0, -claim.bound)) * (1 - 1e-15))
        words += f" Proven as well: no mechanism within the limit has a standard error below {least}."
    elif claim is not None:
        words += f" Proven as well: no mechanism within the limit has a utility above {at_most(claim.bound, 6)}."
    if certificate.failure:
        words += f" The prior is an estimate. {misleads(certificate.prior)}"
    return {
        "holds": certificate.holds,
        "state": "proven" if certificate.holds else "not kept",
        "words": words,
        "epsilon": float(certificate.epsilon_upper),
        "lift": certificate.largest_lift,
        "optimal": claim is not None,
    }


_UTILITIES = {
    "mutual_information": ("Information kept", "nats of mutual information"),
    "frequencies": ("Standard error", "of the frequencies, from one row"),
    "guessing": ("Guessed right", "by the best guess after the outcome"),
    "expected": ("Expected worth", "minus the expected distance"),
    "worst_case": ("Worst answer", "no answer that can occur is worth less"),
}


def _first_figures(solved: Solved) -> list[dict[str, str]]:
    """The leakage and the utility."""
    certificate, design = solved.certificate, solved.design
    factor = at_most(certificate.ratio)
    shown = [_figure("Leakage", f"{at_most(certificate.epsilon_upper)} nats", f"at most {factor} times as likely")]
    if solved.utility is not None:
        title, note = _UTILITIES[solved.utility]
        gap = design.gap
        better = "nothing is better" if gap <= 1e-6 * max(1.0, abs(design.value)) else f"gap {number(gap, 2)}"
        if not math.isfinite(gap):
            better = "no bound yet"
        shown.append(_figure(title, _shown(solved.utility, design.value), f"{note}; {better}"))
    return shown


def _more_figures(solved: Solved, looked: Audit) -> list[dict[str, str]]:
    """The other numbers that stand in a row above the pictures."""
    shown = []
    if solved.utility != "mutual_information":
        information = looked.mutual_information
        shown.append(_figure("Information kept", f"{number(information)} nats", "mutual information"))
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


def _shown(utility: str, value: float) -> str:
    if utility == "frequencies":
        return number(math.sqrt(-value)) if math.isfinite(value) and value < 0 else "not determined"
    if utility == "guessing":
        return percent(value)
    return f"{number(value)} nats" if utility == "mutual_information" else number(value)


def _point(solved: Solved) -> dict[str, float] | None:
    """Where the mechanism stands on the trade-off curve."""
    epsilon = float(solved.certificate.epsilon_upper)
    if solved.design is None:
        return {"x": epsilon, "y": mutual_information(solved.mechanism, solved.nominal)}
    value, utility = float(solved.design.value), solved.utility
    if utility == "worst_case" or not math.isfinite(value):
        return None
    asked = solved.certificate.asked
    at = epsilon if asked is None else asked.epsilon
    return {"x": min(at, solved.nominal.epsilon_max), "y": math.sqrt(-value) if utility == "frequencies" else value}


def _worth(solved: Solved) -> list[dict[str, str]]:
    """This mechanism beside randomized response of the same leakage, in terms that need no mathematics."""
    prior = solved.nominal
    if len(prior) < 2 or not prior.support.all():
        return []
    found = compare(solved.mechanism, prior, solved.certificate.epsilon_upper, 1)
    ours, other = found.ours, found.randomized_response

    def rows(one: Worth) -> str:
        return "not determined" if one.rows_worth is None else number(one.rows_worth, 3)

    def agreement(one: Worth) -> str:
        return "outcomes are not values" if one.agreement is None else percent(one.agreement)

    return [
        {
            "name": "Rows without protection that one released row is worth, for frequencies",
            "ours": rows(ours),
            "other": rows(other),
        },
        {"name": "How often the outcome is the true value", "ours": agreement(ours), "other": agreement(other)},
        {
            "name": "Information about the value (nats)",
            "ours": number(ours.information),
            "other": number(other.information),
        },
    ]
