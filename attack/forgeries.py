"""Forged certificates: every field of every kind changed, the checksum made good, and what is accepted must be true."""

from __future__ import annotations

import copy
import hashlib
import json
import math
import tempfile
import warnings
from collections.abc import Iterator, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
from truth import FalsePromise, must_be_true

import leakwise as lw
from leakwise.priors import AllPriors, Ball, Box, Hull, KLBall, LayerCake

__all__ = ["KINDS", "METHODS", "changed", "changes", "forgeries", "honest", "judge", "written", "wrong_methods"]

Generator = np.random.Generator
METHODS = ["weissman", "weissman-phi", "clopper-pearson", "kl", "layer-cake", "best"]
NAMES = [
    *METHODS,
    *("ball", "box", "hull", "all"),
    *("mutual_information", "total_variation", "chi_square", "hellinger", "guessing", "gain", "frequencies", "margin"),
    *("epsilon", "lift"),
]
UTILITIES = ["mutual_information", "total_variation", "chi_square", "hellinger", "guessing", "frequencies"]


# ------------------------------------------------------------------------------------------------ honest documents


def honest(kind: str, counted: Sequence[int] = (5, 3, 2)) -> Any:
    """Honest: ``leakage SET``, ``design UTILITY CONSTRAINT`` (or SET), ``envelope``, ``records PROOF``, ``mask SET``,
    ``rows SET``, ``aggregate KIND``.
    """
    what, _, rest = kind.partition(" ")
    prior = lw.Prior.from_counts([100 * count for count in counted])
    size = len(counted)
    weights = np.random.default_rng(size).integers(1, 5, (size, size))
    m = lw.Mechanism([[Fraction(int(w), int(row.sum())) for w in row] for row in weights])
    if what == "leakage":
        return lw.certify(m, sets(prior)[rest], lift=lw.certify(m, sets(prior)[rest]).ratio or 10)
    if what == "rows":
        return _rows_beside(prior, m, rest)
    if what == "envelope":
        return lw.envelope(m, prior, 0.1).certificate
    if what == "aggregate" and rest == "count":
        share = prior.fractions[0]
        return lw.aggregate.count(unknown=20, prior=(share / 2, share), noise=1).envelope("0.01").certificate
    if what == "aggregate":
        return lw.aggregate.histogram(unknown=200, prior=prior.ball("0.1"), noise=1).envelope("0.01").certificate
    if what == "records":
        query = lw.records.count(size - 1)
        b, noisy = 0.8 * query.max_entropy, query.channel(m.matrix)
        if rest == "tree":
            noisy, b = lw.records.modular_sum(size + 1, 3).symmetric_channel(0.3), (size + 0.4) * math.log(2)
        if rest in ("tree", "tangent"):
            return lw.records.leakage(noisy, b, tolerance=0.02, certificate=True).certificate
        return lw.records.leakage(noisy, min_entropy=b, measure="pointwise").certificate
    if what == "mask":
        mask = ~np.eye(size, dtype=bool)
        return lw.least_leakage(sets(prior)[rest], mask).certificate
    utility, _, constraint = rest.partition(" ")
    goal: Any = utility
    if utility == "expected":
        goal = lw.Expected(-np.abs(np.subtract.outer(np.arange(size), np.arange(size))).astype(float))
    if utility == "margin":
        return lw.design(prior, margin=0.05, rows=2000, anyone=8 if constraint == "both" else None).certificate
    if constraint == "code":
        return lw.design(lw.Prior.uniform(25), lift=5, utility=goal).certificate
    limits = {"lift": {"lift": 2}, "ldp": {"ldp": 0.7}, "lip": {"lip": 0.6}, "both": {"epsilon": 0.4, "ldp": 0.9}}
    if constraint in limits:
        return lw.design(prior, utility=goal, **limits[constraint]).certificate
    return lw.design(sets(prior)[constraint], lift=2, utility=goal).certificate


