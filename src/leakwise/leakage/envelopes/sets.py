"""The envelope when the prior is only known to lie in a set.

For finitely many priors it is the largest of theirs. For any other set a dual vector bounds all of its priors at once:
where v_x t ≥ 1 the term q_y + v_x (p_xy - t q_y) falls with q_y, so that the least mass a prior of the set gives to
the outcome y bounds it. With v = 1/t this is 𝓛 + log 1/δ, with v large the local leakage capacity; the best v is a
linear program.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np

from leakwise.leakage.envelopes.result import Envelope
from leakwise.mechanism import Mechanism
from leakwise.mechanism.mechanism import align_prior
from leakwise.priors import Prior, PriorSet
from leakwise.proof import EnvelopeCertificate
from leakwise.types import Floats

__all__ = ["is_set", "set_bound", "set_envelope"]


def is_set(prior: Any) -> bool:
    """Return whether it is a set of priors, or a list of them."""
    if isinstance(prior, (list, tuple)) and prior and all(isinstance(one, Prior) for one in prior):
        return True
    return isinstance(prior, PriorSet) and not isinstance(prior, Prior)


def set_envelope(
    mechanism: Mechanism, priors: PriorSet | Sequence[Prior], delta: Fraction, one: Callable[[Prior], Envelope]
) -> Envelope:
    """Return the largest envelope of a list of priors (exact), or a bound for a set around its nominal prior."""
    if not isinstance(priors, PriorSet):
        worst = [one(prior) for prior in priors]
        return max(worst, key=lambda found: found.epsilon)
    aligned = align_prior(priors, mechanism)
    nominal = one(aligned.nominal)
    certificate = set_bound(mechanism, aligned, delta)
    return replace(
        nominal,
        epsilon=certificate.epsilon_upper,
        upper=certificate.epsilon_upper,
        method="bound for a set of priors",
        certificate=certificate,
        published=None,
        _make=lambda: nominal.post_processing,
    )


def set_bound(mechanism: Mechanism, priors: PriorSet, delta: Fraction) -> EnvelopeCertificate:
    """Return a certificate that e^{ε_c(δ)} does not exceed a factor for any prior of the set."""
    rows = np.flatnonzero(priors.support)
    largest = [int(weight) for weight in mechanism.kernel.column_max(priors.support)]
    least = [priors.exact_least_mass(column) for column in mechanism.weights.T.tolist()]
    markov = Fraction(sum(largest), mechanism.denominator) / delta
    ratios = [weight / mass if mass else None for weight, mass in zip(largest, least, strict=True) if weight]
    capacity = None if None in ratios else max(ratio for ratio in ratios if ratio is not None)

    def claim(lift: Fraction, dual: Floats) -> EnvelopeCertificate:
        whole = [Fraction(0)] * mechanism.shape[0]
        for row, value in zip(rows.tolist(), dual.tolist(), strict=True):
            whole[row] = max(Fraction(value), 1 / lift)
        return EnvelopeCertificate(mechanism, priors, lift, delta, tuple(whole))

    nobody = np.zeros(len(rows))
    best = claim(markov, nobody)  # v = 1/t: Markov's inequality
    if capacity is not None and capacity < markov:
        best = claim(capacity, nobody)
    matrix, mass = mechanism.matrix[rows], np.array([float(value / mechanism.denominator) for value in least])
    low, high = 1.0, float(best.lift)
    # What a dual vector proves falls with t: halve in log t, and keep only what the exact check accepts.
    while high - low > 1e-11 * high:
        middle = float(np.sqrt(low) * np.sqrt(high))
        dual = _best_dual(matrix, mass, middle, float(delta))
        attempt = None if dual is None else claim(Fraction(middle), dual)
        if attempt is not None and attempt.bound() <= delta:
            best, high = attempt, middle
        else:
            low = middle
    return best


def _best_dual(matrix: Floats, mass: Floats, t: float, delta: float) -> Floats | None:
    """min Σ s_y  s.t.  s_y ≥ l_y + v_x (p_xy - t l_y), v_x ≥ 1/t, over the letters that reach beyond t."""
    from leakwise.lp import solve_lp

    letters, outcomes = matrix.shape
    excess = matrix - t * mass
    active = np.flatnonzero((excess > 0).any(axis=1))
    pairs = len(active) * outcomes
    letter, outcome = np.divmod(np.arange(pairs), outcomes)
    gaps = excess[active]
    # The dual program is the smaller one: a flow for each pair, u for the floor of v.
    costs = np.concatenate([mass[outcome], np.full(len(active), 1.0 / t)]) / delta
    data = np.concatenate([np.column_stack([np.ones(pairs), gaps.ravel()]).ravel(), -np.ones(len(active))])
    rows = np.concatenate([np.column_stack([outcome, outcomes + letter]).ravel(), outcomes + np.arange(len(active))])
    starts = np.concatenate([np.arange(0, 2 * pairs, 2), 2 * pairs + np.arange(len(active) + 1)])
    if not len(active):
        return np.zeros(letters)
    solution = solve_lp(
        costs,
        (data, rows, starts),
        np.concatenate([np.full(outcomes, -np.inf), np.zeros(len(active))]),
        np.concatenate([np.ones(outcomes), np.full(len(active), np.inf)]),
        maximize=True,
    )
    if not solution.optimal:
        return None
    dual = np.zeros(letters)
    dual[active] = np.maximum(-solution.duals[outcomes:] * delta, 1.0 / t)
    return dual
