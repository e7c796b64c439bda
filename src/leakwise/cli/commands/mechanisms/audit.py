"""``leakwise audit``: everything that a mechanism leaks."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from typing import Annotated

import typer

from leakwise.cli.options.audited_table import GivenOption, TableOption, audit_a_table
from leakwise.cli.options.domain import DomainOption
from leakwise.cli.options.fail_above import FailAboveOption, judged, read_fail_above
from leakwise.cli.options.limits import (
    AnyoneOption,
    CeilingOption,
    FloorOption,
    LiftOfOption,
    read_anyone,
    read_value_limits,
)
from leakwise.cli.options.reading import (
    ColumnOption,
    CountsOption,
    DataOption,
    FailureOption,
    MechanismArgument,
    PriorOption,
    every_prior_left,
    named_after,
    read_mechanism,
    read_prior,
)
from leakwise.cli.options.results import PlotOption, checked_picture, save_picture
from leakwise.cli.screen.output import AllOption, JsonOption, print_json, say, show
from leakwise.errors import InvalidInput

__all__ = ["audit"]


def audit(
    mechanism: MechanismArgument,
    prior: PriorOption = None,
    counts: CountsOption = None,
    data: DataOption = None,
    column: ColumnOption = None,
    domain: DomainOption = None,
    failure: FailureOption = None,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", "-e", help="Report how often the leakage exceeds this, in nats.")
    ] = None,
    lift: Annotated[
        str | None, typer.Option("--lift", help="The same as a lift: 2 means 'twice as likely' [default: 2].")
    ] = None,
    anyone: AnyoneOption = None,
    lift_of: LiftOfOption = None,
    ceiling: CeilingOption = None,
    floor: FloorOption = None,
    fail_above: FailAboveOption = None,
    delta: Annotated[
        str, typer.Option("--delta", help="Report the leakage exceeded with at most this probability.")
    ] = "0.01",
    invariant: Annotated[
        bool,
        typer.Option(
            "--invariant",
            help="For a matrix whose outcomes are values (PRAM): compare it with the best one that keeps the "
            "frequencies and leaks no more, or prove that there is none.",
        ),
    ] = False,
    saved: Annotated[
        Path | None, typer.Option("--save", metavar="FILE", help="With --invariant: save the better mechanism.")
    ] = None,
    plot: PlotOption = None,
    summary: Annotated[
        Path | None,
        typer.Option(
            "--summary",
            metavar="FILE",
            callback=checked_picture,
            help="Also save one picture for people who decide, without nats (.png, .svg, .html or .json): how far a "
            "guess can be raised, against the limit of --fail-above or --lift.",
        ),
    ] = None,
    table: TableOption = None,
    given: GivenOption = None,
    as_json: JsonOption = False,
    everything: AllOption = False,
) -> None:
    """Show everything that a mechanism leaks: all measures, each outcome, and what it means in words.

    The mechanism is a saved file, a CSV matrix, or a name with parameters (an unknown name prints the list). The prior
    is the assumed distribution of the secret. With --fail-above, --anyone, --lift-of, --ceiling or --floor it also says
    whether the mechanism keeps these limits, and the exit code is 1 where it does not; with --table, --fail-above is
    about what an outcome adds to the row.

    \b
    leakwise audit randomized-response:n=2,epsilon=1 --prior 0.7,0.3
    leakwise audit randomized-response:letters=no/yes,lift=3 --counts no=700,yes=300 --failure 1e-6
    leakwise audit matrix.csv --prior uniform --lift 3 --json
    leakwise audit mechanism.json --counts no=800,yes=200 --failure 1e-6 --fail-above 2
    leakwise audit matrix.csv --prior HIV=0.02,flu=0.98 --anyone 20 --ceiling HIV=0.05
    leakwise audit mechanism.json --data people.csv --column smokes --domain no,yes
    leakwise audit pram.csv --counts counts.csv --invariant --save better.json
    leakwise audit k-singular:n=4,k=2 --prior uniform --plot audit.html
    leakwise audit mechanism.json --prior no=0.8,yes=0.2 --fail-above 2 --summary summary.svg
    leakwise audit mechanism.json --table people.csv --column smokes --given sex --given age=bins:0,100,10
    leakwise audit mechanism.json --table people.csv --column smokes --given sex --fail-above 2
    """
    if table is not None:
        others: dict[str, object] = {
            "--prior": prior,
            "--counts": counts,
            "--data": data,
            "--failure": failure,
            "--epsilon": epsilon,
        }
        others |= {
            "--lift": lift,
            "--plot": plot,
            "--summary": summary,
            "--save": saved,
            "--invariant": invariant or None,
        }
        others |= {"--anyone": anyone, "--lift-of": lift_of, "--ceiling": ceiling, "--floor": floor}
        limit = read_fail_above(fail_above)
        if not audit_a_table(table, mechanism, column, given, domain, others, limit, as_json, everything):
            raise typer.Exit(1)
        return
    if given:
        raise InvalidInput("--given goes with --table FILE: the table whose columns go out beside the secret.")
    from leakwise.leakage import audit as look
    from leakwise.proof import certify

    if saved is not None and not invariant:
        raise InvalidInput("--save goes with --invariant: it saves the mechanism that keeps the frequencies.")
    if invariant and failure is not None:
        raise InvalidInput("--invariant compares at one prior, the frequencies that are kept. Leave --failure out.")
    largest = read_fail_above(fail_above)
    chosen = read_mechanism(mechanism)
    found = read_prior(prior, counts, data, column, domain, mechanism=chosen)
    known = every_prior_left(found, failure)
    named = named_after(chosen, found)
    limits = read_value_limits(lift_of, ceiling, floor, found.labels)
    result = look(named, known, epsilon, lift=lift, delta=delta, anyone=read_anyone(anyone), **limits)
    # What is shown is what is judged; where that is a float, the exact ratio.
    exact = isinstance(result.ratio, Fraction)
    told, within = judged(result, largest, lambda: Fraction(result.ratio) if exact else certify(named, known).ratio)
    beside = None
    if invariant:
        from leakwise.optimize import best_invariant

        beside = best_invariant(named, found)
    if as_json and beside is not None:
        print_json({**told.to_dict(), "invariant": beside.to_dict()})
    else:
        show(told, as_json, everything)
        if beside is not None:
            show(beside, as_json, everything)
    if saved is not None and beside is not None:
        beside.design.mechanism.save(saved)
        say(f"Mechanism saved: {saved}")
    save_picture(result, plot)
    if summary is not None:
        from leakwise.charts.render import save

        say(f"Summary saved: {save(result.chart('summary', limit=largest), summary)}")
    if not (within and all(one.kept for one in result.limits)):
        raise typer.Exit(1)
