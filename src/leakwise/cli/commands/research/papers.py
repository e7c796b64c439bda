"""``leakwise papers``: every computed figure and table of the five papers."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from leakwise.charts.shown import Table
from leakwise.charts.words import Broken, Kept
from leakwise.cli.screen.output import AllOption, JsonOption, Said, say, show

__all__ = ["papers"]

Told = Callable[[str, float, str], None]


def papers(
    names: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[NAMES]...",
            help="Papers (EX, worst-case-utility) or exhibits (WC/figure_1, figure_2a) [default: all].",
        ),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="List the exhibits and stop.")] = False,
    fast: Annotated[bool, typer.Option("--fast", help="Small settings: everything in a minute or two.")] = False,
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="DIR", help="Where the files and the gallery go.")
    ] = Path("papers-output"),
    again: Annotated[
        bool, typer.Option("--again", help="Compute them again even where their files are up to date.")
    ] = False,
    jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="How many processes to run at the same time.")] = 2,
    as_json: JsonOption = False,
    everything: AllOption = False,
) -> None:
    """Recompute every computed figure, table and example of the five papers; compare what is printed with what is true.

    Schematic ones are left out: [ED] Figure 1, [PR] Figure 2, Table 1 and Table 2. Theorems of our own article, LW,
    come last. Each exhibit gets a CSV file, an SVG and a PNG picture; index.html is the gallery, errata.html lists
    errata, warnings to implementers and more results. An interrupted run resumes where it stopped. Everything takes up
    to half an hour on two cores.

    \b
    leakwise papers --list
    leakwise papers --fast
    leakwise papers WC EX/figure_1a --output figures
    """
    from leakwise.papers.exhibit import find
    from leakwise.papers.runner import run

    wanted = find(names or [])
    if listed:
        rows = [(f"{made.paper}/{made.name}", made.number, made.title) for made in wanted]
        data = [dict(zip(("name", "number", "title"), row, strict=True)) for row in rows]
        show(Said([Table(("name", "in the paper", "title"), rows)], data), as_json, everything)
        return
    with _bars([made.full_name for made in wanted], show=not as_json) as told:
        done = run(output, names or [], fast=fast, again=again, jobs=jobs, told=told)
    sentence = f"{len(done.made)} made, {len(done.kept)} still true, {len(done.failed)} failed."
    show(Said([(Broken if done.failed else Kept)(sentence), f"Open {output / 'index.html'}"], done.to_dict()), as_json)
    for name, why in done.failed.items():
        say(f"Failed: {name}: {why}", colour="red")
    if done.failed:
        raise typer.Exit(1)


@contextmanager
def _bars(names: list[str], show: bool) -> Iterator[Told | None]:
    """Show a bar for all and one for each exhibit under way, on a terminal; in a pipe a line for each that is done."""
    if not show:
        yield None
        return
    finished: set[str] = set()
    if not sys.stderr.isatty():

        def line(name: str, share: float, words: str) -> None:
            if words in ("made", "still true") and name not in finished:
                finished.add(name)
                say(f"[{len(finished)}/{len(names)}] {name}: {words}")

        yield line
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[words]}"), TimeElapsedColumn())
    with Progress(*columns, console=Console(stderr=True)) as progress:
        whole = progress.add_task("all exhibits", total=len(names), words="")
        open_tasks: dict[str, Any] = {}

        def bar(name: str, share: float, words: str) -> None:
            if name in finished:
                return
            if words in ("made", "still true"):
                finished.add(name)
                if name in open_tasks:
                    progress.remove_task(open_tasks.pop(name))
                progress.update(whole, completed=len(finished), words=f"{len(finished)} of {len(names)}")
                return
            if name not in open_tasks:
                open_tasks[name] = progress.add_task(name, total=1.0, words=words)
            progress.update(open_tasks[name], completed=share, words=words)

        yield bar
