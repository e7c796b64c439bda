"""The progress of a search, on a terminal: the gap as it falls, and designs done; nothing in a pipe."""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["count_bar", "gap_bar"]

# The bar is full at this relative gap; every factor of ten before it fills the same share.
_DECADES = 11


def closeness(value: float, bound: float) -> float:
    """Return how full the bar is, from 0 to 1: the decades that the gap has fallen below the value.

    >>> [round(closeness(value, 1.0), 2) for value in (0.9, 0.99, 1.0)]
    [0.09, 0.18, 1.0]
    """
    if not (math.isfinite(value) and math.isfinite(bound)):
        return 0.0
    gap = max(bound - value, 0.0) / max(abs(bound), abs(value), 1e-300)
    return min(1.0, max(0.0, -math.log10(gap) / _DECADES)) if gap > 0 else 1.0


@contextmanager
def gap_bar(show: bool = True) -> Iterator[Callable[[str, float, float], None] | None]:
    """Yield what a design calls as it proceeds: a bar on standard error that fills as the gap falls."""
    if not show or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[figures]}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("searching", total=1.0, figures="")

        def update(stage: str, value: float, bound: float) -> None:
            known = math.isfinite(value) and math.isfinite(bound)
            figures = f"value {value:.6g}  upper bound {bound:.6g}  gap {max(bound - value, 0.0):.1e}" if known else ""
            bar.update(task, description=stage, completed=closeness(value, bound), figures=figures)

        yield update


@contextmanager
def count_bar(what: str, show: bool = True) -> Iterator[Callable[[int, int], None] | None]:
    """Yield what a curve calls as it proceeds: how many of its points are done."""
    if not show or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)
