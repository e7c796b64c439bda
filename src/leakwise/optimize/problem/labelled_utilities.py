"""Labelled utilities: the best of several linear functions of a column, one for each thing that may be said."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet, Label
from leakwise.errors import InvalidInput
from leakwise.exact import ratio_array
from leakwise.mechanism import CommonLawKernel, Kernel
from leakwise.optimize.problem.utility import Utility, summed
from leakwise.optimize.problem.utility_matrix import utility_matrix
from leakwise.priors import Prior, PriorSet
from leakwise.proof import OptimalityClaim
from leakwise.types import Floats, Indices

__all__ = ["Expected", "Gain", "Guessing", "LinearUtility"]

# A matrix of gains of so many entries is already two megabytes; larger alphabets take too long to check.
_MOST_GAINS = 90_000
_MOST_LETTERS = 4096
# Up to so many letters guesses are designed with their labels; beyond, closed forms answer where they can.
_LABELLED = 300


class LinearUtility(Utility):
    """The best of several linear functions of a column: μ(λ) = max_w Σ_i π_i g_iw λ_i, w being what is said."""

    kind = "labelled"
    labelled = True

    def gains(self, prior: Prior) -> Floats:
        """Return g as an N×W matrix for the letters of the prior."""
        raise AssertionError  # pragma: no cover - every subclass has its own

    def weighted(self, prior: Prior) -> Floats:
        """Return π_i g_iw: what letter i is worth where w is said."""
        weighted: Floats = prior.probabilities[:, None] * self.gains(prior)
        return weighted

    def columns_worth(self, lifts: Floats, prior: Prior) -> Floats:
        worth: Floats = (self.weighted(prior).T @ lifts).max(axis=0)
        return worth

    def slopes(self, lifts: Floats, prior: Prior) -> Floats:
        weighted = self.weighted(prior)
        return weighted[:, (weighted.T @ lifts).argmax(axis=0)]

    def per_output(self, prior: Prior, outputs: int) -> list[Floats]:
        """Return π_i g_ij for outputs that a mask restricts, the best of several: here any guess after any output."""
        weighted = self.weighted(prior)
        return [np.tile(weighted[:, [guess]], (1, outputs)) for guess in range(weighted.shape[1])]

    def _moved(self, lifts: Floats, law: Floats, prior: Prior, units: float) -> float:
        return float(law @ (np.abs(self.weighted(prior)).T @ lifts).max(axis=0)) * units

    def most(self, prior: Prior) -> float:
        values = self.weighted(prior)
        return float(values.max(axis=1).sum()) + float(np.abs(values).sum()) * 2.0**-40

    def best_constant(self, prior: Prior) -> Indices | None:
        return np.array([int(self.weighted(prior).sum(axis=0).argmax())])

    def closed_forms(self, prior: Prior) -> bool:
        return False

    def on_support(self, prior: Prior) -> Utility:
        gains = self.gains(prior)  # refuses a matrix of another size
        return self if prior.support.all() else Gain(gains[prior.support], self.says(prior))

    def claim(self, claim: OptimalityClaim, priors: PriorSet) -> tuple[OptimalityClaim | None, str | None]:
        letters, gains = int(priors.support.sum()), self.gains(priors.nominal)
        if len(claim.duals) != letters + (claim.total is not None):
            return None, "nothing was searched, so there are no duals"
        if letters > _MOST_LETTERS or gains.size > _MOST_GAINS:
            return None, f"too large a proof ({letters:,} letters)"
        return replace(claim, utility="gain", gains=gains, guesses=self.says(priors.nominal).labels), None


class _Matrix(LinearUtility):
    """A linear utility given as a matrix, one row per letter, one column per guess or output."""

    matrix: Floats
    outputs: Alphabet | None
    name: str

    def _set(self, matrix: Any, outputs: int | Iterable[Label] | None, name: str) -> None:
        self.matrix, self.outputs = utility_matrix(matrix, outputs, name="matrix")
        self.name = name
        if not np.isfinite(self.matrix).all():
            raise InvalidInput("matrix must hold finite numbers. Got -inf: lw.WorstCase forbids outputs.")

    def gains(self, prior: Prior) -> Floats:
        if self.matrix.shape[0] != len(prior):
            raise InvalidInput(f"The utility matrix has {self.matrix.shape[0]} rows for {len(prior)} letters.")
        return self.matrix

    def says(self, prior: Prior) -> Alphabet:
        if self.outputs is not None:
            return self.outputs
        return prior.alphabet if self.matrix.shape[1] == len(prior) else Alphabet.numbered(self.matrix.shape[1])


class Gain(_Matrix):
    """The expected gain of the best guess after seeing the outcome.

    Parameters
    ----------
    matrix
        g_iw, the gain of guess w when the letter is i; none negative.
    outputs
        Labels of the guesses; the letters themselves for a square matrix.

    Examples
    --------
    >>> Gain([[1, 0], [0, 1]]).matrix.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """

    def __init__(self, matrix: Any, outputs: int | Iterable[Label] | None = None) -> None:
        self._set(matrix, outputs, "gain")
        if (self.matrix < 0).any():
            raise InvalidInput(
                f"A gain matrix must not be negative. {int((self.matrix < 0).sum())} entries are; "
                "use lw.Expected for utilities of any sign."
            )


class Expected(_Matrix):
    """The expected utility Σ_ij π_i p_ij u_ij of labelled outputs; for a distance loss give its negative.

    Parameters
    ----------
    matrix
        u_ij, what output j is worth when the letter is i; any sign.
    outputs
        Labels of the outputs; the letters themselves for a square matrix.

    Examples
    --------
    >>> Expected(-np.abs(np.subtract.outer(range(3), range(3)))).matrix[0].tolist()
    [0.0, -1.0, -2.0]
    """

    def __init__(self, matrix: Any, outputs: int | Iterable[Label] | None = None) -> None:
        self._set(matrix, outputs, "expected")

    said = True

    def worth_said(self, lifts: Floats, says: Indices, prior: Prior) -> Floats:
        worth: Floats = np.einsum("ij,ij->j", self.weighted(prior)[:, says], lifts)
        return worth

    def on_support(self, prior: Prior) -> Utility:
        gains = self.gains(prior)
        return self if prior.support.all() else Expected(gains[prior.support], self.says(prior))

    def per_output(self, prior: Prior, outputs: int) -> list[Floats]:
        weighted = self.weighted(prior)
        if weighted.shape[1] != outputs:
            raise InvalidInput(
                f"then= must have one column per output of the utility. Got {weighted.shape[1]} for {outputs}."
            )
        return [weighted]

    def interval(self, kernel: Kernel, prior: Prior, says: Indices | None = None) -> tuple[float, float]:
        if says is None:
            return super().interval(kernel, prior)
        terms = kernel.matrix * self.weighted(prior)[:, says]
        value = math.fsum(terms.ravel().tolist())
        slack = (float(np.abs(terms).sum()) + 1.0) * 8 * 2.0**-52
        return value - slack, value + slack


class Guessing(LinearUtility):
    """The probability of guessing the letter: the identity gain."""

    name = "guessing"
    symmetric = True
    structured = True
    least = 0.0

    def gains(self, prior: Prior) -> Floats:
        return np.eye(len(prior))

    def columns_worth(self, lifts: Floats, prior: Prior) -> Floats:
        worth: Floats = (prior.probabilities[:, None] * lifts).max(axis=0)
        return worth

    def _moved(self, lifts: Floats, law: Floats, prior: Prior, units: float) -> float:
        return float(law @ self.columns_worth(lifts, prior)) * units

    def interval(self, kernel: Kernel, prior: Prior, says: Indices | None = None) -> tuple[float, float]:
        if not isinstance(kernel, CommonLawKernel):
            return super().interval(kernel, prior)
        # A column of a common law plus a diagonal has two values only: no matrix at any size.
        p = prior.probabilities
        common = ratio_array(kernel.common, kernel.denominator)
        own = ratio_array(kernel.common + kernel.diagonal, kernel.denominator)
        first, second = np.partition(p, -2)[-2:][::-1] if len(p) > 1 else (p[0], 0.0)
        others = np.where(p == first, second if (p == first).sum() == 1 else first, first)
        return summed(np.maximum(own * p, common * others))

    def on_support(self, prior: Prior) -> Utility:
        return self if prior.support.all() else super().on_support(prior)

    def closed_forms(self, prior: Prior) -> bool:
        return len(prior) > _LABELLED

    def claim(self, claim: OptimalityClaim, priors: PriorSet) -> tuple[OptimalityClaim | None, str | None]:
        letters = int(priors.support.sum())
        if len(claim.duals) != letters + (claim.total is not None):
            return None, "nothing was searched, so there are no duals"
        if letters > _MOST_LETTERS:
            return None, f"too large a proof ({letters:,} letters)"
        return replace(claim, utility=self.name), None
