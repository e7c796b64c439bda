"""Release many times what was released or designed, and see what analysts and guessers get."""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from leakwise.alphabet import GivenColumns, Label
from leakwise.errors import InvalidInput, some_of
from leakwise.mechanism import AnyMechanism, Mechanism, StratifiedMechanism
from leakwise.priors import Prior, PriorByStratum, PriorSet
from leakwise.report import Protection, SeveralProtection
from leakwise.report.comparison import Part, pooled_worth
from leakwise.report.expected import Group, expected_guesses, groups_of, leaning
from leakwise.report.simulation import Analyst, Attacker, GroupTest, Simulation
from leakwise.types import Bools, Counts, Floats

if TYPE_CHECKING:
    from leakwise.optimize import Design, StratifiedDesign

__all__ = ["simulate"]

_CONFIDENCE = 0.95
# Groups that are compared pair by pair.
_MOST_GROUPS = 6


@dataclass(frozen=True)
class _Cell:
    """Rows of one stratum: what draws for them, the distribution of their values, and how many there are."""

    stratum: Label
    mechanism: Mechanism
    law: Floats
    rows: int
    support: Bools


def simulate(
    release: Protection | SeveralProtection | Design | StratifiedDesign,
    table: Any = None,
    repeats: int = 1000,
    *,
    column: Hashable = None,
    rows: int = 1000,
    between: Hashable = None,
    seed: int = 0,
) -> Simulation:
    """Show what an analyst and what someone who guesses would get from a release, over many simulated ones.

    In each of them people are drawn like the rows, as many in each stratum as there are (in small strata also a little
    like all rows), and their outcomes by the mechanism. Nothing is released or spent; with a table, or a release of
    one, the result contains exact figures of the table and is for its owner.

    Parameters
    ----------
    release
        What :func:`leakwise.protect` gave (a dry run will do), or a design.
    table
        For a design: the table whose frequencies count. Left out, those of its prior.
    repeats
        How many releases are simulated.
    column
        For a release of several secrets: which one. What is told about it is by its own outcomes, beside those drawn
        before it. For a design with a table: its secret column, where the mechanism does not name it.
    rows
        For a design without a table: the rows of each release.
    between
        A given column (for a design with a table, any other column): how often would a test find a difference between
        its groups?
    seed
        For the simulation alone; the same seed gives the same figures.

    Examples
    --------
    >>> import leakwise as lw
    >>> design = lw.design(lw.Prior({"no": 0.7, "yes": 0.3}), lift=2, anyone=20, utility="frequencies")
    >>> found = simulate(design, rows=2000, repeats=200)
    >>> guesses = found.attacker.expected
    >>> f"{guesses.before:.2f} right without the outcomes, {guesses.after:.2f} with them"
    '0.70 right without the outcomes, 0.80 with them'
    >>> [f"{error:.3f}" for error in found.analyst.expected_standard_error]
    ['0.016', '0.016']
    """
    if isinstance(repeats, bool) or not isinstance(repeats, int) or repeats < 2:
        raise InvalidInput(f"repeats must be a whole number, at least 2. Got {repeats!r} instead.")
    known = _released(release, table, column)
    cells, columns, of_table = _cells(known, table, column, rows, between)
    mechanism = known.mechanism
    if between is not None and (columns is None or between not in columns.names):
        such = "" if columns is None else f", such as {some_of(columns.names)}"
        raise InvalidInput(
            f"between must name a column that goes out beside the secret{such}. Got {between!r} instead."
        )
    if len(mechanism.inputs) > 1000:
        raise InvalidInput(
            f"The secret has {len(mechanism.inputs):,} values; a simulation takes 1,000 at most. Use a coarser domain."
        )
    drawn = [_drawn(cell, repeats, np.random.default_rng([seed, place])) for place, cell in enumerate(cells)]
    outcomes = [found.outcomes for found in drawn]
    estimates, low, high, determined = _estimated(cells, outcomes, repeats)
    total = sum(cell.rows for cell in cells)
    true = np.sum([cell.rows / total * cell.law for cell in cells], axis=0)
    parts = [Part(cell.mechanism, _prior(cell), cell.rows, cell.support) for cell in cells]
    errors = pooled_worth(parts, total).standard_error
    least, largest = np.quantile(estimates, [0.025, 0.975], axis=0)
    analyst = Analyst(
        true,
        estimates.mean(axis=0),
        least,
        largest,
        np.where(determined, estimates.std(axis=0), np.nan),
        np.full(true.size, np.nan) if errors is None else np.array(errors),
        ((low <= true + 1e-12) & (true <= high + 1e-12)).mean(axis=0),
    )
    return Simulation(
        mechanism.inputs,
        total,
        repeats,
        analyst,
        _attacker(cells, drawn),
        () if columns is None or between is None else _tests(cells, outcomes, columns, between, repeats),
        known.lift if isinstance(known, _Released) else math.exp(known.certificate.epsilon_upper),
        _CONFIDENCE,
        of_table,
        determined,
    )


