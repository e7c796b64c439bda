"""What is asked of a result beside its figures: intervals, the design of a survey, a picture, a certificate."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from leakwise.cli.screen.output import say
from leakwise.errors import InvalidInput

__all__ = [
    "CertificateOption",
    "ClustersOption",
    "ConfidenceOption",
    "PlotOption",
    "SimultaneousOption",
    "StrataOption",
    "WeightsOption",
    "checked_picture",
    "save_picture",
]


def checked_picture(option: typer.CallbackParam, path: Path | None) -> Path | None:
    """Return where a picture is to be saved; where it cannot be is refused before anything is computed."""
    if path is not None:
        from leakwise.charts.render import checked_suffix

        checked_suffix(path, option.opts[0])
        if not path.parent.is_dir():
            raise InvalidInput(f"{option.opts[0]} {str(path)!r} is in a folder that does not exist. Create it first.")
    return path


PlotOption = Annotated[
    Path | None,
    typer.Option(
        "--plot", metavar="FILE", callback=checked_picture, help="Also save a picture: .png, .svg, .html or .json."
    ),
]
CertificateOption = Annotated[
    Path | None, typer.Option("--certificate", metavar="FILE", help="Save the certificate, for leakwise verify.")
]
WeightsOption = Annotated[
    str | None, typer.Option("--weights", metavar="NAME", help="A column of sampling weights of a survey.")
]
StrataOption = Annotated[str | None, typer.Option("--strata", metavar="NAME", help="The strata of a survey.")]
ClustersOption = Annotated[str | None, typer.Option("--clusters", metavar="NAME", help="The clusters of a survey.")]
ConfidenceOption = Annotated[float, typer.Option("--confidence", help="The confidence of the intervals.")]
SimultaneousOption = Annotated[
    bool, typer.Option("--simultaneous", help="Let the confidence hold for all intervals together.")
]


def save_picture(found: Any, plot: Path | None) -> None:
    """Save the picture of a result, if one is wanted."""
    if plot is not None:
        from leakwise.charts.render import save

        say(f"Picture saved: {save(found.chart(), plot)}")
