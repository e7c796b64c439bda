"""Every measure once more, from its definition, on Fractions and by trying everything."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from decimal import Decimal, localcontext
from fractions import Fraction

from hypothesis import strategies as st

import leakwise as lw

Matrix = list[list[Fraction]]
Law = list[Fraction]
F = Fraction

# [EN] Example 1, and its processing h.
EXAMPLE = lw.Mechanism(
    [
        [0, 0, F(1, 2), F(1, 2)],
        [0, 0, F(1, 2), F(1, 2)],
        [0, F(1, 5), F(2, 5), F(2, 5)],
        [F(1, 5), 0, F(2, 5), F(2, 5)],
    ]
)
MERGED = EXAMPLE.then([[1, 0], [0, 1], [1, 0], [0, 1]])
UNIFORM = lw.Prior.uniform(4)


@st.composite
def laws(draw: st.DrawFn, size: int, *, zeros: bool = True) -> Law:
    least = 0 if zeros else 1
    weights = draw(st.lists(st.integers(least, 6), min_size=size, max_size=size).filter(any))
    return [Fraction(weight, sum(weights)) for weight in weights]


@st.composite
def matrices(draw: st.DrawFn, rows: int | None = None, *, most: int = 4, zeros: bool = True) -> Matrix:
    letters = draw(st.integers(1, most)) if rows is None else rows
    outcomes = draw(st.integers(1, most))
    return [draw(laws(outcomes, zeros=zeros)) for _ in range(letters)]


@st.composite
def channels(draw: st.DrawFn, *, most: int = 4, zeros: bool = True) -> tuple[lw.Mechanism, lw.Prior]:
    matrix = draw(matrices(most=most, zeros=zeros))
    prior = draw(laws(len(matrix)))
    return lw.Mechanism(matrix), lw.Prior(prior)


@st.composite
def processed(draw: st.DrawFn) -> tuple[lw.Mechanism, lw.Prior, lw.Mechanism]:
    """A mechanism, a prior, and the mechanism with its outcome processed further."""
    mechanism, prior = draw(channels())
    return mechanism, prior, mechanism.then(draw(matrices(rows=mechanism.shape[1])))


factors = st.fractions(1, 6, max_denominator=12)
deltas = st.fractions(0, 1, max_denominator=24)


def entries(mechanism: lw.Mechanism) -> Matrix:
    return [[Fraction(int(w), mechanism.denominator) for w in row] for row in mechanism.weights]


def supported(mechanism: lw.Mechanism, prior: lw.Prior) -> tuple[Matrix, Law]:
    """The rows and the masses of the letters that can occur."""
    pairs = [(row, mass) for row, mass in zip(entries(mechanism), prior.fractions, strict=True) if mass]
    return [row for row, _ in pairs], [mass for _, mass in pairs]


def output_law(matrix: Matrix, prior: Law) -> Law:
    return [sum(p * row[j] for p, row in zip(prior, matrix, strict=True)) for j in range(len(matrix[0]))]


def lifts(mechanism: lw.Mechanism, prior: lw.Prior) -> list[tuple[Fraction, list[Fraction]]]:
    """Of every possible outcome its probability and its lifts."""
    matrix, masses = supported(mechanism, prior)
    law = output_law(matrix, masses)
    return [(q, [row[j] / q for row in matrix]) for j, q in enumerate(law) if q]


def events(size: int) -> Iterator[tuple[int, ...]]:
    return itertools.chain.from_iterable(itertools.combinations(range(size), k) for k in range(size + 1))


def tail(mechanism: lw.Mechanism, prior: lw.Prior, t: Fraction) -> Fraction:
    return sum((q for q, column in lifts(mechanism, prior) if max(column) > t), Fraction(0))


def psi1(mechanism: lw.Mechanism, prior: lw.Prior, t: Fraction) -> Fraction:
    return sum((q * max(Fraction(0), 1 - t / max(column)) for q, column in lifts(mechanism, prior)), Fraction(0))


def psi2(mechanism: lw.Mechanism, prior: lw.Prior, t: Fraction) -> Fraction:
    matrix, masses = supported(mechanism, prior)
    law = output_law(matrix, masses)
    return max(sum((row[j] - t * law[j] for j in event), Fraction(0)) for row in matrix for event in events(len(law)))


def quantile_ratios(mechanism: lw.Mechanism, prior: lw.Prior, delta: Fraction) -> tuple[Fraction, Fraction]:
    """e^lower and e^upper from the set forms [EN] (10) and below it."""
    outcomes = [(q, max(column)) for q, column in lifts(mechanism, prior)]
    lower, upper = None, None
    for event in events(len(outcomes)):
        mass = sum((outcomes[k][0] for k in event), Fraction(0))
        ratios = [outcomes[k][1] for k in event]
        if mass >= 1 - delta:
            worst = max(ratios, default=Fraction(1))
            lower = worst if lower is None else min(lower, worst)
        if mass >= delta and ratios:
            upper = min(ratios) if upper is None else max(upper, min(ratios))
    assert lower is not None
    assert upper is not None
    return lower, upper


def delta_of(mechanism: lw.Mechanism, t: Fraction) -> Fraction:
    matrix = entries(mechanism)
    return max(
        sum((row[j] - t * other[j] for j in event), Fraction(0))
        for row in matrix
        for other in matrix
        for event in events(len(row))
    )


def loss_probability(mechanism: lw.Mechanism, t: Fraction) -> Fraction:
    matrix = entries(mechanism)
    return max(
        sum((p for p, r in zip(row, other, strict=True) if p > t * r), Fraction(0))
        for row in matrix
        for other in matrix
    )


def decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def log(value: Fraction) -> Decimal:
    with localcontext() as context:
        context.prec = 50
        return decimal(value).ln()


def mutual_information(mechanism: lw.Mechanism, prior: lw.Prior) -> Decimal:
    matrix, masses = supported(mechanism, prior)
    law = output_law(matrix, masses)
    with localcontext() as context:
        context.prec = 50
        return sum(
            (
                decimal(mass * p) * decimal(p / q).ln()
                for mass, row in zip(masses, matrix, strict=True)
                for p, q in zip(row, law, strict=True)
                if p
            ),
            Decimal(0),
        )


def f_information(mechanism: lw.Mechanism, prior: lw.Prior, f: object) -> Decimal:
    _, masses = supported(mechanism, prior)
    with localcontext() as context:
        context.prec = 50
        total = Decimal(0)
        for q, column in lifts(mechanism, prior):
            for mass, lift in zip(masses, column, strict=True):
                total += decimal(mass * q) * f(decimal(lift))  # type: ignore[operator]
        return total


def just_above(found: float, truth: Fraction | Decimal, room: float = 1e-12) -> bool:
    """Whether a float is not below the truth, and hardly above it."""
    if isinstance(truth, Decimal):
        with localcontext() as context:
            context.prec = 50
            difference = Decimal(found) - truth
            return -Decimal("1e-45") <= difference <= Decimal(room)
    return 0 <= Fraction(found) - truth <= Fraction(room)