# -- what is simulated ----------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Released:
    """What was released of one secret: its mechanism, how often each value occurs by stratum, and its lift."""

    mechanism: AnyMechanism
    counts: Mapping[Label, Sequence[int]]
    lift: float


def _released(release: Any, table: Any, column: Hashable) -> Any:
    """What is simulated: a release of one secret, one of those of several, or a design as it is."""
    if isinstance(release, Protection):
        return _Released(release.mechanism, release.counts, float(release.facts.promised))
    if not isinstance(release, SeveralProtection):
        return release
    names = list(release.mechanism)
    if column not in names:
        raise InvalidInput(
            f"column must name one of the secrets that were released: {some_of(names, 12)}. Got {column!r} instead."
        )
    if table is not None:
        raise InvalidInput(
            "table must be left out with a release of several secrets: mechanisms are by outcomes that were drawn for "
            "its own rows."
        )
    facts = release.facts.parts[names.index(column)]
    return _Released(release.mechanism[column], release.counts[column], float(facts.promised))


def _cells(
    release: Any, table: Any, column: Hashable, rows: int, between: Hashable
) -> tuple[list[_Cell], GivenColumns | None, bool]:
    """The strata, the columns that they are of, and whether they were counted in a table."""
    mechanism = getattr(release, "mechanism", None)
    if not isinstance(mechanism, Mechanism | StratifiedMechanism):
        raise InvalidInput(
            "release must be what lw.protect or lw.design gave, with one mechanism or one for each stratum. Got "
            f"{type(release).__name__} instead."
        )
    given = mechanism.given_columns if isinstance(mechanism, StratifiedMechanism) else None
    if isinstance(release, _Released) and table is None:
        groups = groups_of(mechanism, release.counts)
        found = [(one.stratum, one.counts / one.rows, one.rows) for one in groups]
        return _leaning([_cell(mechanism, *one) for one in found]), given, True
    if table is not None:
        secret = column if column is not None else getattr(mechanism, "secret", None)
        if secret is None:
            raise InvalidInput("column must name the secret column of the table.")
        from leakwise.tables.kinds import frames
        from leakwise.tables.kinds.streams import rows_at_hand

        table = rows_at_hand(table)
        names = [] if given is None else list(given.names)
        names += [between] if between is not None and between not in names else []
        known: Any = {} if given is None else dict(zip(given.names, given.domains, strict=True))
        if not names:
            prior = Prior.from_data(frames.column_of(table, secret), mechanism.input_alphabet)
            return [_cell(mechanism, (), prior.probabilities, prior.sample_size or 0)], None, True
        if given and len(names) > len(given):
            raise InvalidInput(
                f"between must be one of the given columns of the mechanism, {given.quoted}. Got {between!r} instead."
            )
        counted = PriorByStratum.from_data(table, secret, known or names, mechanism.input_alphabet)
        sizes = counted.sample_sizes
        cells = [_cell(mechanism, key, counted[key].nominal.probabilities, sizes[key] or 0) for key in counted]
        return _leaning([cell for cell in cells if cell.rows]), counted.given_columns, True
    if isinstance(rows, bool) or not isinstance(rows, int) or rows < 1:
        raise InvalidInput(f"rows must be a whole number, at least 1. Got {rows!r} instead.")
    known = release.prior
    if isinstance(known, PriorByStratum):
        sizes = {key: round(rows * weight) for key, weight in known.weights.items()}
        return (
            [_cell(mechanism, key, known[key].nominal.probabilities, size) for key, size in sizes.items() if size],
            given,
            False,
        )
    assert isinstance(known, PriorSet)
    return [_cell(mechanism, (), known.nominal.probabilities, rows)], None, False


