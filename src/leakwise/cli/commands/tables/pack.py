"""``leakwise pack``: the paper trail of a release in one archive."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from leakwise.charts.words import Kept, Notice
from leakwise.cli.screen.output import AllOption, JsonOption, Said, show
from leakwise.errors import InvalidInput

__all__ = ["pack"]


def pack(
    certificate: Annotated[
        Path, typer.Argument(metavar="CERTIFICATE", help="What leakwise release --certificate saved.")
    ],
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="The report, .html or .json; one in JSON is compared as well."),
    ] = None,
    mechanism: Annotated[Path | None, typer.Option("--mechanism", metavar="FILE", help="The mechanism.")] = None,
    settings: Annotated[Path | None, typer.Option("--settings", metavar="FILE", help="The file of settings.")] = None,
    out: Annotated[
        Path | None, typer.Option("--out", "-o", metavar="FILE", help="The archive [default: CERTIFICATE.pack.zip].")
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace an archive that exists already.")] = False,
    as_json: JsonOption = False,
    everything: AllOption = False,
) -> None:
    """Put the files of a release into one archive, with every number computed again and an evaluation.

    The evaluation answers what NIST SP 800-226 and a data protection impact assessment ask about, and links each number
    to its line of the certificate. Files that do not belong together are rejected with exit code 1. Made again from the
    same files, the archive is the same byte for byte. It contains what the certificate contains: with a prior from the
    table that is exact counts, and the archive says so.

    \b
    leakwise pack c.json --report t.report.json --mechanism t.mechanism.json --settings s.toml -o release.zip
    """
    from leakwise.documents import private
    from leakwise.report.pack.archive import pack as run
    from leakwise.tables.release.paths import refuse_same_files

    place = out if out is not None else certificate.with_name(f"{certificate.stem}.pack.zip")
    if place.suffix.lower() != ".zip":
        raise InvalidInput(f"--out must end in .zip. Got {str(place)!r} instead.")
    read = {"CERTIFICATE": certificate, "--report": report, "--mechanism": mechanism, "--settings": settings}
    refuse_same_files(read, {"--out": place})
    if place.exists() and not overwrite:
        raise InvalidInput(f"{str(place)!r} exists already. Name another --out, or use --overwrite.")
    with private():
        checks = run(certificate, place, report=report, mechanism=mechanism, settings=settings)
    show(
        Said([Kept(checks[0]), *checks[1:], Notice(f"pack: {place}")], {"out": str(place), "checks": checks}),
        as_json,
        everything,
    )
