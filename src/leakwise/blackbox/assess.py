"""From counts to intervals: events chosen on some answers are tested on others, upper ends come from all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial

import numpy as np

from leakwise.alphabet import Label
from leakwise.blackbox.cells import Cells
from leakwise.blackbox.counts import OTHER
from leakwise.blackbox.events import (
    CANDIDATES,
    Candidate,
    Found,
    guesses,
    ldp_candidates,
    maximal_lower,
    pml_candidates,
    tested_ldp,
    tested_pml,
)
from leakwise.blackbox.forms import Forms
from leakwise.blackbox.result import BlackBoxAudit, Event, Interval
from leakwise.blackbox.views import Tables, Views
from leakwise.errors import InvalidInput
from leakwise.exact import level
from leakwise.priors import Prior
from leakwise.types import Floats

__all__ = ["Question", "claim_of"]


def claim_of(epsilon: object, lift: object, measure: str | None, prior: Prior | None) -> tuple[str, float] | None:
    """Return the claim to judge: a measure and its value in nats."""
    if epsilon is None and lift is None:
        if measure is not None:
            raise InvalidInput("measure names what is claimed: give epsilon= or lift= with it.")
        return None
    name = measure or ("ldp" if prior is None else "pml")
    known = ("ldp", "maximal_leakage") if prior is None else ("ldp", "pml", "maximal_leakage")
    if name not in known:
        more = " PML depends on the prior: give prior=." if name == "pml" else ""
        raise InvalidInput(f"measure must be one of {', '.join(known)}. Got {name!r} instead.{more}")
    return name, level(epsilon, lift).epsilon


SHARED = 4  # events of each family of views where there are several
Candidates = list[tuple[int, Candidate]]
"""Events to test, each with its view."""


@dataclass(frozen=True)
class Question:
    """What is asked: about which inputs, for which prior, with which claim; ``secrets`` are the inputs as they came."""

    inputs: tuple[Label, ...]
    prior: Prior | None
    claim: tuple[str, float] | None
    secrets: Forms = field(default_factory=lambda: Forms("secrets"))

    def answer(
        self, views: Views, chosen_on: Tables, tested_on: Tables, failure: float, samples: int, said: float
    ) -> BlackBoxAudit:
        """Return the intervals, all right but with probability ``failure``.

        ``said`` is the failure to report: of all rounds, where this is one of several.
        """
        pi = None if self.prior is None else self.prior.probabilities
        outcomes = views.outcomes
        together = outcomes.put_together or self.secrets.merged
        complete = outcomes.declared and together is None
        share = failure / 2 if complete else failure
        each = math.log(share / (2 if pi is None else 3))
        lower, events = dict[str, float](), dict[str, Event]()
        found = [ldp_candidates(table, view.pair) for view, table in zip(views.all, chosen_on, strict=True)]
        lower["ldp"], events["ldp"] = self._best(views, found, tested_on, tested_ldp, each)
        if pi is not None:
            found = [pml_candidates(table, pi) for table in chosen_on]
            test = partial(tested_pml, pi=pi)
            lower["pml"], events["pml"] = self._best(views, found, tested_on, test, each)
        guessed = [place for place, view in enumerate(views.all) if view.family in ("answers", "guess")]
        lower["maximal_leakage"] = max(
            maximal_lower(guesses(chosen_on[place]), tested_on[place], each - math.log(len(guessed)))
            for place in guessed
        )
        upper = dict.fromkeys(lower, math.inf)
        if complete:
            cells = Cells(chosen_on[0] + tested_on[0], math.log(failure - share))
            upper = {"ldp": cells.ldp(), "maximal_leakage": cells.maximal()}
            if pi is not None and self.prior is not None:
                upper["pml"] = min(cells.pml(pi), self.prior.epsilon_max)
        order: list[str] = [name for name in ("pml", "ldp", "maximal_leakage") if name in lower]
        # Where both ends are right they cannot cross; where they do, the failure happened, and the wider end is told.
        measures = {name: Interval(lower[name], max(upper[name], lower[name])) for name in order}
        names = outcomes.names
        if names[-1] == OTHER and not (chosen_on[0][:, -1].any() or tested_on[0][:, -1].any()):
            names = names[:-1]
        shown = {name: events[name] for name in events if lower[name] > 0}
        return BlackBoxAudit(measures, shown, samples, said, self.inputs, names, self.claim, together)

    def _best(
        self, views: Views, found: Sequence[Found], tested_on: Tables, test: Callable[..., Floats], log_level: float
    ) -> tuple[float, Event]:
        """The largest lower bound among candidates, which share the failure, and its event."""
        places, candidates = zip(*_best_of(views, found), strict=True)
        hits = np.stack(
            [tested_on[place][:, list(one.outcomes)].sum(axis=1) for place, one in zip(places, candidates, strict=True)]
        )
        totals = tested_on[0].sum(axis=1)  # every view sorts the same answers
        values = test(candidates, hits, totals, log_level=log_level - math.log(len(candidates)))
        best = int(values.argmax())
        one, value = candidates[best], float(values[best])
        x, other = one.input, one.other
        return value, Event(
            outcomes=views.all[places[best]].named(sorted(one.outcomes)),
            input=self.inputs[x],
            other=None if other is None else self.inputs[other],
            at_least=value,
            count=(int(hits[best, x]), int(totals[x])),
            other_count=None if other is None else (int(hits[best, other]), int(totals[other])),
        )


def _best_of(views: Views, found: Sequence[Found]) -> Candidates:
    """The most promising events of each family of views: one that promises too much must not crowd out the others."""
    families: dict[str, list[tuple[float, int, Candidate]]] = {}
    for place, (view, some) in enumerate(zip(views.all, found, strict=True)):
        if view.family != "guess":
            families.setdefault(view.family, []).extend((worth, place, one) for worth, one in some)
    most = CANDIDATES if len(families) == 1 else SHARED
    return [
        (place, one) for some in families.values() for _, place, one in sorted(some, key=lambda each: -each[0])[:most]
    ]
