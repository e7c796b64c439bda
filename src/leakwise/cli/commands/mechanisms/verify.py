"""``leakwise verify``: check a certificate from its integers."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from leakwise.charts.shown import Table
from leakwise.charts.words import Kept
from leakwise.cli.screen.output import AllOption, JsonOption, Said, show

__all__ = ["verify"]


def verify(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="A certificate that a release, a design, certify or records saved.")
    ],
    as_json: JsonOption = False,
    everything: AllOption = False,
) -> None:
    """Check a certificate from the exact integers in it, without trusting whoever made it.

    The exit code is 0, and the guarantee is printed, when the certificate proves its claim; 1 when it does not; 2 when
    the file is damaged or is not a certificate.

    \b
    leakwise verify certificate.json
    leakwise verify certificate.json --json
    """
    from leakwise.proof import verify as check

    certificate = check(file)
    first, *rest = certificate._shown()
    assert isinstance(first, Table)
    words = [Kept(f"Verified. {certificate.sentence}"), replace(first, title=None), *rest]
    show(Said(words, certificate.to_dict()), as_json, everything)
