"""The envelope of one mechanism at one δ, and its inverse, the closed failure probability δ_c(ε)."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from leakwise.errors import InvalidInput, LeakwiseWarning, did_you_mean
from leakwise.exact import exact_fraction, float_above, level, log_lower, log_upper
from leakwise.leakage.envelopes.binary import Bounds, bounds
from leakwise.leakage.envelopes.closed_forms import (
    Response,
    as_response,
    constant_lift,
    constant_shares,
    published_bound,
)
from leakwise.leakage.envelopes.dual import DualProgram
from leakwise.leakage.envelopes.problem import Columns, Problem, as_problem
from leakwise.leakage.envelopes.program import Program
from leakwise.leakage.envelopes.proofs import proven_factor, proven_failure
from leakwise.leakage.envelopes.result import Envelope
from leakwise.leakage.envelopes.search import Solver, search, tidy
from leakwise.leakage.envelopes.sets import is_set, set_envelope
from leakwise.leakage.envelopes.shares import ExactShares, exact_shares
from leakwise.leakage.measures.arguments import checked, single_prior
from leakwise.mechanism import Mechanism
from leakwise.mechanism.kernel import refuse_large
from leakwise.priors import Prior
from leakwise.proof import EnvelopeCertificate
from leakwise.types import Floats

__all__ = ["METHODS", "envelope", "failure_probability", "open_delta"]

METHODS = ("auto", "closed", "primal", "dual")

# Up to so many pairs of letter and outcome the whole linear program is written down.
PRIMAL_PAIRS = 300_000
# Up to so many letters randomized response is written out as a matrix for its post-processing.
_WRITTEN_LETTERS = 2_000
_LARGE_LIFT = 1e6


def open_delta(delta: Any) -> Fraction:
    """Return δ strictly between 0 and 1, exact."""
    value = exact_fraction(delta, "delta")
    if not 0 < value < 1:
        hint = " At delta = 0 the envelope is lw.epsilon(mechanism, prior)." if value == 0 else ""
        raise InvalidInput(f"delta must be a probability strictly between 0 and 1. Got {delta!r} instead.{hint}")
    return value


def envelope(mechanism: Mechanism, prior: Any, delta: object, *, method: str = "auto") -> Envelope:
    r"""Return the PML envelope ε_c(δ): what holds with probability 1-δ after any post-processing of the outcome.

    .. math:: \varepsilon_c(\delta) = \max\{\log t : V(t) \ge \delta\}, \quad V(t) = \sup_Z P(\ell(Z) \ge \log t)

    V is a linear program with one flow for each letter and outcome (see :mod:`leakwise.leakage.envelopes.program`);
    [EN] defines the envelope and bounds it (Theorems 3 to 5), and leaves its value open.

    Parameters
    ----------
    mechanism
        A Mechanism, or a Composition (``m.repeat(n)``, ``lw.compose``).
    prior
        A Prior. For a list of priors the largest envelope; for a set of priors a proven upper bound.
    delta
        The probability over outcomes that may be given up, strictly between 0 and 1.
    method
        ``"auto"``, or one of ``"closed"`` (closed forms), ``"primal"`` (the linear program), ``"dual"`` (one variable
        for each letter, for very many outcomes).

    Returns
    -------
    Envelope
        ``.epsilon`` proven and rounded up, ``.gap``, ``.post_processing`` that attains it, ``.certificate``, and the
        bounds ``.lower``, ``.binary``, ``.upper`` of [EN].

    Examples
    --------
    >>> from leakwise import Mechanism, Prior
    >>> m = Mechanism([[0, 0, "1/2", "1/2"], [0, 0, "1/2", "1/2"], [0, ".2", ".4", ".4"], [".2", 0, ".4", ".4"]])
    >>> e = envelope(m, Prior.uniform(4), "0.2")
    >>> print(f"{e.epsilon:.6f} {e.gap < 1e-12}")  # log 22/9
    0.893818 True
    """
    if method not in METHODS:
        raise InvalidInput(
            f"method must be one of {', '.join(METHODS)}. Got {method!r} instead.{did_you_mean(method, METHODS)}"
        )
    allowed = open_delta(delta)
    if is_set(prior):
        return set_envelope(
            checked(mechanism), prior, allowed, lambda one: envelope(mechanism, one, allowed, method=method)
        )
    known = single_prior(prior, checked(mechanism))
    if method in ("auto", "closed"):
        found = _closed(mechanism, known, allowed)
        if found is not None:
            return found
        if method == "closed":
            raise InvalidInput(
                "method 'closed' needs randomized response with a prior that gives mass to every letter, or a "
                "mechanism whose outcomes all leak the same. This one is neither: leave method out."
            )
    refuse_large(*mechanism.shape, "Its envelope has no closed form; group its letters or its outcomes first.")
    return _searched(as_problem(mechanism, known), allowed, method)


# ------------------------------------------------------------------------------------------------ closed forms


def _closed(mechanism: Mechanism, prior: Prior, delta: Fraction) -> Envelope | None:
    response = as_response(mechanism, prior)
    if response is not None:
        return _of_response(mechanism, prior, delta, response)
    lift = constant_lift(mechanism, prior)
    if lift is None:
        return None
    problem = as_problem(mechanism, prior)
    nobody = tuple(Fraction(0) for _ in range(mechanism.shape[0]))
    certificate = EnvelopeCertificate(mechanism, prior, lift, delta, nobody)
    found = bounds(problem, delta)
    shares = exact_shares(problem, constant_shares(problem), delta)
    return _result(problem, delta, found, certificate, shares, "constant envelope ([EN] Corollary 1)", 0)


def _of_response(mechanism: Mechanism, prior: Prior, delta: Fraction, response: Response) -> Envelope:
    lift, raised, _ = response.lift(delta)
    certificate = EnvelopeCertificate(mechanism, prior, lift, delta, tuple(response.dual(lift)))
    count, theta = response.position(delta)
    target = delta * response.unit
    alone = (response.truth + (count - 2 + theta) * response.lie) / target
    binary = Fraction(response.truth, response.law[0]) if count == 1 else alone
    quantile = Fraction(response.truth, response.law[count - 1])
    worst = Fraction(response.truth, response.law[0])
    markov = len(response.law) * response.truth / target

    def make() -> Mechanism:
        letters = mechanism.shape[0]
        if letters > _WRITTEN_LETTERS:
            raise InvalidInput(
                f"post_processing is written out for at most {_WRITTEN_LETTERS:,} letters; this mechanism has "
                f"{letters:,}. The value and its certificate need no matrix."
            )
        problem = as_problem(mechanism, prior)
        return exact_shares(problem, _placed(problem, response, lift, raised, delta), delta).mechanism()

    return Envelope(
        mechanism,
        prior,
        delta,
        epsilon=log_upper(lift),
        attained=max(0.0, log_lower(lift)),
        lower=max(0.0, log_lower(max(binary, quantile))),
        upper=log_upper(min(worst, markov)),
        binary=max(0.0, log_lower(binary)),
        method="randomized response in closed form",
        certificate=certificate,
        published=published_bound(response, delta)[0],
        _make=make,
    )


def _placed(problem: Problem, response: Response, lift: Fraction, raised: int, delta: Fraction) -> Any:
    """The shares of the closed form, over the columns of the problem (outcomes of equal lifts are one column)."""
    shares = response.shares(lift, raised, delta)
    mass = np.array([problem.law[outcome] / problem.unit for outcome in problem.outcomes.tolist()])
    column = problem.place[shares.column]
    part = shares.share * mass[shares.column] / problem.columns.mass[column]
    return type(shares)(shares.letter, column, part)


# -------------------------------------------------------------------------------------------------- the search


def solver_for(columns: Columns, delta: float, method: str) -> Solver:
    """Return the engine that suits the size, or the one asked for."""
    if method == "primal" or (method != "dual" and columns.lift.size <= PRIMAL_PAIRS):
        return Program(columns, delta)
    return DualProgram(columns, delta)


def _searched(problem: Problem, delta: Fraction, method: str) -> Envelope:
    found = bounds(problem, delta)
    if found.below >= found.above:  # the bounds of [EN] meet
        shares = exact_shares(problem, found.best_shares, delta)
        certificate = _bound_certificate(problem, found, delta)
        return _result(problem, delta, found, certificate, shares, "the bounds of [EN] meet", 0)
    low, high = float(found.below), float(found.above)
    # Products of very large lifts and their tiny dual numbers underflow: such a problem is solved in units of a lift.
    scale = low if low > _LARGE_LIFT else 1.0
    columns = problem.columns if scale == 1.0 else Columns(problem.columns.lift / scale, problem.columns.mass)
    solver = solver_for(columns, float(delta), method)
    guess = solver.first_guess(low / scale) if isinstance(solver, DualProgram) else None
    root = search(solver, low / scale, high / scale, guess)
    if scale != 1.0:
        root = replace(root, t=root.t * scale, dual=root.dual / scale)
    reached = tidy(problem.columns, root.shares, root.t)
    # Masses far below the solver's tolerance leave it without any share; what the bounds reach stands in.
    empty = not (reached.share * problem.columns.mass[reached.column] > 0).any()
    shares = exact_shares(problem, found.best_shares if empty else reached, delta)
    if shares.lift < found.below:
        shares = exact_shares(problem, found.best_shares, delta)
    factor, dual = _proven(problem, root.dual, root.t, delta)
    name = "dual, box by box" if isinstance(solver, DualProgram) else "linear program"
    if factor is None or factor > found.above:
        certificate = _bound_certificate(problem, found, delta)
    else:
        certificate = _certificate(problem, dual, factor, delta)
    return _result(problem, delta, found, certificate, shares, name, solver.solves)


def _proven(problem: Problem, dual: Floats, t: float, delta: Fraction) -> tuple[Fraction | None, Floats]:
    """The least factor that the dual vector proves, or one a few roundings smaller.

    At a vertex some outcomes are worth exactly nothing. Where only rare outcomes are worth something, a v rounded up
    leaves the dual value all but flat, and t far away; rounded down, the tied outcomes make it fall.
    """
    best, vector = proven_factor(problem, dual, t, delta), dual
    for shrink in (2.0**-51, 2.0**-48, 2.0**-44):
        if best is not None and best <= Fraction(t) * (1 + Fraction(1, 10**12)):
            break
        smaller = dual * (1.0 - shrink)
        found = proven_factor(problem, smaller, t, delta)
        if found is not None and (best is None or found < best):
            best, vector = found, smaller
    return best, vector


def _bound_certificate(problem: Problem, found: Bounds, delta: Fraction) -> EnvelopeCertificate:
    """Theorem 3 as a dual vector: nobody reaches beyond ε, and Markov's inequality is v = 1/t for everybody."""
    markov = found.markov < found.worst
    dual = [1 / found.above if markov and here else Fraction(0) for here in problem.prior.support]
    return EnvelopeCertificate(problem.mechanism, problem.prior, found.above, delta, tuple(dual))


