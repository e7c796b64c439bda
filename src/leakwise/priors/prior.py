"""A prior: integers over a denominator, with labels. It is also a set of one prior."""

from __future__ import annotations

import bisect
import math
import os
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np
import numpy.typing as npt

from leakwise.alphabet import (
    Alphabet,
    Label,
    alphabet_from_plain,
    alphabet_with_edges,
    as_alphabet,
    edges_of,
    encode_column,
    label_to_plain,
    newest,
)
from leakwise.charts.shown import Parts, Shown, Table
from leakwise.charts.table import number
from leakwise.documents import read_document, read_integer, write_document, write_integer
from leakwise.errors import InvalidInput, counted, label_text
from leakwise.exact import IntegerArray, integer_array, level, log_upper, ratio_array
from leakwise.priors.prior_set import PriorSet, member_rows
from leakwise.priors.reading import exact_values, refuse_negative, values_and_alphabet, whole_numbers
from leakwise.types import Bools, Floats, Indices

if TYPE_CHECKING:
    from leakwise.priors.sets.around_estimate import Around
    from leakwise.priors.sets.ball import Ball

__all__ = ["Prior"]

FORMAT = "leakwise.prior"
VERSION = 3  # 2: the edges of bins; 3: infinite ones, and dates

# Probabilities typed by a person may miss 1 by this much; more is taken for a mistake.
_SUM_TOLERANCE = Fraction(1, 10**9)


