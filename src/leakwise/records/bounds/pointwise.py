r"""Every guess, not an average: max log P(y | x_i = a) / P(y) over adversaries of bounded min-entropy, p(x) ≤ e^{-b}.

For one record, value a and outcome y let class k have the capacity m_k e^{-b} (section 6 of the mathematics: m_k
datasets, each at most e^{-b}) and the chance r_k of the outcome. With s = P(X_i = a) fixed the ratio is

.. math:: R(s) = \frac{A(s)}{s\,(A(s) + B(1-s))}

where A(s) fills s into the classes of a, those of the largest r first, and B(1-s) fills the rest into all other
classes, those of the least r first: two continuous knapsacks. Both are linear between the points where a class is full.
There A = α₀ + αs with α₀ ≥ 0 (A is concave, A(0) = 0) and A + B = c₀ + c₁s with c₀ ≥ 0, and R' has the sign of
-(c₁αs² + 2α₀c₁s + α₀c₀), which never changes from + to -: R is largest at an end. So the largest ratio is that of
one of finitely many s, or of the limit s → 0, where A(s)/s is the largest r. Capacities rise with e^{-b}, and so
does the largest R: e^{-b} from above gives the bound, from below the value.
"""

from __future__ import annotations

import bisect
import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from leakwise.exact import exp_lower, exp_upper, log_lower, log_upper
from leakwise.proof import PointwiseRecordCertificate
from leakwise.records.bounds.certificates import stored_classes
from leakwise.records.queries.channel import Case, Channel
from leakwise.records.queries.problem import Problem
from leakwise.records.results import Adversary, RecordLeakage
from leakwise.types import Floats

__all__ = ["pointwise_leakage"]

_BITS = 128  # of e^{-b}, relative to the uniform belief
_NEAR = 64  # the limit s → 0 is approached up to a ratio that is less by 2^-64
_CLAIMED = 80  # bits of the ratio that a certificate claims


class _Fill:
    """Classes in the order in which they are filled: where each is full, and Σ r·mass up to there; whole numbers."""

    def __init__(self, classes: Sequence[int], chances: Sequence[int], capacities: Sequence[int]) -> None:
        self.classes, self.chances = classes, [chances[k] for k in classes]
        sizes = [capacities[k] for k in classes]
        self.ends = [0, *itertools.accumulate(sizes)]
        self.totals = [0, *itertools.accumulate(r * c for r, c in zip(self.chances, sizes, strict=True))]

    def at(self, mass: int) -> int:
        """Σ r·mass when so much is filled in."""
        j = bisect.bisect_right(self.ends, mass) - 1
        return self.totals[j] + (self.chances[j] * (mass - self.ends[j]) if mass > self.ends[j] else 0)

    def parts(self, mass: int) -> dict[int, int]:
        """What each class gets of it."""
        steps = zip(self.classes, itertools.pairwise(self.ends), strict=True)
        return {k: max(min(mass, b) - a, 0) for k, (a, b) in steps}


@dataclass(frozen=True, eq=False)
class _Peak:
    """A ratio, numerator over denominator (over 0: without bound), reached at P(X_i = a) = share/one.

    ``limit`` says that it is the limit of a share that goes to 0; ``share`` is then one that comes near.
    """

    numerator: int
    denominator: int
    share: int
    limit: bool = False

    def above(self, other: _Peak) -> bool:
        return self.numerator * other.denominator > other.numerator * self.denominator


@dataclass(frozen=True, eq=False)
class _Capacities:
    """What each class of a problem can hold, as whole numbers over ``one``: m_k e^{-b}, rounded up or down."""

    sizes: tuple[int, ...]
    one: int

    @classmethod
    def of(cls, problem: Problem, b: Fraction, up: bool) -> _Capacities:
        # A tiny b needs bits to be told from 0, where someone may be certain.
        bits = _BITS + problem.total.bit_length() + max(0, b.denominator.bit_length() - b.numerator.bit_length())
        each = (exp_upper if up else exp_lower)(-b, bits)
        if each * problem.total <= 1:  # only the uniform belief is left
            return cls(problem.multiplicities, problem.total)
        one = 1 << bits  # fine enough for a share near 0 also where e^{-b} is 1
        return cls(tuple(m * int(each * one) for m in problem.multiplicities), one)