def _rows_beside(prior: lw.Prior, m: lw.Mechanism, kind: str) -> Any:
    """A certificate for whole rows: two strata, a mechanism for all others, and every kind of limit."""
    given, labels = {"g": ["u", "v", "w"]}, list(prior.labels)
    known = {"u": sets(prior)[kind], "v": sets(lw.Prior.from_counts(list(prior.weights[::-1] * 2)))[kind]}
    other = lw.randomized_response(labels, lift=2)
    drawn = lw.StratifiedMechanism({"u": m, "v": other}, given, otherwise=other)
    priors = lw.PriorByStratum(known, given, {"u": 3, "v": 1})
    found = lw.certify(drawn, priors)
    return lw.certify(drawn, priors, lift=found.ratio, anyone=found.every_prior, lift_of={labels[0]: found.ratio})


def sets(prior: lw.Prior) -> dict[str, lw.PriorSet]:
    """A set of each kind, by name."""
    half = [p / 2 for p in prior.fractions]
    double = [min(2 * p, 1) for p in prior.fractions]
    return {
        "prior": prior,
        "ball": prior.ball("0.1"),
        "box": Box(prior, half, double),
        "hull": Hull([prior, lw.Prior.uniform(len(prior))]),
        "all": AllPriors(prior),
        "KL": KLBall(prior, "0.02"),
        **{method: prior.confidence("0.01", method) for method in METHODS},
    }


KINDS = [
    *(f"leakage {name}" for name in sets(lw.Prior.from_counts([5, 3, 2]))),
    *(f"design {utility} lift" for utility in UTILITIES),
    *(
        f"design {utility} {limit}"
        for utility in ("mutual_information", "guessing")
        for limit in ("ldp", "lip", "both")
    ),
    "design frequencies ldp",
    "design frequencies code",
    "design margin lift",
    "design margin both",
    "design expected lift",
    *(f"design mutual_information {name}" for name in ("ball", "box", "hull", "all", "weissman")),
    "design guessing ball",
    "envelope",
    "aggregate count",
    "aggregate histogram",
    "records pointwise",
    "records tree",
    "records tangent",
    *(f"mask {name}" for name in ("prior", "ball", "box", "hull", "weissman")),
    *(f"rows {name}" for name in ("prior", "ball", "weissman", "layer-cake")),
]


# ------------------------------------------------------------------------------------------------------- changes

# A step of a way into a document: a key of an object or a place in a list.
Way = tuple[Any, ...]
HUGE = 10**300


def changes(node: Any, way: Way = ()) -> Iterator[tuple[Way, Any]]:
    """Every single change: where, and what stands there instead (``DROP`` for a key that is left out)."""
    for value in _instead(node):
        yield way, value
    if isinstance(node, dict):
        for key, inner in node.items():
            yield (*way, key), DROP
            yield from changes(inner, (*way, key))
        yield (*way, "unknown"), 1
    elif isinstance(node, list):
        for place, inner in enumerate(node):
            yield from changes(inner, (*way, place))


DROP = object()


