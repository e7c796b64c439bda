"""Mechanisms side by side, as in [PR] 7.2: at equal ε of differential privacy, and at equal leakage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from leakwise.charts.shown import Drawn, Parts, Table
from leakwise.charts.specs import grouped_bars
from leakwise.errors import InvalidInput
from leakwise.exact import last_that_holds
from leakwise.records.measure import leakage as measure
from leakwise.records.queries.channel import Channel
from leakwise.records.queries.query import Query

__all__ = ["Comparison", "compare"]

_HEADERS = ["mechanism", "parameter", "leakage ≥", "leakage ≤", "distortion"]


@dataclass(frozen=True, eq=False, repr=False)
class Comparison(Drawn):
    """Rows of (mechanism, its parameter, leakage from below, from above, distortion)."""

    title: str
    rows: tuple[tuple[str, str, float, float, float], ...]

    def _shown(self) -> Parts:
        return [Table(_HEADERS, self.rows, self.title, digits=5)]

    def chart(self) -> dict[str, Any]:
        """A Vega-Lite picture: leakage and distortion of each mechanism."""
        names = [row[0] for row in self.rows]
        values = {"leakage (nats)": [row[3] for row in self.rows], "distortion": [row[4] for row in self.rows]}
        return grouped_bars(names, values, title=self.title, value_title="leakage, distortion")

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        keys = ("mechanism", "parameter", "value", "bound", "distortion")
        return {"title": self.title, "rows": [dict(zip(keys, row, strict=True)) for row in self.rows]}


def compare(
    query: Query,
    *,
    epsilon: float | None = None,
    leakage: float | None = None,
    entropy: float = 0.0,
    data: Any = "uniform",
    tolerance: float = 1e-5,
    time_limit: float = 20.0,
) -> Comparison:
    """Laplace with rounding, the exponential mechanism, the symmetric channel and the best mechanism, at equal footing.

    With ``epsilon`` the first two are ε-differentially private, and the symmetric channel and the best mechanism have
    the distortion of the Laplace mechanism. With ``leakage`` every one leaks at most that against adversaries with
    H(X) ≥ ``entropy``; distortions differ.

    >>> from leakwise.records import parity
    >>> [row[0] for row in compare(parity(3), epsilon=1.0).rows]
    ['Laplace', 'exponential', 'symmetric channel', 'least leakage']
    """
    if (epsilon is None) == (leakage is None):
        raise InvalidInput(
            "give either epsilon= (equal differential privacy) or leakage= (equal leakage), one of the two."
        )
    from leakwise.records.designs.tradeoff import least_distortion, least_leakage

    def row(name: str, parameter: str, channel: Channel) -> tuple[str, str, float, float, float]:
        found = measure(channel, entropy, tolerance=tolerance, time_limit=time_limit)
        return name, parameter, found.value, found.bound, channel.distortion(data)

    families: list[tuple[str, str, Callable[[float], Channel]]] = [
        ("Laplace", "ε", query.laplace),
        ("exponential", "ε", query.exponential),
    ]
    flips = _flip_for(query, data)
    rows = []
    if epsilon is not None:
        for name, letter, family in families:
            rows.append(row(name, f"{letter} = {epsilon:.5g}", family(epsilon)))
        # Much noise can be worse than a constant answer, which leaks nothing: no more distortion than that is of use.
        whole = query.distortion_matrix(query.answers)[query.space(data).answer]
        distortion = min(rows[0][4], float((query.space(data).mass @ whole).min()))
        flip = flips(distortion)
        rows.append(row("symmetric channel", f"flip = {flip:.5g}", query.symmetric_channel(flip)))
        best = least_leakage(query, distortion, entropy, data=data, tolerance=tolerance, time_limit=time_limit)
        rows.append(("least leakage", f"D = {distortion:.5g}", best.bound, best.value, best.distortion))
        title = f"{query.name}, H(X) ≥ {entropy:g}, at ε = {epsilon:g}"
    else:
        assert leakage is not None
        if not leakage > 0:
            raise InvalidInput(f"leakage is {leakage}; expected a positive number of nats to compare at.")
        for name, letter, family in families:
            level = _largest(lambda e, family=family: family(e), 1e-4, 60.0, leakage, entropy, tolerance, time_limit)  # type: ignore[misc]
            rows.append(row(name, f"{letter} = {level:.5g}", family(level)))
        top = 1 - 1 / len(query.answers)
        keep = _largest(
            lambda x: query.symmetric_channel(top * (1 - x)), 1e-9, 1.0, leakage, entropy, tolerance, time_limit
        )
        rows.append(
            row("symmetric channel", f"flip = {top * (1 - keep):.5g}", query.symmetric_channel(top * (1 - keep)))
        )
        found = least_distortion(query, leakage, entropy, data=data, tolerance=tolerance, time_limit=time_limit)
        rows.append(("least distortion", f"L = {leakage:.5g}", 0.0, found.leakage, found.distortion))
        title = f"{query.name}, H(X) ≥ {entropy:g}, at leakage {leakage:g}"
    return Comparison(title, tuple(rows))


def _flip_for(query: Query, data: Any) -> Callable[[float], float]:
    """The flip probability of the symmetric channel with a given distortion: distortion is linear in it."""

    def flip(distortion: float) -> float:
        whole = query.symmetric_channel(1.0).distortion(data)
        return min(1.0, distortion / whole) if whole > 0 else 0.0

    return flip


def _largest(
    family: Callable[[float], Channel],
    low: float,
    high: float,
    limit: float,
    entropy: float,
    tolerance: float,
    time_limit: float,
) -> float:
    """The largest parameter whose proven leakage stays within the limit (to 1e-6 of the parameter)."""

    def fits(x: float) -> bool:
        channel = family(x)
        quick = measure(channel, entropy, tolerance=max(tolerance, 0.02 * limit), time_limit=time_limit)
        if quick.value > limit or quick.bound <= limit:
            return quick.bound <= limit
        return measure(channel, entropy, tolerance=tolerance, time_limit=time_limit, start=quick).bound <= limit

    if fits(high):
        return high
    if not fits(low):
        raise InvalidInput(
            f"leakage is {limit}; even the noisiest setting ({low:g}) is not proven to leak as little. Ask for more."
        )
    return last_that_holds(fits, low, high, within=1e-6)
