r"""Boxes for few outcomes: neighbours are merged, and the entropy pays for what is told within a group of them.

With Z for the group of Y, I(a; Y) = I(a; Z) + I(a; Y | Z). Given Z = z the rows are those of the group, scaled to one,
and they are much more alike than the whole rows. Let η be the contraction of the worst group (``tangent.py``). For
beliefs u, u' with laws P, P', and divergences averaged over a with P(a), the second part is below its tangent at u'
plus

.. math:: \sum_z P(z) D(P_{Y|a,z} ‖ P'_{Y|a,z}) ≤ η \sum_z P(z) D(u_{·|a,z} ‖ u'_{·|a,z})
          = η \bigl[D(u_{·|a} ‖ u'_{·|a}) - D(P_{Z|a} ‖ P'_{Z|a})\bigr].

The share η of I(a; Z) is at most its own tangent plus η D(P_{Z|a} ‖ P'_{Z|a}), which cancels. So

.. math:: I(a;Y) ≤ (1-η) I(a;Z) + T_{u'}\bigl[I(a;Y) - (1-η) I(a;Z)\bigr] + η D(u_{·|a} ‖ u'_{·|a})

with T for the tangent at u', and chords are needed for the posteriors P(a | z) alone: a handful instead of one for each
outcome. It pays where a nat of entropy is worth several times η.
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass

import numpy as np

from leakwise.records.bounds.dual import Mixture
from leakwise.records.bounds.tangent import contraction, told
from leakwise.records.queries.problem import Problem
from leakwise.types import Floats, Indices

__all__ = ["View", "views"]

_LIMITS = (0.2, 0.35, 0.5)  # the most a group may tell, in parts of what a nat of entropy is worth
_MOST = 0.9  # and what it may tell at all
_MOST_OUTPUTS = 48
_EVEN = 1e-6  # how much of the uniform belief is mixed in, so that no class is impossible
_SHARE = 0.99  # the most of a mixture that is a tangent
_LEAST = 1e-290
_FAINT = 1e-200  # of a class: what is told is then above the floor of its logarithms wherever it matters


@dataclass(frozen=True, eq=False)
class View:
    """A problem with its outcomes merged: ``within`` is the contraction of the worst group, ``among`` that of groups.

    A problem whose outcomes are left alone is a view, too, with ``within`` 0.
    """

    problem: Problem
    coarse: Problem
    within: float
    among: float

    @classmethod
    def whole(cls, problem: Problem) -> View:
        """Merge nothing."""
        return cls(problem, problem, 0.0, contraction(problem))

    @classmethod
    def merged(cls, problem: Problem, groups: list[Indices]) -> View:
        """Merge each group of outcomes."""
        rows = np.stack([problem.rows[:, group].sum(axis=1) for group in groups], axis=1)
        coarse = Problem(rows, problem.letter, problem.multiplicities)
        within = max(contraction(problem, group) for group in groups)
        return cls(problem, coarse, within, contraction(coarse))

    def mixture(self, beliefs: Floats, scale: Floats, part: float) -> Mixture:
        """Return the tangents at beliefs (B×K), with the given part of what entropies worth ``scale`` (B) can pay for.

        What is told within groups is paid for first, and then a share of what the groups tell.
        """
        u = np.maximum((1 - _EVEN) * beliefs + _EVEN * self.problem.uniform, _FAINT)
        dear = max((1 - self.within) * self.among, _LEAST)
        rest = part * np.maximum(scale - self.within, 0.0) / dear
        more = (1 - self.within) * np.minimum(rest, _SHARE)
        kept, paid = 1 - self.within - more, self.within + more * self.among
        each, size = told(self.problem, u)
        if self.within:
            groups, large = told(self.coarse, u)
            tangent = each - kept[:, None] * groups
            size = (size + large) * self.problem.rows.shape[1] / self.coarse.rows.shape[1]
        else:
            tangent = (1 - kept)[:, None] * each
        blocks = self.problem.blocks
        own = np.stack([u[:, block].sum(axis=1) for block in blocks], axis=1)[:, self.problem.letter]
        rare = paid[:, None] * np.log(u / own)
        return Mixture(kept, paid, tangent - rare, size + 4 + np.abs(rare).max(axis=1))


def views(problem: Problem, worth: float) -> list[View]:
    """Return the problem as it is, and with groups that a nat of entropy worth so much can pay for."""
    found = [View.whole(problem)]
    outputs = problem.rows.shape[1]
    if not 2 < outputs <= _MOST_OUTPUTS:
        return found
    order, limits = _order(problem), [min(limit * worth, _MOST) for limit in _LIMITS]
    costs = np.full((outputs + 1, outputs + 1), np.inf)  # of the group order[i:j]
    for i in range(outputs):
        for j in range(i + 1, outputs + 1):
            costs[i, j] = contraction(problem, order[i:j]) if j > i + 1 else 0.0
            if costs[i, j] > limits[-1]:
                break
    for limit in limits:
        groups = [order[i:j] for i, j in itertools.pairwise(_fewest(costs, limit))]
        if len(groups) < found[-1].coarse.rows.shape[1]:
            found.append(View.merged(problem, groups))
    return found


def _order(problem: Problem) -> Indices:
    """Sort the outcomes by what they tell: those beside each other change with the classes in the same way."""
    law = np.maximum(problem.uniform @ problem.rows, _LEAST)
    change = np.sqrt(problem.uniform)[:, None] * (problem.rows - law) / np.sqrt(law)
    return np.argsort(np.linalg.svd(change, full_matrices=False)[2][0] / np.sqrt(law), kind="stable")


def _fewest(costs: Floats, limit: float) -> list[int]:
    """Return the ends of the fewest groups that each cost at most ``limit``, with the worst of them at its best."""
    last = len(costs) - 1
    best, choices = costs[0], []
    while best[last] > limit:
        through = np.maximum(best[:, None], costs)
        choices.append(through.argmin(axis=0))
        best = through.min(axis=0)
    ends = [last]
    for choice in reversed(choices):
        ends.append(int(choice[ends[-1]]))
    return [0, *reversed(ends)]