def _instead(value: Any) -> list[Any]:
    if isinstance(value, bool):
        return [not value, None, 1]
    if isinstance(value, int):
        return [value + 1, value - 1, 0, -1, 2 * value, 10**6, HUGE, str(value), None, 0.5]
    if isinstance(value, str) and value.startswith(("0x", "-0x")) and "p" not in value:
        n = int(value, 16)
        numbers = [n + 1, n - 1, 2 * n, n // 2, n + max(1, abs(n) >> 20), n - max(1, abs(n) >> 20), 0, 1, -n, HUGE]
        return [*map(hex, numbers), "", "12", "nan", n, None]
    if isinstance(value, str) and "0x" in value:
        x = float.fromhex(value)
        numbers = [x * 1.001, x * 0.999, x + 1e-9, x - 1e-9, 2 * x, x / 2, 0.0, -x, 30.0, 1e300, -1e300, 5e-324]
        return [*(float(number).hex() for number in numbers), "inf", "-inf", "nan", "", x, None]
    if isinstance(value, str):
        return [*(name for name in NAMES if name != value), value + "x", "", 1, None]
    if isinstance(value, list):
        return [value[::-1], value[1:], value[:-1], [*value, *value[-1:]], [], [*value[1:], *value[:1]], None]
    if isinstance(value, dict):
        return [{}, None]
    return [0, "0x1", "weissman", [], {}, {"numerator": "0x1", "denominator": "0x2"}]


def changed(body: Any, way: Way, value: Any) -> Any:
    """A copy of a document with one change."""
    if not way:
        return value
    copied = copy.deepcopy(body)
    node = copied
    for step in way[:-1]:
        node = node[step]
    if value is DROP:
        del node[way[-1]]
    else:
        node[way[-1]] = value
    return copied


def written(document: dict[str, Any], body: Any, path: Path) -> None:
    """A document with another body and the checksum that goes with it."""
    raw = json.dumps(body)
    start = json.dumps({**document, "sha256": hashlib.sha256(raw.encode()).hexdigest(), "body": None})
    path.write_text(start[: -len("null}")] + raw + "}")


def judge(path: Path) -> bool:
    """Whether a file is accepted; raise FalsePromise when what it claims is not true."""
    try:
        certificate = lw.verify(path)
    except lw.LeakwiseError:
        return False
    must_be_true(certificate)
    return True


def forgeries(generator: Generator) -> None:
    """One honest certificate, changed in one to three places, fifty times."""
    counted = generator.integers(1, 9, int(generator.integers(2, 5))).tolist()
    kind = str(generator.choice(KINDS))
    with tempfile.TemporaryDirectory() as name, warnings.catch_warnings():
        warnings.simplefilter("ignore", lw.LeakwiseWarning)
        path = Path(name) / "c.json"
        honest(kind, counted).save(path)
        document = json.loads(path.read_text())
        must_be_true(lw.verify(path))
        for _ in range(50):
            body = document["body"]
            for _ in range(int(generator.integers(1, 4))):
                every = list(changes(body))
                body = changed(body, *every[int(generator.integers(len(every)))])
                if not isinstance(body, dict):
                    break
            written(document, body, path)
            try:
                judge(path)
            except Exception as error:
                raise FalsePromise(f"{kind} {counted}: {json.dumps(body)[:2000]}") from error


# --------------------------------------------------------------------------------------------------- wrong methods


def wrong_methods(generator: Generator) -> None:
    """A set of any kind and size that names any method for any failure probability: accepted only when it is true."""
    size = int(generator.integers(1, 5))
    prior = lw.Prior.from_counts(
        generator.integers(0, 10 ** int(generator.integers(1, 7)), size) + (np.arange(size) == 0)
    )
    if generator.random() < 0.1:
        prior = lw.Prior(prior.fractions)  # no sample
    failure = Fraction(float(10.0 ** -generator.uniform(0, 12))) if generator.random() < 0.9 else Fraction(0)
    method = [None, *METHODS][int(generator.integers(len(METHODS) + 1))]
    # A radius near the one that some method needs, or anything.
    radius = Fraction(float(10.0 ** -generator.uniform(0, 4)))
    lower, upper, beta = [0] * size, [1] * size, None
    if prior.sample_size is not None and generator.random() < 0.7 and 0 < failure < 1:
        nudge = Fraction(float(generator.choice([0.5, 0.99, 1 - 1e-6, 1.0, 1 + 1e-6, 1.01, 2.0])))
        known = prior.confidence(failure, str(generator.choice(METHODS)))
        radius = nudge * (getattr(known, "beta", None) or getattr(known, "radius", None) or radius)
        if isinstance(known, Box):
            lower = [p - min(p, nudge * (p - low)) for p, low in zip(prior.fractions, known.lower, strict=True)]
            upper = [p + min(1 - p, nudge * (up - p)) for p, up in zip(prior.fractions, known.upper, strict=True)]
            beta = radius if generator.random() < 0.5 else None
    kind = generator.integers(5)
    m = lw.randomized_response(size, lift=3) if size > 1 else lw.identity(1)
    try:
        if kind == 0:
            priors: lw.PriorSet = Ball(prior, radius, failure, method)
        elif kind == 1:
            priors = Box(prior, lower, upper, beta, failure, method)
        elif kind == 2:
            priors = KLBall(prior, radius, failure, method)
        elif kind == 3:
            priors = Hull([prior], prior, failure, method)
        else:
            priors = LayerCake(prior, failure, method)
        accepted = lw.certify(m, priors).verify()
    except lw.LeakwiseError:
        return
    must_be_true(accepted)
