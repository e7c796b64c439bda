"""``leakwise certify``: prove what a mechanism leaks, and save the proof."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from leakwise.charts.shown import Table
from leakwise.charts.words import Broken, Kept, Notice
from leakwise.cli.options.domain import DomainOption
from leakwise.cli.options.fail_above import FailAboveOption, read_fail_above
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
)
from leakwise.cli.options.row import read_to_certify
from leakwise.cli.options.typed import number, number_if_given
from leakwise.cli.screen.output import AllOption, JsonOption, Said, show
from leakwise.errors import InvalidInput

__all__ = ["certify"]


def certify(
    mechanism: MechanismArgument,
    prior: PriorOption = None,
    counts: CountsOption = None,
    data: DataOption = None,
    column: ColumnOption = None,
    domain: DomainOption = None,
    failure: FailureOption = None,
    lift: Annotated[
        str | None,
        typer.Option(
            "--lift", metavar="LIFT", help="The limit: 2 means 'twice as likely' [default: certify what is found]."
        ),
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", "-e", metavar="NATS", help="The limit as ε in nats.")
    ] = None,
    fail_above: FailAboveOption = None,
    anyone: AnyoneOption = None,
    lift_of: LiftOfOption = None,
    ceiling: CeilingOption = None,
    floor: FloorOption = None,
    out: Annotated[
        Path | None,
        typer.Option("--out", "-o", metavar="FILE", help="Save the certificate, for leakwise verify, if it holds."),
    ] = None,
    as_json: JsonOption = False,
    everything: AllOption = False,
) -> None:
    """Prove that a mechanism keeps a limit, on the exact integers that a release draws from.

    The exit code is 0 where every limit is kept, and 1 where one is not: then nothing is saved. --fail-above is another
    name of --lift. A certificate contains the mechanism and the prior, with --counts or --data the counts. A
    mechanism by stratum takes --prior FILE, the priors of its strata.

    \b
    leakwise certify mechanism.json --prior no=0.8,yes=0.2 --lift 2 -o proof.json
    leakwise certify mechanism.json --counts no=800,yes=200 --failure 1e-6 --fail-above 2 --json
    leakwise certify randomized-response:letters=no/yes,lift=3 --prior no=0.7,yes=0.3 --lift 2 --anyone 3
    leakwise certify by_stratum.json --prior priors.json --lift 2 -o proof.json
    """
    from leakwise.guarantee import COVERS, taken_as_exact
    from leakwise.proof import certify as prove

    limits = {"--lift": lift, "--epsilon": epsilon, "--fail-above": fail_above}
    if len(asked := [name for name, value in limits.items() if value is not None]) > 1:
        raise InvalidInput(f"Give one of --lift, --epsilon and --fail-above. Got {' and '.join(asked)}.")
    largest = number(lift, "--lift") if lift is not None else read_fail_above(fail_above)
    chosen, known = read_to_certify(mechanism, prior, counts, data, column, domain, failure)
    certificate = prove(
        chosen,
        known,
        number_if_given(epsilon, "--epsilon"),
        lift=largest,
        anyone=read_anyone(anyone),
        **read_value_limits(lift_of, ceiling, floor, known.labels),
    )
    first, *rest = certificate._shown()
    assert isinstance(first, Table)
    kind = Kept if certificate.holds else Broken
    words = [kind(certificate.sentence), replace(first, title=None), *rest]
    if (counted := taken_as_exact(known, COVERS)) is not None and counted not in certificate.sentence:
        words.append(Notice(counted))
    saved = None
    if out is not None and certificate.holds:
        certificate.save(out)
        saved = str(out)
        words.append(Notice(f"Certificate saved: {saved}"))
    elif out is not None:
        words.append(Notice(f"Nothing is saved in {str(out)!r}: the certificate does not hold."))
    limit = None if certificate.asked is None else float(certificate.asked.above)
    data_of = {**certificate.to_dict(), "lift": certificate.largest_lift, "limit": limit, "kept": certificate.holds}
    show(Said(words, {**data_of, "certificate": saved}), as_json, everything)
    if not certificate.holds:
        raise typer.Exit(1)
