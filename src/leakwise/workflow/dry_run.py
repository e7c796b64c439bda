"""Everything of a release but the draw: what would be guaranteed, told, entered and written."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leakwise.errors import LeakwiseError
from leakwise.guarantee import at_most
from leakwise.report import Protection
from leakwise.report.better_choices import Advice
from leakwise.report.dry_run import DryRun, ExpectedOfSecret, SeveralDryRun
from leakwise.workflow.choice import Choice, Request

if TYPE_CHECKING:
    from leakwise.tables.ledger.ledger import Ledger
    from leakwise.tables.ledger.people import People
    from leakwise.tables.ledger.reservation import Reservation

__all__ = ["ledger_words", "tried", "tried_several"]


def ledger_words(
    book: Ledger | None, dataset: str, releases: Sequence[Reservation], people: People | None = None
) -> str:
    """Return what a ledger would say to what is released together; None is one that would be made."""
    several = len(releases) > 1
    if book is None:
        return f"would be made, with this release as its first {'entries' if several else 'entry'}"
    try:
        totals = book.preview(dataset, releases, people)
    except LeakwiseError as error:
        return f"would refuse the release: {str(error).removesuffix(' Nothing was released.').removesuffix('.')}"
    found = []
    for total in totals:
        together = "one" if total.releases == 1 else f"{total.releases:,}"
        about = f" for {' and '.join(total.secret)}" if several else ""
        words = f"{together} with this release{about}, with a lift of {at_most(total.lift)} in all"
        found.append(words if total.budget is None else f"{words}; the budget is {total.budget.words}")
    return f"would count {'; '.join(found)}"


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
    dry = DryRun(choice.certificate.mechanism, choice.counts, ledger, _written(files), seconds, _memory(), advice)
    return Protection(None, choice.certificate, choice.design, facts, None, dict(files), choice.counts, dry)


def tried_several(
    choices: Mapping[Any, Choice], *, ledger: str | None, files: Mapping[str, Path | None], seconds: float
) -> SeveralDryRun:
    """Return what a release of several secrets would do."""
    secrets = {key: ExpectedOfSecret(one.certificate.mechanism, one.counts) for key, one in choices.items()}
    return SeveralDryRun(ledger, _written(files), seconds, _memory(), secrets)


def _written(files: Mapping[str, Path | None]) -> dict[str, str]:
    out = files.get("out")
    return {} if out is None else {"table": str(out)}


def _memory() -> int:
    try:
        import resource
    except ImportError:  # on Windows nobody counts it
        return 0
    # Linux counts in kilobytes, macOS in bytes.
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
