"""A small classifier: which input an answer came from, by logistic regression on yes-or-no questions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from leakwise.types import Bools, Floats

__all__ = ["Classifier"]

STEPS, WORK = 40, 2e7


class Classifier:
    """Logistic regression over all inputs at once, fitted to the answers of each; every input counts the same.

    The fit decides how good an event is, never whether a bound holds: other answers test it.
    """

    def __init__(self, asked: Sequence[Bools]) -> None:
        from scipy.optimize import minimize

        inputs, questions = len(asked), asked[0].shape[1]
        most = max(200, int(WORK / (inputs * inputs * (questions + 1))))
        rows = np.concatenate([one[:most] for one in asked]).astype(np.float64)
        self._middle = rows.mean(axis=0)
        rows -= self._middle
        came = np.repeat(np.arange(inputs), [min(len(one), most) for one in asked])
        share = 1 / np.bincount(came)[came] / inputs
        told = np.eye(inputs)[came]
        ridge = 2.0 / len(rows)

        def loss(flat: Floats) -> tuple[float, Floats]:
            weights = flat.reshape(questions, inputs)
            scores = rows @ weights
            scores -= scores.max(axis=1, keepdims=True)
            chances = np.exp(scores)
            chances /= chances.sum(axis=1, keepdims=True)
            lost = -float(share @ np.log(np.maximum(chances[np.arange(len(rows)), came], 1e-300)))
            slope = rows.T @ ((chances - told) * share[:, None]) + ridge * weights
            return lost + ridge / 2 * float((weights**2).sum()), slope.ravel()

        start = np.zeros(questions * inputs)
        fitted = minimize(loss, start, jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
        self._weights: Floats = fitted.x.reshape(questions, inputs)

    def scores(self, asked: Bools) -> Floats:
        """Return for each answer the scores of all inputs: the larger, the more likely it came from there."""
        # Rounded, so that the last bits of a sum, which depend on how many answers are scored at once, decide nothing.
        return np.asarray(np.round((asked.astype(np.float64) - self._middle) @ self._weights, 6))

    def heaviest(self, x: int, other: int) -> list[int]:
        """Return the questions that weigh most between two inputs."""
        weights = np.abs(self._weights[:, x] - self._weights[:, other])
        return [int(place) for place in np.argsort(-weights, kind="stable")[:3]]
