"""``leakwise audit-program``: a command that is run until its claim is judged."""

from __future__ import annotations

from typing import Annotated

import typer

from leakwise.cli.options.domain import read_domain
from leakwise.cli.options.reading import PriorOption
from leakwise.cli.screen.output import AllOption, JsonOption, print_json, say, show
from leakwise.errors import InvalidInput

__all__ = ["register"]

FORMAT, VERSION, REFUTED = "leakwise-audit-program", 1, 1


def register(app: typer.Typer) -> None:
    """Add the command to the command line."""
    app.command(context_settings={"allow_interspersed_args": False})(audit_program)


def audit_program(
    command: Annotated[
        list[str], typer.Argument(metavar="-- COMMAND …", help="The command to run, after two hyphens.")
    ],
    inputs: Annotated[
        str | None,
        typer.Option(
            "--inputs", metavar="VALUES", help="What it is asked about: no,yes, or @FILE with one on each line."
        ),
    ] = None,
    prior: PriorOption = None,
    epsilon: Annotated[str | None, typer.Option("--epsilon", "-e", help="The claim, in nats.")] = None,
    lift: Annotated[str | None, typer.Option("--lift", help="The claim as a lift: 2 means 'twice as likely'.")] = None,
    measure: Annotated[
        str | None,
        typer.Option(
            "--measure",
            help="What is claimed: ldp (for anyone), pml (with --prior, and then the default) or maximal_leakage.",
        ),
    ] = None,
    outputs: Annotated[
        str | None,
        typer.Option(
            "--outputs", metavar="VALUES", help="All that it can print, if you know: a claim can be confirmed then."
        ),
    ] = None,
    runs: Annotated[int, typer.Option("--runs", help="The most answers to ask for, over all inputs.")] = 100_000,
    seconds: Annotated[float, typer.Option("--seconds", help="The most time to take.")] = 60.0,
    failure: Annotated[
        float,
        typer.Option("--failure", help="The probability that a true claim is refuted, or any number shown is wrong."),
    ] = 0.01,
    crashes: Annotated[
        bool, typer.Option("--crashes", help="Count a run that fails as an answer: its exit code and what it printed.")
    ] = False,
    as_json: JsonOption = False,
    everything: AllOption = False,
) -> None:
    """Run a command for each input, again and again, and judge what its answers give away.

    {input} in the command is replaced by the input; without it, the input goes to the standard input. What the command
    prints is its answer; several parts (JSON, bits, characters) are looked at one by one. With {count} in the command,
    it is asked for that many answers at once, one on each line, which is much faster. No shell reads the command. A
    service is audited by the command that asks it, such as curl.

    The exit code is 1 where the claim is refuted, 0 where it is not, 2 where the command cannot be run or fails.

    \b
    leakwise audit-program --inputs no,yes --epsilon 1 -- ./reporter {input}
    leakwise audit-program --inputs no,yes --lift 3 --seconds 20 --json -- ./reporter --times {count} {input}
    leakwise audit-program --inputs 0,1 -e 2 --runs 2000 -- curl -s localhost:8000/report?value={input}
    leakwise audit-program --prior no=0.9,yes=0.1 --lift 2 -- ./reporter {input}
    """
    from leakwise.blackbox import audit_program as audit
    from leakwise.blackbox.asking import LEAST, checked_seconds
    from leakwise.blackbox.command import Command
    from leakwise.cli.options.reading import read_prior

    if inputs is None and prior is None:
        raise InvalidInput("Say what the command is asked about with --inputs no,yes (or with --prior).")
    letters = None if inputs is None else read_domain(inputs, name="--inputs")
    known = None if prior is None else read_prior(prior)
    limit = checked_seconds(seconds)
    asked = len(letters if letters is not None else known.alphabet if known is not None else ())
    if runs < 2 * LEAST * asked:
        raise InvalidInput(f"--runs must be at least {2 * LEAST} for each input, {2 * LEAST * asked} here. Got {runs}.")
    program = Command(command, seconds=limit, crashes=crashes)
    found = audit(
        program,
        letters if letters is None else list(letters.labels),
        prior=known,
        outputs=None if outputs is None else [str(label) for label in read_domain(outputs, name="--outputs").labels],
        epsilon=epsilon,
        lift=lift,
        measure=measure,
        failure=failure,
        samples=runs,
        seconds=limit,
        batch=program.batch,
    )
    if as_json:
        print_json({"format": FORMAT, "version": VERSION, **found.to_dict()})
    else:
        show(found, False, everything)
        if found.verdict == "not refuted" and not program.batch and found.samples < runs:
            say("Note: The command was started for each answer. {count} in it asks for many answers at once.")
    if found.verdict == "refuted":
        raise typer.Exit(REFUTED)
