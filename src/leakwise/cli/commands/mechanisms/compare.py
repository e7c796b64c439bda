"""``leakwise compare``: what mechanisms leak and tell, side by side."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leakwise.cli.options.reading import CountsOption, PriorOption, named_after, read_mechanism, read_prior
from leakwise.cli.options.results import PlotOption, save_picture
from leakwise.cli.options.typed import number, number_if_given
from leakwise.cli.screen.output import AllOption, JsonOption, show
from leakwise.cli.screen.search_progress import gap_bar
from leakwise.errors import InvalidInput

if TYPE_CHECKING:
    from leakwise.mechanism import Mechanism

__all__ = ["compare"]


def compare(
    mechanisms: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MECHANISM]...",
            help="Names of the catalog, which are brought to the limit (subset-selection), and mechanisms as they are: "
            "a file, or a name with parameters (randomized-response:n=4,epsilon=1) [default: all of the catalog "
            "that need no order of the values].",
        ),
    ] = None,
    prior: PriorOption = None,
    counts: CountsOption = None,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", "-e", metavar="NATS", help="The leakage of all of them, in nats.")
    ] = None,
    lift: Annotated[
        str | None, typer.Option("--lift", metavar="LIFT", help="The same as a lift: 2 means 'twice as likely'.")
    ] = None,
    at: Annotated[
        str, typer.Option("--at", metavar="NAME", help="Which leakage: pml, for the prior, or ldp, for anyone.")
    ] = "pml",
    utility: Annotated[
        list[str] | None,
        typer.Option(
            "--utility",
            "-u",
            metavar="NAME",
            help="mutual_information, total_variation, chi_square, hellinger, guessing or frequencies. May be repeated "
            "[default: frequencies and mutual_information].",
        ),
    ] = None,
    value: Annotated[
        str | None,
        typer.Option(
            "--value",
            metavar="NUMBER",
            help="Instead of a leakage: how much of the first --utility is required; the least ε of each is found.",
        ),
    ] = None,
    delta: Annotated[
        str | None,
        typer.Option("--delta", metavar="PROBABILITY", help="Also show the leakage envelope at this probability."),
    ] = None,
    designs: Annotated[
        bool, typer.Option("--designs/--no-designs", help="Compare with the best design for each utility.")
    ] = True,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", metavar="SECONDS", help="Seconds for each design [default: none].")
    ] = None,
    plot: PlotOption = None,
    as_json: JsonOption = False,
    everything: AllOption = False,
) -> None:
    """Compare mechanisms at equal leakage, or find the least leakage at which each is useful enough.

    With --lift or --epsilon every mechanism of the catalog is brought to that leakage, for the prior or (--at ldp) for
    anyone, whatever they knew. With --utility and --value each has the least ε that reaches the utility. For
    frequencies, "rows" says how many times as many rows a mechanism needs as the best of them.

    \b
    leakwise compare --prior a=0.5,b=0.3,c=0.2 --lift 2
    leakwise compare randomized-response subset-selection --prior uniform:6 --epsilon 1 --at ldp
    leakwise compare --prior a=0.5,b=0.3,c=0.2 --utility frequencies --value -4
    leakwise compare mechanism.json randomized-response:n=2,lift=3 --counts no=800,yes=200 --delta 0.01
    leakwise compare --prior prior.csv --lift 2 --utility guessing --plot compared.svg
    leakwise compare --prior uniform:4 --lift 2 --json
    """
    from leakwise.optimize import compare as side_by_side

    read = [(text, _read(text)) for text in mechanisms or ()]
    given = {one if isinstance(one, str) else _name(text): one for text, one in read}
    first = next((one for one in given.values() if not isinstance(one, str)), None)
    known = read_prior(prior, counts, mechanism=first)
    if value is not None and not utility:
        raise InvalidInput("--value goes with --utility NAME: the utility of which so much is required.")
    goals: list[Any] = utility or ["frequencies", "mutual_information"]
    required = {} if value is None else {"utility": goals[0], "value": number(value, "--value")}
    with gap_bar(not as_json) as told:
        found = side_by_side(
            known,
            {text: one if isinstance(one, str) else named_after(one, known) for text, one in given.items()} or None,
            goals,
            epsilon=number_if_given(epsilon, "--epsilon"),
            lift=number_if_given(lift, "--lift"),
            at=at,
            delta=delta,
            designs=designs,
            time_limit=time_limit,
            progress=told,
            **required,
        )
    show(found, as_json, everything)
    save_picture(found, plot)


def _name(text: str) -> str:
    """Return what a mechanism is called in a table, where parameters may go on in the next line."""
    return text if Path(text).suffix else text.replace(":", ": ").replace(",", ", ")


def _read(text: str) -> Mechanism | str:
    """Return a name of the catalog as it is, anything else as a mechanism."""
    from leakwise.optimize.comparison.families import family_names

    name = text.strip().lower().replace("-", "_")
    if name in family_names():
        return name
    return read_mechanism(text)
