"""[ED] Theorem 5 and Remark 3: the best binary mechanism, from a known prior to no knowledge at all."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from leakwise.charts.specs import Spec, lines
from leakwise.leakage import epsilon as leakage_of
from leakwise.leakage import mutual_information
from leakwise.mechanism import Mechanism, randomized_response
from leakwise.optimize import design
from leakwise.papers.exhibit import Finding, Progress, Result, compared, exhibit, stated
from leakwise.priors import Prior

__all__ = ["theorem_5"]


@exhibit(
    paper="ED",
    title="The best binary mechanism between PML and local differential privacy",
    shows="Theorem 5 for two letters: the mechanism of largest mutual information that is ε-PML for every prior "
    "within l1 distance β of the estimate. At β = 0 the prior is known; at p1 = 1/2, β = 1 the ball holds every prior "
    "and the mechanism is Warner's randomized response (Remark 3). We compute the optimum for each β with its proof "
    "and compare the entries. The paper has no figure of it.",
    printed="Theorem 5 in closed form; p1 = 0.5 and β = 1 give randomized response. Appendix C ends with another p11.",
)
def theorem_5(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    epsilon: float = 0.3,
    estimates: Sequence[float] = (0.5, 0.6, 0.7),
    steps: int = 20,
) -> Result:
    """The entries of Theorem 5, those of Appendix C, and the proven optimum, over the radius β."""
    rows: list[dict[str, Any]] = []
    for p in estimates:
        prior = Prior([p, 1 - p])
        for k in range(steps + 1):
            beta = 2 * (1 - p) * k / steps
            rows.append(_row(prior, p, beta, epsilon))
    return Result(rows, _chart(rows, estimates), _findings(rows, epsilon))


def _row(prior: Prior, p: float, beta: float, epsilon: float) -> dict[str, Any]:
    known = prior.ball(beta) if beta > 0 else prior
    found = design(known, epsilon=epsilon)
    lift = math.exp(epsilon)
    scale = 1 + beta * lift
    stated_11, stated_21 = lift * (1 - p + beta / 2) / scale, (1 - lift * (p - beta / 2)) / scale
    slip_11 = lift * (1 - p - beta / 2) / scale
    entries = [found.mechanism.matrix[i, j] for i, j in ((0, 0), (1, 0))]
    if entries[0] < entries[1]:  # the two outcomes may be named the other way round
        entries = [1 - entry for entry in entries]
    shown, slip = (
        Mechanism([[first, 1 - first], [stated_21, 1 - stated_21]], inputs=prior.labels)
        for first in (stated_11, slip_11)
    )
    return {
        "p1": p,
        "beta": beta,
        "theorem_p11": stated_11,
        "theorem_p21": stated_21,
        "optimal_p11": float(entries[0]),
        "optimal_p21": float(entries[1]),
        "appendix_p11": slip_11,
        "theorem_leakage": leakage_of(shown, known),
        "theorem_information": mutual_information(shown, prior),
        "optimum": found.value,
        "proven_bound": found.bound,
        "appendix_leakage": leakage_of(slip, known),
        "appendix_information": mutual_information(slip, prior),
    }


def _chart(rows: list[dict[str, Any]], estimates: Sequence[float]) -> Spec:
    series = {}
    for p in estimates:
        mine = [row for row in rows if row["p1"] == p]
        series[f"p1 = {p:g}"] = [row["beta"] for row in mine], [row["optimum"] for row in mine]
    return lines(
        series,
        title="Mutual information of the best binary mechanism",
        x_title="radius β of the ball around the estimate",
        y_title="mutual information (nats)",
        note="At p1 = 0.5 and β = 1 it is Warner's randomized response: nothing is known about the prior.",
    )


def _findings(rows: list[dict[str, Any]], epsilon: float) -> list[Finding]:
    off = max(abs(row[f"theorem_{name}"] - row[f"optimal_{name}"]) for row in rows for name in ("p11", "p21"))
    over = max(row["theorem_leakage"] - epsilon for row in rows)
    short = max(row["proven_bound"] - row["theorem_information"] for row in rows)
    findings = [
        compared("the entries of Theorem 5 are the optimum (largest difference)", 0.0, off, within=1e-9),
        stated("its leakage over the ball is ε (largest excess)", "at most ε", f"{max(over, 0.0):.1e}", over <= 1e-9),
        compared("no mechanism says more (largest shortfall from the proven bound)", 0.0, short, within=1e-9),
    ]
    wide = [row for row in rows if row["p1"] == 0.5 and abs(row["beta"] - 1) < 1e-12]
    if wide:
        warner = float(randomized_response(2, epsilon=epsilon).matrix[0, 0])
        findings.append(
            compared("Remark 3: at p1 = 1/2, β = 1 the entry p11 is that of randomized response", warner,
                     wide[0]["theorem_p11"], within=1e-9)
        )  # fmt: skip
    worst = rows[max(k for k, row in enumerate(rows) if row["p1"] == rows[0]["p1"]) // 2]
    findings.append(
        Finding(
            f"p11 at the end of Appendix C (p1 = {worst['p1']:g}, β = {worst['beta']:g})",
            worst["appendix_p11"],
            worst["theorem_p11"],
            False,
            "a sign slip: 1 - p - β/2 must read 1 - p + β/2, as in the theorem itself, which is right. With the entry "
            "of "
            f"the appendix the mechanism leaks {worst['appendix_leakage']:.4f} on the ball instead of {epsilon:g}",
        )
    )
    return findings
