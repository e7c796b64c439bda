"""leakage(): how much a mechanism tells about one record, to an adversary who must be uncertain by b nats."""

from __future__ import annotations

import time
from collections.abc import Iterable
from fractions import Fraction
from typing import Any

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.exact import float_above
from leakwise.proof import PosteriorTree, RecordInformationCertificate, TangentProof
from leakwise.records.bounds.branch import Answer, solve
from leakwise.records.bounds.certificates import information_certificate
from leakwise.records.bounds.closed_form import parity_of
from leakwise.records.queries.channel import Case, Channel
from leakwise.records.results import Curve, RecordLeakage

__all__ = ["check_entropy", "leakage", "leakage_curve"]

_HAIR = 1e-12


def check_entropy(entropy: object, max_entropy: float, name: str = "entropy") -> float:
    """Return b as a float in [0, log |X|]; log |X| itself may miss by rounding."""
    if isinstance(entropy, bool) or not isinstance(entropy, int | float | np.floating | np.integer | Fraction):
        raise InvalidInput(
            f"{name} is {entropy!r}; expected a number of nats between 0 and log|X| = {max_entropy:.6f}."
        )
    b = float(entropy)
    if not b >= 0:
        raise InvalidInput(
            f"{name} is {b}; expected at least 0 (an adversary who may know everything) and at most {max_entropy:.6f}."
        )
    if b > max_entropy + _HAIR * max(1.0, max_entropy):
        raise InvalidInput(
            f"{name} is {b}; no belief about these datasets has more than log|X| = {max_entropy:.6f} nats. "
            "Give at most that."
        )
    return min(b, max_entropy)


def leakage(
    channel: Channel,
    entropy: float | None = None,
    *,
    min_entropy: float | None = None,
    measure: str = "mutual_information",
    method: str = "global",
    tolerance: float = 1e-6,
    time_limit: float = 60.0,
    closed_form: bool = True,
    restarts: int = 20,
    seed: int = 0,
    start: RecordLeakage | None = None,
    certificate: bool = False,
) -> RecordLeakage:
    r"""The most any adversary with H(X) ≥ b learns about one record: max_i max_p I(X_i; Y) ([PR] Definition 2.1).

    With ``measure="pointwise"`` every answer counts, not an average: max log P(y | x_i) / P(y) over the records, their
    values, the answers, and adversaries with p(x) ≤ e^{-b}; exact, with a certificate. At b = 0 it is the ε of every
    prior.

    Parameters
    ----------
    channel
        The mechanism, made from a query.
    entropy
        b, in nats, from 0 (anything may be known; the default) to ``log |X|`` (nothing is known).
    min_entropy
        The same for ``measure="pointwise"``: no dataset is more probable than e^{-b} to the adversary.
    measure
        ``"mutual_information"`` or ``"pointwise"``; the parameters below are for the first.
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
    certificate
        Keep the tree of boxes as a certificate that ``verify`` checks (by branch and bound, without the closed form).
        The pointwise measure always has one.

    Examples
    --------
    >>> from leakwise.records import parity
    >>> c = parity(4).symmetric_channel(flip=0.3)
    >>> r = leakage(c, entropy=2.0)
    >>> print(f"{r.value:.4f} {r.bound:.4f}")
    0.0823 0.0823
    >>> print(f"{leakage(c, min_entropy=2.0, measure='pointwise').bound:.4f}")
    0.3701
    """
    if measure == "pointwise":
        if entropy is not None:
            raise InvalidInput(
                f"entropy is {entropy!r} for measure='pointwise', where the adversary's min-entropy is bounded. Give "
                "min_entropy= instead."
            )
        from leakwise.records.bounds.pointwise import pointwise_leakage

        least = 0.0 if min_entropy is None else min_entropy
        return pointwise_leakage(channel, check_entropy(least, channel.query.max_entropy, "min_entropy"))
    if measure != "mutual_information":
        raise InvalidInput(f"measure is {measure!r}; expected 'mutual_information' or 'pointwise'.")
    if min_entropy is not None:
        raise InvalidInput(
            f"min_entropy is {min_entropy!r} for measure='mutual_information', where the adversary's entropy is "
            "bounded. Give entropy= instead, or measure='pointwise'."
        )
    b = check_entropy(0.0 if entropy is None else entropy, channel.query.max_entropy)
    if not (isinstance(tolerance, int | float) and tolerance > 0):
        raise InvalidInput(f"tolerance is {tolerance!r}; expected a positive number of nats, such as 1e-6.")
    if not (isinstance(time_limit, int | float) and time_limit > 0):
        raise InvalidInput(f"time_limit is {time_limit!r}; expected a positive number of seconds.")
    if method == "alternating":
        from leakwise.records.adversaries.alternating import alternating_leakage

        return alternating_leakage(
            channel, b, restarts=restarts, seed=seed, tolerance=min(tolerance, 1e-7), time_limit=time_limit
        )
    if method != "global":
        raise InvalidInput(f"method is {method!r}; expected 'global' or 'alternating'.")
    deadline = time.monotonic() + time_limit
    best: tuple[Case, Answer, str] | None = None
    bound, boxes, closed = 0.0, 0, True
    proofs: list[PosteriorTree | TangentProof | None] = []
    for case in channel.cases:
        reached = best[1].value if best else 0.0
        # A stored proof is rounded once more: it is sought a little closer than asked for.
        near = 0.99 * tolerance if certificate else tolerance
        answer, how = _solve(
            case, b, near, deadline, closed_form and not certificate, reached, start, seed, certificate
        )
        proofs.append(answer.proof)
        bound, boxes, closed = max(bound, answer.bound), boxes + answer.boxes, closed and answer.closed
        if best is None or answer.value > best[1].value:
            best = case, answer, how
    assert best is not None
    case, answer, how = best
    proof = information_certificate(channel, b, proofs) if certificate else None
    if proof is not None:
        bound = max(bound, float_above(proof.bound))
    closed = (closed and proof is None) or bound - answer.value <= tolerance
    return _result(channel, b, case, answer, max(bound, answer.value), how, closed, boxes, proof)


