"""The whole envelope δ ↦ ε_c(δ), by following the vertices of the linear program from the largest lift down.

Between two breakpoints one vertex is optimal, and V(t) is a ratio of polynomials that the vertex evaluates by itself;
at a largest lift T_x the curve is flat. So a curve takes one linear program for each of its pieces, however many
points are asked for.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from leakwise.charts.shown import Drawn, Parts, Table
from leakwise.charts.specs import lines
from leakwise.errors import InvalidInput, NotConverged
from leakwise.exact import last_that_holds, log_upper
from leakwise.leakage.envelopes.closed_forms import Response, as_response, constant_lift, published_bound
from leakwise.leakage.envelopes.one_delta import PRIMAL_PAIRS, envelope, failure_probability, open_delta
from leakwise.leakage.envelopes.problem import Problem, as_problem
from leakwise.leakage.envelopes.program import Program
from leakwise.leakage.envelopes.vertices import Vertex
from leakwise.leakage.measures.arguments import checked, single_prior
from leakwise.leakage.measures.differential import ldp
from leakwise.mechanism import Mechanism
from leakwise.priors import Prior
from leakwise.types import Floats

__all__ = ["EnvelopeCurve", "Piece", "envelope_curve"]

_STEP = 1e-9
# A vertex that misses this part of V is taken for optimal: ε_c is then off by as much at most, because it is
# 1-Lipschitz in log δ.
_CLOSE = 1e-10
_MOST_PIECES = 20_000
# Below this probability one linear program in units of 1 loses digits: such points are solved by themselves.
_LEAST_DELTA = 1e-7


@dataclass(frozen=True, eq=False)
class Piece:
    """The curve for δ between ``least`` and ``most``: one vertex for lifts from ``low`` to ``high``, or flat at
    ``high``.
    """

    least: float
    most: float
    low: float
    high: float
    vertex: Vertex | None
    known: bool = True

    def factor(self, delta: float) -> float | None:
        """e^{ε_c(δ)} on this piece; None where the tracing stepped over it, and the point is to be solved by itself."""
        if self.vertex is None:
            return self.high if self.known else None
        return self.vertex.root(delta, 0.5 * (self.low + self.high), self.low, self.high)


@dataclass(frozen=True, repr=False, eq=False)
class EnvelopeCurve(Drawn):
    """The envelope as a function of δ, with its breakpoints, bounds and pictures.

    Call it with one δ or an array of them. ``failure(epsilon)`` is its inverse δ_c(ε).

    Attributes
    ----------
    mechanism, prior
        What it belongs to.
    pieces
        The pieces in ascending order of δ; None where the mechanism is too large for them, and points are solved one
        by one.
    """

    mechanism: Mechanism
    prior: Prior
    pieces: tuple[Piece, ...] | None
    solves: int
    method: str
    response: Response | None = field(default=None)
    problem: Problem | None = field(default=None)

    def __call__(self, delta: Any) -> Any:
        """ε_c at one δ (a float) or at several (an array), in nats."""
        if np.ndim(delta) == 0:
            return self._value(delta)
        return np.array([self._value(one) for one in np.asarray(delta).ravel().tolist()]).reshape(np.shape(delta))

    def _value(self, delta: Any) -> float:
        exact = open_delta(delta)
        if self.response is not None:
            return log_upper(self.response.lift(exact)[0])
        at = float(exact)
        if self.pieces is None or at < _LEAST_DELTA:
            return envelope(self.mechanism, self.prior, exact).epsilon
        place = int(np.searchsorted(self._ends, at))
        if place < len(self.pieces):
            factor = self.pieces[place].factor(max(at, self.pieces[place].least))
            if factor is not None:
                return max(0.0, float(np.nextafter(np.log(factor) * (1 + 2e-16) + 1e-15, np.inf)))
        return envelope(self.mechanism, self.prior, exact).epsilon

    @cached_property
    def _ends(self) -> Floats:
        assert self.pieces is not None
        return np.array([piece.most for piece in self.pieces])

    @cached_property
    def breakpoints(self) -> Floats:
        """(δ, ε) where the curve changes its formula, δ ascending from the first one after 0."""
        if self.response is not None:
            return np.array([[float(delta), log_upper(lift)] for delta, lift in _response_breakpoints(self.response)])
        if self.pieces is None:
            raise InvalidInput(
                "breakpoints must be traced with the whole linear program, which takes at most "
                f"{PRIMAL_PAIRS:,} pairs of letter and outcome. Call the curve at the points you need."
            )
        rows = [[piece.most, np.log(piece.high if piece.vertex is None else piece.low)] for piece in self.pieces]
        return np.array(rows)

    def failure(self, epsilon: object = None, *, lift: object = None) -> float:
        """Return δ_c(ε), the inverse of the curve, never below the truth."""
        return failure_probability(self.mechanism, self.prior, epsilon, lift=lift)

    # -- what stands beside it ------------------------------------------------------------------------------------

    @cached_property
    def _events(self) -> list[tuple[Floats, Floats]]:
        """For each letter P(E|x) of its best event as a function of P(E): corners of a concave line."""
        problem = as_problem(self.mechanism, self.prior) if self.problem is None else self.problem
        events = []
        for row in problem.columns.lift:
            order = np.argsort(-row, kind="stable")
            mass = problem.columns.mass[order]
            events.append((np.append(0.0, np.cumsum(mass)), np.append(0.0, np.cumsum(mass * row[order]))))
        return events

    def binary(self, delta: npt.ArrayLike) -> Floats:
        """Return ε_b of [EN] Algorithm 1, in floats."""
        at = np.asarray(delta, dtype=np.float64)
        best = np.max([np.interp(at, *event) for event in self._events], axis=0)
        value: Floats = np.log(np.maximum(best / at, 1.0))
        return value

    def quantile(self, delta: npt.ArrayLike) -> Floats:
        """Return the upper δ-quantile of ℓ(Y), in floats: no post-processing at all."""
        problem = as_problem(self.mechanism, self.prior) if self.problem is None else self.problem
        top = problem.columns.lift.max(axis=0)
        order = np.argsort(-top, kind="stable")
        reach = np.cumsum(problem.columns.mass[order])
        place = np.searchsorted(reach, np.asarray(delta, dtype=np.float64) * (1 - 1e-12))
        value: Floats = np.log(np.maximum(top[order[np.minimum(place, len(order) - 1)]], 1.0))
        return value

    def lower(self, delta: npt.ArrayLike) -> Floats:
        """Return the lower bound (14) of [EN], in floats."""
        return np.maximum(self.binary(delta), self.quantile(delta))

    def upper(self, delta: npt.ArrayLike) -> Floats:
        """Return the upper bound of [EN] Theorem 3, in floats."""
        problem = as_problem(self.mechanism, self.prior) if self.problem is None else self.problem
        markov = np.log(float(problem.capacity)) - np.log(np.asarray(delta, dtype=np.float64))
        value: Floats = np.minimum(markov, log_upper(problem.worst_lift))
        return value

    def published(self, delta: npt.ArrayLike) -> Floats | None:
        """Return h of [EN] Theorem 5 where the mechanism is randomized response, else None."""
        if self.response is None:
            return None
        flat = np.asarray(delta, dtype=np.float64)
        values = [published_bound(self.response, Fraction(one))[0] for one in flat.ravel().tolist()]
        return np.array(values).reshape(flat.shape)

    def series(self, points: int = 200) -> dict[str, tuple[Floats, Floats]]:
        """Return the curves of Figure 2 of [EN] and the exact line, ready to draw."""
        at = np.unique(np.concatenate([np.linspace(0.0, 1.0, points + 2)[1:-1], self._corners()]))
        found = {"exact envelope": (at, np.asarray(self(at))), "upper bound (Theorem 3)": (at, self.upper(at))}
        published = self.published(at)
        if published is None:
            found["lower bound (14)"] = (at, self.lower(at))
        else:
            found["h of Theorem 5"] = (at, published)
        found["ε_b (Algorithm 1)"] = (at, self.binary(at))
        adp = np.array([ldp(self.mechanism, float(one)) for one in at])
        finite = np.isfinite(adp)
        if finite.any():
            found["(ε, δ)-LDP"] = (at[finite], adp[finite])
        return found

    def _corners(self) -> Floats:
        if self.pieces is None and self.response is None:
            return np.zeros(0)
        corners: Floats = self.breakpoints[:, 0]
        inside = corners[(corners > 1e-6) & (corners < 1 - 1e-6)]
        return inside[:: max(1, len(inside) // 200)]

    def chart(self, points: int = 200) -> dict[str, Any]:
        """A Vega-Lite picture as Figure 2 of [EN], with the exact line."""
        return lines(
            self.series(points),
            title="What survives post-processing",
            x_title="δ, the probability given up",
            y_title="ε (nats)",
        )

    def _shown(self) -> Parts:
        at = np.array([0.001, 0.01, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9, 0.99])
        rows = [
            [float(a), float(b), float(c), float(d), float(e)]
            for a, b, c, d, e in zip(at, self.binary(at), self.lower(at), self(at), self.upper(at), strict=True)
        ]
        return [Table(["δ", "ε_b", "lower (14)", "ε_c(δ)", "upper (T3)"], rows, self._title())]

    def _title(self) -> str:
        pieces = "" if self.pieces is None else f", {len(self.pieces)} pieces"
        return f"Envelope of a mechanism of {self.mechanism.shape[0]:,} values ({self.method}{pieces})"

    def to_dict(self, points: int = 99) -> dict[str, Any]:
        """Return plain data: points, and breakpoints where they were traced."""
        at = np.linspace(0.0, 1.0, points + 2)[1:-1]
        return {
            "method": self.method,
            "delta": at.tolist(),
            "epsilon": self(at).tolist(),
            "binary": self.binary(at).tolist(),
            "lower": self.lower(at).tolist(),
            "upper": self.upper(at).tolist(),
            "breakpoints": None if self.pieces is None and self.response is None else self.breakpoints.tolist(),
        }


def envelope_curve(mechanism: Mechanism, prior: Any, *, method: str = "auto") -> EnvelopeCurve:
    """Return the PML envelope for all δ at once: a function of δ with its breakpoints, its bounds, and a picture.

    Closed forms where they hold (constant envelopes, randomized response); otherwise the vertices of the linear
    program are followed from the largest lift down, one program for each piece. ``method="primal"`` leaves the closed
    forms out.

    >>> from leakwise import Mechanism, Prior
    >>> m = Mechanism([[0, 0, "1/2", "1/2"], [0, 0, "1/2", "1/2"], [0, ".2", ".4", ".4"], [".2", 0, ".4", ".4"]])
    >>> curve = envelope_curve(m, Prior.uniform(4))
    >>> [f"{curve(delta):.4f}" for delta in (0.1, 0.2, 0.5, 0.9)]
    ['1.3863', '0.8938', '0.4128', '0.2107']
    >>> curve.breakpoints.round(4).tolist()
    [[0.1, 1.3863], [1.0, 0.1823]]
    """
    if method not in ("auto", "primal"):
        raise InvalidInput(f"method must be 'auto' or 'primal'. Got {method!r} instead.")
    known = single_prior(prior, checked(mechanism))
    if method == "auto":
        response = as_response(mechanism, known)
        if response is not None:
            return EnvelopeCurve(mechanism, known, None, 0, "randomized response in closed form", response)
        lift = constant_lift(mechanism, known)
        if lift is not None:
            piece = Piece(0.0, 1.0, float(lift), float(lift), None)
            return EnvelopeCurve(mechanism, known, (piece,), 0, "constant envelope ([EN] Corollary 1)")
    problem = as_problem(mechanism, known)
    if problem.columns.lift.size > PRIMAL_PAIRS:
        return EnvelopeCurve(mechanism, known, None, 0, "point by point", problem=problem)
    pieces, solves = _trace(problem)
    return EnvelopeCurve(mechanism, known, tuple(pieces), solves, "linear programs along the curve", problem=problem)


# --------------------------------------------------------------------------------------------------- the tracing


def _trace(problem: Problem) -> tuple[list[Piece], int]:
    program = Program(problem.columns, 1.0)
    largest = problem.columns.largest
    t, reached = float(largest.max()), 0.0
    pieces: list[Piece] = []
    step = _STEP
    while reached < 1.0 - 1e-12 and t > 1.0 + 1e-14:
        if program.solves > _MOST_PIECES:
            raise NotConverged(
                f"The curve has more than {_MOST_PIECES:,} pieces. Call lw.envelope at the points you need.",
                lower=0.0,
                upper=float(np.log(largest.max())),
            )
        active = largest >= t * (1 - 1e-13)
        floor = max(1.0, float(largest[~active].max(initial=1.0)))
        probe = max(t * (1 - step), 0.5 * (t + floor))
        solved = program.solve(probe, active)
        vertex = solved.vertex
        if vertex is None or vertex.violation(probe) > _CLOSE:
            if solved.value >= 1.0 - 1e-10:  # V = 1 from here on down
                pieces.append(Piece(reached, 1.0, t, t, None))
                return pieces, program.solves
            # A degenerate corner: step over it, as a sliver that is solved by itself when asked for.
            t, step = probe, min(4 * step, 1e-3)
            continue
        stepped_over, step = step > _STEP, _STEP
        bottom = _valid_down_to(vertex, probe, floor)
        at_top, at_bottom = (_value(vertex, end, probe) for end in (t, bottom))
        if at_top > reached + 1e-13:
            pieces.append(Piece(reached, at_top, t, t, None, not stepped_over))
        pieces.append(Piece(max(reached, at_top), at_bottom, bottom, t, vertex))
        t, reached = bottom, at_bottom
    if not pieces or pieces[-1].most < 1.0:
        pieces.append(Piece(reached, 1.0, t, t, None))
    return _joined(pieces), program.solves


def _value(vertex: Vertex, end: float, inside: float) -> float:
    """V at an end of the piece; where letters tie there the vertex is singular, and its limit from inside is taken."""
    for t in (end, end + (inside - end) * 1e-6, inside):
        try:
            value = vertex.value_and_slope(t)[0]
        except np.linalg.LinAlgError:
            continue
        if np.isfinite(value):
            return float(min(1.0, value))
    raise AssertionError("a vertex that was found optimal has a value")


def _valid_down_to(vertex: Vertex, t: float, floor: float) -> float:
    """The least lift, not below the floor, for which the vertex is still optimal."""
    if vertex.violation(floor) <= _CLOSE:
        return floor
    return last_that_holds(lambda lift: vertex.violation(lift) <= _CLOSE, t, floor, within=1e-14)


def _joined(pieces: list[Piece]) -> list[Piece]:
    """Pieces without slivers, each beginning where the one before ends."""
    kept: list[Piece] = []
    for piece in pieces:
        if piece.most - piece.least <= 1e-13 and kept:
            continue
        start = kept[-1].most if kept else 0.0
        kept.append(Piece(start, piece.most, piece.low, piece.high, piece.vertex, piece.known))
    return kept


def _response_breakpoints(response: Response) -> list[tuple[Fraction, Fraction]]:
    """Where the closed form of k-RR changes: at the sums of the smallest q, and where flat and falling parts meet."""
    candidates: set[Fraction] = set()
    left, before, first = Fraction(0), 0, 1
    for count, (mass, reach) in enumerate(zip(response.law, response.reach, strict=True), 1):
        right = Fraction(reach, response.unit)
        last = response.lift(right)[1]
        for letters in range(max(first - 1, 1), min(last + 1, count) + 1):
            # For δ in (left, right] the falling part of L letters is c/δ + β/q_N; it meets the flat parts of L and L+1.
            for falling in (letters - 1, letters):
                rest = (count - 1 - falling) * response.lie - Fraction(before * response.lie, mass)
                height = Fraction(response.truth, response.law[letters - 1]) - Fraction(response.lie, mass)
                corner = (falling * response.truth + rest) / height / response.unit
                if left < corner < right:
                    candidates.add(corner)
        candidates.add(right)
        left, before, first = right, reach, last
    found = []
    for delta in sorted(candidates):
        near = (1 - Fraction(1, 10**15), 1 + Fraction(1, 10**15))
        ends = [response.lift(min(delta * factor, Fraction(1))) for factor in near]
        if delta == 1 or not (ends[0][2] and ends[1][2] and ends[0][0] == ends[1][0]):  # not inside a flat part
            found.append((delta, response.lift(delta)[0]))
    return found
