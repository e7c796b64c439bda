"""``leakwise export``: a sampler of a mechanism for a page in a browser, or for a database."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leakwise.charts.words import Notice
from leakwise.cli.options.row import read_any_mechanism
from leakwise.cli.screen.output import AllOption, JsonOption, Said, print_json, show
from leakwise.errors import InvalidInput

__all__ = ["export"]


def export(
    mechanism: Annotated[
        str,
        typer.Argument(
            metavar="MECHANISM", help="A file saved by Leakwise (also one by strata), a CSV matrix, or a name."
        ),
    ],
    to: Annotated[
        str,
        typer.Option(
            "--to",
            metavar="LANGUAGE",
            help="js (an ES module), script (a plain script, which node can require) or sql (functions of PostgreSQL "
            "with pgcrypto).",
        ),
    ],
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="The sampler [default: the standard output].")
    ] = None,
    certificate: Annotated[
        Path | None,
        typer.Option(
            "--certificate",
            metavar="FILE",
            help="The certificate of the mechanism: checked again, and its guarantee goes into the first lines.",
        ),
    ] = None,
    name: Annotated[
        str | None,
        typer.Option("--name", metavar="NAME", help="What the sampler is called in a script or in the database."),
    ] = None,
    dialect: Annotated[
        str | None,
        typer.Option(
            "--dialect",
            metavar="NAME",
            help="Of SQL: others than postgresql are refused with the reason [default: postgresql].",
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace a file that exists already.")] = False,
    as_json: JsonOption = False,
    everything: AllOption = False,
) -> None:
    """Write a sampler that draws where the answer is given: in the browser, or in PostgreSQL.

    The file has no dependencies. It draws with exactly the probabilities of the mechanism, from the platform's secure
    generator alone (crypto.getRandomValues; gen_random_bytes of pgcrypto), and refuses to draw where there is none. The
    same 64-bit word gives the same outcome in Python, JavaScript and SQL. Its first lines say what is guaranteed to
    whom (for anyone, whatever they knew; with --certificate what that proves), and what is not covered. A mechanism
    whose denominator is not a power of two is rounded as a release rounds it, and proven again.

    Draw once for each answer, and keep the outcome: each further draw of the same answer tells more. What was collected
    is estimated with leakwise estimate --mechanism MECHANISM.

    The exit code is 1 when the certificate is rejected, or is about another mechanism; 2 when the input is wrong.

    \b
    leakwise export mechanism.json --to js -o sampler.js
    leakwise export randomized-response:letters=no/yes,lift=3 --to script --name smokes -o smokes.js
    leakwise export t.mechanism.json --to sql --certificate c.json --name draw_smokes -o smokes.sql
    psql clinic -f smokes.sql
    """
    from leakwise.exported import export as run
    from leakwise.tables.release.paths import refuse_same_files

    refuse_same_files({"MECHANISM": Path(mechanism), "--certificate": certificate}, {"--out": out})
    if out is not None and out.exists() and not overwrite:
        raise InvalidInput(f"{str(out)!r} exists already. Name another --out, or use --overwrite.")
    done = run(read_any_mechanism(mechanism), to, certificate=certificate, name=name, dialect=dialect)
    if out is not None:
        done.save(out)
    told = done.to_dict()
    if out is not None:
        words = [*done._shown(), Notice(f"sampler: {out}")]
        show(Said(words, {**{key: told[key] for key in told if key != "source"}, "out": str(out)}), as_json, everything)
    elif as_json:
        print_json(told)
    else:
        typer.echo(done.source, nl=False)