def _leaning(cells: list[_Cell]) -> list[_Cell]:
    groups = [Group(cell.stratum, cell.mechanism, cell.rows * cell.law) for cell in cells]
    leant = leaning(groups, [cell.support for cell in cells])
    return [replace(cell, law=one.counts / one.counts.sum()) for cell, one in zip(cells, leant, strict=True)]


def _cell(mechanism: AnyMechanism, stratum: Label, law: Any, rows: int) -> _Cell:
    everything: Bools = np.ones(len(mechanism.inputs), dtype=np.bool_)
    law = np.asarray(law, dtype=np.float64)
    if not isinstance(mechanism, StratifiedMechanism):
        return _Cell(stratum, mechanism, law / law.sum(), rows, everything)
    if stratum in mechanism:
        return _Cell(stratum, mechanism[stratum], law / law.sum(), rows, mechanism.support(stratum))
    if mechanism.otherwise is None:
        raise InvalidInput(f"The mechanism has none for the rows where {mechanism.given_columns.described(stratum)}.")
    return _Cell(stratum, mechanism.otherwise, law / law.sum(), rows, everything)


def _prior(cell: _Cell) -> Prior:
    return Prior(dict(zip(cell.mechanism.inputs, cell.law.tolist(), strict=True)))


# -- draws and estimates --------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Drawn:
    """What was drawn in one stratum: outcomes of each release, and over all of them how often with each value."""

    outcomes: Counts
    joint: Floats


def _drawn(cell: _Cell, repeats: int, generator: np.random.Generator) -> _Drawn:
    values = generator.multinomial(cell.rows, cell.law, repeats)
    matrix = cell.mechanism.matrix
    outcomes = np.zeros((repeats, matrix.shape[1]), dtype=np.int64)
    joint = np.zeros(matrix.shape)
    for place in np.flatnonzero(cell.law):
        own = generator.multinomial(values[:, place], matrix[place] / matrix[place].sum())
        outcomes += own
        joint[place] = own.sum(axis=0)
    return _Drawn(outcomes, joint)


def _estimated(
    cells: Sequence[_Cell], outcomes: Sequence[Counts], repeats: int
) -> tuple[Floats, Floats, Floats, Bools]:
    """The estimates of every release with their intervals, as ``lw.estimate`` gives them, and what is determined."""
    from leakwise.tables.estimate.inversion import invert
    from leakwise.tables.strata.pooling import Cell, pooled

    # Strata with one mechanism are one cell of rows, as in lw.estimate.
    merged: dict[Any, tuple[_Cell, Counts]] = {}
    for cell, found in zip(cells, outcomes, strict=True):
        token = id(cell.mechanism), cell.support.tobytes()
        merged[token] = cell, merged[token][1] + found if token in merged else found
    kept = list(merged.values())
    size = cells[0].law.size
    estimates, low, high = np.zeros((3, repeats, size))
    determined: Bools = np.ones(size, dtype=np.bool_)
    for one in range(repeats):
        if len(kept) == 1 and kept[0][0].support.all():
            answer = invert(kept[0][1][one], kept[0][0].mechanism.matrix, confidence=_CONFIDENCE)
        else:
            answer = pooled(
                [Cell(cell.mechanism.matrix, cell.support, found[one]) for cell, found in kept if found[one].any()],
                confidence=_CONFIDENCE,
                simultaneous=False,
            )
        estimates[one], (low[one], high[one]) = answer.frequencies, answer.intervals.T
        determined &= answer.identifiable
    return estimates, low, high, determined


