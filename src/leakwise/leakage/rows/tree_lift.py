r"""The largest lift of a row whose columns form a tree, between two numbers, however many joint outcomes there are.

For a row s and outcomes y the lift is :math:`1/\sum_{s'} P(s') \prod_i P_i(y_i|s'_i) / P_i(y_i|s_i)`: the least value
over all rows and outcomes of a sum over a tree. Messages are sets of vectors, one for each choice below, of which few
are kept that lie below all (:mod:`leakwise.leakage.rows.tree_sets`): an upper bound on the lift, exact if enough are
kept. A search finds outcomes with a large lift; whatever cannot have a larger one is left out in the next round.

Which values a row can have next to each other matters only where some are impossible: the values of a column that have
the same possible neighbours are a class, and messages are by class. There is one for each column where all is possible.
"""

from __future__ import annotations

import time
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, TypeAlias

import numpy as np

from leakwise.errors import InvalidInput
from leakwise.leakage.rows.joint import Secret
from leakwise.leakage.rows.maximum import LargestLift
from leakwise.leakage.rows.tree_prior import TreePrior
from leakwise.leakage.rows.tree_sets import below_all, possible, products
from leakwise.mechanism import Mechanism
from leakwise.types import Bools, Floats, Indices

__all__ = ["tree_lift"]

# Vectors that are kept in the first round; each round keeps twice as many.
_FIRST, _LAST = 64, 8192
# Vectors that what is outside of a subtree is known by; fewer where there are many classes.
_OUTSIDE, _FEWEST = 256, 48
# How much longer the next round may take than the last.
_LONGER = 5
# The gap at which no further round is made.
_CLOSE = 5e-3
_STARTS = 200
# Numbers that products are made of at a time.
_BLOCK = 1 << 23
_UNIT = 2.0**-53 * 1.02

Sets: TypeAlias = dict[tuple[int, int], Floats]


@dataclass(frozen=True)
class _Node:
    """A column: its place, the one it is by, those by it, its matrix, and the probabilities of its outcomes."""

    parent: int | None
    children: tuple[int, ...]
    law: Floats
    lifts: Floats  # a row for each outcome, its largest entry 1
    marginal: Floats
    classes: tuple[Indices, ...]

    def columns(self, group: int) -> Floats:
        """The outcomes, divided by what the likeliest value of the class gives them; none that it cannot cause."""
        tops = self.lifts[:, self.classes[group]].max(axis=1)
        found: Floats = self.lifts[tops > 0] / tops[tops > 0][:, None]
        return found


def tree_lift(
    prior: TreePrior, mechanisms: Mapping[Any, Any], *, seconds: float = 20.0
) -> tuple[LargestLift, dict[Hashable, Fraction]]:
    """Return the largest lift of any guess about the row, and what each mechanism adds at most.

    The lift is between a number that outcomes attain and a proven bound, on which so many seconds of one core are
    spent, or a few more. Each mechanism is drawn from by itself: none may depend on the outcomes of others. What one
    adds is its own lift for one of them, and the lift for anyone for all others; none where that has no bound.
    """
    secrets = _secrets(prior, mechanisms)
    tree = _Tree(prior, secrets)
    best, outcomes = tree.search()
    upper = tree.bound(best, time.process_time() + seconds)
    named = tuple(
        one.column((), ()).mechanism.outputs[tree.outcome(place, code)]
        for place, (one, code) in enumerate(zip(secrets, outcomes, strict=True))
    )
    lower, above = Fraction(best * (1 - tree.error)), Fraction(max(upper, best) * (1 + tree.error))
    return LargestLift(lower, above, named, ()), tree.steps([one.name for one in secrets])


def _secrets(prior: TreePrior, mechanisms: Mapping[Any, Any]) -> list[Secret]:
    names = list(prior.priors)
    if set(names) != set(mechanisms):
        raise InvalidInput(
            f"mechanisms must have one mechanism for each column of the tree, {', '.join(map(repr, names))}. Got "
            f"{', '.join(map(repr, mechanisms)) or 'none'}."
        )
    for name in names:
        if not isinstance(mechanisms[name], Mechanism):
            raise InvalidInput(
                f"The mechanism of {name!r} must be a lw.Mechanism: with a TreePrior none depends on others. Got "
                f"{type(mechanisms[name]).__name__} instead."
            )
    return [Secret(name, prior.labels(name), mechanisms[name], (), ()) for name in names]