class _Guess:
    """One value and one outcome of a reduced problem, against adversaries of these capacities."""

    def __init__(self, problem: Problem, letter: int, chances: Sequence[int], capacities: _Capacities) -> None:
        block = problem.blocks[letter]
        order = sorted(range(len(chances)), key=chances.__getitem__)
        own = [k for k in reversed(order) if block.start <= k < block.stop]
        self.one = capacities.one
        self.own = _Fill(own, chances, capacities.sizes)
        self.rest = _Fill([k for k in order if not block.start <= k < block.stop], chances, capacities.sizes)

    def peak(self) -> _Peak:
        """Return the largest ratio; some class of the value must have a chance of the outcome."""
        low, high = max(0, self.one - self.rest.ends[-1]), min(self.one, self.own.ends[-1])
        ends = {s for s in (*self.own.ends, *(self.one - e for e in self.rest.ends)) if low < s < high}
        shares = sorted({low, high, *ends})
        best = self._limit(shares[1]) if not low else None
        for s in shares:
            if s:
                own = self.own.at(s)
                here = _Peak(own * self.one, s * (own + self.rest.at(self.one - s)), s)
                best = here if best is None or here.above(best) else best
        assert best is not None
        return best

    def _limit(self, first: int) -> _Peak:
        """The ratio for a share that goes to 0, and a share before the first class is full that comes near."""
        top, mass = self.own.chances[0], self.rest.at(self.one)
        near = mass // (top << _NEAR) if mass else self.one >> _NEAR
        return _Peak(top * self.one, mass, min(max(near, 1), first), limit=True)

    def reached(self, share: int) -> Fraction:
        """Return the ratio at a share of at least 1."""
        own = self.own.at(share)
        return Fraction(own * self.one, share * (own + self.rest.at(self.one - share)))

    def belief(self, share: int) -> list[Fraction]:
        """Return the probability of each class under the belief that reaches it."""
        parts = self.own.parts(share) | self.rest.parts(self.one - share)
        return [Fraction(parts[k], self.one) for k in sorted(parts)]


def _whole(column: Floats) -> list[int]:
    """The chances of an outcome as whole numbers over a common denominator: floats mean their exact binary values."""
    pairs = [float(r).as_integer_ratio() for r in column]
    common = max(d for _, d in pairs)  # powers of two
    return [n * (common // d) for n, d in pairs]


@dataclass(frozen=True, eq=False)
class _Worst:
    """The largest ratio of all records, values and outcomes, and where it is."""

    peak: _Peak
    case: Case
    letter: int
    outcome: int


def _worst(channel: Channel, b: Fraction) -> _Worst:
    best: _Worst | None = None
    for case in channel.cases:
        problem = case.problem
        capacities = _Capacities.of(problem, b, up=True)
        for y in range(problem.rows.shape[1]):
            chances = _whole(problem.rows[:, y])
            least = _Fill(sorted(range(len(chances)), key=chances.__getitem__), chances, capacities.sizes)
            mass = least.at(capacities.one)  # no adversary gives the outcome less
            for letter, block in enumerate(problem.blocks):
                top = max(chances[block])
                if not top:
                    continue  # the outcome excludes the value
                # Nobody exceeds the largest chance over the least mass: most guesses are done with that.
                if best is not None and not _Peak(top * capacities.one, mass, 0).above(best.peak):
                    continue
                peak = _Guess(problem, letter, chances, capacities).peak()
                if best is None or peak.above(best.peak):
                    best = _Worst(peak, case, letter, y)
    assert best is not None
    return best


def pointwise_leakage(channel: Channel, b: float) -> RecordLeakage:
    """Return the largest leakage of any answer about any record to an adversary of min-entropy at least b."""
    exact = Fraction(b)
    worst = _worst(channel, exact)
    case, peak = worst.case, worst.peak
    chances = _whole(case.problem.rows[:, worst.outcome])
    guess = _Guess(case.problem, worst.letter, chances, _Capacities.of(case.problem, exact, up=False))
    low = guess.peak()
    unbounded = not peak.denominator and not low.denominator
    value = math.inf if unbounded else max(0.0, log_lower(guess.reached(low.share)))
    # Rows of floats sum to 1 up to rounding only; a largest lift is at least 1.
    ratio = max(Fraction(1), Fraction(peak.numerator, peak.denominator)) if peak.denominator else None
    bound = math.inf if ratio is None else log_upper(ratio)
    letter, outcome = case.letters[worst.letter], channel.outputs[worst.outcome]
    limit = f", in the limit of an adversary who all but excludes the value {letter!r}" if low.limit else ""
    belief = guess.belief(low.share)
    about = f"{channel.name} on {channel.query.name}"
    return RecordLeakage(
        value,
        bound,
        b,
        case.records[0],
        case.records,
        _adversary(case, belief),
        f"exact arithmetic: two greedy fills for every record, value and outcome{limit}",
        True,
        0,
        about,
        np.array(belief, dtype=np.float64),
        None if ratio is None else _certificate(channel, exact, worst, ratio, about),
        measure="pointwise",
        outcome=outcome,
        letter=letter,
    )


def _adversary(case: Case, belief: list[Fraction]) -> Adversary:
    least = log_lower(min(m / p for m, p in zip(case.problem.multiplicities, belief, strict=True) if p))
    return replace(case.adversary(np.array(belief, dtype=np.float64)), min_entropy=least)


def _certificate(
    channel: Channel, b: Fraction, worst: _Worst, ratio: Fraction, about: str
) -> PointwiseRecordCertificate:
    place = channel.cases.index(worst.case), worst.letter, worst.outcome
    claimed = Fraction(-((-ratio.numerator << _CLAIMED) // ratio.denominator), 1 << _CLAIMED)
    outcomes = tuple(str(outcome) for outcome in channel.outputs)
    return PointwiseRecordCertificate(about, stored_classes(channel), outcomes, b, claimed, *place)