def _tests(
    cells: Sequence[_Cell], outcomes: Sequence[Counts], columns: GivenColumns, between: Hashable, repeats: int
) -> list[GroupTest]:
    """How often each value is found to be more frequent in one group than in another."""
    from leakwise.tables.strata.pooling import Cell, pooled

    place = columns.names.index(between)
    groups: dict[Label, list[int]] = {}
    for number, cell in enumerate(cells):
        key = cell.stratum[place] if len(columns) > 1 and isinstance(cell.stratum, tuple) else cell.stratum
        groups.setdefault(key, []).append(number)
    largest = sorted(groups, key=lambda key: -sum(cells[number].rows for number in groups[key]))[:_MOST_GROUPS]
    estimates, errors, laws = {}, {}, {}
    for key in largest:
        own = groups[key]
        size = sum(cells[number].rows for number in own)
        laws[key] = np.sum([cells[number].rows / size * cells[number].law for number in own], axis=0)
        answers = [
            pooled(
                [Cell(cells[n].mechanism.matrix, cells[n].support, outcomes[n][one]) for n in own],
                confidence=_CONFIDENCE,
                simultaneous=False,
            )
            for one in range(repeats)
        ]
        estimates[key] = np.array([answer.frequencies for answer in answers])
        errors[key] = np.array([answer.standard_error for answer in answers])
    critical = NormalDist().inv_cdf(0.975)
    found = []
    for first, second in itertools.combinations(largest, 2):
        with np.errstate(invalid="ignore", divide="ignore"):
            scores = np.abs(estimates[first] - estimates[second]) / np.hypot(errors[first], errors[second])
        power = (scores > critical).mean(axis=0)
        for label, difference, share in zip(cells[0].mechanism.inputs, laws[first] - laws[second], power, strict=True):
            found.append(GroupTest(label, (first, second), float(difference), float(share)))
    return sorted(found, key=lambda one: -abs(one.difference))


# -- guesses --------------------------------------------------------------------------------------------------------


def _attacker(cells: Sequence[_Cell], drawn: Sequence[_Drawn]) -> Attacker:
    expected = expected_guesses([Group(cell.stratum, cell.mechanism, cell.rows * cell.law) for cell in cells])
    right, all_rows, most = 0.0, 0.0, (-1.0, 0, 0, 0)
    for number, (cell, found) in enumerate(zip(cells, drawn, strict=True)):
        joint = cell.law[:, None] * cell.mechanism.matrix
        right += found.joint[joint.argmax(axis=0), np.arange(joint.shape[1])].sum()
        all_rows += found.joint.sum()
        with np.errstate(invalid="ignore", divide="ignore"):
            lifts = np.where(joint > 0, cell.mechanism.matrix / joint.sum(axis=0), 0.0)
        best = int(lifts.round(9).argmax())  # many outcomes reach the limit: the first of them, whatever floats say
        value, outcome = divmod(best, joint.shape[1])
        most = max(most, (float(lifts.flat[best]), number, value, outcome), key=lambda one: round(one[0], 9))
    lift, number, value, outcome = most
    mechanism, joint = cells[number].mechanism, drawn[number].joint
    came, share = joint[:, outcome].sum(), joint[value].sum() / joint.sum()
    return Attacker(
        expected,
        float(right / all_rows),
        cells[number].stratum,
        mechanism.outputs[outcome],
        mechanism.inputs[value],
        lift,
        float(joint[value, outcome] / came / share) if came and share else math.nan,
    )
