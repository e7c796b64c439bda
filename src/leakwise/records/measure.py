"""leakage(): how much a mechanism tells about one record, to an adversary who must be uncertain by b nats."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.records.branch import Answer, solve
from leakwise.records.channel import Case, Channel
from leakwise.records.closed_form import parity_of
from leakwise.records.problem import entropy_of
from leakwise.records.results import Adversary, Curve, RecordLeakage
from leakwise.types import Floats

__all__ = ["check_entropy", "leakage", "leakage_curve"]

_HAIR = 1e-12


def check_entropy(entropy: object, max_entropy: float) -> float:
    """Return b as a float in [0, log |X|]; log |X| itself may miss by rounding."""
    if isinstance(entropy, bool) or not isinstance(entropy, int | float | np.floating | np.integer | Fraction):
        raise InvalidInput(
            f"entropy is {entropy!r}; expected a number of nats between 0 and log|X| = {max_entropy:.6f}."
        )
    b = float(entropy)
    if not b >= 0:
        raise InvalidInput(
            f"entropy is {b}; expected at least 0 (an adversary who may know everything) and at most {max_entropy:.6f}."
        )
    if b > max_entropy + _HAIR * max(1.0, max_entropy):
        raise InvalidInput(
            f"entropy is {b}; no belief about these datasets has more than log|X| = {max_entropy:.6f} nats. "
            "Give at most that."
        )
    return min(b, max_entropy)


def leakage(
    channel: Channel,
    entropy: float = 0.0,
    *,
    method: str = "global",
    tolerance: float = 1e-6,
    time_limit: float = 60.0,
    closed_form: bool = True,
    restarts: int = 20,
    seed: int = 0,
    start: RecordLeakage | None = None,
) -> RecordLeakage:
    r"""The most any adversary with H(X) ≥ b learns about one record: max_i max_p I(X_i; Y) ([PR] Definition 2.1).

    Parameters
    ----------
    channel
        The mechanism, made from a query.
    entropy
        b, in nats, from 0 (anything may be known) to ``log |X|`` (nothing is known).
    method
        ``"global"``: branch and bound, both sides proven. ``"alternating"``: Algorithms 1–5 of the paper, which stop
        at local optima: the value is reached, the bound is only the trivial one.
    tolerance, time_limit
        Stop when bound - value is at most ``tolerance`` nats, or after ``time_limit`` seconds with what is known.
    closed_form
        Recognise parity through a symmetric channel (False: solve it like any other).
    restarts, seed
        For ``"alternating"``: random starts.
    start
        An earlier result for the same mechanism whose adversary to start from.

    Examples
    --------
    >>> from leakwise.records import parity
    >>> c = parity(4).symmetric_channel(flip=0.3)
    >>> r = leakage(c, entropy=2.0)
    >>> print(f"{r.value:.4f} {r.bound:.4f}")
    0.0823 0.0823
    """
    b = check_entropy(entropy, channel.query.max_entropy)
    if not (isinstance(tolerance, int | float) and tolerance > 0):
        raise InvalidInput(f"tolerance is {tolerance!r}; expected a positive number of nats, such as 1e-6.")
    if not (isinstance(time_limit, int | float) and time_limit > 0):
        raise InvalidInput(f"time_limit is {time_limit!r}; expected a positive number of seconds.")
    if method == "alternating":
        from leakwise.records.alternating import alternating_leakage

        return alternating_leakage(
            channel, b, restarts=restarts, seed=seed, tolerance=min(tolerance, 1e-7), time_limit=time_limit
        )
    if method != "global":
        raise InvalidInput(f"method is {method!r}; expected 'global' or 'alternating'.")
    deadline = time.monotonic() + time_limit
    best: tuple[Case, Answer, str] | None = None
    bound, boxes, closed = 0.0, 0, True
    for case in channel.cases:
        answer, how = _solve(case, b, tolerance, deadline, closed_form, best[1].value if best else 0.0, start, seed)
        bound, boxes, closed = max(bound, answer.bound), boxes + answer.boxes, closed and answer.closed
        if best is None or answer.value > best[1].value:
            best = case, answer, how
    assert best is not None
    case, answer, how = best
    return _result(
        channel, b, case, answer, max(bound, answer.value), how, closed or bound - answer.value <= tolerance, boxes
    )


def _solve(
    case: Case,
    b: float,
    tolerance: float,
    deadline: float,
    closed_form: bool,
    floor: float,
    start: RecordLeakage | None,
    seed: int,
) -> tuple[Answer, str]:
    problem = case.problem
    shifted = problem.shifted(b)
    parity = parity_of(problem) if closed_form else None
    if parity is not None and case.problem.total > 2:
        top = parity.value(shifted)
        belief = parity.belief(shifted)
        return Answer(max(0.0, top - 1e-14), top + 1e-14, belief, 0, True), "closed form (parity, Mrs. Gerber's lemma)"
    starts = None
    if start is not None and len(start.belief) == len(problem.letter) and start.record in case.records:
        starts = start.belief[None]
    answer = solve(problem, shifted, tolerance=tolerance, deadline=deadline, floor=floor, starts=starts, seed=seed)
    return answer, f"branch and bound, {answer.boxes:,} boxes of posteriors"


def _result(
    channel: Channel, b: float, case: Case, answer: Answer, bound: float, how: str, closed: bool, boxes: int
) -> RecordLeakage:
    return RecordLeakage(
        answer.value,
        bound,
        b,
        case.records[0],
        case.records,
        adversary_of(case, answer.belief),
        how,
        closed,
        boxes,
        f"{channel.name} on {channel.query.name}",
        answer.belief,
    )


def adversary_of(case: Case, belief: Floats) -> Adversary:
    """Return the belief of a reduced problem, with its classes named."""
    problem = case.problem
    entries = tuple(
        (case.letters[int(problem.letter[k])], case.classes[k], problem.multiplicities[k], float(belief[k]))
        for k in range(len(belief))
    )
    entropy = float(entropy_of(belief[None], problem.log_sizes)[0]) + math.log(problem.largest)
    return Adversary(case.records[0], entries, entropy)


def leakage_curve(channel: Channel, entropies: Iterable[float] | int = 21, **options: Any) -> Curve:
    """Return L(b) over a grid of b, warm-started; both sides are made monotone, which L(b) is.

    ``entropies`` is a number of points from 0 to ``log |X|`` or the points themselves; the rest as for :func:`leakage`.
    """
    top = channel.query.max_entropy
    if isinstance(entropies, int):
        if entropies < 2:
            raise InvalidInput(f"entropies is {entropies}; expected at least 2 points, or a list of values of b.")
        grid = np.linspace(0.0, top, entropies)
    else:
        grid = np.sort(np.array([check_entropy(b, top) for b in entropies], dtype=np.float64))
    results: list[RecordLeakage] = []
    previous: RecordLeakage | None = None
    for b in grid[::-1]:
        # What is feasible at a larger b is feasible here: start from it.
        previous = leakage(channel, float(b), start=previous, **options)
        results.append(previous)
    results.reverse()
    value = np.maximum.accumulate(np.array([r.value for r in results])[::-1])[::-1]
    bound = np.minimum.accumulate(np.array([r.bound for r in results]))
    return Curve(
        grid,
        value,
        bound,
        tuple(results),
        f"{channel.name} on {channel.query.name}",
        "entropy b (nats)",
        "leakage (nats)",
    )
