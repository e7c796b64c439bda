"""The tree of boxes while it grows: every split, and the multipliers of every box, for a proof that can be stored."""

from __future__ import annotations

import numpy as np

from leakwise.proof import PosteriorTree
from leakwise.records.bounds.dual import Boxes
from leakwise.types import Floats, Indices

__all__ = ["GrowingTree"]


class GrowingTree:
    """Boxes by their numbers: 0 is all posteriors, and the halves of a split get the next two."""

    def __init__(self) -> None:
        self.splits: dict[int, tuple[int, int, float, int, int]] = {}
        self.multipliers: dict[int, Floats] = {}
        self.bounds: dict[int, float] = {}
        self.count = 1

    def split(self, boxes: Boxes, y: Indices, a: Indices, cut: Floats) -> tuple[Indices, Indices]:
        """Enter a split of each box; return the numbers of the lower and of the upper halves."""
        lower = self.count + 2 * np.arange(len(boxes))
        for k, node in enumerate(boxes.node.tolist()):
            first = int(lower[k])
            self.splits[node] = int(y[k]), int(a[k]), float(cut[k]), first, first + 1
        self.count += 2 * len(boxes)
        return lower.astype(np.intp), (lower + 1).astype(np.intp)

    def keep(self, boxes: Boxes, bounds: Floats | None = None) -> None:
        """Keep the multipliers of boxes (any that are not negative prove something) and what they prove."""
        numbers = np.concatenate([boxes.scale[:, None], boxes.push.reshape(len(boxes), -1)], axis=1)
        proven = np.full(len(boxes), np.inf) if bounds is None else bounds
        for k, node in enumerate(boxes.node.tolist()):
            self.multipliers[node] = np.maximum(numbers[k], 0.0).astype(np.float32)
            self.bounds[node] = float(proven[k])

    def grown(self, enough: float) -> PosteriorTree:
        """Return the tree, lower halves first, without what is below a box that proves enough.

        The chords of a smaller box are lower in it, but not beyond: a half may prove less than the whole.
        """
        nodes: list[tuple[int, int, float] | None] = []
        leaves: list[Floats] = []
        stack = [0]
        while stack:
            node = stack.pop()
            if node in self.splits and self.bounds[node] > enough:
                y, a, cut, lower, upper = self.splits[node]
                nodes.append((y, a, cut))
                stack += [upper, lower]
            else:
                nodes.append(None)
                leaves.append(self.multipliers[node])
        return PosteriorTree(tuple(nodes), np.array(leaves, dtype=np.float64))
