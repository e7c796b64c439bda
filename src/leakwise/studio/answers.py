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
from leakwise.guarantee import failure_at_most, percent
from leakwise.leakage import Audit, audit, mutual_information
from leakwise.mechanism import Mechanism
from leakwise.priors import Prior, PriorSet
from leakwise.proof import Certificate, certify
from leakwise.report.comparison import Comparison, Worth
from leakwise.studio.figures import between, first_figures, gap_words, more_figures
from leakwise.studio.limits import LIMITS
from leakwise.studio.mechanism_picture import mechanism_picture
from leakwise.studio.parts import compared, to_try, what_is_lost, what_leaks, what_to_release
from leakwise.studio.pictures import beliefs, envelope, outcomes, which_outcomes, which_values, without_envelope
from leakwise.studio.reading import level_arguments, limit_arguments, read_mechanism, read_prior, read_utility
from leakwise.studio.seal import about_prior, promise, seal
from leakwise.studio.state import DesignGoal, Distance, Named, Part, PriorState, State, WorstCaseGoal
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
        return _kind(self.state.goal.utility) if isinstance(self.state.goal, DesignGoal) else None


def _kind(utility: Named | Distance | WorstCaseGoal) -> str:
    if isinstance(utility, Named):
        return utility.name
    return "expected" if isinstance(utility, Distance) else "worst_case"


def solve(state: State, *, draft: bool, progress: Progress) -> Solved:
    """Find or read the mechanism, with its certificate."""
    priors = checked_prior(state.prior)
    asked: dict[str, Any] = limit_arguments(state)
    if not isinstance(state.goal, DesignGoal):
        mechanism = read_mechanism(state.goal.source, priors.nominal)
        return Solved(state, priors, mechanism, certify(mechanism, priors, **asked), None, True, ())
    from leakwise.optimize import design

    limit = LIMITS.draft if draft else LIMITS.solve
    utility, kind = read_utility(state.goal.utility, priors.nominal), _kind(state.goal.utility)
    began = time.monotonic()
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always", LeakwiseWarning)
        found = design(priors, utility=utility, time_limit=limit, progress=_told(progress, kind), **asked)
    notes = tuple(dict.fromkeys(str(one.message) for one in told if issubclass(one.category, LeakwiseWarning)))
    complete = not notes and time.monotonic() - began < limit
    if notes and kind == "frequencies":
        # The library tells the gap of the utility, which is minus the square of what the page shows.
        gap = gap_words(kind, found.value, found.bound)
        notes = (f"A smaller standard error may be possible: {gap}. What the mechanism leaks is proven all the same.",)
    return Solved(state, priors, found.mechanism, found.certificate, found, complete, notes)


def _told(progress: Progress, utility: str) -> Callable[[str, float, float], None]:
    def tell(stage: str, value: float, bound: float) -> None:
        known = between(utility, value, bound)
        progress(stage if known is None else f"{stage}: {known}", None)

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

    A draft, while the knob turns, has only what moves with it: the promise, what leaks, what to release, what is lost,
    two figures, and the heat map of the view.
    """
    solved = solve(state, draft=draft, progress=progress)
    if solved.certificate.ratio is None:
        raise InvalidInput(
            f"{solved.certificate.sentence} Take a larger sample, a larger failure probability, or a mechanism that "
            "gives every outcome to every value."
        )
    worth = compared(solved)
    moving = {**_moving(solved, draft=draft), "lost": what_is_lost(worth)}
    if draft:
        shown = {view: mechanism_picture(solved, view)}
        if shown[view] is None:
            shown["mechanism"] = mechanism_picture(solved, "mechanism")
        yield Part("answer", {**moving, "matrix": shown})
        return
    looked = audit(solved.mechanism, solved.priors, **level_arguments(state.level))
    resting = {**_resting(solved, looked), "worth": _worth(worth), "trial": to_try(solved)}
    yield Part("answer", {**moving, **resting, "files": files(solved, looked)})
    progress("what survives post-processing", None)
    yield Part("envelope", {"chart": envelope(solved), "words": without_envelope(solved)})


def _moving(solved: Solved, *, draft: bool) -> dict[str, Any]:
    """What is shown again at every turn of the knob."""
    return {
        "draft": draft,
        "complete": solved.complete,
        "notes": list(solved.notes),
        "promise": promise(solved),
        "certificate": seal(solved),
        "about_prior": about_prior(solved),
        "leaks": what_leaks(solved),
        "rows": what_to_release(solved),
        "figures": first_figures(solved),
        "point": _point(solved),
        "limit": _limit(solved),
    }


def _resting(solved: Solved, looked: Audit) -> dict[str, Any]:
    """What is shown when the knob rests."""
    first = looked.sentences[0]
    # The level asked about is the limit itself: that nothing passes it has been said.
    said = [words for words in looked.sentences if words != first and "No outcome makes any" not in words]
    return {
        "sentences": said,
        "figures": [*first_figures(solved), *more_figures(solved, looked)],
        "matrix": {view: mechanism_picture(solved, view) for view in ("mechanism", "lifts")},
        "charts": {"outcomes": outcomes(looked), "beliefs": beliefs(looked)},
        "captions": {"outcomes": which_outcomes(looked), "beliefs": which_values(looked)},
        "code": how_to_reproduce(solved),
    }


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


def _limit(solved: Solved) -> dict[str, float] | None:
    """Where the limit lies on the trade-off curve; None beyond its end, where it limits nothing."""
    asked = solved.certificate.asked
    if asked is None or asked.epsilon > solved.nominal.epsilon_max:
        return None
    return {"x": asked.epsilon}


def _worth(found: Comparison | None) -> list[dict[str, str]]:
    """This mechanism compared with randomized response of the same leakage, in terms that need no mathematics."""
    if found is None:
        return []
    ours, other = found.ours, found.randomized_response

    def rows(one: Worth) -> str:
        return "not determined" if one.rows_worth is None else number(one.rows_worth, 3)

    def agreement(one: Worth) -> str:
        return "outcomes are not values" if one.agreement is None else percent(round(one.agreement, 9))

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
