"""``leakwise aggregate``: what a count, a histogram or a total of many records tells about one of them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leakwise.cli.options.fail_above import FailAboveOption, judged, read_fail_above
from leakwise.cli.options.results import CertificateOption, PlotOption, save_picture
from leakwise.cli.options.typed import number, number_if_given
from leakwise.cli.screen.output import AllOption, JsonOption, Said, say, show
from leakwise.errors import InvalidInput

if TYPE_CHECKING:
    from leakwise.aggregate.aggregate import Aggregate

__all__ = ["register"]

UnknownOption = Annotated[
    int,
    typer.Option(
        "--unknown",
        "-m",
        metavar="M",
        help="How many records the adversary does not know, with the one it is after. Known records only shift the "
        "outcome.",
    ),
]
ValuesOption = Annotated[
    str, typer.Option("--prior", "-p", metavar="PRIOR", help="The prior of a record: a=0.5,b=0.3,c=0.2, or a file.")
]
NoiseOption = Annotated[
    str | None, typer.Option("--noise", metavar="ε", help="Two-sided geometric noise, P(z) proportional to e^(-ε|z|).")
]
DeltaOption = Annotated[
    str,
    typer.Option(
        "--delta",
        "-d",
        metavar="δ",
        help="The probability, over outcomes, of a larger leakage; 0 is for every outcome.",
    ),
]
LiftOption = Annotated[
    str | None,
    typer.Option("--lift", metavar="LIFT", help="Find the least noise that keeps this lift, or that none is needed."),
]
RecordsOption = Annotated[
    int | None,
    typer.Option(
        "--records", metavar="N", help="How many records --answer is about, known ones among them [default: --unknown]."
    ),
]
AnswerOption = Annotated[
    str | None, typer.Option("--answer", metavar="N", help="Also draw a release of this true answer, with exact noise.")
]

_HELP = """Measure what a count, a histogram or a total of many records tells about one, and how much noise it needs.

