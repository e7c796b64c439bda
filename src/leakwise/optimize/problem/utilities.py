"""Utilities: sublinear functions of a column, so that the best columns are extreme rays of the privacy cone.

U(P) = Σ_j μ(p_j) = Σ_j q_j μ(λ_j), with q the output law and λ_j the lift of outcome j. They only describe; the
searches
in this room find the optimum for the kind of utility they are given.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet, Label, as_alphabet
from leakwise.errors import InvalidInput, did_you_mean
from leakwise.leakage.measures.divergences import DIVERGENCES, as_convex
from leakwise.priors import Prior
from leakwise.types import Floats

__all__ = ["Expected", "FInformation", "Frequencies", "Gain", "LinearUtility", "Utility", "as_utility"]


class Utility(ABC):
    """A utility of mechanisms that extreme rays maximise."""

    name: str

    @abstractmethod
    def value(self, lifts: Floats, law: Floats, prior: Prior) -> float:
        """Return U of the mechanism with these lifts (N×M) and this output law."""


@dataclass(frozen=True)
class FInformation(Utility):
    """The f-information Σ_ij π_i q_j f(λ_ij) for a convex f with f(1) = 0.

    Parameters
    ----------
    f
        A convex function of a NumPy array of non-negative numbers, finite at 0 and zero at 1 (checked, with the
        counter-example in the error), or one of the names ``"mutual_information"``, ``"total_variation"``,
        ``"chi_square"``, ``"hellinger"``.
    name
        What to call it; the name of ``f``, or ``"f_information"``, when left out.

    Examples
    --------
    >>> FInformation(lambda x: (x - 1) ** 4, name="fourth").name
    'fourth'
    """

    f: Any
    name: str = ""

    def __post_init__(self) -> None:
        if not self.name:
            object.__setattr__(self, "name", self.f if isinstance(self.f, str) else "f_information")
        object.__setattr__(self, "f", as_convex(self.f))

    def value(self, lifts: Floats, law: Floats, prior: Prior) -> float:
        return float(law @ (prior.probabilities @ self.f(lifts)))


class LinearUtility(Utility):
    """The best of several linear functions of a column: μ(λ) = max_w Σ_i π_i g_iw λ_i, w being what is said."""

    def gains(self, prior: Prior) -> Floats:
        """Return g as an N×W matrix for the letters of the prior."""
        raise AssertionError  # pragma: no cover - every subclass has its own

    def says(self, prior: Prior) -> Alphabet:
        """Return the labels of the guesses w."""
        raise AssertionError  # pragma: no cover - every subclass has its own

    def value(self, lifts: Floats, law: Floats, prior: Prior) -> float:
        scores = (self.gains(prior) * prior.probabilities[:, None]).T @ lifts
        return float(law @ scores.max(axis=0))


class _Matrix(LinearUtility):
    """A linear utility given as a matrix, one row per letter, one column per guess or output."""

    matrix: Floats
    outputs: Any
    name: str

    def _set(self, matrix: Any, outputs: int | Iterable[Label] | None, name: str) -> None:
        if hasattr(matrix, "columns") and type(matrix).__module__.partition(".")[0] == "pandas" and outputs is None:
            outputs = list(matrix.columns)
        try:
            values = np.array(matrix, dtype=np.float64)
        except (TypeError, ValueError, OverflowError) as error:
            raise InvalidInput(f"matrix must hold finite numbers: {error}.") from error
        if values.ndim != 2 or 0 in values.shape or not np.isfinite(values).all():
            raise InvalidInput(
                "matrix must hold finite numbers: one row per letter, one column per guess or output. "
                f"Got an array of shape {values.shape} instead."
            )
        alphabet = None if outputs is None else as_alphabet(outputs, name="outputs")
        if alphabet is not None and len(alphabet) != values.shape[1]:
            raise InvalidInput(f"outputs must be as many as the columns. Got {len(alphabet)} for {values.shape[1]}.")
        values.flags.writeable = False
        self.matrix, self.outputs, self.name = values, alphabet, name

    def gains(self, prior: Prior) -> Floats:
        if self.matrix.shape[0] != len(prior):
            raise InvalidInput(f"The utility matrix has {self.matrix.shape[0]} rows for {len(prior)} letters.")
        return self.matrix

    def says(self, prior: Prior) -> Alphabet:
        if isinstance(self.outputs, Alphabet):
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


class _Guessing(LinearUtility):
    """The probability of guessing the letter: the identity gain."""

    name = "guessing"

    def gains(self, prior: Prior) -> Floats:
        return np.eye(len(prior))

    def says(self, prior: Prior) -> Alphabet:
        return prior.alphabet

    def value(self, lifts: Floats, law: Floats, prior: Prior) -> float:
        return float(law @ (prior.probabilities[:, None] * lifts).max(axis=0))


class Frequencies(Utility):
    """How well the frequencies can be recovered: minus the sum of their asymptotic variances, per released row.

    From m rows the estimated frequencies have covariance (J⁻¹ - ππᵀ)/m with J = Σ_j q_j λ_j λ_jᵀ; the
    value is -(trace J⁻¹ - Σ π²), -∞ for a mechanism that does not identify them.
    """

    name = "frequencies"

    def value(self, lifts: Floats, law: Floats, prior: Prior) -> float:
        information = (lifts * law) @ lifts.T
        p = prior.probabilities
        # Scaled by √π on both sides the matrix is well conditioned: 1 on the diagonal for the identity.
        root = np.sqrt(p)
        scaled = root[:, None] * information * root
        if len(law) < len(p) or not np.isfinite(scaled).all() or np.linalg.cond(scaled) > 1e13:
            return -float("inf")
        inverse = root[:, None] * np.linalg.inv(scaled) * root
        return float((p**2).sum() - np.trace(inverse))


_NAMED: dict[str, Utility] = {
    **{name: FInformation(f, name) for name, f in DIVERGENCES.items()},
    "guessing": _Guessing(),
    "frequencies": Frequencies(),
}


def as_utility(utility: Any) -> Utility:
    """Return a utility from its name or from an object."""
    if isinstance(utility, Utility):
        return utility
    if isinstance(utility, str) and utility in _NAMED:
        return _NAMED[utility]
    raise InvalidInput(
        f"utility must be one of {', '.join(sorted(_NAMED))}, or an object such as lw.FInformation(f), lw.Gain(matrix) "
        f"or lw.Expected(matrix). Got {utility!r} instead.{did_you_mean(utility, _NAMED)}"
    )
