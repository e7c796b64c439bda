"""[PR] Figures 4 and 5: classical mechanisms and the symmetric channel on parity, by ε and by distortion."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from leakwise.charts.specs import Spec, lines, vertical
from leakwise.leakage import ldp
from leakwise.papers.exhibit import Finding, Progress, Result, compared, exhibit, further, one_by_one, stated
from leakwise.papers.per_record_leakage.curves import NEVER, knee
from leakwise.records import leakage, parity

__all__ = ["figure_4", "figure_5"]


@exhibit(
    paper="PR",
    title="Laplace and exponential mechanisms beside the symmetric channel",
    shows="Parity of n bits. The per-record capacity of the thresholded Laplace mechanism and of the exponential "
    "mechanism over their ε, and the leakage of the symmetric channel with flip 0.3 against adversaries with H(X) ≥ "
    "b. Values of b with the same leakage share a line.",
    printed="Capacity decreases as ε increases. BSC(0.3) has C ≈ 0.0931 nats at b = 0 for n = 4, less for larger n, "
    "and less for larger b. For a fixed ε both mechanisms have a higher capacity than BSC(0.3) with b > 0.",
    seed=0,
)
def figure_4(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    records: Sequence[int] = (4, 5, 6),
    flip: float = 0.3,
    entropies: Sequence[float] = (0.0, 0.5, 1.0, 1.5, 2.0, 2.5),
    epsilons: Sequence[float] = tuple(np.geomspace(0.1, 10.0, 25).tolist()),
    restarts: int = 3,
    seed: int = 0,
) -> Result:
    """Per-record capacity over ε, and that of the symmetric channel for several b, certified and by alternating."""
    rows: list[dict[str, Any]] = []
    jobs = len(records) * len(entropies)
    for place, n in enumerate(records):
        query = parity(n)
        for epsilon in epsilons:
            for name, channel in (("laplace", query.laplace(epsilon)), ("exponential", query.exponential(epsilon))):
                found = leakage(channel, 0.0)
                rows.append(
                    {
                        "n": n,
                        "mechanism": name,
                        "epsilon": epsilon,
                        "b": 0.0,
                        "capacity": found.value,
                        "bound": found.bound,
                    }
                )
        symmetric = query.symmetric_channel(flip)
        for done, b in enumerate(entropies):
            found = leakage(symmetric, b)
            row = {"n": n, "mechanism": "symmetric", "b": b, "capacity": found.value, "bound": found.bound}
            if not fast:
                local = leakage(symmetric, b, method="alternating", restarts=restarts, seed=seed, time_limit=NEVER)
                row["alternating"] = local.value
            rows.append(row)
            if progress is not None:
                progress((place * len(entropies) + done + 1) / jobs, f"n = {n}, b = {b:g}")
    return Result(rows, _figure_4_chart(rows, records, flip), _figure_4_findings(rows, records, flip))


def _lines_of(rows: list[dict[str, Any]], n: int) -> list[tuple[list[float], float]]:
    """The distinct leakages of the symmetric channel, each with its b."""
    groups: list[tuple[list[float], float]] = []
    for row in rows:
        if row["n"] != n or row["mechanism"] != "symmetric":
            continue
        for entropies, value in groups:
            if abs(value - row["capacity"]) < 1e-12:
                entropies.append(row["b"])
                break
        else:
            groups.append(([row["b"]], row["capacity"]))
    return groups


def _figure_4_chart(rows: list[dict[str, Any]], records: Sequence[int], flip: float) -> Spec:
    charts = []
    for n in records:
        series: dict[str, tuple[list[float], list[float]]] = {}
        ends: list[float] = []
        for name in ("laplace", "exponential"):
            mine = [row for row in rows if row["n"] == n and row["mechanism"] == name]
            ends = [mine[0]["epsilon"], mine[-1]["epsilon"]]
            series[name] = [row["epsilon"] for row in mine], [row["capacity"] for row in mine]
        for entropies, value in _lines_of(rows, n):
            series[f"BSC({flip:g}), b = {', '.join(f'{b:g}' for b in entropies)}"] = ends, [value, value]
        series["log 2"] = ends, [math.log(2)] * 2
        charts.append(
            lines(
                series,
                title=f"Per-record capacity, parity of {n} bits",
                x_title="ε of differential privacy",
                y_title="capacity (nats)",
                x_log=True,
            )
        )
    return vertical(*charts)


def _figure_4_findings(rows: list[dict[str, Any]], records: Sequence[int], flip: float) -> list[Finding]:
    def symmetric(n: int) -> list[dict[str, Any]]:
        return [row for row in rows if row["n"] == n and row["mechanism"] == "symmetric"]

    def family(name: str) -> list[dict[str, Any]]:
        return [row for row in rows if row["n"] == records[0] and row["mechanism"] == name]

    first = symmetric(records[0])[0]["capacity"]
    rises = all(
        a["capacity"] < b["capacity"]
        for name in ("laplace", "exponential")
        for a, b in zip(family(name), family(name)[1:], strict=False)
    )
    spread = max(abs(symmetric(n)[0]["capacity"] - first) for n in records)
    flat = {n: [row["b"] for row in symmetric(n) if abs(row["capacity"] - first) < 1e-12] for n in records}
    words = "; ".join(f"n = {n}: the same up to b = {max(entropies):g}" for n, entropies in flat.items())
    crossing = {"Laplace": -2 * math.log(2 * flip), "exponential": 2 * math.log((1 - flip) / flip)}
    query = parity(records[0])
    meets = max(
        abs(leakage(channel, 0.0).value - first)
        for channel in (query.laplace(crossing["Laplace"]), query.exponential(crossing["exponential"]))
    )
    findings = [
        compared(
            f"C of BSC({flip:g}) at b = 0, n = {records[0]}",
            0.0931,
            first,
            within=5e-5,
            why="no input of a binary symmetric channel with flip 0.3 carries more than log 2 - h(0.3) = 0.0823 nats, "
            "the number that section 7.2 has itself",
        ),
        stated(
            "C of BSC(0.3) at b = 0 decreases for larger n (largest difference)",
            "decreases",
            spread,
            spread > 1e-9,
            "parity of the others may be known at every n: the capacity is that of one bit through the channel",
        ),
        stated(
            "the capacity of Laplace and exponential mechanisms as ε increases",
            "decreases",
            "increases" if rises else "decreases",
            not rises,
            "a larger ε is less noise: the caption has it the wrong way round",
        ),
        Finding(
            f"as b increases the capacity of BSC({flip:g}) decreases",
            "decreases",
            words,
            all(len(entropies) == 1 for entropies in flat.values()),
            "it does not fall before b = (n-1) log 2 = " + ", ".join(f"{knee(n):.3f}" for n in records),
        ),
        Finding(
            f"for a fixed ε both mechanisms have a higher capacity than BSC({flip:g})",
            "at every ε",
            f"from ε = {crossing['Laplace']:.4f} (Laplace) and {crossing['exponential']:.4f} (exponential) on",
            False,
            "below these ε they flip more often than the channel does; at them all three are the same channel (the "
            f"capacities there differ by {meets:.0e})",
        ),
        stated(
            "no capacity is above log 2",
            math.log(2),
            max(row["bound"] for row in rows),
            all(row["bound"] <= math.log(2) + 1e-12 for row in rows),
        ),
    ]
    tried = [row for row in rows if row.get("alternating") is not None]
    if tried:
        worst = max(tried, key=lambda row: row["capacity"] - row["alternating"])
        findings.append(
            Finding(
                f"what our run of Algorithms 1–5 reaches at n = {worst['n']}, b = {worst['b']:g}",
                f"{worst['alternating']:.4f}, our run",
                worst["capacity"],
                False,
                "a local optimum: the lines of the figure fall where the leakage does not",
            )
        )
    return findings


# ------------------------------------------------------------------------------------------------------- Figure 5


@exhibit(
    paper="PR",
    title="Privacy parameter against distortion",
    shows="Parity of n bits; the distortion is the probability of a wrong answer. For the symmetric channel the "
    "horizontal axis is its leakage L(b) in nats, for the Laplace and exponential mechanisms their ε of differential "
    "privacy, as in the paper. The four entropies of the paper's dotted curves are not in its text; ours are shares "
    "of the largest entropy, beyond the knee, where L(b) falls. The table adds what the figure hides: the leakage and "
    "the true differential privacy of each mechanism.",
    printed="Under the same distortion the symmetric channel needs a smaller ε than Laplace and exponential "
    "mechanisms, and a larger b lowers it further.",
)
def figure_5(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    records: Sequence[int] = (4, 5, 6),
    shares: Sequence[float] = (0.0, 0.85, 0.9, 0.95),
    distortions: Sequence[float] = tuple(round(0.02 * k, 2) for k in range(3, 25)),
) -> Result:
    """The privacy parameter of each mechanism at each distortion, its leakage and its differential privacy."""
    levels = list(distortions)[::4] if fast else list(distortions)
    rows: list[dict[str, Any]] = []
    for n in one_by_one(records, progress, "n = {}"):
        query = parity(n)
        for distortion in levels:
            symmetric = query.symmetric_channel(distortion)
            for share in sorted({0.0, *shares}):
                found = leakage(symmetric, share * query.max_entropy)
                rows.append(_row(n, "symmetric", share, distortion, found.bound, symmetric, found.bound))
            # The ε at which the mechanism answers wrongly with this probability: (46) and (48) turned around.
            for name, epsilon in (
                ("laplace", -2 * math.log(2 * distortion)),
                ("exponential", 2 * math.log((1 - distortion) / distortion)),
            ):
                channel = query.laplace(epsilon) if name == "laplace" else query.exponential(epsilon)
                rows.append(_row(n, name, 0.0, distortion, epsilon, channel, leakage(channel, 0.0).bound))
    return Result(rows, _figure_5_chart(rows, records, shares), _figure_5_findings(rows, records, shares))


def _row(
    n: int, name: str, share: float, distortion: float, parameter: float, channel: Any, leaks: float
) -> dict[str, Any]:
    return {
        "n": n,
        "mechanism": name,
        "entropy_share": share,
        "distortion": distortion,
        "measured_distortion": channel.distortion(),
        "parameter": parameter,
        "leakage": leaks,
        "dp": ldp(channel.mechanism()),
    }


def _figure_5_chart(rows: list[dict[str, Any]], records: Sequence[int], shares: Sequence[float]) -> Spec:
    charts = []
    for n in records:
        series = {}
        for share in shares:
            mine = [r for r in rows if r["n"] == n and r["mechanism"] == "symmetric" and r["entropy_share"] == share]
            b = share * n * math.log(2)
            series[f"symmetric channel, L(b) at b = {b:.3g}"] = _points(mine)
        for name in ("laplace", "exponential"):
            series[f"{name}, its ε"] = _points([r for r in rows if r["n"] == n and r["mechanism"] == name])
        charts.append(
            lines(
                series,
                title=f"Distortion, parity of {n} bits",
                x_title="privacy parameter: L(b) in nats, or ε of differential privacy",
                y_title="expected distortion",
                note="Two different quantities share the horizontal axis, as in the paper.",
            )
        )
    return vertical(*charts)


def _points(rows: list[dict[str, Any]]) -> tuple[list[float], list[float]]:
    ordered = sorted(rows, key=lambda row: row["parameter"])
    return [row["parameter"] for row in ordered], [row["distortion"] for row in ordered]


def _figure_5_findings(rows: list[dict[str, Any]], records: Sequence[int], shares: Sequence[float]) -> list[Finding]:
    by = {(r["n"], r["mechanism"], r["entropy_share"], r["distortion"]): r for r in rows}
    places = sorted({(r["n"], r["distortion"]) for r in rows})
    ordered = all(
        by[n, "symmetric", share, d]["parameter"]
        < by[n, "laplace", 0.0, d]["parameter"]
        < by[n, "exponential", 0.0, d]["parameter"]
        for n, d in places
        for share in shares
    )
    lower = all(
        by[n, "symmetric", a, d]["parameter"] > by[n, "symmetric", b, d]["parameter"]
        for n, d in places
        for a, b in itertools.pairwise(shares)
    )
    apart = max(
        abs(by[n, "symmetric", 0.0, d]["leakage"] - by[n, name, 0.0, d]["leakage"])
        for n, d in places
        for name in ("laplace", "exponential")
    )
    off = max(abs(row["distortion"] - row["measured_distortion"]) for row in rows)
    query = parity(records[0])
    nominal = {name: make(1.0) for name, make in (("Laplace", query.laplace), ("exponential", query.exponential))}
    true_dp = {name: ldp(channel.mechanism()) for name, channel in nominal.items()}
    wrong = {name: channel.distortion() for name, channel in nominal.items()}
    return [
        stated("the number of the symmetric channel is the smallest, that of Laplace next", "smallest",
               "at every distortion" if ordered else "not everywhere", ordered),
        stated("a larger b lowers it further", "lowers", "at every distortion" if lower else "not everywhere", lower),
        compared("distortions by (43), (46) and (48) (largest difference from those of the mechanisms)", 0.0, off,
                 within=1e-12),
        stated(
            "at the same distortion the symmetric channel leaks less than the others (largest difference in nats)",
            "less",
            apart,
            apart > 1e-6,
            "on parity all three are the same channel, one bit flipped with the probability of a wrong answer: they "
            "leak the same. The figure sets a mutual information equal to an ε of differential privacy, "
            "which is another measure",
        ),
        further(
            "differential privacy of the Laplace mechanism at ε = 1 after its threshold",
            1.0,
            true_dp["Laplace"],
            "thresholding hides some of the noisy value: what is released is better protected than ε says",
        ),
        further(
            "differential privacy of the exponential mechanism at ε = 1",
            1.0,
            true_dp["exponential"],
            "with two answers the factor 1/2 in exp(εu/2) is not needed: the mechanism is ε/2-private, and "
            "compared at its true level it is the better one",
        ),
        stated("at the same nominal ε Laplace has the lower distortion (ε = 1)", "lower",
               f"{wrong['Laplace']:.4f} against {wrong['exponential']:.4f}", wrong["Laplace"] < wrong["exponential"]),
    ]  # fmt: skip
