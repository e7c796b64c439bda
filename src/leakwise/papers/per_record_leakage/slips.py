"""Further errata of [PR], met while its figures were recomputed."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from leakwise.papers.errata import erratum
from leakwise.papers.exhibit import Finding, compared, stated
from leakwise.papers.per_record_leakage.convexity import figure_1
from leakwise.papers.per_record_leakage.curves import NEVER
from leakwise.records import leakage, least_distortion, parity

__all__ = ["ERRATA"]


@erratum(
    paper="PR",
    where="Algorithms 6 and 9, Figures 6 and 7",
    weight="safety-critical",
    says="The algorithms find mechanisms that keep the leakage bound, with a little to spare.",
    truth="They fit the mechanism to the last adversary that they met. Another adversary learns nearly the whole bit "
    "from it. Cutting planes keep every adversary met, and the certified leakage of the result is reported.",
)
def pr_last_adversary() -> Sequence[Finding]:
    """Algorithm 9 on parity of two bits with L = 0.05, and the proven optimum."""
    query, limit = parity(2), 0.05
    found = least_distortion(query, limit, 0.0, method="alternating", restarts=1, time_limit=NEVER)
    true = leakage(found.channel, 0.0, tolerance=1e-3, time_limit=NEVER).value
    best = least_distortion(query, limit, 0.0, tolerance=1e-4, time_limit=NEVER)
    return [
        compared("leakage of its mechanism (nats)", found.leakage, true, within=1e-3, why="another adversary"),
        compared("its distortion, and the least possible", found.distortion, best.value, within=1e-3,
                 why="less than the least is possible only by breaking the bound"),
    ]  # fmt: skip


@erratum(
    paper="PR",
    where="Figure 4, caption",
    weight="wrong",
    says="The capacity of the Laplace and exponential mechanisms decreases as ε increases (stronger privacy); that of "
    "the symmetric channel at b = 0 decreases with n.",
    truth="A larger ε is less noise, and the capacity increases. That of the symmetric channel is the same for every "
    "n: the parity of the other records may be known.",
)
def pr_direction() -> Sequence[Finding]:
    """Laplace at two ε, and the symmetric channel at two n."""
    low, high = (leakage(parity(4).laplace(epsilon)).value for epsilon in (0.5, 2.0))
    few, many = (leakage(parity(n).symmetric_channel(0.3)).value for n in (4, 6))
    return [
        stated("capacity at ε = 0.5 and 2 (nats)", "decreases", f"{low:.4f}, {high:.4f}", high < low, "less noise"),
        stated("symmetric channel, n = 4 and 6 (nats)", "decreases", f"{few:.6f}, {many:.6f}", many < few, "the same"),
    ]


@erratum(
    paper="PR",
    where="Section 4.3.1, Figure 5",
    weight="wrong",
    says="Under the same distortion the symmetric channel leaks less than Laplace and exponential mechanisms.",
    truth="On parity all three are one bit flipped with the probability of a wrong answer: at the same distortion they "
    "are the same channel. The figure compares nats of mutual information with an ε of differential privacy.",
)
def pr_units() -> Sequence[Finding]:
    """The symmetric channel with the distortion of the Laplace mechanism at ε = 1."""
    query = parity(4)
    noisy = query.laplace(1.0)
    same = leakage(query.symmetric_channel(noisy.distortion())).value
    return [
        stated("leakage of Laplace less that of the channel (nats)", "positive", round(leakage(noisy).value - same, 12),
               leakage(noisy).value > same + 1e-9, "the same channel"),
    ]  # fmt: skip


@erratum(
    paper="PR",
    where="Algorithm 2, the update of s",
    weight="wrong",
    says="s ← max(0, s - α(H(X) - b)) with α = 0.1, until I changes by less than a tolerance, enforces H(X) ≥ b.",
    truth="I settles long before s does: the algorithm stops at a belief that is not allowed. A root search for s in "
    "every step keeps the constraint.",
)
def pr_multiplier() -> Sequence[Finding]:
    """A record of two values; given the second, the others are uniform on four datasets; b = 1.6, tolerance 0.001."""
    given, own = np.array([[0.95, 0.05], [0.4, 0.6]]), np.array([0.0, math.log(4)])
    p, s, b, before, reached = np.array([0.5, 0.5]), 0.0, 1.6, math.inf, 0.0
    for _ in range(10_000):
        gain = (given * np.log(given / (p @ given))).sum(axis=1)
        p = p * np.exp(gain / (1 + s) + s / (1 + s) * (own - np.log(p)))
        p = p / p.sum()
        reached = float(-(p * np.log(p)).sum() + p @ own)
        s = max(0.0, s - 0.1 * (reached - b))
        now = float((p[:, None] * given * np.log(given / (p @ given))).sum())
        if abs(now - before) < 1e-3:
            break
        before = now
    return [stated("H(X) where it stops (nats)", "≥ 1.6", reached, reached >= b, "s has hardly moved")]


@erratum(
    paper="PR",
    where="Section 3.1, Case 1",
    weight="harmless",
    says="The rows of p(x_-i|x_i) are unit vectors at the optimum due to concavity of I in them (Theorem 1).",
    truth="Theorem 1 says convex, and a convex function is largest at the corners. It is also why climbing stops at "
    "local optima.",
)
def pr_concave_for_convex() -> Sequence[Finding]:
    """Second differences of I over a grid of conditionals."""
    return [finding for finding in figure_1(fast=True).findings if finding.printed in ("concave", "convex")]


@erratum(
    paper="PR",
    where="Sections 1 and 2.1",
    weight="harmless",
    says="An adversary has at least b bits of uncertainty.",
    truth="Every b, figure and table of the paper is in nats: the largest entropy of four bits is 2.77, not 4.",
)
def pr_bits_and_nats() -> Sequence[Finding]:
    """The largest entropy of four bits."""
    most = parity(4).max_entropy
    return [
        compared(
            "the largest entropy in bits, and as Table 3 has it", 4.0, most, within=0.005, why="Table 3 is in nats"
        ),
        compared("2.77, the last row of Table 3, in nats", 2.77, most, within=0.005),
    ]


ERRATA = (
    pr_last_adversary,
    pr_direction,
    pr_units,
    pr_multiplier,
    pr_concave_for_convex,
    pr_bits_and_nats,
)
