"""Whether one mechanism can be made from another by processing its outcome, with a witness either way."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from leakwise.alphabet import Label
from leakwise.charts.shown import Parts, Shown, Table
from leakwise.charts.table import number
from leakwise.errors import InvalidInput, NotConverged, label_text
from leakwise.exact import exact_fraction, float_above, float_below, integer_product, over_common_denominator
from leakwise.guarantee import at_least, at_most
from leakwise.leakage.measures.arguments import checked, wide
from leakwise.mechanism import DenseKernel, Mechanism
from leakwise.types import Array, Floats

__all__ = ["Refinement", "reduced", "refines"]

# The program has M₁M₂ + 2NM₂ variables; beyond this it no longer ends within minutes.
_MOST_VARIABLES = 60_000


@dataclass(frozen=True, repr=False)
class Refinement(Shown):
    """Whether ``second`` is a post-processing of ``first``, and what shows it.

    Attributes
    ----------
    first, second
        The two mechanisms, over the same letters.
    kernel
        The post-processing that comes nearest: ``first.then(kernel)`` is within ``upper`` of ``second``.
    upper, lower
        Proven bounds on the deficiency: how far, in total variation for the worst letter, every post-processing of
        ``first`` stays from ``second``. ``upper`` is the distance of ``kernel``, ``lower`` follows from ``gain``;
        both are worked out on the integers.
    gain
        One row per letter, one column per guess (the outcomes of ``second``), none negative. Where ``lower`` is
        positive, a uniform secret is worth more to an adversary with this gain after ``second`` than after ``first``.
    tolerance
        The distance up to which two mechanisms count as one.
    """

    first: Mechanism
    second: Mechanism
    kernel: Mechanism
    gain: Floats
    upper: float
    lower: float
    tolerance: float

    @property
    def holds(self) -> bool:
        """Whether ``second`` is ``first`` followed by ``kernel``, within the tolerance."""
        return self.upper <= self.tolerance

    @property
    def exact(self) -> bool:
        """Whether it is so without any tolerance."""
        return self.upper == 0

    def __bool__(self) -> bool:
        return self.holds

    @property
    def sentence(self) -> str:
        """The answer in words."""
        if self.holds:
            return (
                "The second mechanism is the first with its outcome processed further (kernel), within "
                f"{at_most(self.upper, 3)}: whatever it tells, the first tells as well."
            )
        return (
            "The second mechanism cannot be made from the first by processing its outcome: every processing "
            "misses it by at "
            f"least {at_least(self.lower, 3)} for some letter, and an adversary with the gain shown learns more "
            f"from the second."
        )

    def _shown(self) -> Parts:
        rows: list[list[object]] = [
            ["refines", self.holds],
            ["deficiency, at most", at_most(self.upper, 6)],
            ["deficiency, at least", at_least(self.lower, 6)],
            ["tolerance", number(self.tolerance)],
        ]
        return [Table(["", "refinement"], rows, self.sentence, align="ll")]

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return {
            "holds": self.holds,
            "exact": self.exact,
            "upper": self.upper,
            "lower": self.lower,
            "tolerance": self.tolerance,
            "kernel": self.kernel.to_dict(),
            "gain": self.gain.tolist(),
            "sentence": self.sentence,
        }


def refines(first: Mechanism, second: Mechanism, *, tolerance: float = 1e-9, time_limit: float = 60.0) -> Refinement:
    """Return whether ``second`` can be made from ``first`` by processing its outcome: the kernel, or a proof of none.

    Minimises the deficiency max_x TV((first·R)_x, second_x) over kernels R, a linear program. If it is 0, ``second``
    never leaks more than ``first`` by any measure that obeys data processing. Otherwise the dual solution is a gain
    for which it does leak more (the coriaceous theorem of quantitative information flow; Blackwell). Both witnesses
    are checked on the integers, so that nothing rests on the solver. The tolerance is there because floats that
    describe the same mechanism differ in the last digits.

    Raises
    ------
    InvalidInput
        The mechanisms are over different letters, or too large.
    NotConverged
        The time limit came first, or the solver's answer proves neither; carries the bounds.

    Examples
    --------
    >>> from leakwise import constant, identity
    >>> refines(identity(2), constant(2)).holds, refines(constant(2), identity(2)).holds
    (True, False)
    """
    one, two = _over_same_letters(checked(first, "first"), checked(second, "second"))
    allowed = exact_fraction(tolerance, "tolerance")
    if allowed < 0:
        raise InvalidInput(f"tolerance must not be negative. Got {tolerance!r} instead.")
    matrix, gain = _solve(one.matrix, two.matrix, time_limit)
    kernel = Mechanism(matrix, inputs=one.outputs, outputs=two.outputs)
    upper, lower = _distance(one, kernel, two), _advantage(one, two, gain)
    found = Refinement(first, second, kernel, gain, float_above(upper), max(0.0, float_below(lower)), float(tolerance))
    if upper > allowed and lower <= 0:
        raise NotConverged(
            f"Neither a kernel within {tolerance:g} nor a proof that there is none was found: the deficiency is "
            f"at most "
            f"{found.upper:.3g}. Use a larger tolerance.",
            lower=0.0,
            upper=found.upper,
        )
    return found


def _over_same_letters(first: Mechanism, second: Mechanism) -> tuple[Mechanism, Mechanism]:
    if len(first.inputs) != len(second.inputs):
        raise InvalidInput(
            f"Refinement compares mechanisms over the same letters. The first has {len(first.inputs)}, the second "
            f"{len(second.inputs)}."
        )
    order = first.input_alphabet.positions_in(second.input_alphabet, mine="first", theirs="second")
    if order is None:
        return first, second
    return first, Mechanism.from_kernel(second.kernel.take_rows(order), first.input_alphabet, second.output_alphabet)


def _solve(first: Floats, second: Floats, time_limit: float) -> tuple[Floats, Floats]:
    """The nearest kernel, and the gain that the duals describe."""
    from leakwise.lp import solve_lp

    letters, before = first.shape
    after = second.shape[1]
    size = before * after + 2 * letters * after + 1
    if size > _MOST_VARIABLES:
        raise InvalidInput(
            f"Refinement of a {letters} × {before} by a {letters} × {after} mechanism is a linear program in {size:,} "
            f"variables; up to {_MOST_VARIABLES:,} are taken. Merge outcomes first "
            "(lw.measures.reduced), or compare parts."
        )
    # Variables: R (k, j), excess and lack (i, j), s. Rows: (PR)_ij - u + v = p_ij; ΣR = 1; Σ(u+v)/2 - s ≤ 0.
    split = before * after
    pairs = letters * after
    blocks = np.zeros((pairs + before + letters, size))
    blocks[:pairs, :split] = np.kron(first, np.eye(after))
    blocks[:pairs, split : split + pairs] = -np.eye(pairs)
    blocks[:pairs, split + pairs : -1] = np.eye(pairs)
    blocks[pairs : pairs + before, :split] = np.kron(np.eye(before), np.ones(after))
    for half in (split, split + pairs):
        blocks[pairs + before :, half : half + pairs] = np.kron(np.eye(letters), np.full(after, 0.5))
    blocks[pairs + before :, -1] = -1.0
    costs = np.zeros(size)
    costs[-1] = 1.0
    upper = np.concatenate([second.ravel(), np.ones(before), np.zeros(letters)])
    lower = np.concatenate([upper[: pairs + before], np.full(letters, -math.inf)])
    answer = solve_lp(costs, blocks, lower, upper, time_limit=time_limit)
    if not answer.optimal:
        raise NotConverged(
            f"The linear program of the refinement was not solved within {time_limit:g} s. Allow more time.",
            lower=0.0,
            upper=1.0,
        )
    kernel = np.maximum(answer.x[:split].reshape(before, after), 0.0)
    kernel[kernel < 2.0**-59] = 0.0
    gain = answer.duals[:pairs].reshape(letters, after)
    gain = gain - gain.min(axis=1, keepdims=True)
    return kernel / kernel.sum(axis=1, keepdims=True), gain


def _distance(first: Mechanism, kernel: Mechanism, second: Mechanism) -> Fraction:
    """max_x TV((first·R)_x, second_x), exact."""
    made = first.then(kernel)
    difference = wide(made.weights) * second.denominator - wide(second.weights) * made.denominator
    worst = int(np.abs(difference).sum(axis=1).max())
    return Fraction(worst, 2 * made.denominator * second.denominator)


def _advantage(first: Mechanism, second: Mechanism, gain: Floats) -> Fraction:
    """What the gain wins after ``second``, told its outcome as the guess, beyond any guessing after ``first``.

    Exact, and divided by Σ_x max_w g(x, w): a lower bound on the deficiency.
    """
    numerators, over = over_common_denominator([Fraction(value) for value in gain.ravel().tolist()])
    gains = np.array(numerators, dtype=np.object_).reshape(gain.shape)
    scale = Fraction(int(gains.max(axis=1).sum()), over)
    if not scale:
        return Fraction(0)
    told = Fraction(int((gains * wide(second.weights)).sum()), over * second.denominator)
    scores = integer_product(gains.T, wide(first.weights))
    best = Fraction(sum(int(score) for score in scores.max(axis=0)), over * first.denominator)
    return (told - best) / scale


def reduced(mechanism: Mechanism) -> Mechanism:
    """Return the mechanism with similar outcomes merged and impossible ones dropped ([EN] Appendix C).

    Outcomes are similar when their columns are proportional: they say the same about the secret, and merging them
    changes no leakage. A merged outcome is called ``{a,b}``.

    >>> from leakwise import Mechanism
    >>> reduced(Mechanism([["1/2", "1/2", 0], ["2/5", "2/5", "1/5"]], outputs=["a", "b", "c"])).outputs
    ('{a,b}', 'c')
    """
    weights = checked(mechanism).weights
    groups: dict[tuple[int, ...], list[int]] = {}
    for place, column in enumerate(weights.T.tolist()):
        divisor = math.gcd(*column)
        if divisor:
            groups.setdefault(tuple(weight // divisor for weight in column), []).append(place)
    merged: Array = np.stack([wide(weights[:, places]).sum(axis=1) for places in groups.values()], axis=1)
    names = [_merged_name([mechanism.outputs[place] for place in places]) for places in groups.values()]
    return Mechanism.from_kernel(DenseKernel(merged, mechanism.denominator), mechanism.input_alphabet, names)


def _merged_name(labels: list[Label]) -> Label:
    return labels[0] if len(labels) == 1 else "{" + ",".join(map(label_text, labels)) + "}"
