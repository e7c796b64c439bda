"""``leakwise verify``: check a certificate from its integers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leakwise.cli.output import JsonOption, show

__all__ = ["register"]


def register(app: typer.Typer) -> None:
    """Hang the command on the command line."""
    app.command()(verify)


def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A certificate that certify() or a design saved.")],
    as_json: JsonOption = False,
) -> None:
    """Check a certificate again, from the exact integers it carries, without trusting who made it.

    Ends with 0 and prints the guarantee when it holds; with 1 when the certificate does not prove its claim; with 2
    when the file is damaged or is no certificate.

    \b
    leakwise verify certificate.json
    leakwise verify certificate.json --json
    """
    from leakwise.proof import verify as check

    certificate = check(file)
    if as_json:
        show(certificate, as_json=True)
        return
    typer.echo(f"Verified. {certificate.sentence}")
    typer.echo(repr(certificate).partition("\n")[2])