def _solve(
    case: Case,
    b: float,
    tolerance: float,
    deadline: float,
    closed_form: bool,
    floor: float,
    start: RecordLeakage | None,
    seed: int,
    keep: bool,
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
    answer = solve(
        problem, shifted, tolerance=tolerance, deadline=deadline, floor=floor, starts=starts, seed=seed, keep=keep
    )
    if answer.tangent:
        return answer, "the tangent of the information at the worst belief"
    return answer, f"branch and bound, {answer.boxes:,} boxes"


def _result(
    channel: Channel,
    b: float,
    case: Case,
    answer: Answer,
    bound: float,
    how: str,
    closed: bool,
    boxes: int,
    certificate: RecordInformationCertificate | None,
) -> RecordLeakage:
    return RecordLeakage(
        answer.value,
        bound,
        b,
        case.records[0],
        case.records,
        case.adversary(answer.belief),
        how,
        closed,
        boxes,
        f"{channel.name} on {channel.query.name}",
        answer.belief,
        certificate,
    )


def leakage_curve(channel: Channel, entropies: Iterable[float] | int = 21, **options: Any) -> Curve:
    """Return L(b) over a grid of b, warm-started; both sides are made monotone, which L(b) is.

    ``entropies`` is a number of points from 0 to ``log |X|`` or the points themselves (of the min-entropy for
    ``measure="pointwise"``); the rest as for :func:`leakage`.
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
    every_answer = options.get("measure") == "pointwise"
    for b in grid[::-1]:
        # What is feasible at a larger b is feasible here: start from it.
        held: dict[str, Any] = {"min_entropy" if every_answer else "entropy": float(b)}
        previous = leakage(channel, start=previous, **held, **options)
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
        f"{'min-' * every_answer}entropy b (nats)",
        "leakage (nats)",
    )
