"""From counts to intervals: events chosen on some answers are tested on others, upper ends come from all of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from leakwise.alphabet import Label
from leakwise.blackbox.cells import Cells
from leakwise.blackbox.counts import OTHER, Outcomes
from leakwise.blackbox.events import (
    Candidate,
    guesses,
    ldp_candidates,
    maximal_lower,
    pml_candidates,
    tested_ldp,
    tested_pml,
)
from leakwise.blackbox.forms import Forms
from leakwise.blackbox.result import BlackBoxAudit, Event, Interval
from leakwise.errors import InvalidInput
from leakwise.exact import level
from leakwise.priors import Prior
from leakwise.types import Counts

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


@dataclass(frozen=True)
class Question:
    """What is asked: about which inputs, for which prior, with which claim; ``secrets`` are the inputs as they came."""

    inputs: tuple[Label, ...]
    prior: Prior | None
    claim: tuple[str, float] | None
    outcomes: Outcomes
    secrets: Forms = field(default_factory=lambda: Forms("secrets"))

    def answer(self, chosen_on: Counts, tested_on: Counts, failure: float, samples: int, said: float) -> BlackBoxAudit:
        """Return the intervals, all right but with probability ``failure``.

        ``said`` is the failure to report: of all rounds, where this is one of several.
        """
        pi = None if self.prior is None else self.prior.probabilities
        together = self.outcomes.put_together or self.secrets.merged
        complete = self.outcomes.declared and together is None
        share = failure / 2 if complete else failure
        each = math.log(share / (2 if pi is None else 3))
        events: dict[str, Event] = {}
        lower: dict[str, float] = {}
        lower["ldp"] = self._best(
            "ldp", events, ldp_candidates(chosen_on), lambda one, at: tested_ldp(one, tested_on, at), each
        )
        if pi is not None:
            lower["pml"] = self._best(
                "pml", events, pml_candidates(chosen_on, pi), lambda one, at: tested_pml(one, tested_on, pi, at), each
            )
        lower["maximal_leakage"] = maximal_lower(guesses(chosen_on), tested_on, each)
        upper = dict.fromkeys(lower, math.inf)
        if complete:
            cells = Cells(chosen_on + tested_on, math.log(failure - share))
            upper = {"ldp": cells.ldp(), "maximal_leakage": cells.maximal()}
            if pi is not None and self.prior is not None:
                upper["pml"] = min(cells.pml(pi), self.prior.epsilon_max)
        order: list[str] = [name for name in ("pml", "ldp", "maximal_leakage") if name in lower]
        # Where both ends are right they cannot cross; where they do, the failure happened, and the wider end is told.
        measures = {name: Interval(lower[name], max(upper[name], lower[name])) for name in order}
        names = self.outcomes.names
        if names[-1] == OTHER and not (chosen_on[:, -1].any() or tested_on[:, -1].any()):
            names = names[:-1]
        return BlackBoxAudit(measures, events, samples, said, self.inputs, names, self.claim, together)

    def _best(
        self,
        name: str,
        events: dict[str, Event],
        candidates: Sequence[Candidate],
        test: Callable[[Candidate, float], float],
        log_level: float,
    ) -> float:
        """The largest lower bound among the candidates, which share the failure."""
        found = [(test(one, log_level - math.log(len(candidates))), one) for one in candidates]
        if not found:
            return 0.0
        value, one = max(found, key=lambda pair: pair[0])
        if value > 0:
            names = tuple(self.outcomes.names[place] for place in sorted(one.outcomes))
            other = None if one.other is None else self.inputs[one.other]
            events[name] = Event(names, self.inputs[one.input], other, value)
        return value