Example: leakwise aggregate count --unknown 10000 --prior 0.3 --delta 1e-6
"""


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    group = typer.Typer(no_args_is_help=True, help=_HELP)
    for command in (count, histogram, total):
        group.command()(command)
    app.add_typer(group, name="aggregate")


def count(
    unknown: UnknownOption,
    prior: Annotated[
        str,
        typer.Option(
            "--prior", "-p", metavar="P", help="The probability that a record counts: 0.3, or an interval 0.2,0.4."
        ),
    ],
    noise: NoiseOption = None,
    delta: DeltaOption = "0",
    lift: LiftOption = None,
    answer: AnswerOption = None,
    records: RecordsOption = None,
    fail_above: FailAboveOption = None,
    certificate: CertificateOption = None,
    plot: PlotOption = None,
    as_json: JsonOption = False,
    everything: AllOption = False,
) -> None:
    """Measure what a count tells about one record, or find the least noise for a limit.

    The other unknown records are noise already: an exact count of 10,000 makes no guess more than 1.08 times as likely,
    except once in a million times. With --lift the answer is the least noise, or that none is needed.

    \b
    leakwise aggregate count --unknown 1000 --prior 0.3 --noise 1 --delta 1e-6
    leakwise aggregate count --unknown 10000 --prior 0.3 --delta 1e-6 --fail-above 1.1
    leakwise aggregate count --unknown 1000 --prior 0.2,0.4 --lift 1.1 --delta 1e-6
    leakwise aggregate count --unknown 1000 --prior 0.3 --noise 1 --answer 412 --records 1500
    """
    from leakwise import aggregate

    words = prior.split(",")
    if len(words) > 2:
        raise InvalidInput(f"--prior must be a probability, or an interval such as 0.2,0.4. Got {prior!r} instead.")
    ends = tuple(number(word, "--prior") for word in words)
    made = aggregate.count(unknown=unknown, prior=(ends[0], ends[-1]), noise=noise)
    true = number_if_given(answer, "--answer")
    _tell(made, delta, lift, noise, true, records, fail_above, certificate, plot, as_json, everything)


def histogram(
    unknown: UnknownOption,
    prior: ValuesOption,
    noise: NoiseOption = None,
    delta: DeltaOption = "0",
    lift: LiftOption = None,
    answer: Annotated[
        str | None,
        typer.Option("--answer", metavar="a=N,b=N,…", help="Also draw a release of these counts, with exact noise."),
    ] = None,
    records: RecordsOption = None,
    fail_above: FailAboveOption = None,
    certificate: CertificateOption = None,
    plot: PlotOption = None,
    as_json: JsonOption = False,
    everything: AllOption = False,
) -> None:
    """Measure what a histogram tells about one record, with noise of its own on each cell.

    \b
    leakwise aggregate histogram --unknown 10000 --prior a=0.5,b=0.3,c=0.2 --delta 1e-6
    leakwise aggregate histogram --unknown 500 --prior a=0.5,b=0.3,c=0.2 --lift 1.5 --answer a=260,b=140,c=100
    """
    from leakwise import aggregate
    from leakwise.cli.options.reading import read_prior

    made = aggregate.histogram(unknown=unknown, prior=read_prior(prior), noise=noise)
    true = None if answer is None else _counts(answer, made.prior.labels)
    _tell(made, delta, lift, noise, true, records, fail_above, certificate, plot, as_json, everything)


def _counts(answer: str, labels: tuple[Any, ...]) -> list[Any] | dict[Any, Any]:
    """The true counts, by name or in the order of the values."""
    words = answer.split(",")
    if not all("=" in word for word in words):
        return [number(word, "--answer") for word in words]
    named = {str(label): label for label in labels}
    pairs = [word.rsplit("=", 1) for word in words]
    return {named.get(name.strip(), name.strip()): number(count, "--answer") for name, count in pairs}


def total(
    unknown: UnknownOption,
    prior: Annotated[
        str,
        typer.Option(
            "--prior", "-p", metavar="PRIOR", help="The prior of a record over numbers: 0=0.45,1=0.1,2=0.45, or a file."
        ),
    ],
    noise: NoiseOption = None,
    delta: DeltaOption = "0",
    lift: LiftOption = None,
    answer: AnswerOption = None,
    records: RecordsOption = None,
    fail_above: FailAboveOption = None,
    certificate: CertificateOption = None,
    plot: PlotOption = None,
    as_json: JsonOption = False,
    everything: AllOption = False,
) -> None:
    """Measure what a total of numbers tells about one record.

    \b
    leakwise aggregate total --unknown 12 --prior 0=0.45,1=0.1,2=0.45 --noise 2
    leakwise aggregate total --unknown 12 --prior 0=0.45,1=0.1,2=0.45 --delta 0.01 --lift 2
    """
    from leakwise import aggregate
    from leakwise.cli.options.reading import read_prior

    made = aggregate.total(unknown=unknown, prior=read_prior(prior), noise=noise)
    true = number_if_given(answer, "--answer")
    _tell(made, delta, lift, noise, true, records, fail_above, certificate, plot, as_json, everything)


def _tell(
    made: Aggregate,
    delta: str,
    lift: str | None,
    noise: str | None,
    answer: Any,
    records: int | None,
    fail_above: str | None,
    certificate: Path | None,
    plot: Path | None,
    as_json: bool,
    everything: bool,
) -> None:
    """Print what was asked for, save its proof and its picture, and judge it."""
    largest = read_fail_above(fail_above)
    if lift is not None and noise is not None:
        raise InvalidInput("Give --noise to measure it, or --lift to find the least noise. Got both.")
    if records is not None and answer is None:
        raise InvalidInput("--records goes with --answer, the true answer about all of them.")
    found: Any
    if lift is not None:
        found = made.noise_for(number(lift, "--lift"), delta=delta)
        made = found.aggregate
    else:
        found = made if number(delta, "--delta") == 0 else made.envelope(delta)
    if certificate is not None:
        if found.certificate is None:
            raise InvalidInput("--certificate has nothing to save: without noise there is no bound. Use --delta.")
        found.certificate.save(certificate)
    told, kept = judged(found, largest, lambda: found.lift if lift is None else found.found.lift)
    if answer is not None:
        drawn = made.sample(answer, records=records)
        told = Said([*told._shown(), f"Released: {drawn}"], {**told.to_dict(), "released": drawn})
    show(told, as_json, everything)
    if certificate is not None and not as_json:
        whole = f"It is about {made.unknown:,} unknown records of one {made.kind}: say so to those who get it."
        say(f"Certificate saved: {certificate}; check it with: leakwise verify {certificate}. {whole}")
    save_picture(found, plot)
    if not kept:
        raise typer.Exit(1)