class _Tree:
    def __init__(self, prior: TreePrior, secrets: Sequence[Secret]) -> None:
        names = list(prior.priors)
        parents = [None if (one := prior.parents[name]) is None else names.index(one) for name in names]
        children = [tuple(at for at, parent in enumerate(parents) if parent == place) for place in range(len(names))]
        laws = [prior.matrix(name) for name in names]
        marginals: list[Floats] = []
        for law, parent in zip(laws, parents, strict=True):
            marginals.append(law[0] if parent is None else marginals[parent] @ law)
        # Outcomes that no value can lead to do not occur.
        tables = [one.column((), ()).lifts.T for one in secrets]
        self._kept = [np.flatnonzero(table.max(axis=1) > 0) for table in tables]
        self.nodes = [
            _Node(
                parents[place],
                children[place],
                laws[place],
                tables[place][self._kept[place]],
                marginals[place],
                _classes(laws[place], [laws[child] for child in children[place]]),
            )
            for place in range(len(names))
        ]
        self._most_outside = max(_FEWEST, _OUTSIDE // max(len(node.classes) for node in self.nodes))
        self.error = 2 * sum(node.law.shape[1] + len(node.children) + 6 for node in self.nodes) * _UNIT

    def steps(self, names: Sequence[Hashable]) -> dict[Hashable, Fraction]:
        """What each mechanism adds at most, for the first that gains most by being taken first; empty if unbounded."""
        least = [float(node.lifts.min()) for node in self.nodes]
        if min(least) <= 0:
            return {}
        own = [float(1 / (node.lifts @ node.marginal).min()) for node in self.nodes]
        first = min(range(len(own)), key=lambda place: own[place] * least[place])
        told = [own[place] if place == first else 1 / least[place] for place in range(len(own))]
        return {name: Fraction(one * (1 + self.error)) for name, one in zip(names, told, strict=True)}

    def outcome(self, place: int, code: int) -> int:
        """The code of an outcome among all of the mechanism."""
        return int(self._kept[place][code])

    def allowed(self, child: int, above: int, group: int) -> bool:
        """Whether the values of a class of a column can follow those of a class of the column that it is by."""
        node = self.nodes[child]
        row = 0 if node.parent is None else self.nodes[node.parent].classes[above][0]
        return bool(node.law[row, node.classes[group][0]] > 0)

    # -- the upper bound ----------------------------------------------------------------------------------------

    def bound(self, known: float, deadline: float) -> float:
        """A number that no lift exceeds, in rounds that keep more and more, until it is close to a known lift."""
        best = np.inf
        outside: tuple[Sets, Sets] | None = None
        most, start, took = _FIRST, time.process_time(), 0.0
        while most <= _LAST and best > known * (1 + _CLOSE) and start + _LONGER * took < deadline:
            found = self._inside(most, 1 / known, outside, deadline)
            if found is None:
                break
            messages, least = found
            if least is None or 1 / least <= known:
                return known  # everything that could be larger was left out
            best = min(best, 1 / least)
            outside = self._outside(messages)
            most *= 2
            took, start = time.process_time() - start, time.process_time()
        return best

    def _inside(
        self, most: int, cap: float, outside: tuple[Sets, Sets] | None, deadline: float
    ) -> tuple[Sets, float | None] | None:
        """The messages towards the first column and the least sum; None for one where time ran out before the first."""
        cap *= 1 + 2 * self.error
        messages: Sets = {}
        for place in reversed(range(len(self.nodes))):
            node = self.nodes[place]
            own: dict[int, Floats] = {}
            for group in range(len(node.classes)):
                if outside is not None and time.process_time() > deadline:
                    return None
                found = self._product(place, group, messages, most, cap, outside)
                if found is not None:
                    own[group] = found
            if node.parent is None:
                sums = [float((one @ node.law[0]).min()) for group, one in own.items() if self.allowed(place, 0, group)]
                return messages, min(sums, default=None)
            above = self.nodes[node.parent]
            for group in range(len(above.classes)):
                several = [one for part, one in own.items() if self.allowed(place, group, part)]
                if several:
                    vectors = np.concatenate(several) @ node.law.T
                    if outside is not None:
                        others = outside[0].get((place, group))
                        vectors = vectors[possible(vectors, others, cap)] if others is not None else vectors[:0]
                    if len(vectors):
                        messages[place, group] = below_all(vectors, most, above.marginal)
        raise AssertionError("The first column has no other above it.")

    def _product(
        self, place: int, group: int, messages: Sets, most: int, cap: float, outside: tuple[Sets, Sets] | None
    ) -> Floats | None:
        """The outcomes of a column times the messages of those by it; None where nothing is left."""
        node = self.nodes[place]
        if any((child, group) not in messages for child in node.children):
            return None
        # What the rest of the tree is at least, with the messages that are still to be multiplied.
        rest: list[Floats | None] = [None] * (len(node.children) + 1)
        if outside is not None:
            last = outside[1].get((place, group))
            if last is None:
                return None
            rest[-1] = last
            for at in reversed(range(len(node.children))):
                last = self._fewer(products(last, messages[node.children[at], group]))
                rest[at] = last
        vectors = node.columns(group)
        vectors = vectors[possible(vectors, rest[0], cap)]
        for at, child in enumerate(node.children):
            if not len(vectors):
                return None
            vectors = _multiplied(vectors, messages[child, group], rest[at + 1], cap, most, node.marginal)
        return below_all(vectors, most, node.marginal) if len(vectors) else None

    def _outside(self, messages: Sets) -> tuple[Sets, Sets]:
        """What the tree outside of a subtree is at least: as seen from the column above it, and from its own."""
        above: Sets = {}
        own: Sets = {(0, group): self.nodes[0].law for group in self._roots()}
        for place, node in enumerate(self.nodes):
            for child in node.children:
                for group in range(len(node.classes)):
                    others = [(one, group) for one in node.children if one != child]
                    if (place, group) not in own or any(one not in messages for one in others):
                        continue
                    vectors = self._fewer(products(own[place, group], self._fewer(node.columns(group))))
                    for one in others:
                        vectors = self._fewer(products(vectors, self._fewer(messages[one])))
                    above[child, group] = vectors
                below = self.nodes[child]
                for part in range(len(below.classes)):
                    several = [
                        above[child, group]
                        for group in range(len(node.classes))
                        if (child, group) in above and self.allowed(child, group, part)
                    ]
                    if several:
                        own[child, part] = self._fewer(np.concatenate(several) @ below.law)
        return above, own

    def _fewer(self, vectors: Floats) -> Floats:
        """Few vectors that lie below those of what is outside."""
        return below_all(vectors, self._most_outside, np.ones(vectors.shape[1]))

    def _roots(self) -> list[int]:
        return [group for group in range(len(self.nodes[0].classes)) if self.allowed(0, 0, group)]

    # -- outcomes with a large lift -----------------------------------------------------------------------------

    def search(self) -> tuple[float, list[int]]:
        """The largest lift found by changing one outcome at a time, from many starts, and its outcomes."""
        generator = np.random.default_rng(0)
        best, where = 0.0, [0] * len(self.nodes)
        for _ in range(_STARTS):
            codes = [int(generator.integers(len(node.lifts))) for node in self.nodes]
            lift = 0.0
            while True:
                found = self._improved(codes)
                if found <= lift * (1 + 1e-12):
                    break
                lift = found
            if lift > best:
                best, where = lift, list(codes)
        return max(best, 1.0), where

    def _improved(self, codes: list[int]) -> float:
        """Change one outcome after the other for the best; the lift of all of them after that."""
        sums, tops = self._upward(codes)
        sum_above: list[Floats] = [self.nodes[0].law[0]] * len(self.nodes)
        top_above: list[Floats] = [(self.nodes[0].law[0] > 0).astype(np.float64)] * len(self.nodes)
        lift = 0.0
        for place, node in enumerate(self.nodes):
            around, highest = sum_above[place], top_above[place]
            for child in node.children:
                around, highest = around * sums[child], highest * tops[child]
            laws, rows = node.lifts @ around, (node.lifts * highest).max(axis=1)
            ratios = np.divide(rows, laws, out=np.zeros_like(laws), where=laws > 1e-280)
            codes[place] = int(ratios.argmax())
            lift = float(ratios[codes[place]])
            own = node.lifts[codes[place]]
            for child in node.children:
                law = self.nodes[child].law
                before, top = sum_above[place] * own, top_above[place] * own
                for other in node.children:
                    if other != child:
                        before, top = before * sums[other], top * tops[other]
                sum_above[child] = before @ law
                top_above[child] = ((law > 0) * top[:, None]).max(axis=0)
        return lift

    def _upward(self, codes: Sequence[int]) -> tuple[dict[int, Floats], dict[int, Floats]]:
        """The messages of one choice of outcomes: sums, and the largest products."""
        sums: dict[int, Floats] = {}
        tops: dict[int, Floats] = {}
        for place in reversed(range(len(self.nodes))):
            node = self.nodes[place]
            below, highest = node.lifts[codes[place]], node.lifts[codes[place]]
            for child in node.children:
                below, highest = below * sums[child], highest * tops[child]
            sums[place] = node.law @ below
            tops[place] = ((node.law > 0) * highest).max(axis=1)
        return sums, tops


def _multiplied(
    vectors: Floats, message: Floats, rest: Floats | None, cap: float, most: int, weights: Floats
) -> Floats:
    """All products that can still matter, in blocks of bounded size, and few that lie below all."""
    size = max(1, _BLOCK // message.size)
    found = []
    for first in range(0, len(vectors), size):
        block = products(vectors[first : first + size], message)
        block = block[possible(block, rest, cap)]
        found.append(below_all(block, most, weights))
    return below_all(np.concatenate(found), most, weights) if len(found) > 1 else found[0]


def _classes(law: Floats, below: Sequence[Floats]) -> tuple[Indices, ...]:
    """The values of a column by their possible neighbours: the same values above them, and below them."""
    patterns: Bools = np.column_stack([(law > 0).T, *(one > 0 for one in below)])
    _, places = np.unique(patterns, axis=0, return_inverse=True)
    return tuple(np.flatnonzero(places.ravel() == one) for one in range(int(places.max()) + 1))
