"""``leakwise sample-size``: how many samples a guarantee needs."""

from __future__ import annotations

from typing import Annotated

import typer

from leakwise.charts.shown import Table
from leakwise.charts.words import Kept
from leakwise.cli.screen.output import AllOption, JsonOption, Said, show
from leakwise.errors import counted

__all__ = ["sample_size"]


def sample_size(
    letters: Annotated[int, typer.Argument(metavar="VALUES", help="How many values the secret can take.")],
    epsilon: Annotated[
        str | None,
        typer.Option(
            "--epsilon", "-e", help="The leakage at the estimated prior in nats, including for values never seen."
        ),
    ] = None,
    lift: Annotated[str | None, typer.Option("--lift", help="The same as a lift.")] = None,
    target: Annotated[
        str | None, typer.Option("--target", "-t", help="The leakage to keep for the true prior, in nats.")
    ] = None,
    target_lift: Annotated[str | None, typer.Option("--target-lift", help="The same as a lift.")] = None,
    failure: Annotated[str, typer.Option("--failure", help="The probability that the sample misleads.")] = "1e-6",
    as_json: JsonOption = False,
    everything: AllOption = False,
) -> None:
    """Compute how many i.i.d. samples make the estimate of a prior good enough.

    A mechanism that leaks ε at the estimate then leaks at most the target for the true prior, except with the failure
    probability, whatever the true prior is and whichever mechanism is chosen after seeing the sample.

    \b
    leakwise sample-size 20 --lift 5 --target-lift 6 --failure 1e-5
    leakwise sample-size 4 --epsilon 0.5 --target 0.6 --json
    """
    from leakwise.leakage import sample_size as needed

    found = {
        method: needed(letters, epsilon, target, failure=failure, lift=lift, target_lift=target_lift, method=method)
        for method in ("layer-cake", "weissman")
    }
    data = {"letters": letters, "failure": float(failure), "samples": found["layer-cake"], "by_method": found}
    rows = [
        ["all sets of values, Chernoff", f"{found['layer-cake']:,}"],
        ["l1 ball, as in [ED] (8)", f"{found['weissman']:,}"],
    ]
    at, kept = (
        f"a lift of {times}" if nats is None else f"{nats} {'nat' if nats.strip() == '1' else 'nats'}"
        for nats, times in ((epsilon, lift), (target, target_lift))
    )
    sentence = (
        f"With {counted(found['layer-cake'], 'sample')} of {counted(letters, 'value')}, a mechanism that leaks at most "
        f"{at} at their frequencies leaks at most {kept} for the true prior, except with probability {failure}."
    )
    show(Said([Kept(sentence), Table(["bound", "samples"], rows)], data), as_json, everything)
