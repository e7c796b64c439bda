"""Ways to sort answers into a few columns, learned on some answers and used on others.

The answers as they are come first. Where those are many (lists of bits, long texts, numbers) there are also pairs of
questions about their parts, and the scores of a small classifier. Each is a post-processing of the program.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakwise.alphabet import Label
from leakwise.blackbox.counts import MOST_VALUES, Outcomes, learned_outcomes
from leakwise.blackbox.events import worth_of
from leakwise.blackbox.features import Features
from leakwise.blackbox.learned import Classifier
from leakwise.types import Bools, Counts, Floats

__all__ = ["Tables", "View", "Views", "learned_views"]

MOST_LEARNED = 100_000  # answers that questions and classifier are learned from, over all inputs
JOINED, PAIRS = 6, 6  # pairs of questions, and pairs of inputs with a score
_AT = (0.002, 0.005, 0.01, 0.02, 0.05, *np.linspace(0.1, 0.9, 17).tolist(), 0.95, 0.98, 0.99, 0.995, 0.998)

Tables = list[Counts]
"""One table of inputs and columns for each view."""


@dataclass(frozen=True)
class View:
    """The columns of one way of sorting, and between which inputs it is to tell (None: any)."""

    names: tuple[str, ...]
    family: str = "answers"
    pair: tuple[int, int] | None = None
    ends: tuple[str, ...] = ()

    def named(self, columns: Sequence[int]) -> tuple[str, ...]:
        """Columns in words; of scores those next to each other are one range."""
        if not self.ends:
            return tuple(self.names[column] for column in columns)
        starts = [column for column in columns if column - 1 not in columns]
        stops = [column + 1 for column in columns if column + 1 not in columns]
        return tuple(
            f"{self.names[0]} from {self.ends[start]} to {self.ends[stop]}"
            for start, stop in zip(starts, stops, strict=True)
        )


class Views:
    """All ways of sorting at once, so that an answer is taken apart once."""

    def __init__(self, outcomes: Outcomes, questions: _Questions | None = None) -> None:
        self.outcomes, self._questions = outcomes, questions
        self.all = [View(outcomes.names), *([] if questions is None else questions.views)]

    def tables(self, answers: Sequence[Sequence[Any]]) -> Tables:
        """Return the counts of each view, one row for each input."""
        first = [self.outcomes.table(answers)]
        return first if self._questions is None else first + self._questions.tables(answers)

    def chosen_on(self, answers: Sequence[Sequence[Any]]) -> Tables:
        """Return the tables of the answers that the views were learned on.

        Scores count only on the half that the classifier has not seen, where it cannot know the answers by heart.
        """
        seen, unseen = (self.tables([own[side::2] for own in answers]) for side in (0, 1))
        return [
            other if view.family == "learned" else one + other
            for view, one, other in zip(self.all, seen, unseen, strict=True)
        ]


class _Questions:
    def __init__(self, features: Features, answers: Sequence[Sequence[Any]], inputs: Sequence[Label]) -> None:
        self._features = features
        names = self._features.names
        asked = [self._features.ask(own) for own in answers]
        self._joined = _joined(asked)
        self._classifier = Classifier([self._with_joined(one[::2]) for one in asked])
        scores = [self._classifier.scores(self._with_joined(one[::2])) for one in asked]
        self._pairs = _far_apart(scores)
        self._edges = [_edges([one[:, x] - one[:, y] for one in (scores[x], scores[y])]) for x, y in self._pairs]
        both = [names[f] if f == g else f"{names[f]} and {names[g]}" for f, g in self._joined]
        self.views = [View((f"not ({name})", name), "parts") for name in both]
        for (x, y), edges in zip(self._pairs, self._edges, strict=True):
            heavy = self._classifier.heaviest(x, y)
            by = ", ".join([*names, *both][place] for place in heavy)
            what = f"score for {inputs[x]!r} against {inputs[y]!r} (mostly by: {by})"
            ends = ("-inf", *(f"{edge:.3g}" for edge in edges), "inf")
            self.views.append(View((what,) * (len(edges) + 1), "learned", (x, y), ends))
        self.views.append(View(tuple(f"guess {label!r}" for label in inputs), "guess"))

    def tables(self, answers: Sequence[Sequence[Any]]) -> Tables:
        rows = [self._sorted(own) for own in answers]
        return [np.stack(list(of_inputs)) for of_inputs in zip(*rows, strict=True)]

    def _sorted(self, answers: Sequence[Any]) -> Tables:
        """One row of each table, a part of the answers at a time."""
        found: Tables = []
        for start in range(0, len(answers), MOST_LEARNED):
            here = self._counts(answers[start : start + MOST_LEARNED])
            found = here if not found else [a + b for a, b in zip(found, here, strict=True)]
        return found or self._counts(answers)

    def _counts(self, answers: Sequence[Any]) -> Tables:
        asked = self._features.ask(answers)
        scores = self._classifier.scores(self._with_joined(asked))
        found = [np.bincount((asked[:, f] & asked[:, g]).astype(np.int64), minlength=2) for f, g in self._joined]
        for (x, y), edges in zip(self._pairs, self._edges, strict=True):
            places = np.searchsorted(edges, scores[:, x] - scores[:, y], side="right")
            found.append(np.bincount(places, minlength=len(edges) + 1))
        guesses = scores.argmax(axis=1) if len(scores) else np.zeros(0, dtype=np.int64)
        found.append(np.bincount(guesses, minlength=scores.shape[1]))
        return [one.astype(np.int64) for one in found]

    def _with_joined(self, asked: Bools) -> Bools:
        return np.concatenate([asked, *(asked[:, [f]] & asked[:, [g]] for f, g in self._joined)], axis=1)


def learned_views(answers: Sequence[Sequence[Any]], inputs: Sequence[Label]) -> Views:
    """Return views read off the answers of each input, which must not be counted again."""
    outcomes = learned_outcomes(answer for own in answers for answer in own)
    if len(outcomes.names) <= MOST_VALUES + 1 and not outcomes.binned:
        return Views(outcomes)  # few answers: every event is a set of them
    some = [own[: MOST_LEARNED // len(inputs)] for own in answers]
    features = Features(some)
    return Views(outcomes, _Questions(features, some, inputs) if len(features) else None)


def _joined(asked: Sequence[Bools]) -> list[tuple[int, int]]:
    """The pairs of questions whose "yes, yes" is likely for one input and not for another; or one question alone."""
    lows, highs = [], []
    for one in asked:
        numbers = one.astype(np.float32)
        low, high = worth_of((numbers.T @ numbers).astype(np.int64), len(one))
        lows.append(low)
        highs.append(high)
    worth = np.log(np.max(lows, axis=0)) - np.log(np.min(highs, axis=0))
    first, second = np.triu_indices(len(worth))
    order = np.argsort(-worth[first, second], kind="stable")[:JOINED]
    return [(int(first[place]), int(second[place])) for place in order]


def _edges(scores: Sequence[Floats]) -> Floats:
    """Bins of about equal share, and finer ones at both ends, where the ratio is largest; never at a score itself."""
    return np.unique(np.quantile(np.concatenate(scores), _AT, method="nearest")) + 5e-7


def _far_apart(scores: Sequence[Floats]) -> list[tuple[int, int]]:
    """The pairs of inputs that the scores tell apart best, by the distance of their means."""
    means = np.stack([one.mean(axis=0) for one in scores])
    own = np.diag(means)
    apart = own[:, None] + own[None, :] - means - means.T
    first, second = np.triu_indices(len(means), 1)
    order = np.argsort(-apart[first, second], kind="stable")[:PAIRS]
    return [(int(first[place]), int(second[place])) for place in order]
