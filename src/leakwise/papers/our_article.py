"""[LW] our own article (docs/paper): what its theorems say in numbers, one exhibit for each that has a picture."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise
from typing import Any

from leakwise.aggregate import count
from leakwise.charts.specs import lines
from leakwise.data import adult_table
from leakwise.leakage import ldp, mutual_information
from leakwise.mechanism import Mechanism, identity
from leakwise.optimize import design
from leakwise.papers.exhibit import Progress, Result, compared, exhibit, stated
from leakwise.priors import Prior
from leakwise.records import leakage, parity

__all__ = ["theorem_5", "theorem_7", "theorem_12", "theorem_13"]

_CLOSE = 1e-9


@exhibit(
    paper="LW",
    title="Two limits at once: what the limit for anyone costs",
    shows="Marital status of the Adult table, released within a lift of 2 for anyone who knows its frequencies and "
    "within a looser limit a for anyone, whatever they know. Each row is a limit a: the least variance of the "
    "frequencies estimated from one row, and a proven lower bound on it. Without the second limit it is the last row.",
    printed="An extreme column takes two values but for at most one entry between them. Mechanisms made of such "
    "columns have a lift of at most a for every prior.",
)
def theorem_5(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    column: str = "marital_status",
    lift: float = 2.0,
    limits: Sequence[float] = (3, 4, 6, 8, 16, 20, 32, 100),
) -> Result:
    """The least variance of the frequencies of a column of Adult for a lift and several limits for anyone."""
    prior = Prior.from_data(adult_table()[column], domain=sorted(set(adult_table()[column])))
    asked: list[float | None] = [*((4, 20, 100) if fast else limits), None]
    rows: list[dict[str, Any]] = []
    between = broken = 0
    for done, anyone in enumerate(asked):
        found = design(prior, lift=lift, anyone=anyone, utility="frequencies")
        rows.append({"anyone": anyone, "variance": -found.value, "at_least": -found.bound})
        if anyone is not None:
            between = max(between, _between(found.mechanism))
            broken += ldp(found.mechanism) > math.log(anyone)
        if progress is not None:
            progress((done + 1) / len(asked), f"{done + 1} of {len(asked)} limits")
    free = rows[-1]["variance"]
    at = [row["anyone"] for row in rows[:-1]]
    chart = lines(
        {"both limits": (at, [row["variance"] for row in rows[:-1]]), "the lift alone": (at, [free] * len(at))},
        title=f"{column.replace('_', ' ').capitalize()} at lift {lift:g}: what a limit for anyone costs",
        x_title="limit for anyone, a",
        y_title="variance from one row",
        x_log=True,
    )
    apart = max(row["variance"] / row["at_least"] for row in rows) - 1
    findings = [
        stated("entries of an outcome strictly between its least and its largest lift", "≤ 1", between, between <= 1),
        stated("mechanisms with a lift above a for some prior", 0, broken, broken == 0),
        stated("variance above what is proven to be the least, at most", None, f"{apart:.1e}", apart <= 1e-4),
    ]
    if (ten := next((row["variance"] for row in rows if row["anyone"] == 10 * lift), None)) is not None:
        findings.append(
            stated(f"more variance at a = {10 * lift:g}", None, f"{ten / free - 1:.1%}", ten <= 1.12 * free)
        )
    return Result(rows, chart, findings)


def _between(m: Mechanism) -> int:
    """The most entries that a column has apart from its least and its largest."""
    least, most = m.matrix.min(axis=0), m.matrix.max(axis=0)
    inside = (m.matrix > least * (1 + 1e-6)) & (m.matrix < most * (1 - 1e-6))
    return int(inside.sum(axis=0).max())


@exhibit(
    paper="LW",
    title="Maximal leakage against leakage outcome by outcome",
    shows="The largest mutual information when the maximal leakage is at most L, an average over outcomes, and when "
    "no outcome leaks more than L. Under the first limit each outcome says that the secret is in a set of values, and "
    "nothing more; rare values may be given away.",
    printed="Mutual information is at most L, with equality only if all sets used have the probability e^-L.",
)
def theorem_7(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    prior: Sequence[Any] = ("1/2", "3/10", "1/5"),
    points: int = 40,
) -> Result:
    """The trade-off of mutual information with maximal leakage, beside that with the leakage of every outcome."""
    known = Prior(prior)
    most = math.log(len(known))
    entropy = mutual_information(identity(known.labels), known)
    steps = 8 if fast else points
    rows: list[dict[str, Any]] = []
    for step in range(1, steps + 1):
        limit = most * step / steps
        total = design(known, maximal_leakage=limit)
        single = design(known, epsilon=limit)
        rows.append(
            {
                "leakage": limit,
                "in_total": total.value,
                "in_total_bound": total.bound,
                "each_outcome": single.value,
                "entropy": entropy,
            }
        )
        if progress is not None:
            progress(step / steps, f"{step} of {steps} limits")
    at = [row["leakage"] for row in rows]
    excess = max(row["in_total"] - row["leakage"] for row in rows)
    behind = min(row["in_total_bound"] - row["each_outcome"] for row in rows)
    gap = max(row["in_total_bound"] - row["in_total"] for row in rows)
    chart = lines(
        {
            "maximal leakage ≤ L": (at, [row["in_total"] for row in rows]),
            "each outcome ≤ L": (at, [row["each_outcome"] for row in rows]),
            "L itself": (at, [min(value, entropy) for value in at]),
        },
        title="Prior (0.5, 0.3, 0.2): utility under two kinds of limits",
        x_title="limit L (nats)",
        y_title="mutual information (nats)",
    )
    return Result(
        rows,
        chart,
        [
            stated("mutual information less L, at most", "≤ 0", excess, excess <= _CLOSE),
            stated("what the limit on each outcome costs, at least", "≥ 0", behind, behind >= -_CLOSE),
            stated("the largest gap between value and proven bound (nats)", None, gap, gap <= 1e-6),
            compared("at L = log N everything is told (nats)", entropy, rows[-1]["in_total"], within=_CLOSE),
        ],
    )


@exhibit(
    paper="LW",
    title="Every guess about a record, and the average",
    shows="A noisy parity of bits, and adversaries who know less and less about the dataset. The pointwise leakage "
    "bounds every guess after every answer, against beliefs of min-entropy at least b; the mutual information of [PR] "
    "is an average, against beliefs of entropy at least b. Both are proven.",
    printed="At b = 0 the pointwise leakage is that for every prior, log(0.7 / 0.3); for four bits and b = 2 it is "
    "0.370.",
)
def theorem_12(
    *, fast: bool = False, progress: Progress | None = None, bits: int = 4, flip: float = 0.3, points: int = 40
) -> Result:
    """The leakage of a record over the adversary's uncertainty, for every guess and on average."""
    channel = parity(bits).symmetric_channel(flip)
    steps = 7 if fast else points
    rows: list[dict[str, Any]] = []
    for step in range(steps + 1):
        held = channel.query.max_entropy * step / steps
        every = leakage(channel, min_entropy=held, measure="pointwise")
        average = leakage(channel, held)
        rows.append({"b": held, "every_guess": every.bound, "average": average.bound})
        if progress is not None:
            progress((step + 1) / (steps + 1), f"{step + 1} of {steps + 1} adversaries")
    at_two = leakage(channel, min_entropy=2.0, measure="pointwise")
    at = [row["b"] for row in rows]
    chart = lines(
        {
            "every guess (min-entropy ≥ b)": (at, [row["every_guess"] for row in rows]),
            "average (entropy ≥ b)": (at, [row["average"] for row in rows]),
        },
        title=f"Parity of {bits} bits, flip {flip:g}: what an answer tells about a record",
        x_title="what the adversary does not know, b (nats)",
        y_title="leakage (nats)",
    )
    least = min(row["every_guess"] - row["average"] for row in rows)
    pure = math.log((1 - flip) / flip)
    findings = [
        compared("b = 0: the leakage for every prior (nats)", pure, rows[0]["every_guess"], within=_CLOSE),
        stated("every guess less the average, at least (nats)", "≥ 0", least, least >= -_CLOSE),
        stated("gap at b = 2 (nats)", None, at_two.gap, at_two.gap <= 1e-9),
    ]
    if (bits, flip) == (4, 0.3):
        findings.append(compared("b = 2 (nats)", 0.370, at_two.bound, within=5e-4))
    return Result(rows, chart, findings)


