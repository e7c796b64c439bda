"""[PR] Figures 6 and 7: the best mechanisms for a distortion and for a leakage."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from leakwise.charts.specs import Spec, lines, vertical
from leakwise.papers.exhibit import Finding, Progress, Result, compared, exhibit, further, one_by_one, stated
from leakwise.papers.per_record_leakage.curves import NEVER
from leakwise.records import leakage, least_distortion, least_leakage, parity

__all__ = ["figure_6", "figure_7"]

_TRUE = 1e-3  # how closely the true leakage of an alternating design is asked for: it is off by far more


@exhibit(
    paper="PR",
    title="Least leakage for a distortion",
    shows="Parity of three bits against adversaries with H(X) ≥ 1.5 nats. Above: the least leakage at each "
    "distortion, proven from both sides; it is that of the symmetric channel with flip D. Beside it "
    "the leakage that Algorithm 6 reports for its own mechanism (against the last adversary it met), and what that "
    "mechanism leaks in truth. Below: the distortion that is used.",
    printed="Leakage falls as D grows; the achieved distortion tracks D closely from below; the curve is the Pareto "
    "frontier.",
    seed=0,
)
def figure_6(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    records: int = 3,
    entropy: float = 1.5,
    distortions: Sequence[float] = tuple(round(0.05 * k, 2) for k in range(1, 11)),
    restarts: int = 1,
    tolerance: float = 1e-5,
    seed: int = 0,
) -> Result:
    """The least leakage over the distortion: proven, closed form, and by Algorithm 6."""
    query, levels = parity(records), (list(distortions)[1::4] if fast else list(distortions))
    rows: list[dict[str, Any]] = []
    for level in one_by_one(levels, progress, "D = {:g}"):
        best = least_leakage(query, level, entropy, tolerance=tolerance, time_limit=NEVER, seed=seed)
        row: dict[str, Any] = {
            "D": level,
            "least_leakage": best.value,
            "proven_bound": best.bound,
            "closed": best.closed,
            "distortion": best.distortion,
            "symmetric_channel": leakage(query.symmetric_channel(level), entropy).value,
        }
        if not fast:  # Algorithm 6 takes nine seconds a point
            local = least_leakage(
                query, level, entropy, method="alternating", restarts=restarts, seed=seed, time_limit=NEVER
            )
            row |= {
                "alternating_reported": local.leakage,
                "alternating_true": leakage(local.channel, entropy, tolerance=_TRUE, time_limit=NEVER).value,
                "alternating_distortion": local.distortion,
            }
        rows.append(row)
    return Result(rows, _figure_6_chart(rows, records, entropy), _figure_6_findings(rows))


def _known(rows: list[dict[str, Any]], x: str, y: str) -> tuple[list[float], list[float]]:
    mine = [row for row in rows if row.get(y) is not None]
    return [row[x] for row in mine], [row[y] for row in mine]


def _figure_6_chart(rows: list[dict[str, Any]], records: int, entropy: float) -> Spec:
    at = [row["D"] for row in rows]
    leaks = {
        "least leakage, proven": (at, [row["least_leakage"] for row in rows]),
        "symmetric channel with flip D": (at, [row["symmetric_channel"] for row in rows]),
        "Algorithm 6, as it reports": _known(rows, "D", "alternating_reported"),
        "Algorithm 6, in truth": _known(rows, "D", "alternating_true"),
    }
    used = {
        "allowed": (at, at),
        "best mechanism": (at, [row["distortion"] for row in rows]),
        "Algorithm 6": _known(rows, "D", "alternating_distortion"),
    }
    return vertical(
        lines(
            {name: curve for name, curve in leaks.items() if curve[0]},
            title=f"Least leakage, parity of {records} bits, H(X) ≥ {entropy:g}",
            x_title="distortion bound D",
            y_title="leakage (nats)",
        ),
        lines(
            {name: curve for name, curve in used.items() if curve[0]},
            title="Distortion that is used",
            x_title="distortion bound D",
            y_title="expected distortion",
        ),
    )


def _figure_6_findings(rows: list[dict[str, Any]]) -> list[Finding]:
    falls = all(a["least_leakage"] > b["least_leakage"] for a, b in itertools.pairwise(rows))
    gap = max(row["least_leakage"] - row["proven_bound"] for row in rows)
    off = max(abs(row["least_leakage"] - row["symmetric_channel"]) for row in rows)
    slack = max(row["D"] - row["distortion"] for row in rows)
    findings = [
        stated("the leakage falls as D grows", "falls", "falls" if falls else "does not fall", falls),
        stated("the optimum is proven (largest gap between mechanism and bound, nats)", None, gap, gap <= 1e-4),
        compared("the optimum is the symmetric channel with flip D (largest difference)", 0.0, off, within=1e-4),
        further(
            "the achieved distortion stays a little below D (largest slack of the best mechanism)",
            "slightly conservative",
            max(slack, 0.0),
            "the least leakage falls strictly with D, so that the best mechanism uses all of it",
        ),
    ]
    tried = [row for row in rows if row.get("alternating_true") is not None]
    if tried:
        worst = max(tried, key=lambda row: row["alternating_true"] - row["alternating_reported"])
        findings.append(
            Finding(
                f"our run of Algorithm 6 at D = {worst['D']:g}: what it reports, and what its mechanism leaks",
                f"{worst['alternating_reported']:.4f}, our run",
                worst["alternating_true"],
                False,
                "the algorithm measures its mechanism against the last adversary that it met; another one learns far "
                f"more. No mechanism with this distortion leaks less than {worst['proven_bound']:.4f}",
            )
        )
    return findings


# ------------------------------------------------------------------------------------------------------- Figure 7


@exhibit(
    paper="PR",
    title="Least distortion for a leakage",
    shows="Parity of two bits, no entropy constraint. Above: the least distortion at each leakage bound L, proven "
    "from both sides; it is the flip of the symmetric channel whose capacity is L. With it the distortion of Algorithm "
    "9, in our reconstruction: the text that we have lacks its listing, and we alternate Algorithms 1 and 10. Below: "
    "the leakage that is used: by the best mechanism, as the reconstruction reports it, and of its mechanism in truth.",
    printed="Distortion falls as L grows; the achieved leakage tracks L closely from below; zigzag curves.",
    seed=0,
)
def figure_7(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    records: int = 2,
    entropy: float = 0.0,
    leakages: Sequence[float] = tuple(round(0.05 * k, 2) for k in range(1, 14)),
    restarts: int = 3,
    tolerance: float = 1e-5,
    seed: int = 0,
) -> Result:
    """The least distortion over the leakage: proven, closed form, and by our reconstruction of Algorithm 9."""
    query, levels = parity(records), (list(leakages)[3:10:6] if fast else list(leakages))
    rows: list[dict[str, Any]] = []
    for level in one_by_one(levels, progress, "L = {:g}"):
        best = least_distortion(query, level, entropy, tolerance=tolerance, time_limit=NEVER, seed=seed)
        local = least_distortion(
            query, level, entropy, method="alternating", restarts=1 if fast else restarts, seed=seed, time_limit=NEVER
        )
        rows.append(
            {
                "L": level,
                "least_distortion": best.value,
                "proven_bound": best.bound,
                "closed": best.closed,
                "leakage": best.leakage,
                # A symmetric channel that flips this often leaks exactly L, if the value is right.
                "symmetric_channel": leakage(query.symmetric_channel(best.value), entropy).value,
                "alternating": local.distortion,
                "alternating_reported": local.leakage,
                "alternating_true": leakage(local.channel, entropy, tolerance=_TRUE, time_limit=NEVER).value,
            }
        )
    return Result(rows, _figure_7_chart(rows, records, entropy), _figure_7_findings(rows))


def _figure_7_chart(rows: list[dict[str, Any]], records: int, entropy: float) -> Spec:
    at = [row["L"] for row in rows]
    return vertical(
        lines(
            {
                "least distortion, proven": (at, [row["least_distortion"] for row in rows]),
                "Algorithm 9, reconstructed": (at, [row["alternating"] for row in rows]),
            },
            title=f"Least distortion, parity of {records} bits, H(X) ≥ {entropy:g}",
            x_title="leakage bound L (nats)",
            y_title="expected distortion",
        ),
        lines(
            {
                "allowed": (at, at),
                "best mechanism": (at, [row["leakage"] for row in rows]),
                "Algorithm 9, reconstructed, as it reports": (at, [row["alternating_reported"] for row in rows]),
                "Algorithm 9, reconstructed, in truth": (at, [row["alternating_true"] for row in rows]),
            },
            title="Leakage that is used",
            x_title="leakage bound L (nats)",
            y_title="leakage (nats)",
        ),
    )


def _figure_7_findings(rows: list[dict[str, Any]]) -> list[Finding]:
    falls = all(a["least_distortion"] > b["least_distortion"] for a, b in itertools.pairwise(rows))
    gap = max(row["least_distortion"] - row["proven_bound"] for row in rows)
    off = max(abs(row["symmetric_channel"] - row["L"]) for row in rows)
    broken = [row for row in rows if row["alternating_true"] > row["L"] + _TRUE]
    worst = max(rows, key=lambda row: row["alternating_true"] - row["L"])
    below = [row for row in rows if row["alternating"] < row["proven_bound"] - 1e-9]
    return [
        stated("the distortion falls as L grows", "falls", "falls" if falls else "does not fall", falls),
        stated("the optimum is proven (largest gap between mechanism and bound)", None, gap, gap <= 1e-4),
        compared("the symmetric channel with this flip leaks L (largest difference, nats)", 0.0, off, within=1e-3),
        stated(
            "the achieved leakage stays below L",
            "below",
            f"in our reconstruction above at {len(broken)} of {len(rows)} L; at L = {worst['L']:g} its mechanism leaks "
            f"{worst['alternating_true']:.4f}",
            not broken,
            "in our reconstruction of Algorithm 9, whose listing we do not have, the bound is held by a penalty, and "
            "against the last adversary only: another one learns more",
        ),
        stated(
            "the distortion of Algorithm 9 is near the least possible",
            "minimal",
            f"in our reconstruction below the proven minimum at {len(below)} of {len(rows)} L",
            not below,
            "less than the minimum is possible only by breaking the bound on the leakage",
        ),
    ]
