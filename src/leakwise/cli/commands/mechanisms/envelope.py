"""``leakwise envelope``: the leakage guaranteed after any post-processing of the outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from leakwise.charts.words import Kept
from leakwise.cli.options.domain import DomainOption
from leakwise.cli.options.fail_above import FailAboveOption, judged, read_fail_above
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
from leakwise.cli.options.results import CertificateOption, PlotOption, save_picture
from leakwise.cli.options.typed import number
from leakwise.cli.screen.output import AllOption, JsonOption, Said, say, show

if TYPE_CHECKING:
    from leakwise.mechanism import Mechanism
    from leakwise.priors import Prior

__all__ = ["envelope"]


def envelope(
    mechanism: MechanismArgument,
    delta: Annotated[
        str | None,
        typer.Option(
            "--delta",
            "-d",
            metavar="δ",
            help="The probability with which the limit may be exceeded, between 0 and 1 [default: the whole curve].",
        ),
    ] = None,
    epsilon: Annotated[
        str | None,
        typer.Option("--epsilon", metavar="ε", help="The converse: the probability δ of leaking more than ε nats."),
    ] = None,
    lift: Annotated[
        str | None,
        typer.Option("--lift", metavar="LIFT", help="The same for a lift e^ε: the probability of a larger one."),
    ] = None,
    repeat: Annotated[int, typer.Option("--repeat", metavar="N", help="Release N independent draws together.")] = 1,
    confidence: Annotated[
        float,
        typer.Option(
            "--confidence",
            metavar="P",
            help="With what probability simulated bounds hold, where N releases have too many outcomes to list.",
        ),
    ] = 0.99,
    growth: Annotated[
        str | None,
        typer.Option("--growth", metavar="N,N,…", help="Print how leakage grows with the number of releases."),
    ] = None,
    fail_above: FailAboveOption = None,
    plot: PlotOption = None,
    certificate: CertificateOption = None,
    prior: PriorOption = None,
    counts: CountsOption = None,
    data: DataOption = None,
    column: ColumnOption = None,
    domain: DomainOption = None,
    failure: FailureOption = None,
    as_json: JsonOption = False,
    everything: AllOption = False,
) -> None:
    """Find the leakage that is exceeded with probability at most δ, however the outcome is post-processed.

    Without --delta, print the whole curve with its bounds. With --epsilon (or --lift), print the largest probability of
    a greater leakage after any post-processing. With --delta and --fail-above the exit code is 1 where the lift proven
    at that δ is above the limit.

    \b
    leakwise envelope randomized-response:n=5,epsilon=1 --prior 0.1,0.2,0.2,0.2,0.3 --delta 0.05
    leakwise envelope randomized-response:n=3,epsilon=1 --prior 0.2,0.3,0.5 --plot curve.svg
    leakwise envelope randomized-response:n=2,lift=3 --prior uniform --delta 0.01 --repeat 100
    leakwise envelope randomized-response:n=12,epsilon=0.2 --prior uniform --delta 0.01 --repeat 90
    leakwise envelope randomized-response:n=2,lift=3 --counts 700,300 --failure 1e-6 --delta 0.01
    leakwise envelope mechanism.json --prior no=0.8,yes=0.2 --delta 0.01 --fail-above 2
    """
    import leakwise as lw
    from leakwise.errors import InvalidInput
    from leakwise.guarantee import COVERS, at_most, lift_above, taken_as_exact

    largest = read_fail_above(fail_above)
    if largest is not None and (delta is None or growth is not None):
        raise InvalidInput("--fail-above needs --delta, without --growth: it judges the lift proven at one δ.")
    single = read_mechanism(mechanism)
    known = read_prior(prior, counts, data, column, domain, mechanism=single)
    single = named_after(single, known)
    asked = [
        name for name, value in (("--delta", delta), ("--epsilon", epsilon), ("--lift", lift)) if value is not None
    ]
    if len(asked) > 1 and not (growth and asked == ["--delta"]):
        raise InvalidInput(f"Give one of --delta, --epsilon and --lift. Got {' and '.join(asked)}.")
    if certificate is not None and delta is None:
        raise InvalidInput("--certificate needs --delta: a certificate proves the value at one δ.")
    if failure is not None and (delta is None or growth is not None or plot is not None or certificate is not None):
        raise InvalidInput(
            "--failure goes with --delta alone: the curve, its picture, --epsilon, --lift, --growth and a "
            "certificate are for one prior."
        )
    counted = taken_as_exact(known, COVERS)
    if counted is not None and (delta is None or growth is not None):  # the sentence of an envelope says so itself
        say(counted)
    if growth is not None:
        steps = [int(number(word, "--growth")) for word in growth.split(",")]
        _grow(single, known, delta or "0.01", steps, as_json, everything)
        return
    release = single.repeat(repeat) if repeat != 1 else single
    if plot is not None:
        save_picture(lw.envelope_curve(release, known), plot)
    if delta is not None and isinstance(release, lw.results.Composition) and not release.enumerable:
        if certificate is not None or failure is not None:
            raise InvalidInput(
                f"{repeat} releases have {release.count_vectors:,} joint outcomes, too many to list: their envelope is "
                "simulated, for one prior and without a certificate. Leave --certificate and --failure out."
            )
        bounds = lw.measures.composition_bounds(release, known, delta, confidence=confidence)
        # What is simulated is not proven.
        told, kept = judged(bounds, largest, lambda: lift_above(bounds.envelope_upper))
        show(told, as_json, everything)
        if not kept:
            raise typer.Exit(1)
    elif delta is not None:
        found = lw.envelope(release, every_prior_left(known, failure), delta)
        if certificate is not None:
            found.certificate.save(certificate)
        told, kept = judged(found, largest, lambda: found.certificate.lift)
        show(told, as_json, everything)
        if not kept:
            raise typer.Exit(1)
    elif epsilon is not None or lift is not None:
        value = lw.failure_probability(release, known, epsilon, lift=lift)
        level = {"epsilon": epsilon} if epsilon is not None else {"lift": lift}
        words = f"ε = {epsilon}" if epsilon is not None else f"a lift of {lift}"
        sentence = (
            f"Whatever is done to the outcome, it leaks more than {words} with probability at most {at_most(value)}."
        )
        show(Said([Kept(sentence)], {**level, "failure_probability": value}), as_json)
    else:
        show(lw.envelope_curve(release, known), as_json, everything)


def _grow(single: Mechanism, known: Prior, delta: str, steps: list[int], as_json: bool, everything: bool) -> None:
    """Print the growth of leakage: each row on standard error as it is found, then the table of all rows found.

    After an interruption, or a number of releases that cannot be enumerated, the earlier rows are still printed.
    """
    from leakwise.leakage.composition import CompositionTable, composition_rows
    from leakwise.leakage.envelopes.one_delta import open_delta

    allowed = open_delta(delta)
    rows: list[Any] = []
    try:
        for row in composition_rows(single, known, allowed, steps):
            rows.append(row)
            if not as_json:
                say(f"n = {row[0]}: ε = {row[1]:.6g}, ε_c(δ) = {row[3]:.6g}")
    finally:
        if rows:
            show(CompositionTable(allowed, tuple(rows), known.epsilon_max), as_json, everything)