@exhibit(
    paper="LW",
    title="What a count tells about one of its records",
    shows="A count of independent records, of which the adversary does not know m, with two-sided geometric noise and "
    "without. The largest lift of an outcome does not fall with m; what survives except with probability δ does, and "
    "says from how many records on a count needs no noise. All values are proven, from both sides.",
    printed="The largest lift with noise is e^ε / (1-p + p e^ε) for every m; the envelope does not rise with m.",
)
def theorem_13(
    *,
    fast: bool = False,
    progress: Progress | None = None,
    prior: Any = "3/10",
    noise: float = 1.0,
    delta: Any = "1/1000000",
    unknown: Sequence[int] = (1, 10, 30, 100, 300, 1000, 3000, 10_000, 100_000, 1_000_000),
) -> Result:
    """The largest lift and the envelope of a count over the number of unknown records, with and without noise."""
    asked = (1, 100, 10_000) if fast else tuple(unknown)
    rows: list[dict[str, Any]] = []
    for done, m in enumerate(asked):
        noisy, exact = count(unknown=m, prior=prior, noise=noise), count(unknown=m, prior=prior)
        with_noise, without = noisy.envelope(delta), exact.envelope(delta)
        rows.append(
            {
                "unknown": m,
                "largest_lift": noisy.lift,
                "envelope": with_noise.lift,
                "envelope_without_noise": without.lift,
                "gap": max(with_noise.gap, without.gap),
                "every_prior": noisy.anyone,
            }
        )
        if progress is not None:
            progress((done + 1) / len(asked), f"{done + 1} of {len(asked)} counts")
    at = [row["unknown"] for row in rows]
    chart = lines(
        {
            "any outcome, with noise": (at, [row["largest_lift"] for row in rows]),
            "envelope, with noise": (at, [row["envelope"] for row in rows]),
            "envelope, without noise": (at, [row["envelope_without_noise"] for row in rows]),
            "every prior (differential privacy)": (at, [row["every_prior"] for row in rows]),
        },
        title="A count: how many times as likely a guess becomes",
        x_title="unknown records",
        y_title="lift",
        x_log=True,
    )
    chance = float(Fraction(prior))
    p = min(chance, 1 - chance)
    closed = math.exp(noise) / (1 - p + p * math.exp(noise))
    falls = all(b["envelope"] <= a["envelope"] * (1 + _CLOSE) for a, b in pairwise(rows))
    return Result(
        rows,
        chart,
        [
            compared("largest lift, every m", closed, max(row["largest_lift"] for row in rows), within=1e-6),
            stated("the envelope does not rise with m", "yes", "yes" if falls else "no", falls),
            stated("largest gap (nats)", None, max(row["gap"] for row in rows), max(row["gap"] for row in rows) < 1e-6),
        ],
    )
