"""``leakwise worst-case``: the least leakage at which no outcome is worse than a threshold."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leakwise.cli.options.domain import DomainOption
from leakwise.cli.options.limits import AnyoneOption, read_anyone
from leakwise.cli.options.reading import ColumnOption, CountsOption, DataOption, PriorOption, read_prior
from leakwise.cli.options.results import CertificateOption, PlotOption, save_picture
from leakwise.cli.options.typed import label
from leakwise.cli.screen.output import AllOption, JsonOption, say, show
from leakwise.errors import InvalidInput

if TYPE_CHECKING:
    from leakwise.priors import Prior

__all__ = ["read_utility_argument", "worst_case"]

_DISTANCES = ("distance", "order")
_OPTIONS = ("power", "below", "above", "below_factor", "above_factor")


def worst_case(
    utility: Annotated[
        str,
        typer.Argument(
            metavar="UTILITY",
            help="A CSV file (outcomes in the first row, values in the first column, 'never' for a forbidden pair), "
            "distance:power=2,below=1 for values that are numbers, or order:above=1 for ordered values.",
        ),
    ],
    prior: PriorOption = None,
    counts: CountsOption = None,
    data: DataOption = None,
    column: ColumnOption = None,
    domain: DomainOption = None,
    by: Annotated[
        str, typer.Option("--by", help="value: thresholds are utilities; order: they are ranks within the row.")
    ] = "value",
    level: Annotated[
        float | None, typer.Option("--level", help="Find the least leakage for this threshold [default: for each].")
    ] = None,
    epsilon: Annotated[
        str | None, typer.Option("--epsilon", "-e", help="Find the best threshold within this leakage limit, in nats.")
    ] = None,
    lift: Annotated[
        str | None, typer.Option("--lift", help="The same limit as a lift: 2 means 'at most twice as likely'.")
    ] = None,
    anyone: AnyoneOption = None,
    then: Annotated[
        str | None,
        typer.Option(
            "--then", help="With --epsilon or --lift: maximize this next, e.g. mutual_information or expected."
        ),
    ] = None,
    mechanism: Annotated[
        Path | None,
        typer.Option("--save", metavar="FILE", help="Save the mechanism (with --level, --epsilon, --lift)."),
    ] = None,
    certificate: CertificateOption = None,
    plot: PlotOption = None,
    as_json: JsonOption = False,
    everything: AllOption = False,
) -> None:
    """Find the least leakage at which no possible outcome is worse than a threshold; without --level, for every one.

    Outcomes that are too bad for a value are impossible for it, so that there is no limit for anyone, whatever they
    knew: --anyone can only be none.

    \b
    leakwise worst-case distance:power=2,below=1 --prior uniform:7 --by order
    leakwise worst-case distance --prior uniform:7 --level -2
    leakwise worst-case distance --prior uniform:7 --lift 2 --then mutual_information
    leakwise worst-case utility.csv --counts low=500,middle=300,high=200 --level -1 --save mechanism.json
    """
    from leakwise.optimize.worst_case import WorstCase, worst_case_curve

    known = read_prior(prior, counts, data, column, domain)
    matrix, outputs = read_utility_argument(utility, known)
    asked = epsilon is not None or lift is not None
    if level is not None and asked:
        raise InvalidInput("--level and --epsilon (or --lift) are two questions: give one of them.")
    if then is not None and not asked:
        raise InvalidInput(
            "--then goes with --epsilon or --lift: it names what to maximize within the leakage that is left."
        )
    if read_anyone(anyone) is not None:
        raise InvalidInput(
            f"--anyone {anyone} cannot be kept: a worst case makes outcomes impossible for values, and for anyone who "
            "knew more there is no limit then. Leave it out, or give --anyone none."
        )
    result: Any
    if asked:
        from leakwise.optimize import Expected, design

        second = Expected(matrix, outputs) if then == "expected" else then
        result = design(known, epsilon, lift=lift, utility=WorstCase(matrix, by, second, outputs))
    elif level is not None:
        from leakwise.optimize.problem.utility_matrix import utility_matrix
        from leakwise.optimize.worst_case.least_leakage import on_mask
        from leakwise.optimize.worst_case.mask import Levels

        values, names = utility_matrix(matrix, outputs)
        result = on_mask(known, Levels(values, by, names).checked(level, known))
    else:
        if mechanism is not None or certificate is not None:
            raise InvalidInput("--save and --certificate need one mechanism: give --level, --epsilon or --lift.")
        result = worst_case_curve(known, matrix, by=by, outputs=outputs)
    show(result, as_json, everything)
    if mechanism is not None:
        result.mechanism.save(mechanism)
        say(f"Mechanism saved: {mechanism}")
    if certificate is not None:
        result.certificate.save(certificate)
        say(f"Certificate saved: {certificate}")
    save_picture(result, plot)


def read_utility_argument(text: str, prior: Prior) -> tuple[Any, list[Any] | None]:
    """Return a utility as written on the command line, and the labels of its outcomes."""
    from leakwise.optimize.worst_case import distance_utility, ordered_utility, read_utility

    name, _, rest = text.partition(":")
    if name not in _DISTANCES:
        matrix, _, outputs = read_utility(text, prior)
        return matrix, [label(output) for output in outputs]
    options: dict[str, Any] = {}
    for part in filter(None, (piece.strip() for piece in rest.split(","))):
        key, equals, value = part.partition("=")
        if not equals or key not in _OPTIONS:
            raise InvalidInput(
                f"UTILITY {text!r}: {part!r} is not understood; it takes {', '.join(_OPTIONS)} as key=value."
            )
        try:
            options[key] = float(value)
        except ValueError as error:
            raise InvalidInput(f"UTILITY {text!r}: {key} is {value!r}; expected a number.") from error
    if name == "order":
        return ordered_utility(prior.labels, **options), None
    numbers: Any = prior.labels
    return distance_utility(numbers, **options), None
