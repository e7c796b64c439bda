"""``leakwise design``: the best mechanism within a leakage limit, with its proof."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leakwise.cli.options.domain import DomainOption
from leakwise.cli.options.limits import (
    AnyoneOption,
    CeilingOption,
    DeltaOption,
    FloorOption,
    ForbiddenOption,
    KeepAtLeastOption,
    LiftOfOption,
    MarginOption,
    MaximalLeakageOption,
    RowsOption,
    ValuesOption,
    read_anyone,
    read_margin,
    read_masks,
    read_value_limits,
)
from leakwise.cli.options.reading import ColumnOption, CountsOption, DataOption, PriorOption, read_prior
from leakwise.cli.options.results import CertificateOption, PlotOption, save_picture
from leakwise.cli.options.typed import number_if_given
from leakwise.cli.options.utility import UtilityMatrixOption, UtilityOption, read_utility
from leakwise.cli.screen.output import AllOption, JsonOption, say, show
from leakwise.cli.screen.search_progress import gap_bar
from leakwise.documents.atomic import write_atomically
from leakwise.errors import InvalidInput

if TYPE_CHECKING:
    from leakwise.optimize import Design
    from leakwise.optimize.from_data import DataDesign

__all__ = ["design"]


def design(
    prior: PriorOption = None,
    counts: CountsOption = None,
    data: DataOption = None,
    column: ColumnOption = None,
    domain: DomainOption = None,
    failure: Annotated[
        str | None,
        typer.Option(
            "--failure",
            metavar="PROBABILITY",
            help="With --counts or --data: treat them as a sample, and keep the limit for the true prior, except with "
            "this probability [default: none; the frequencies are taken as exact].",
        ),
    ] = None,
    strategy: Annotated[
        str | None,
        typer.Option(
            "--strategy",
            metavar="NAME",
            help="With --failure: best, split, layer-cake, ball, conservative, or certified [default: best].",
        ),
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", "-e", metavar="NATS", help="The limit on leakage (PML), in nats.")
    ] = None,
    lift: Annotated[
        str | None,
        typer.Option("--lift", metavar="LIFT", help="The same limit as a lift: 2 means 'at most twice as likely'."),
    ] = None,
    margin: MarginOption = None,
    rows: RowsOption = None,
    values: ValuesOption = None,
    utility: UtilityOption = None,
    utility_matrix: UtilityMatrixOption = None,
    anyone: AnyoneOption = None,
    lift_of: LiftOfOption = None,
    ceiling: CeilingOption = None,
    floor: FloorOption = None,
    maximal_leakage: MaximalLeakageOption = None,
    delta: DeltaOption = None,
    ldp: Annotated[
        str | None,
        typer.Option("--ldp", metavar="NATS", help="The limit of --anyone in nats: local differential privacy."),
    ] = None,
    lip: Annotated[
        str | None,
        typer.Option("--lip", metavar="NATS", help="A limit on local information privacy as well (or alone)."),
    ] = None,
    keep_frequencies: Annotated[
        bool,
        typer.Option(
            "--keep-frequencies",
            help="Outcomes are values and come as often as they do under the prior. The utility is then guessing (how "
            "many rows keep their value), or a square --utility-matrix.",
        ),
    ] = False,
    forbidden: ForbiddenOption = None,
    keep_at_least: KeepAtLeastOption = None,
    outcomes: Annotated[
        int | None,
        typer.Option(
            "--outcomes",
            metavar="NUMBER",
            help="With --utility frequencies: at most so many outcomes; more of them come closer to the upper bound "
            "[default: eight for each value].",
        ),
    ] = None,
    method: Annotated[
        str, typer.Option("--method", metavar="NAME", help="auto, columns, or enumeration for small domains.")
    ] = "auto",
    time_limit: Annotated[
        float | None,
        typer.Option(
            "--time-limit",
            metavar="SECONDS",
            help="Stop then, with the best so far and its proven gap [default: none; 60 with --failure].",
        ),
    ] = None,
    save: Annotated[
        Path | None, typer.Option("--save", metavar="FILE", help="Save the mechanism, for release and audit.")
    ] = None,
    certificate: CertificateOption = None,
    legend: Annotated[
        Path | None,
        typer.Option(
            "--legend",
            metavar="FILE",
            help="Save a CSV file of all outcomes: how often each comes, and what it raises.",
        ),
    ] = None,
    plot: PlotOption = None,
    as_json: JsonOption = False,
    everything: AllOption = False,
) -> None:
    """Find the mechanism of greatest utility within a leakage limit, and prove both.

    The value is the utility that the mechanism attains, the upper bound what no mechanism within the limit exceeds, and
    the gap the difference between them. An outcome is named after the values that it makes more likely: {a,c} raises a
    and c, 'not b' raises all but b. With guessing or a utility matrix the outcomes have labels of their own.

    With --margin and --rows no limit is given: the least lift is found with which the frequencies are known as
    accurately as that, with the proof that less does not suffice.

    Frequencies in a sample are not the prior: with --failure the limit is kept for the true prior, whatever it is,
    unless the sample misleads, and the result lists what the other strategies achieve.

    \b
    leakwise design --prior a=0.5,b=0.3,c=0.2 --lift 2
    leakwise design --counts no=700,yes=300 --epsilon 0.5 --save mechanism.json --certificate proof.json
    leakwise design --prior uniform:7 --epsilon 0.8 --utility frequencies --plot mechanism.svg
    leakwise design --prior HIV=0.02,flu=0.58,none=0.4 --margin 0.02 --rows 5000
    leakwise design --prior HIV=0.02,flu=0.58,none=0.4 --margin HIV=0.01 --rows 5000 --certificate proof.json
    leakwise design --prior uniform:20 --ldp 2 --utility frequencies --outcomes 400
    leakwise design --prior prior.csv --lift 2 --anyone 20 --utility-matrix worth.csv
    leakwise design --prior HIV=0.02,flu=0.58,none=0.4 --lift 3 --lift-of HIV=1.2 --ceiling HIV,flu=0.8
    leakwise design --prior a=0.5,b=0.3,c=0.2 --maximal-leakage 0.3 --lift 3
    leakwise design --prior a=0.5,b=0.3,c=0.2 --lift 1.1 --delta 0.2
    leakwise design --counts counts.csv --lift 2 --keep-frequencies --forbidden male:pregnant --keep-at-least flu=0.2
    leakwise design --prior prior.csv --epsilon 1.5 --time-limit 10 --json
    leakwise design --data survey.csv --column smokes --domain no,yes --lift 2 --failure 1e-6
    """
    known = read_prior(prior, counts, data, column, domain)
    if keep_frequencies and utility is None and utility_matrix is None:
        utility = "guessing"
    goal = read_utility(utility, utility_matrix, known)
    masks = read_masks(forbidden, keep_at_least, known.labels)
    own = read_value_limits(lift_of, ceiling, floor, known.labels)
    accuracy = read_margin(margin, values, known.labels)
    found: Design | DataDesign
    if failure is None and strategy is not None:
        raise InvalidInput("--strategy goes with --failure: how often the sample may mislead, such as 1e-6.")
    if failure is not None:
        others = {"--lip": lip, "--maximal-leakage": maximal_leakage, "--delta": delta, "--outcomes": outcomes}
        if given := [name for name, value in others.items() if value is not None] + ["--method"] * (method != "auto"):
            raise InvalidInput(f"--failure does not go with {', '.join(given)}.")
        if margin is not None or rows is not None or values is not None:
            raise InvalidInput(
                "--failure does not go with --margin, --rows or --values: find the lift for the frequencies of the "
                "sample first, then design with --lift and --failure."
            )
        from leakwise.optimize.from_data import design_from_data

        if keep_frequencies:
            from leakwise.optimize.problem.kept_frequencies import kept_frequencies as kept

            goal = kept(goal, **masks)
        elif forbidden or keep_at_least:
            raise InvalidInput("--forbidden and --keep-at-least go with --keep-frequencies.")
        found = design_from_data(
            known,
            number_if_given(epsilon, "--epsilon"),
            lift=number_if_given(lift, "--lift"),
            failure=number_if_given(failure, "--failure"),
            strategy=strategy or "best",
            utility=goal,
            anyone=read_anyone(anyone),
            ldp=number_if_given(ldp, "--ldp"),
            **own,
            time_limit=60.0 if time_limit is None else time_limit,
        )
    else:
        from leakwise.optimize import design as find

        with gap_bar(not as_json) as told:
            found = find(
                known,
                number_if_given(epsilon, "--epsilon"),
                lift=number_if_given(lift, "--lift"),
                utility=goal,
                anyone=read_anyone(anyone),
                **own,
                **accuracy,
                rows=rows,
                ldp=number_if_given(ldp, "--ldp"),
                lip=number_if_given(lip, "--lip"),
                maximal_leakage=number_if_given(maximal_leakage, "--maximal-leakage"),
                delta=number_if_given(delta, "--delta"),
                keep_frequencies=keep_frequencies,
                **masks,
                outcomes=outcomes,
                method=method,
                time_limit=time_limit,
                progress=told,
            )
    if certificate is not None and found.certificate is None:
        raise InvalidInput(
            f"--certificate: a design by {found.strategy} has no certificate: its proof is the second half of the "
            "sample. Use --strategy certified."
        )
    if save is not None:
        found.mechanism.save(save)
    if certificate is not None and found.certificate is not None:
        found.certificate.save(certificate)
    from leakwise.optimize.finish.outcome_names import coded

    if legend is not None:
        _save_legend(found, legend)
    show(found, as_json, everything)
    if legend is not None:
        say(f"Legend saved: {legend}")
    elif coded(found.mechanism.outputs):
        say("Outcomes have short codes: --legend FILE saves what each of them makes more likely.")
    if save is not None:
        say(f"Mechanism saved: {save}")
    if certificate is not None:
        say(f"Certificate saved: {certificate}; check it with: leakwise verify {certificate}")
    save_picture(found, plot)


def _save_legend(found: Any, place: Path) -> None:
    """Write what each outcome makes more likely, and how often it comes under the prior."""
    from leakwise.optimize.finish.outcome_names import legend

    mechanism, prior = found.mechanism, found.prior.nominal
    law = mechanism.kernel.output_law_floats(prior.weights, prior.denominator)
    rows = zip(legend(mechanism, prior).items(), law.tolist(), strict=True)
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(["outcome", "probability", "makes more likely"])
    writer.writerows([name, f"{mass:.6g}", values] for (name, values), mass in rows)
    write_atomically(place, text.getvalue().encode())
