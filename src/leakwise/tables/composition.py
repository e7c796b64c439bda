"""What several releases of one secret reveal together. PML ε of single releases are never added.

Three uniform letters released twice at ε = log 1.5 can reveal log 3, not log 2.25 ([ED] calls it linear; it is not).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from leakwise.leakage import ldp
from leakwise.mechanism import Mechanism
from leakwise.mechanism.mechanism import align_prior
from leakwise.priors import PriorSet

__all__ = ["Together", "together"]

Floats = npt.NDArray[np.float64]

MOST_OUTCOMES = 1_000_000
_MOST_CELLS = 1 << 26

# Two columns are one when all their entries agree to this; what that can change is added to the answer.
_KEPT_BITS = 40
# Below this a product may have lost digits, and the exact way is left.
_TINY = 1e-280


@dataclass(frozen=True)
class Together:
    """The leakage of several releases of one secret, for one prior or set of priors.

    Attributes
    ----------
    epsilon
        In nats, rounded up.
    exact
        Whether all releases were composed outcome by outcome; otherwise ``epsilon`` is a bound.
    outcomes
        The joint outcomes that were told apart.
    """

    epsilon: float
    exact: bool
    outcomes: int


def together(mechanisms: Sequence[Mechanism], prior: PriorSet, others: Sequence[Mechanism] = ()) -> Together:
    """What all the outcomes together reveal about the secret.

    Exact where the joint outcomes number at most 10⁶: outcomes whose columns are proportional say the same, so that
    repeated releases of one mechanism are counted by types. Beyond that, with A the releases composed exactly and
    B the rest: P(y_A,y_B|x)/P(y_A,y_B) ≤ e^{ε(A)} · max_x P(y_B|x)/min_x' P(y_B|x'), so
    ε ≤ min(ε_max, ε(A) + Σ_B LDP) (MATH.md section 5).

    Parameters
    ----------
    mechanisms
        Those over the letters of the prior.
    prior
        What is known of the secret beforehand.
    others
        Releases that depend on the secret and on more, such as one of a joint secret: only their LDP speaks.

    Examples
    --------
    >>> from leakwise import Mechanism, Prior
    >>> m = Mechanism([["0", "1/2", "1/2"], ["1/2", "0", "1/2"], ["1/2", "1/2", "0"]])
    >>> [f"{together([m] * n, Prior.uniform(3)).epsilon:.6f}" for n in (1, 2)]
    ['0.405465', '1.098612']
    """
    costs = [ldp(mechanism) for mechanism in mechanisms]
    # What the bound cannot speak of comes first, so that it is composed exactly if anything is.
    order = sorted(range(len(mechanisms)), key=lambda place: -costs[place])
    support = prior.support
    columns: Floats = np.ones((int(support.sum()), 1))
    composed = 0
    for place in order:
        mechanism = mechanisms[place]
        rows = _rows_in_order(mechanism, prior)[support]
        more = _product(columns, rows)
        if more is None:
            break
        columns = more
        composed += 1
    rest = sum(costs[place] for place in order[composed:]) + sum(ldp(mechanism) for mechanism in others)
    epsilon = _leakage(columns, prior, composed) + rest
    if rest:
        epsilon = math.nextafter(epsilon, math.inf)
    most = prior.nominal.epsilon_max if prior is prior.nominal else math.inf
    return Together(min(epsilon, most), composed == len(order) and not rest, columns.shape[1])


def _rows_in_order(mechanism: Mechanism, prior: PriorSet) -> Floats:
    """The kernel with its rows in the order of the prior's letters."""
    aligned = align_prior(prior, mechanism)  # refuses other letters
    if aligned.labels == prior.labels or not prior.alphabet.declared:
        return mechanism.matrix
    index = mechanism.input_alphabet.index
    rows: Floats = mechanism.matrix[[index[label] for label in prior.labels]]
    return rows


def _product(columns: Floats, rows: Floats) -> Floats | None:
    """The columns of the joint release, each scaled to a largest entry of 1; None where there are too many."""
    size = columns.shape[1] * rows.shape[1]
    if size * columns.shape[0] > _MOST_CELLS or size > 64 * MOST_OUTCOMES:
        return None
    joint = (columns[:, :, None] * rows[:, None, :]).reshape(len(columns), size)
    possible = (columns[:, :, None] > 0) & (rows[:, None, :] > 0)
    if (joint[possible.reshape(joint.shape)] < _TINY).any():
        return None
    largest = joint.max(axis=0)
    joint = joint[:, largest > 0] / largest[largest > 0]
    joint = joint[:, _different(joint)]
    return joint if joint.shape[1] <= MOST_OUTCOMES else None


def _different(columns: Floats) -> npt.NDArray[np.intp]:
    """The places of columns that differ from each other: the leakage of an outcome depends on its column's shape."""
    cut = 52 - _KEPT_BITS
    bits = np.ascontiguousarray(columns).view(np.int64)
    keys = (bits + (1 << (cut - 1))) >> cut
    _, first = np.unique(keys, axis=1, return_index=True)
    places: npt.NDArray[np.intp] = np.sort(first)
    return places


def _leakage(columns: Floats, prior: PriorSet, steps: int) -> float:
    """log max_j max_i v_ij / min_Q Q·v_j, rounded up by more than all rounding on the way."""
    whole = np.zeros((len(prior.labels), columns.shape[1]))
    whole[prior.support] = columns
    least = prior.least_mass(whole).min()
    if least <= 0:
        return math.inf
    slack = (steps + 1) * 2.0 ** (2 - _KEPT_BITS)
    return math.nextafter(max(0.0, -math.log(least)) + slack, math.inf) if steps else 0.0
