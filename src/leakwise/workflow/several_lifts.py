"""Lifts of several secrets that are not given: shared out of a total, or found for margins that are to be met."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from leakwise.errors import InvalidInput
from leakwise.exact import Level
from leakwise.optimize.problem.margins import asked_margins
from leakwise.priors import Prior
from leakwise.proof import EIGHTHS
from leakwise.tables.release.sources import Checked
from leakwise.workflow.accuracy import planned_for
from leakwise.workflow.beside_outcomes import margin_of
from leakwise.workflow.mechanism import kept_in_reading
from leakwise.workflow.several_arguments import Named, PriorOfAll, SeveralRequest
from leakwise.workflow.split_total import Split, split_total

__all__ = ["refuse_unmet", "shared_out"]


def shared_out(
    asked: SeveralRequest, total: Level, secrets: Sequence[Named], joint: PriorOfAll | None, seen: Sequence[Checked]
) -> Split:
    """Share a total out among the secrets, by what is public: priors, or rounded frequencies of the table."""
    priors = {one.key: _public(place, secrets, joint) for place, one in enumerate(secrets)}
    for one, counted in zip(secrets, seen, strict=True):
        if isinstance(priors[one.key], str):
            priors[one.key] = _in_eighths(counted.counts.tolist(), one)
    limits = {one.key: one.asked.level.below for one in secrets if one.asked.level is not None}
    keep = kept_in_reading(asked.keep_frequencies, None, None, asked.use, None)
    anyone = {one.key: one.anyone for one in secrets}
    return split_total(limits, priors, total.below, anyone=anyone, use=asked.use, keep=keep)


def refuse_unmet(secrets: Sequence[Named], joint: PriorOfAll | None, seen: Sequence[Checked]) -> None:
    """Refuse margins that no release of so many rows meets, or that cost nothing, before anything is drawn."""
    for place, one in enumerate(secrets):
        if one.accuracy is None:
            continue
        planned = planned_for(_public(place, secrets, joint), seen[place], one.letters)
        try:
            asked_margins(planned, one.accuracy.margin, int(seen[place].rows), one.accuracy.values)
        except InvalidInput as error:
            raise InvalidInput(f"Of {one.key!r}: {error}") from error


def _public(place: int, secrets: Sequence[Named], joint: PriorOfAll | None) -> Any:
    """What is known of a secret beforehand, alone; ``"table"`` where that is to be estimated."""
    if joint is None:
        return secrets[place].public
    return margin_of(joint, [(each.names, each.letters) for each in secrets], place)


def _in_eighths(counts: Sequence[int], one: Named) -> Prior:
    """The frequencies of a secret so coarse that they decide little: how a total is shared out is seen."""
    rows = sum(counts)
    parts = [max(1, (2 * count * EIGHTHS + rows) // (2 * rows)) for count in counts]
    return Prior.from_integers(one.letters, parts)
