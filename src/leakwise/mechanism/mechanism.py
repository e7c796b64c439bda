"""A mechanism: exact probabilities with labels on both sides."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable
from fractions import Fraction
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from leakwise.alphabet import Alphabet, Label, as_alphabet
from leakwise.charts.shown import Drawn, Parts, Table
from leakwise.charts.specs import heatmap
from leakwise.errors import InvalidInput, label_text
from leakwise.exact import IntegerArray
from leakwise.mechanism.code_kernel import CodeKernel
from leakwise.mechanism.kernel import CommonLawKernel, DenseKernel, Kernel
from leakwise.mechanism.reading import read_matrix
from leakwise.priors import PriorSet, as_prior_set
from leakwise.types import Array, Floats

if TYPE_CHECKING:
    from leakwise.mechanism.composition import Composition

__all__ = ["Mechanism", "align_prior"]


class Mechanism(Drawn):
    """A randomized release of a finite secret: outcome probabilities for each value.

    Parameters
    ----------
    matrix
        N×M, row i the distribution of the outcome for value i: nested lists, a NumPy array, a pandas DataFrame
        (its labels are kept), a polars DataFrame or a mapping of mappings. Floats are rounded to denominator 2^60 with
        exact row sums (rows may miss 1 by at most 1e-9); Fractions, integers and decimal strings keep their values.
    inputs, outputs
        Labels of the values and of the outcomes, numbered by default.

    Examples
    --------
    >>> m = Mechanism([[0.9, 0.1], [0.2, 0.8]], inputs=["no", "yes"], outputs=["no", "yes"])
    >>> print(f"{float(m.probability('no', 'yes')):.4f}")
    0.1000
    """

    kernel: Kernel
    input_alphabet: Alphabet
    output_alphabet: Alphabet
    outcomes_digest: str | None = None
    """By what :func:`leakwise.estimate` recognizes the released table, if the file of this mechanism contains it."""

    def __init__(
        self, matrix: Any, inputs: int | Iterable[Label] | None = None, outputs: int | Iterable[Label] | None = None
    ) -> None:
        given = read_matrix(matrix)
        self._fill(
            DenseKernel(given.weights, given.denominator),
            given.inputs if inputs is None else inputs,
            given.outputs if outputs is None else outputs,
        )

    def _fill(self, kernel: Kernel, inputs: Any, outputs: Any) -> None:
        rows, columns = kernel.shape
        sides = []
        for name, labels, size, what in (("inputs", inputs, rows, "rows"), ("outputs", outputs, columns, "columns")):
            alphabet = Alphabet.numbered(size) if labels is None else as_alphabet(labels, name=name)
            if len(alphabet) != size:
                raise InvalidInput(f"{name} must be as many as the {what}. Got {len(alphabet)} for {size} {what}.")
            sides.append(alphabet)
        for attribute, value in (("kernel", kernel), ("input_alphabet", sides[0]), ("output_alphabet", sides[1])):
            object.__setattr__(self, attribute, value)

    @classmethod
    def from_kernel(cls, kernel: Kernel, inputs: Any = None, outputs: Any = None) -> Mechanism:
        """Return the mechanism of a kernel that is already exact."""
        mechanism = cls.__new__(cls)
        mechanism._fill(kernel, inputs, outputs)
        return mechanism

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"A Mechanism cannot be changed ({name!r}); make a new one.")

    # -- what it is ---------------------------------------------------------------------------------------------

    @property
    def inputs(self) -> tuple[Label, ...]:
        """The labels of the secret's values."""
        return self.input_alphabet.labels

    @property
    def outputs(self) -> tuple[Label, ...]:
        """The labels of the outcomes."""
        return self.output_alphabet.labels

    @property
    def shape(self) -> tuple[int, int]:
        """Number of values, number of outcomes."""
        return self.kernel.shape

    @property
    def weights(self) -> IntegerArray:
        """The exact integers, N×M, read-only."""
        return self.kernel.weights

    @property
    def denominator(self) -> int:
        """What the integers are over; every row sums to it."""
        return self.kernel.denominator

    @property
    def matrix(self) -> Floats:
        """The probabilities as floats: a read-only view of the exact integers."""
        return self.kernel.matrix

    def probability(self, letter: Label, outcome: Label) -> Fraction:
        """Return the exact probability of an outcome, given the value."""
        code = self.input_alphabet.code(letter, name="letter")
        place = self.output_alphabet.code(outcome, name="outcome")
        return Fraction(int(self.kernel.row(code)[place]), self.denominator)

    # -- other mechanisms from it -------------------------------------------------------------------------------

    def then(self, later: Any) -> Mechanism:
        """Return this mechanism followed by another on its outcome: post-processing, exact.

        ``later`` is a Mechanism over this one's outcomes, or a matrix with one row per outcome.

        >>> Mechanism([[1, 0], [0, 1]]).then([[0.5, 0.5], [0.5, 0.5]]).matrix.tolist()
        [[0.5, 0.5], [0.5, 0.5]]
        """
        step = later if isinstance(later, Mechanism) else Mechanism(later)
        order = self.output_alphabet.positions_in(
            step.input_alphabet, mine="outcome of the first mechanism", theirs="input of the second"
        )
        kernel = step.kernel if order is None else step.kernel.take_rows(order)
        return Mechanism.from_kernel(self.kernel.then(kernel), self.input_alphabet, step.output_alphabet)

    def repeat(self, times: int) -> Composition:
        """The joint release of several draws for one secret, as a mechanism over count vectors (see ``lw.compose``).

        >>> Mechanism([["3/4", "1/4"], ["1/4", "3/4"]]).repeat(1000).shape
        (2, 1001)
        """
        from leakwise.mechanism.composition import repeat

        return repeat(self, times)

    def reduce(self) -> Mechanism:
        """Return the same information with the fewest outcomes: impossible ones dropped, proportional ones merged.

        >>> Mechanism([["1/4", "1/4", "1/2", 0], ["1/8", "1/8", "3/4", 0]]).reduce().outputs
        ('0 | 1', '2')
        """
        weights = self.weights.astype(np.object_)
        groups: dict[tuple[int, ...], list[int]] = {}
        for place in range(weights.shape[1]):
            column = [int(weight) for weight in weights[:, place]]
            if divisor := math.gcd(*column):
                groups.setdefault(tuple(weight // divisor for weight in column), []).append(place)
        if all(len(group) == 1 for group in groups.values()) and len(groups) == weights.shape[1]:
            return self
        columns = [weights[:, group].sum(axis=1) for group in groups.values()]
        merged = any(len(group) > 1 for group in groups.values())
        labels: list[Label] = [
            " | ".join(str(self.outputs[place]) for place in group) if merged else self.outputs[group[0]]
            for group in groups.values()
        ]
        if len(set(labels)) < len(labels):  # 1 and "1" are two labels of one text: written as in Python they differ
            labels = [" | ".join(repr(self.outputs[place]) for place in group) for group in groups.values()]
        kernel = DenseKernel(np.stack(columns, axis=1), self.denominator)
        return Mechanism.from_kernel(kernel, self.input_alphabet, labels)

    def dyadic(self, bits: int = 60) -> Mechanism:
        """Return the nearest mechanism over the denominator 2^bits, which is what a release draws from.

        Zeros stay zero and nothing possible becomes impossible. Rounding may move the leakage by about 2^-bits over the
        probability of the rarest outcome: certify the result again.
        """
        if isinstance(bits, bool) or not isinstance(bits, (int, np.integer)) or not 1 <= bits <= 64:
            raise InvalidInput(f"bits must be between 1 and 64. Got {bits!r} instead.")
        kernel = self.kernel.dyadic(int(bits))
        if kernel is self.kernel:
            return self
        return Mechanism.from_kernel(kernel, self.input_alphabet, self.output_alphabet)

    # -- drawing ------------------------------------------------------------------------------------------------

    @cached_property
    def sampler(self) -> Any:
        """The sampler that draws outcome codes from value codes, exactly."""
        return self.kernel.sampler()

    def sample(self, letter: Label, size: int | None = None, *, unsafe_seed: int | None = None) -> Any:
        """Draw an outcome for a value (or ``size`` of them, as a list), from the operating system's randomness.

        ``unsafe_seed`` makes the draws repeatable, for tests only: anyone who knows the seed can undo the release.
        """
        codes, stream = self._to_draw(letter, size, unsafe_seed)
        drawn = [self.outputs[place] for place in self.sampler.draw(codes, stream)]
        return drawn[0] if size is None else drawn

    def _to_draw(self, letter: Label, size: int | None, unsafe_seed: int | None) -> tuple[Array, Any]:
        """The value's code, as often as it is to be drawn for, and where the random words come from."""
        from leakwise.sampling import SecureStream

        code = self.input_alphabet.code(letter, name="letter")
        if size is not None and (isinstance(size, bool) or not isinstance(size, (int, np.integer)) or size < 0):
            raise InvalidInput(f"size must be a whole number of draws, at least 0. Got {size!r} instead.")
        stream = None if unsafe_seed is None else SecureStream(unsafe_seed=unsafe_seed)
        return np.full(1 if size is None else size, code, dtype=np.uint32), stream

    # -- files --------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the mechanism as versioned JSON with exact integers and a checksum."""
        from leakwise.mechanism.files import save_mechanism

        save_mechanism(self, path)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Mechanism:
        """Read a mechanism that :meth:`save` wrote; a damaged or newer file is an error."""
        from leakwise.mechanism.files import load_mechanism

        return load_mechanism(path)

    def to_csv(self, path: str | os.PathLike[str]) -> None:
        """Write the matrix as CSV, in exact fractions: outcomes in the first line, then a line for each value."""
        from leakwise.mechanism.written import as_csv

        as_csv(self, path)

    def to_latex(self) -> str:
        r"""Return the matrix with its labels as an ``array`` for LaTeX's mathematics, in exact fractions.

        >>> print(Mechanism([["3/4", "1/4"]], inputs=["no"]).to_latex().splitlines()[2])
        \text{no} & \frac{3}{4} & \frac{1}{4}
        """
        from leakwise.mechanism.written import as_latex

        return as_latex(self)

    # -- other libraries ----------------------------------------------------------------------------------------

    def to_sympy(self) -> Any:
        """Return the matrix as a ``sympy.Matrix`` of exact rationals (extra ``symbolic``).

        >>> Mechanism([["3/4", "1/4"], ["1/4", "3/4"]]).to_sympy().det()
        1/2
        """
        from leakwise.mechanism.written import as_sympy

        return as_sympy(self)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Array:
        from leakwise.mechanism.written import as_array

        return as_array(self, dtype, copy)

    def to_pld(self, interval: float = 1e-4) -> Any:
        """Return the privacy loss distribution of dp_accounting for this mechanism, whoever sees it and knows what.

        It dominates every ordered pair of values at once: its δ for an ε is that of
        :func:`leakwise.measures.privacy_profile` on the grid of losses, multiples of ``interval``, and never below
        it elsewhere. Compose it with those of other mechanisms; the result is never below what these leak together
        (dp_accounting composes in plain floats). It needs ``pip install 'leakwise[interop]'``.

        >>> pld = Mechanism([["3/4", "1/4"], ["1/4", "3/4"]]).to_pld()
        >>> print(f"{pld.get_delta_for_epsilon(0.5):.4f} {pld.self_compose(10).get_epsilon_for_delta(1e-3):.2f}")
        0.3378 10.97
        """
        from leakwise.interop.loss_distribution import to_pld

        return to_pld(self, interval)

    def to_opendp(self) -> Any:
        """Return an OpenDP measurement that draws an outcome for a value, under the discrete distance.

        Its privacy map is ε of local differential privacy, rounded up (the max divergence); its input domain are the
        declared values alone. OpenDP must be told first that other people's code is trusted:
        ``opendp.prelude.enable_features("contrib", "honest-but-curious")``. It needs ``pip install
        'leakwise[interop]'``.
        """
        from leakwise.interop.measurement import to_opendp

        return to_opendp(self)

    @classmethod
    def from_opendp(cls, measurement: Any) -> Mechanism:
        """Return the mechanism of an OpenDP measurement, exact: of randomized response, or from :meth:`to_opendp`.

        The probability that the value is kept is a float, and means its exact value. The values are the declared
        categories; for any other text OpenDP draws one of them with equal probabilities.
        """
        from leakwise.interop.measurement import from_opendp

        return from_opendp(measurement)

    # -- equality and looks -------------------------------------------------------------------------------------

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Mechanism):
            return NotImplemented
        if self.inputs != other.inputs or self.outputs != other.outputs:
            return False
        mine, theirs = self.kernel, other.kernel
        scale, their_scale = theirs.denominator, mine.denominator
        if isinstance(mine, CommonLawKernel) and isinstance(theirs, CommonLawKernel) and self.shape[0] > 1:
            # With two letters or more the common law is what is beside the diagonal: equal if they are.
            ours, others = mine.common.astype(np.object_), theirs.common.astype(np.object_)
            return np.array_equal(ours * scale, others * their_scale)
        if isinstance(mine, CodeKernel) and isinstance(theirs, CodeKernel) and mine.key == theirs.key:
            return True
        return all(
            np.array_equal(mine.row(code).astype(np.object_) * scale, theirs.row(code).astype(np.object_) * their_scale)
            for code in range(self.shape[0])
        )

    def __hash__(self) -> int:
        return hash((self.inputs, self.outputs))

    def _title(self) -> str:
        rows, columns = self.shape
        power = self.denominator.bit_length() - 1
        over = f"2^{power}" if self.denominator == 1 << power else f"{self.denominator}"
        if len(over) > 24:
            over = f"an integer of {self.denominator.bit_length()} bits"
        return f"Mechanism {rows:,} × {columns:,}, exact over {over}"

    def _shown(self) -> Parts:
        if max(self.shape) > 400:
            return [f"{self._title()} (too large to show)"]
        headers = ["", *map(label_text, self.outputs)]
        # A float of 0 or 1 may be a rounded one: then the exact number is shown.
        rows: list[list[object]] = [
            [
                label_text(label),
                *(p if 0.0 < p < 1.0 else Fraction(w, self.denominator) for p, w in zip(*row, strict=True)),
            ]
            for label, *row in zip(self.inputs, self.matrix.tolist(), self.weights.tolist(), strict=True)
        ]
        return [Table(headers, rows, self._title())]

    def chart(self, title: str | None = None) -> dict[str, Any]:
        """Return the heat map as a Vega-Lite specification, under this title or the mechanism's own."""
        exact = [[f"{weight}/{self.denominator}" for weight in row] for row in self.weights.tolist()]
        return heatmap(
            [label_text(label) for label in self.inputs],
            [label_text(label) for label in self.outputs],
            self.matrix,
            title=self._title() if title is None else title,
            value_title="probability",
            row_title="value",
            column_title="outcome",
            exact=exact,
        )

    def to_dict(self) -> dict[str, Any]:
        """Return plain data with exact integers as text, as in the file."""
        from leakwise.mechanism.files import mechanism_to_plain

        return mechanism_to_plain(self)


def align_prior(prior: Any, mechanism: Mechanism) -> PriorSet:
    """Return the prior (or set) in the order of the mechanism's inputs; other values are an error."""
    known = as_prior_set(prior)
    order = mechanism.input_alphabet.positions_in(known.alphabet, mine="mechanism", theirs="prior")
    return known if order is None else known.reordered(order)
