"""Envelopes in closed form: the constant one ([EN] Corollary 1) and k-ary randomized response for every prior.

For k-RR, [EN] Theorem 5 has a lower bound h under a condition on the prior, and conjectures that it is the envelope.
The exact value for every prior is ([beyond], the mathematics, section 5)

    e^{ε_c(δ)} = max_{1≤L≤N} min{ α/q_L, (Lα + (N-1-L+θ)β)/δ },

q ascending, N and θ with q_1 + … + q_{N-1} + θ q_N = δ: only the letters up to L can reach that lift, the other
outcomes fill the surplus, smallest first.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np

from leakwise.exact import log_lower
from leakwise.leakage.envelopes.problem import Problem
from leakwise.leakage.envelopes.shares import Shares
from leakwise.mechanism import CommonLawKernel, Mechanism
from leakwise.priors import Prior

__all__ = ["Response", "as_response", "constant_lift", "constant_shares", "published_bound"]

# Above this a dense matrix is not searched for the shape of randomized response.
_DENSE_LETTERS = 2_000


def constant_lift(mechanism: Mechanism, prior: Prior) -> Fraction | None:
    """Return the one lift e^ε that every outcome has, or None: then ε_c(δ) = ε for all δ ([EN] C1, T4)."""
    kernel = mechanism.kernel
    largest = kernel.column_max(prior.support).tolist()
    if kernel.denominator < 1 << 900:  # floats say no at once where they can
        mass = kernel.output_law_floats(prior.weights, prior.denominator)
        possible = mass > 0
        ratios = (np.array(largest, dtype=np.float64) / float(kernel.denominator))[possible] / mass[possible]
        if ratios.max() > ratios.min() * (1 + 1e-6 * len(prior)):
            return None
    first: tuple[int, int] | None = None
    for weight, exact in zip(largest, kernel.output_law(prior.weights), strict=True):
        if not exact:
            continue
        if first is None:
            first = int(weight), exact
        elif int(weight) * first[1] != first[0] * exact:
            return None
    assert first is not None
    return Fraction(first[0] * prior.denominator, first[1])


@dataclass(frozen=True, eq=False)
class Response:
    """k-RR with letters in ascending order of probability: α, β, q as integers over one unit."""

    truth: int
    lie: int
    law: list[int]
    order: list[int]
    unit: int
    reach: list[int]

    def position(self, delta: Fraction) -> tuple[int, Fraction]:
        """Return N (from 1) and θ: the outcomes that make up δ, smallest first."""
        count = bisect_left(self.reach, delta * self.unit) + 1
        before = self.reach[count - 2] if count > 1 else 0
        return count, (delta * self.unit - before) / self.law[count - 1]

    def lift(self, delta: Fraction) -> tuple[Fraction, int, bool]:
        """e^{ε_c(δ)}, exact; how many letters are raised; and whether it is the lift of a letter (a jump of V)."""
        count, theta = self.position(delta)
        target = delta * self.unit

        def filled(letters: int) -> Fraction:
            return (letters * self.truth + (count - 1 - letters + theta) * self.lie) / target

        # α/q_L falls with L and the other term rises: the best is where they cross.
        crossing = bisect_left(
            range(1, count + 1), True, key=lambda letters: filled(letters) * self.law[letters - 1] >= self.truth
        )
        best = Fraction(0), 0, False
        for letters in (crossing, crossing + 1):
            if 1 <= letters <= count:
                own, shared = Fraction(self.truth, self.law[letters - 1]), filled(letters)
                best = max(best, (min(own, shared), letters, own <= shared))
        return best

    def dual(self, lift: Fraction) -> list[Fraction]:
        """One v for every letter that reaches beyond the lift, in the order of the alphabet; 0 for the others."""
        raised = sum(1 for mass in self.law if self.truth > lift * mass)
        surplus = raised * self.truth - lift * (self.reach[raised - 1] if raised else 0)
        v = Fraction(0)
        if raised:
            # The outcome at which the surplus is used up: it is worth nothing, v (β/q - t) = -1.
            tie = len(self.law) - 1
            for place in range(raised, len(self.law)):
                surplus -= lift * self.law[place] - self.lie
                if surplus <= 0:
                    tie = place
                    break
            v = self.law[tie] / (lift * self.law[tie] - self.lie)
        dual = [Fraction(0)] * len(self.law)
        for place in range(raised):
            dual[self.order[place]] = v
        return dual

    def shares(self, lift: Fraction, raised: int, delta: Fraction) -> Shares:
        """Return the post-processing that attains it, over letters and outcomes in the order of the alphabet."""
        count, theta = self.position(delta)
        letter, column, share = list(range(raised)), list(range(raised)), [1.0] * raised
        left = [self.truth - lift * self.law[place] for place in range(raised)]
        giver = 0
        for place in range(raised, count):
            rest = theta if place == count - 1 else Fraction(1)
            cost = lift * self.law[place] - self.lie
            while rest > 0 and giver < raised:
                part = min(rest, left[giver] / cost)
                if part > 0:
                    letter.append(giver)
                    column.append(place)
                    share.append(float(part))
                    left[giver] -= part * cost
                    rest -= part
                if rest > 0:
                    giver += 1
        order = np.array(self.order)
        return Shares(order[letter], order[column], np.array(share))


def as_response(mechanism: Mechanism, prior: Prior) -> Response | None:
    """Return the k-RR that a mechanism is, or None; the prior must give mass to every letter."""
    letters, outcomes = mechanism.shape
    if letters != outcomes or letters < 2 or not prior.support.all():
        return None
    kernel = mechanism.kernel
    if isinstance(kernel, CommonLawKernel):
        lie, diagonal = int(kernel.common[0]), kernel.diagonal
        same = bool((kernel.common == kernel.common[0]).all())
    else:
        if letters > _DENSE_LETTERS:
            return None
        weights = mechanism.weights
        lie, diagonal = int(weights[0, 1]), int(weights[0, 0]) - int(weights[0, 1])
        beside = weights[~np.eye(letters, dtype=np.bool_)]
        same = bool((beside == lie).all() and (np.diagonal(weights) == lie + diagonal).all())
    if not same or diagonal <= 0:
        return None
    masses = kernel.output_law(prior.weights)
    order = sorted(range(letters), key=masses.__getitem__)
    law = [masses[place] for place in order]
    scale = prior.denominator
    return Response(
        (lie + diagonal) * scale, lie * scale, law, order, mechanism.denominator * scale, list(accumulate(law))
    )


def published_bound(response: Response, delta: Fraction) -> tuple[float, bool]:
    """Return h of [EN] Theorem 5 in nats, rounded down, and whether the theorem's condition on the prior holds.

    A lower bound always; the envelope itself under the condition, as the paper conjectured.
    """
    count, theta = response.position(delta)
    q, truth, lie = response.law, response.truth, response.lie
    if count == 1:
        return log_lower(Fraction(truth, q[0])), True
    last, before = q[count - 1], q[count - 2]
    below = response.reach[count - 2]
    first = truth * Fraction((count - 2) * before - (below - before), truth * last - lie * before)
    second = truth * Fraction((count - 1) * last - below, last * (truth - lie))
    if theta <= first:
        factor = Fraction(truth, before)
    elif theta <= second:
        factor = ((count - 1) * truth + theta * lie) / (delta * response.unit)
    else:
        factor = Fraction(truth, last)
    # q_i = β + (α-β) p_i turns the condition on p_N into one on q.
    own, others = Fraction(last - lie, truth - lie), Fraction(below - (count - 1) * lie, truth - lie)
    condition = own * ((count - 2) * truth + lie) <= truth * others + lie
    return max(0.0, log_lower(max(factor, Fraction(1)))), condition


def constant_shares(problem: Problem) -> Shares:
    """Let every outcome speak for the letter that it raises most."""
    letter = problem.columns.lift.argmax(axis=0)
    return Shares(letter, np.arange(len(letter)), np.ones(len(letter)))
