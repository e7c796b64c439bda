"""``leakwise records``: whole datasets, against an adversary who is uncertain by at least b nats."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leakwise.cli.options.results import CertificateOption, PlotOption, save_picture
from leakwise.cli.screen.output import AllOption, JsonOption, say, show
from leakwise.errors import InvalidInput, did_you_mean

if TYPE_CHECKING:
    from leakwise.records import Channel, Query

__all__ = ["register"]

QueryArgument = Annotated[
    str,
    typer.Argument(
        metavar="QUERY",
        help="parity:n=4, modular-sum:n=6,modulus=3,alphabet=2, count:n=20, pairs:n=5 or weighted-sum:weights=1/2/3.",
    ),
]
ChannelArgument = Annotated[
    str,
    typer.Argument(
        metavar="MECHANISM",
        help="symmetric:flip=0.3, laplace:epsilon=1, exponential:epsilon=1, geometric:epsilon=1, or a CSV matrix with "
        "a row for each answer.",
    ),
]
EntropyOption = Annotated[
    str, typer.Option("--entropy", "-b", help="The least uncertainty of the adversary, in nats; 'max' is log|X|.")
]
MeasureOption = Annotated[
    str, typer.Option("--measure", help="mutual_information (an average over answers) or pointwise (every answer).")
]
MethodOption = Annotated[str, typer.Option("--method", help="global (proven) or alternating (the paper's algorithms).")]
ToleranceOption = Annotated[float, typer.Option("--tolerance", help="The gap to close, in nats.")]
TimeOption = Annotated[
    float, typer.Option("--time-limit", help="Seconds after which both bounds are reported as they are.")
]


_HELP = """Bound what an adversary with limited knowledge learns about one record of a dataset.

