"""Everything of a release but the draw: what would be guaranteed, told, entered and written."""

from __future__ import annotations

import resource
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from leakwise.errors import LeakwiseError
from leakwise.guarantee import at_most
from leakwise.report import Protection
from leakwise.report.better_choices import Advice
from leakwise.report.dry_run import DryRun
from leakwise.workflow.choice import Choice, Request

if TYPE_CHECKING:
    from leakwise.tables.ledger.ledger import Ledger
    from leakwise.tables.ledger.people import People
    from leakwise.tables.ledger.reservation import Reservation

__all__ = ["ledger_words", "tried"]


def ledger_words(book: Ledger | None, dataset: str, reservation: Reservation, people: People | None = None) -> str:
    """Return what a ledger would say to a release; None is one that would be made."""
    if book is None:
        return "would be made, with this release as its first entry"
    try:
        (total,) = book.preview(dataset, [reservation], people)
    except LeakwiseError as error:
        return f"would refuse the release: {str(error).removesuffix(' Nothing was released.').removesuffix('.')}"
    together = "one" if total.releases == 1 else f"{total.releases:,}"
    words = f"would count {together} with this release, with a lift of {at_most(total.lift)} in all"
    return words if total.budget is None else f"{words}; the budget is {total.budget.words}"


def tried(
    request: Request,
    choice: Choice,
    *,
    dataset: str | None,
    rows: int,
    order: str | None,
    ledger: str | None,
    files: Mapping[str, Path | None],
    advice: Advice | None,
    seconds: float,
) -> Protection:
    """Return the release that would be made, with what it would do, and without a table."""
    out = files.get("out")
    facts = choice.facts(
        request,
        dataset=dataset or "a table",
        rows=rows,
        ledger=None,
        released=None if out is None else out.name,
        order=order,
    )
    # Linux counts in kilobytes, macOS in bytes.
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
    written = {} if out is None else {"table": str(out)}
    dry = DryRun(choice.certificate.mechanism, choice.counts, ledger, written, seconds, memory, advice)
    return Protection(None, choice.certificate, choice.design, facts, None, dict(files), choice.counts, dry)
