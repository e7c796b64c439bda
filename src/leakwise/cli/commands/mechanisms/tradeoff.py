"""``leakwise tradeoff``: the largest utility at each leakage limit."""

from __future__ import annotations

from typing import Annotated

import typer

from leakwise.cli.options.limits import (
    AnyoneOption,
    CeilingOption,
    FloorOption,
    LiftOfOption,
    read_anyone,
    read_value_limits,
)
from leakwise.cli.options.reading import CountsOption, PriorOption, read_prior
from leakwise.cli.options.results import PlotOption, save_picture
from leakwise.cli.options.typed import number
from leakwise.cli.options.utility import UtilityMatrixOption, UtilityOption, read_utility
from leakwise.cli.screen.output import AllOption, JsonOption, show
from leakwise.cli.screen.search_progress import count_bar

__all__ = ["tradeoff"]


def tradeoff(
    prior: PriorOption = None,
    counts: CountsOption = None,
    epsilons: Annotated[
        str | None,
        typer.Option(
            "--epsilons",
            metavar="NATS,…",
            help="The leakage limits [default: 40 from 0 to ε_max, with the borders of the privacy regions].",
        ),
    ] = None,
    utility: UtilityOption = None,
    utility_matrix: UtilityMatrixOption = None,
    anyone: AnyoneOption = None,
    lift_of: LiftOfOption = None,
    ceiling: CeilingOption = None,
    floor: FloorOption = None,
    time_limit: Annotated[
        float | None, typer.Option("--time-limit", metavar="SECONDS", help="Seconds for each point [default: none].")
    ] = None,
    plot: PlotOption = None,
    as_json: JsonOption = False,
    everything: AllOption = False,
) -> None:
    """Show what a leakage limit costs: the optimum at each ε, compared with simpler mechanisms.

    The optimum is compared with randomized response of the same leakage and, for up to 12 values, the best mechanism
    with local differential privacy ε. The time limit applies to each point.

    \b
    leakwise tradeoff --prior a=0.5,b=0.3,c=0.2
    leakwise tradeoff --prior uniform:6 --utility guessing --plot curve.svg
    leakwise tradeoff --counts 500,300,200 --epsilons 0.1,0.2,0.5,1 --json
    """
    from leakwise.optimize import tradeoff as curve

    known = read_prior(prior, counts)
    goal = read_utility(utility, utility_matrix, known)
    points = None if epsilons is None else [number(word, "--epsilons") for word in epsilons.split(",")]
    with count_bar("designs", not as_json) as told:
        found = curve(
            known,
            points,
            goal,
            anyone=read_anyone(anyone),
            **read_value_limits(lift_of, ceiling, floor, known.labels),
            time_limit=time_limit,
            progress=told,
        )
    show(found, as_json, everything)
    save_picture(found, plot)