Example: leakwise records leakage parity:n=4 symmetric:flip=0.3 --entropy 2.0
"""


def register(app: typer.Typer) -> None:
    """Add the commands to the command line."""
    group = typer.Typer(no_args_is_help=True, help=_HELP)
    group.command()(leakage)
    group.command()(curve)
    group.command("least-leakage")(least_leakage)
    group.command("least-distortion")(least_distortion)
    group.command()(compare)
    app.add_typer(group, name="records")


def leakage(
    query: QueryArgument,
    mechanism: ChannelArgument,
    entropy: Annotated[
        str | None,
        typer.Option(
            "--entropy", "-b", help="The least uncertainty of the adversary, in nats; 'max' is log|X|. [default: 0]"
        ),
    ] = None,
    min_entropy: Annotated[
        str | None,
        typer.Option(
            "--min-entropy",
            help="The same for --measure pointwise: no dataset is more probable than e^-b. [default: 0]",
        ),
    ] = None,
    measure: MeasureOption = "mutual_information",
    method: MethodOption = "global",
    tolerance: ToleranceOption = 1e-6,
    time_limit: TimeOption = 60.0,
    restarts: Annotated[int, typer.Option("--restarts", help="Random starts of the alternating method.")] = 20,
    seed: Annotated[int, typer.Option("--seed", help="Seed of the alternating method.")] = 0,
    certificate: CertificateOption = None,
    as_json: JsonOption = False,
    everything: AllOption = False,
) -> None:
    """Find the most that an adversary learns about one record, with bounds from both sides and the adversary in words.

    \b
    leakwise records leakage parity:n=4 laplace:epsilon=1 --entropy 2
    leakwise records leakage modular-sum:n=1000,modulus=3 symmetric:flip=0.3 -b 692.8 --tolerance 1e-4
    leakwise records leakage parity:n=4 symmetric:flip=0.3 --measure pointwise --min-entropy 2 --certificate proof.json
    """
    from leakwise import records

    asked = read_query(query)
    result = records.leakage(
        read_channel(asked, mechanism),
        None if entropy is None else _entropy(entropy, asked),
        min_entropy=None if min_entropy is None else _entropy(min_entropy, asked, "--min-entropy"),
        measure=measure.replace("-", "_"),
        method=method,
        tolerance=tolerance,
        time_limit=time_limit,
        restarts=restarts,
        seed=seed,
        certificate=certificate is not None,
    )
    show(result, as_json, everything)
    if certificate is not None:
        if result.certificate is None:
            raise InvalidInput(
                f"Nothing is saved in {str(certificate)!r}: this leakage has no certificate, because it has no bound "
                "or because --method alternating proves none."
            )
        result.certificate.save(certificate)
        say(f"Certificate saved: {certificate}; check it with: leakwise verify {certificate}")


def curve(
    query: QueryArgument,
    mechanism: ChannelArgument,
    points: Annotated[int, typer.Option("--points", help="How many values of b from 0 to log|X|.")] = 11,
    measure: MeasureOption = "mutual_information",
    tolerance: ToleranceOption = 1e-4,
    time_limit: TimeOption = 20.0,
    plot: PlotOption = None,
    as_json: JsonOption = False,
    everything: AllOption = False,
) -> None:
    """Show the leakage for every b, from an adversary who may know everything to one who knows nothing.

    \b
    leakwise records curve parity:n=4 symmetric:flip=0.3 --points 6
    """
    from leakwise import records

    asked = read_query(query)
    result = records.leakage_curve(
        read_channel(asked, mechanism),
        points,
        measure=measure.replace("-", "_"),
        tolerance=tolerance,
        time_limit=time_limit,
    )
    show(result, as_json, everything)
    save_picture(result, plot)


def least_leakage(
    query: QueryArgument,
    distortion: Annotated[
        float, typer.Option("--distortion", "-d", help="The limit on E|y - f(x)|, for uniform data.")
    ],
    entropy: EntropyOption = "0",
    method: MethodOption = "global",
    tolerance: ToleranceOption = 1e-5,
    time_limit: TimeOption = 60.0,
    as_json: JsonOption = False,
    everything: AllOption = False,
) -> None:
    """Find the mechanism that leaks least within a limit on distortion.

    \b
    leakwise records least-leakage parity:n=3 --distortion 0.2 --entropy 1.5
    """
    from leakwise import records

    asked = read_query(query)
    b = _entropy(entropy, asked)
    show(
        records.least_leakage(asked, distortion, b, method=method, tolerance=tolerance, time_limit=time_limit),
        as_json,
        everything,
    )


def least_distortion(
    query: QueryArgument,
    level: Annotated[
        float, typer.Option("--leakage", "-l", help="The limit on the leakage about any record, in nats.")
    ],
    entropy: EntropyOption = "0",
    method: MethodOption = "global",
    tolerance: ToleranceOption = 1e-5,
    time_limit: TimeOption = 60.0,
    as_json: JsonOption = False,
    everything: AllOption = False,
) -> None:
    """Find the mechanism of least distortion within a limit on leakage.

    \b
    leakwise records least-distortion parity:n=3 --leakage 0.1
    """
    from leakwise import records

    asked = read_query(query)
    b = _entropy(entropy, asked)
    show(
        records.least_distortion(asked, level, b, method=method, tolerance=tolerance, time_limit=time_limit),
        as_json,
        everything,
    )


def compare(
    query: QueryArgument,
    epsilon: Annotated[
        float | None, typer.Option("--epsilon", "-e", help="Compare at equal differential privacy.")
    ] = None,
    level: Annotated[float | None, typer.Option("--leakage", "-l", help="Compare at equal leakage.")] = None,
    entropy: EntropyOption = "0",
    tolerance: ToleranceOption = 1e-5,
    time_limit: TimeOption = 20.0,
    as_json: JsonOption = False,
    everything: AllOption = False,
) -> None:
    """Compare the Laplace, exponential, symmetric and best mechanisms.

    \b
    leakwise records compare parity:n=4 --epsilon 1 --entropy 2
    leakwise records compare parity:n=4 --leakage 0.05
    """
    from leakwise import records

    asked = read_query(query)
    b = _entropy(entropy, asked)
    result = records.compare(
        asked, epsilon=epsilon, leakage=level, entropy=b, tolerance=tolerance, time_limit=time_limit
    )
    show(result, as_json, everything)


def _entropy(text: str, query: Query, option: str = "--entropy") -> float:
    if text == "max":
        return query.max_entropy
    try:
        return float(text)
    except ValueError as error:
        most = query.max_entropy
        raise InvalidInput(f"{option} is {text!r}; expected a number of nats up to {most:.6f}, or 'max'.") from error


def _parts(text: str, known: dict[str, dict[str, type]], what: str) -> tuple[str, dict[str, Any]]:
    """Read ``name:key=value,…`` against the names and parameters that exist."""
    name, _, rest = text.partition(":")
    name = name.strip().replace("_", "-")
    if name not in known:
        raise InvalidInput(
            f"{what} {text!r} is not known; expected one of {', '.join(known)}.{did_you_mean(name, known)}"
        )
    values: dict[str, Any] = {}
    for part in filter(None, (p.strip() for p in rest.split(","))):
        key, equals, value = part.partition("=")
        if not equals or key not in known[name]:
            raise InvalidInput(
                f"{what} {text!r}: {part!r} is not understood; {name} takes {', '.join(known[name])} as key=value."
            )
        try:
            values[key] = (
                [int(v) for v in re.split(r"[/ ]+", value)] if known[name][key] is list else known[name][key](value)
            )
        except ValueError as error:
            raise InvalidInput(f"{what} {text!r}: {key} is {value!r}; expected {known[name][key].__name__}.") from error
    return name, values


QUERIES: dict[str, dict[str, type]] = {
    "parity": {"n": int},
    "modular-sum": {"n": int, "modulus": int, "alphabet": int},
    "count": {"n": int},
    "pairs": {"n": int},
    "weighted-sum": {"weights": list, "modulus": int, "alphabet": int},
}
CHANNELS: dict[str, dict[str, type]] = {
    "symmetric": {"flip": float},
    "laplace": {"epsilon": float, "sensitivity": float},
    "exponential": {"epsilon": float},
    "geometric": {"epsilon": float, "sensitivity": float},
}


def read_query(text: str) -> Query:
    """Return a query as written on the command line."""
    from leakwise import records

    name, values = _parts(text, QUERIES, "query")
    function = getattr(records, name.replace("-", "_"))
    try:
        made: Query = function(**values)
    except TypeError as error:
        raise InvalidInput(f"query {text!r} lacks a parameter; {name} takes {', '.join(QUERIES[name])}.") from error
    return made


def read_channel(query: Query, text: str) -> Channel:
    """Return a mechanism as written on the command line, or from a CSV matrix with a row for each answer."""
    if Path(text).suffix.lower() in {".csv", ".txt"} or Path(text).is_file():
        from leakwise.documents.csv_matrix import read_labelled_matrix

        cells, *labels = read_labelled_matrix(Path(text))
        if labels != [None, None]:
            raise InvalidInput(f"mechanism {text!r} must be a CSV matrix of numbers alone, without labels.")
        return query.channel([[float(cell) for cell in row] for row in cells])
    name, values = _parts(text, CHANNELS, "mechanism")
    method = getattr(query, "symmetric_channel" if name == "symmetric" else name)
    try:
        made: Channel = method(**values)
    except TypeError as error:
        raise InvalidInput(
            f"mechanism {text!r} lacks a parameter; {name} takes {', '.join(CHANNELS[name])}."
        ) from error
    return made