class PriorBody(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The contents of a prior file: integers as text. Without bins they are those of version 1."""

    labels: list[Any]
    declared: bool
    weights: list[str]
    sample_size: int | None = None
    edges: list[float | str] | None = None


class Prior(Shown, PriorSet):
    """The distribution of the secret, exact.

    Parameters
    ----------
    probabilities
        Probabilities (floats, Fractions, decimal strings) that sum to 1 within 1e-9, or whole-number weights with any
        sum; a list, or a mapping from labels. They are normalized exactly by their sum; a float means its exact binary
        value.
    labels
        Names of the values, 0..N-1 by default.

    Examples
    --------
    >>> prior = Prior({"a": 0.5, "b": 0.25, "c": 0.25})
    >>> prior.probabilities.tolist(), prior.labels
    ([0.5, 0.25, 0.25], ('a', 'b', 'c'))
    >>> print(f"{prior.epsilon_max:.4f}")
    1.3863
    """

    _alphabet: Alphabet
    weights: IntegerArray
    denominator: int
    sample_size: int | None

    def __init__(self, probabilities: Mapping[Any, Any] | Iterable[Any], labels: Iterable[Label] | None = None) -> None:
        values, alphabet = values_and_alphabet(probabilities, labels, "probabilities")
        numerators, denominator = exact_values(values, alphabet, "probability")
        refuse_negative(numerators, alphabet, "probabilities")
        total = Fraction(sum(numerators), denominator)
        whole = all(isinstance(value, (int, np.integer)) for value in values)
        if total == 0 or (not whole and abs(total - 1) > _SUM_TOLERANCE):
            raise InvalidInput(
                f"probabilities must sum to 1 (within 1e-9). They sum to {number(total, 12)} instead. "
                "For counts use Prior.from_counts; whole numbers are taken as weights."
            )
        self._fill(alphabet, numerators, None)

    def _fill(self, alphabet: Alphabet, numerators: Sequence[int], sample_size: int | None) -> None:
        divisor = math.gcd(*numerators)
        weights = numerators if divisor == 1 else [numerator // divisor for numerator in numerators]
        denominator = sum(weights)
        for name, value in (
            ("_alphabet", alphabet),
            ("denominator", denominator),
            ("weights", integer_array(weights, denominator)),
            ("sample_size", sample_size),
        ):
            object.__setattr__(self, name, value)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"A Prior cannot be changed ({name!r}); make a new one.")

    # -- other ways in ------------------------------------------------------------------------------------------

    @classmethod
    def from_counts(cls, counts: Mapping[Any, Any] | Iterable[Any], labels: Iterable[Label] | None = None) -> Prior:
        """Return the empirical distribution of counts; ``sample_size`` is their sum.

        >>> Prior.from_counts({"a": 500, "b": 300, "c": 200}).sample_size
        1000
        """
        values, alphabet = values_and_alphabet(counts, labels, "counts")
        numerators = whole_numbers(values, alphabet, "counts")
        return cls.from_integers(alphabet, numerators, sum(numerators))

    @classmethod
    def from_data(cls, column: Any, domain: Iterable[Label] | Alphabet) -> Prior:
        """Return the empirical distribution of a column over a declared domain.

        The domain must be declared, because one inferred from the private column leaks which values occur.
        ``column`` may be a list, a NumPy array, a pandas or polars Series, or a pyarrow array; for numbers and dates
        declare ``lw.bins(low, high, count)``. Values of the domain that never occur are kept with probability zero.

        >>> Prior.from_data(["no", "yes", "no"], domain=["no", "yes"]).probabilities.tolist()
        [0.6666666666666666, 0.3333333333333333]
        """
        if domain is None:
            raise InvalidInput("domain must be declared: the list of values that can occur, whether they do or not.")
        alphabet = as_alphabet(domain, name="domain")
        codes = encode_column(column, alphabet)
        if not len(codes):
            raise InvalidInput("column must contain at least one value. Got none.")
        counts = np.bincount(codes, minlength=len(alphabet))
        return cls.from_integers(alphabet, counts.tolist(), len(codes))

    @classmethod
    def from_integers(
        cls, labels: int | Iterable[Label] | Alphabet, weights: Sequence[int], sample_size: int | None = None
    ) -> Prior:
        """Return the prior proportional to whole numbers, one for each label, with the sample size that is said.

        Where :meth:`from_counts` takes the sum of the counts for the sample size, this takes none unless one is given:
        for weights that were rounded, scaled or reordered.

        >>> Prior.from_integers(["no", "yes"], [30, 10], sample_size=4000).fractions
        (Fraction(3, 4), Fraction(1, 4))
        """
        alphabet = as_alphabet(labels, name="labels")
        numerators = whole_numbers(list(weights), alphabet, "weights")
        if sample_size is not None and (type(sample_size) is not int or sample_size < 1):
            raise InvalidInput(
                f"sample_size must be a whole number of rows, at least 1, or None. Got {sample_size!r} instead."
            )
        prior = cls.__new__(cls)
        prior._fill(alphabet, numerators, sample_size)
        return prior

    @classmethod
    def uniform(cls, letters: int | Iterable[Label]) -> Prior:
        """Return the uniform prior on a number of values, or on labels.

        >>> Prior.uniform(4).probabilities.tolist()
        [0.25, 0.25, 0.25, 0.25]
        """
        alphabet = as_alphabet(letters, name="letters")
        return cls.from_integers(alphabet, [1] * len(alphabet))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Prior:
        """Read a prior that :meth:`save` wrote."""
        return cls.from_body(read_document(path, FORMAT, VERSION, PriorBody), str(path))

    @classmethod
    def from_body(cls, body: PriorBody, name: str) -> Prior:
        """Return the prior that a file body describes."""
        alphabet = alphabet_from_plain(body.labels, declared=body.declared, name=name)
        alphabet = alphabet_with_edges(alphabet, body.edges, name=name)
        if len(body.weights) != len(alphabet):
            raise InvalidInput(f"{name!r} is not a valid prior: one weight per label is expected.")
        numerators = [read_integer(weight, name) for weight in body.weights]
        if sum(numerators) == 0:
            raise InvalidInput(f"{name!r} is not a valid prior: all its weights are zero.")
        if body.sample_size is not None and body.sample_size < 1:
            raise InvalidInput(f"{name!r} is not a valid prior: it says it comes from {body.sample_size} samples.")
        return cls.from_integers(alphabet, numerators, body.sample_size)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the prior as versioned JSON with exact integers and a checksum."""
        body = self.to_body()
        write_document(path, FORMAT, newest(1 if body.edges is None else 2, VERSION, self.alphabet), body)

    def to_body(self) -> PriorBody:
        """Return the prior as a file body."""
        labels = [label_to_plain(label) for label in self.labels]
        weights = [write_integer(weight) for weight in self.weights.tolist()]
        return PriorBody(labels, self.alphabet.declared, weights, self.sample_size, edges_of(self.alphabet))

    # -- what it is ---------------------------------------------------------------------------------------------

    @property
    def alphabet(self) -> Alphabet:
        return self._alphabet

    @cached_property
    def probabilities(self) -> Floats:
        """The probabilities as floats: a view of the exact weights."""
        return ratio_array(self.weights, self.denominator)

    @cached_property
    def fractions(self) -> tuple[Fraction, ...]:
        """The exact probabilities."""
        return tuple(Fraction(int(weight), self.denominator) for weight in self.weights)

    @cached_property
    def support(self) -> Bools:
        mask: Bools = np.asarray(self.weights != 0, dtype=np.bool_)
        mask.flags.writeable = False
        return mask

    @property
    def least_probability(self) -> Fraction:
        """The smallest positive probability, exact."""
        return Fraction(int(min(self.weights[self.support])), self.denominator)

    @cached_property
    def epsilon_max(self) -> float:
        """The most that any mechanism can leak, -log min π over the support, rounded up."""
        return log_upper(1 / self.least_probability)

    def regions(self) -> Floats:
        """Return the borders ε_0 = 0, ε_1, …, ε_{N-1} of the privacy regions ([EX] section IV-B), over the support.

        ε is in region k iff ε_{k-1} ≤ ε < ε_k (with ε_N = ∞); there a column has at most k-1 zeros (Lemma 2).
        Rounded up; :meth:`region` decides without rounding.

        >>> Prior([0.5, 0.25, 0.25]).regions().round(4).tolist()
        [0.0, 0.2877, 0.6931]
        """
        return np.array([log_upper(Fraction(self.denominator, mass)) for mass in self._region_masses])

    def region(self, epsilon: object = None, *, lift: object = None) -> int:
        """Return the privacy region k of ε, from 1 to the number of values in the support.

        >>> Prior.uniform(4).region(lift=3)
        3
        """
        asked = level(epsilon, lift)
        # The borders rise with k: the region is the number of them that the level reaches.
        return bisect.bisect_left(
            self._region_masses, True, key=lambda mass: not asked.allows(Fraction(self.denominator, mass))
        )

    @cached_property
    def _region_masses(self) -> tuple[int, ...]:
        """The integer masses of the N-k likeliest letters, k = 0..N-1."""
        descending = sorted((int(weight) for weight in self.weights if weight), reverse=True)
        sums = np.cumsum(np.array(descending, dtype=np.object_))
        return tuple(int(mass) for mass in sums[::-1])

    # -- as a set of one ----------------------------------------------------------------------------------------

    @property
    def nominal(self) -> Prior:
        return self

    @property
    def failure(self) -> float:
        return 0.0

    def least_mass(self, columns: npt.ArrayLike) -> Floats:
        values = np.asarray(columns, dtype=np.float64)
        mass: Floats = self.probabilities @ values
        # Sums of N non-negative products err by less than (N+3) units in the last place, whatever their order; where
        # a probability or a product underflows, by less than the least positive float each.
        underflow = (values.sum(axis=0) + len(self.probabilities)) * 2.0**-1074
        lowered: Floats = np.maximum(mass * (1.0 - (len(self.probabilities) + 4) * 2.0**-52) - underflow, 0.0)
        return lowered

    def exact_least_mass(self, column: Sequence[int]) -> Fraction:
        total = sum(int(weight) * int(value) for weight, value in zip(self.weights, column, strict=True))
        return Fraction(total, self.denominator)

    @property
    def holds_nominal(self) -> bool:
        return True

    def worst_member(self, column: Floats) -> Floats:
        return self.probabilities

    def exact_worst_member(self, column: Floats) -> tuple[Fraction, ...]:
        return self.fractions

    def scale_rows(self) -> Floats:
        return member_rows(self.probabilities[None, :])

    def reordered(self, order: Indices) -> Prior:
        labels = self.labels
        # Once letters have moved their numbers are names: declared, so that nobody takes them for positions.
        alphabet = Alphabet([labels[place] for place in order])
        return Prior.from_integers(alphabet, [int(self.weights[place]) for place in order], self.sample_size)

    # -- sets around it -----------------------------------------------------------------------------------------

    def ball(self, beta: object) -> Ball:
        """Return all priors within l1 distance ``beta`` of this one; a radius of 2 or more contains every prior.

        >>> Prior([0.5, 0.5]).ball(0.2)
        Set of priors: l1 ball
                       l1 ball
        ─────────────  ───────
        letters        2
        radius β (l1)  0.2000
        """
        from leakwise.priors.sets.ball import Ball

        return Ball(self, beta)

    def confidence(self, failure: object, method: str = "weissman") -> Around:
        """Return a set that contains the true prior with probability at least 1 - ``failure``, from i.i.d. counts.

        ``method`` is ``"weissman"`` (l1 ball, [ED] (7)), ``"weissman-phi"`` (a smaller ball for skewed priors),
        ``"clopper-pearson"`` (a box), ``"kl"`` (a Kullback-Leibler ball), ``"layer-cake"`` (every set of values at
        once; the tightest to assess a mechanism with), ``"rounded-layer-cake"`` (the same from rounded frequencies
        alone), or ``"best"`` (ball and box, each at half of ``failure``).

        >>> ball = Prior.from_counts({"no": 700, "yes": 300}).confidence(failure=1e-6)
        >>> print(f"{float(ball.beta):.4f}")
        0.1703
        """
        from leakwise.priors.confidence import confidence

        return confidence(self, failure, method)

    # -- equality and looks -------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.alphabet)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Prior):
            return NotImplemented
        return self.labels == other.labels and self.weights.tolist() == other.weights.tolist()

    def __hash__(self) -> int:
        return hash((self.labels, self.denominator))

    def _shown(self) -> Parts:
        # Numbers, not texts: the table writes out only the rows that it shows. A float of 0 or 1 may be a rounded one.
        floats, weights = self.probabilities.tolist(), self.weights.tolist()
        rows: list[list[object]] = [
            [label_text(label), p if 0.0 < p < 1.0 else Fraction(weight, self.denominator)]
            for label, p, weight in zip(self.labels, floats, weights, strict=True)
        ]
        return [Table(["value", "probability"], rows, self._title())]

    def _title(self) -> str:
        sample = "" if self.sample_size is None else f", from {counted(self.sample_size, 'sample')}"
        return f"Prior over {len(self):,} values{sample}, ε_max = {number(self.epsilon_max)}"

    def to_dict(self) -> dict[str, Any]:
        """Return plain data: labels, probabilities, exact fractions as text."""
        return {
            "labels": [label_to_plain(label) for label in self.labels],
            "probabilities": self.probabilities.tolist(),
            "exact": [str(fraction) for fraction in self.fractions],
            "sample_size": self.sample_size,
            "epsilon_max": self.epsilon_max,
        }
