"""audit_program(): the leakage of something one can only run, by running it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from leakwise.alphabet.bins import Bins
from leakwise.blackbox.asking import LEAST, Asking, checked_seconds
from leakwise.blackbox.assess import Question, claim_of
from leakwise.blackbox.counts import BINS, declared_outcomes
from leakwise.blackbox.result import BlackBoxAudit, Interval
from leakwise.blackbox.samples import letters_of, prior_over
from leakwise.blackbox.views import Views, learned_views
from leakwise.errors import InvalidInput
from leakwise.priors.sets.around_estimate import checked_failure

__all__ = ["audit_program"]

FIRST = 512  # answers for each input in the first round, which only chooses


def audit_program(
    program: Callable[..., Any],
    inputs: Any = None,
    *,
    outputs: Any = None,
    prior: Any = None,
    epsilon: object = None,
    lift: object = None,
    measure: str | None = None,
    failure: float = 0.05,
    samples: int = 1_000_000,
    seconds: float | None = None,
    width: float | None = None,
    batch: bool = False,
    progress: Callable[[BlackBoxAudit], None] | None = None,
) -> BlackBoxAudit:
    """Run a program until its leakage is known well enough, or a claim about it is judged.

    Rounds of doubling size: what came before chooses the events that tell the inputs apart, the new answers test them,
    and round k may fail with probability ``failure``/(k(k+1)), so that the bounds hold whenever it stops.

    Parameters
    ----------
    program
        Called with an input, gives back one answer with fresh randomness; with ``batch`` called with an input and a
        number, gives back that many.
    inputs
        What it is asked about; the letters of the prior by default.
    outputs, prior, epsilon, lift, measure, failure
        As for :func:`audit_samples`. With a claim the audit stops as soon as it is refuted or confirmed.
    samples
        The most answers to ask for, over all inputs.
    seconds
        The most time to take. How many answers a round asks for is settled before it begins, and a round that runs
        out of time is not looked at, so that the bounds hold for programs of any speed.
    width
        Stop when the interval of the claimed measure (LDP by default) is as narrow as this; needs ``outputs`` that are
        labels.
    progress
        Called with the result so far after each round.

    Examples
    --------
    >>> import random
    >>> coin = random.Random(1)
    >>> honest = lambda x: x if coin.random() < 0.75 else 1 - x
    >>> audit_program(honest, [0, 1], epsilon=0.5, samples=20_000).verdict
    'refuted'
    """
    chance = float(checked_failure(failure))
    if not callable(program):
        raise InvalidInput(f"program must be a function that is called with an input. Got {program!r} instead.")
    if inputs is None and prior is None:
        raise InvalidInput("inputs must list what the program is asked about (or give a prior over them).")
    letters = letters_of(inputs, prior, [])
    known = None if prior is None else prior_over(prior, letters)
    claim = claim_of(epsilon, lift, measure, known)
    watched = claim[0] if claim is not None else "ldp" if known is None else "pml"
    if width is not None and outputs is None:
        raise InvalidInput("width needs outputs: without every answer declared nothing bounds the leakage from above.")
    if width is not None and isinstance(outputs, Bins):
        raise InvalidInput(f"width needs outputs that are labels: {BINS}, so nothing bounds the leakage from above.")
    most = _per_input(samples, len(letters))
    asking = Asking(program, letters.labels, batch, checked_seconds(seconds))
    before = asking.ask(LEAST)
    if before is None:
        raise asking.too_slow()
    more = asking.most(4 * min(FIRST, most // 2)) // 4 - LEAST
    before = _joined(before, asking.ask(more)) if more > 0 else before
    views = None if outputs is None else Views(declared_outcomes(outputs))
    counted = None if views is None else views.chosen_on(before)
    question = Question(letters.labels, known, claim)
    done, found, number = len(before[0]), None, 0
    while found is None or (done < most and not _settled(found, watched, width)):
        # Where the outcomes were not declared, all that came before says how to sort what comes next.
        used = views or learned_views(before, letters.labels)
        chosen_on = counted or used.chosen_on(before)
        more = asking.most(min(done, most - done))
        if found is not None and more < done // 16:
            break  # what is left of the time would not tell more
        new = asking.ask(max(more, LEAST))
        if new is None:
            break
        number += 1
        done += len(new[0])
        tested_on = used.tables(new)
        spent = chance / (number * (number + 1))
        here = question.answer(used, chosen_on, tested_on, spent, done * len(letters), chance)
        found = here if found is None else _sharper(found, here)
        if progress is not None:
            progress(found)
        if counted is None:
            before = _joined(before, new)
        else:
            counted = [one + more for one, more in zip(counted, tested_on, strict=True)]
    if found is None:
        raise asking.too_slow()
    return found


def _settled(found: BlackBoxAudit, watched: str, width: float | None) -> bool:
    if found.verdict in ("refuted", "confirmed"):
        return True
    return width is not None and found.measures[watched].width <= width


def _sharper(old: BlackBoxAudit, new: BlackBoxAudit) -> BlackBoxAudit:
    """All rounds hold at once, so the best end of each counts."""
    measures, events = {}, dict(new.events)
    for name, one in new.measures.items():
        before = old.measures[name]
        if before.lower > one.lower and name in old.events:
            events[name] = old.events[name]
        lower = max(before.lower, one.lower)
        # An upper end of before does not hold any more once different answers were counted as one.
        upper = one.upper if new.put_together else min(before.upper, one.upper)
        measures[name] = Interval(lower, max(lower, upper))
    return replace(new, measures=measures, events=events)


def _per_input(samples: int, inputs: int) -> int:
    if isinstance(samples, bool) or not isinstance(samples, int) or samples < 2 * LEAST * inputs:
        raise InvalidInput(
            f"samples must be a whole number of at least {2 * LEAST * inputs}, {2 * LEAST} for each input. Got "
            f"{samples!r} instead."
        )
    return samples // inputs


def _joined(before: list[list[Any]], new: list[list[Any]] | None) -> list[list[Any]]:
    return before if new is None else [one + more for one, more in zip(before, new, strict=True)]