def _certificate(problem: Problem, dual: Floats, factor: Fraction, delta: Fraction) -> EnvelopeCertificate:
    whole = [Fraction(0)] * problem.mechanism.shape[0]
    for letter, value in zip(problem.letters.tolist(), dual.tolist(), strict=True):
        whole[letter] = Fraction(value)
    return EnvelopeCertificate(problem.mechanism, problem.prior, factor, delta, tuple(whole))


def _result(
    problem: Problem,
    delta: Fraction,
    found: Bounds,
    certificate: EnvelopeCertificate,
    shares: ExactShares,
    method: str,
    solves: int,
) -> Envelope:
    make: Callable[[], Mechanism] = shares.mechanism
    return Envelope(
        problem.mechanism,
        problem.prior,
        delta,
        epsilon=certificate.epsilon_upper,
        attained=max(0.0, log_lower(shares.lift)),
        lower=found.lower,
        upper=found.upper,
        binary=max(0.0, log_lower(found.binary)),
        method=method,
        certificate=certificate,
        solves=solves,
        _make=make,
    )


# ------------------------------------------------------------------------------------------------- the inverse


def failure_probability(mechanism: Mechanism, prior: Any, epsilon: object = None, *, lift: object = None) -> float:
    """Return δ_c(ε): the largest probability of a leakage above ε after any post-processing, never below the truth.

    The closed failure probability of [EN] (8), by the same linear program as :func:`envelope`, with the letters that
    can reach beyond e^ε. At most 1; 0 from the ε of PML on.

    >>> from leakwise import Prior, randomized_response
    >>> failure_probability(randomized_response(2, lift=3), Prior.uniform(2), lift="3/2")
    0.0
    >>> failure_probability(randomized_response(2, lift=3), Prior.uniform(2), lift="4/3")
    1.0
    """
    known = single_prior(prior, checked(mechanism))
    # A factor not above e^ε: the probability is then not below the truth.
    t = level(epsilon, lift).below
    if t * known.least_probability >= 1:
        if t * known.least_probability > 1 + Fraction(1, 10**9):  # not for lw.epsilon, which is rounded up
            warnings.warn(
                f"No mechanism leaks more than {known.epsilon_max:.6g} nats about this prior (its rarest letter named "
                "outright): the failure probability is 0.",
                LeakwiseWarning,
                stacklevel=2,
            )
        return 0.0
    problem = as_problem(mechanism, known)
    if t >= problem.worst_lift:
        return 0.0
    return float_above(failure(problem, t)[0])


def failure(problem: Problem, t: Fraction) -> tuple[Fraction, Floats]:
    """Return a proven δ_c(log t), as tight as the dual vector allows, and that vector."""
    largest = problem.columns.largest
    near = np.abs(largest - float(t)) <= 1e-12 * float(t)
    active = (largest > float(t)) & ~near
    for letter in np.flatnonzero(near).tolist():
        active[letter] = problem.largest_lift(letter) > t
    unit = 1.0
    best, vector = Fraction(1), np.zeros(len(largest))
    while True:
        solver = solver_for(problem.columns, unit, "auto")
        if isinstance(solver, DualProgram):
            solver.warm(float(t))
        solved = solver.solve(float(t), active)
        dual = solved.polished_dual
        if (dual[active] > 0).all():
            found = proven_failure(problem, dual, t)
            if found < best:
                best, vector = found, dual
        # A probability far below the unit drowns in the solver's tolerances: ask again in a smaller unit.
        if solved.value > 1e-4 or unit < 1e-290:
            return best, vector
        unit *= 1e-4
