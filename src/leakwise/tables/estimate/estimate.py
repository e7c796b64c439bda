"""Estimates of frequencies: those of the true values behind a released column, with intervals."""

from __future__ import annotations

import operator
import warnings
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, overload

import numpy as np

from leakwise.alphabet import edges_of, encode_column
from leakwise.errors import InvalidInput, LeakwiseWarning, some_of
from leakwise.exact import ratio_array
from leakwise.mechanism import AnyMechanism, CodeKernel, CommonLawKernel, Mechanism, SetMechanism, StratifiedMechanism
from leakwise.tables.databases.sql_table import SqlTable, check_table
from leakwise.tables.estimate.beside import mechanism_beside, released_beside
from leakwise.tables.estimate.fit import fits
from leakwise.tables.estimate.groups import Groups
from leakwise.tables.estimate.result import Estimate, GroupedEstimate
from leakwise.tables.formats import is_path, open_table
from leakwise.tables.formats.carried_mechanism import Carried, carried_secrets, choose_carried, metadata_of
from leakwise.tables.kinds import frames
from leakwise.tables.kinds.batches import Batches
from leakwise.tables.kinds.joint_columns import encode_columns, plain_alphabet
from leakwise.tables.kinds.plain import in_order
from leakwise.tables.kinds.streams import in_a_file, rows_at_hand
from leakwise.tables.ledger.column_digest import digest_of_outcomes
from leakwise.tables.release.checking import counted
from leakwise.tables.release.file import check_file
from leakwise.tables.release.secret_columns import check_data, check_mechanism, columns_among, refuse_names, unnamed
from leakwise.types import Counts

__all__ = ["check_confidence", "compare_digest", "estimate"]

# Beyond so many entries the matrix of a code is not written out: its frequencies are recovered without one.
_DENSE = 4_000_000
# Entries of a matrix up to which means and quantiles have score intervals; beyond, those of the normal distribution.
_NUMBERS = 250_000


@overload
def estimate(
    released: Any,
    mechanism: AnyMechanism | None = None,
    column: Hashable = None,
    *,
    by: None = None,
    confidence: float = 0.95,
    simultaneous: bool = False,
) -> Estimate: ...


@overload
def estimate(
    released: Any,
    mechanism: AnyMechanism | None = None,
    column: Hashable = None,
    *,
    by: Hashable,
    confidence: float = 0.95,
    simultaneous: bool = False,
) -> GroupedEstimate: ...


@overload
def estimate(
    released: Any,
    mechanism: AnyMechanism | Mapping[Any, Any] | Sequence[Any] | None = None,
    column: Hashable = None,
    *,
    by: Any = None,
    weights: Any = None,
    strata: Any = None,
    clusters: Any = None,
    confidence: float = 0.95,
    simultaneous: bool = False,
) -> Any: ...


def estimate(
    released: Any,
    mechanism: AnyMechanism | Mapping[Any, Any] | Sequence[Any] | None = None,
    column: Hashable = None,
    *,
    by: Any = None,
    weights: Any = None,
    strata: Any = None,
    clusters: Any = None,
    confidence: float = 0.95,
    simultaneous: bool = False,
) -> Any:
    r"""Estimate the frequencies of the true values behind a released column, with standard errors and intervals.

    With counts :math:`c` of :math:`n` rows and the kernel P, the most likely :math:`p` on the simplex under
    :math:`c \sim \mathrm{multinomial}(n, pP)`: by the inverse of P where that gives a distribution, else by maximum
    likelihood. Values that the outcomes cannot tell apart get the interval of all frequencies that fit (linear
    programs), never one from a pseudo-inverse. Randomized response on a million values needs no matrix.

    Parameters
    ----------
    released
        A released column, a table with it (name it by ``column``), the path of a released file or of a folder of them,
        a pattern (``"released/*.csv"``) or a table of a database (:class:`SqlTable`), which are read in batches, or
        the counts: a mapping from outcomes to how often each was released.
    mechanism
        The mechanism that released it, or a mapping from released columns to theirs: without ``column`` the *joint*
        table of several columns is estimated. Parquet and Arrow files that :func:`release` wrote contain theirs, so
        does an Arrow table read from one, and next to a CSV ``leakwise release`` saves it: it can then be left out, and
        a list of columns does for the joint table. With a stratified mechanism strata are pooled by their known sizes.
    column
        The released column of a table; a tuple of columns if they were released together. It can be left out where the
        file says that one column was released.
    by
        Another column of the table, which was not randomized, or a list of them: one estimate for each of its values. A
        released one is refused, because its groups are not those of the true values.
    weights, strata, clusters
        Columns of a survey (or columns of values, one per row): sampling weights, strata, and primary sampling units.
        Errors are then those of the survey design (linearized, with replacement), with the noise of the mechanism in
        them, and Student's quantiles for few clusters.
    confidence
        The confidence of each interval, or of all intervals together if ``simultaneous`` (Bonferroni).

    Returns
    -------
    Estimate, or GroupedEstimate where ``by`` is given; JointEstimate or GroupedJointEstimate for several columns or a
    survey: ``e.table()``, ``e.independence()``, ``e.mean(values)``, ``e.quantile(q)``, ``e.total()``.

    Examples
    --------
    >>> from leakwise.mechanism import randomized_response
    >>> m = randomized_response(["no", "yes"], lift=3)
    >>> e = estimate({"no": 6000, "yes": 4000}, m)
    >>> e.frequencies.round(6).tolist(), e.standard_error.round(4).tolist()
    ([0.7, 0.3], [0.0098, 0.0098])
    """
    check_confidence(confidence)
    released = in_a_file(released) if isinstance(released, Batches) else rows_at_hand(released)
    if mechanism is None and (carried := _by_strata(released, column)) is not None:
        mechanism, column = carried.mechanism, carried.names if len(carried.names) > 1 else carried.names[0]
    if isinstance(by, list) and len(by) == 1 and not isinstance(mechanism, Mapping):
        by = by[0]
    survey = any(one is not None for one in (weights, strata, clusters))
    if (several := _jointly(mechanism, column, by, survey)) is not None:
        from leakwise.tables.estimate.joint.estimate import joint_estimate
        from leakwise.tables.estimate.joint.survey import Survey

        return joint_estimate(released, several, by, Survey(weights, strata, clusters), confidence, simultaneous)
    given: Any = mechanism
    if isinstance(mechanism, Mapping):
        _refuse_released(by, [name for key in mechanism for name in (key if isinstance(key, tuple) else (key,))])
        given, column = _of_mapping(mechanism, column)
    if isinstance(given, SetMechanism):
        from leakwise.tables.estimate.sets import estimate_sets

        return estimate_sets(released, given, column, by, confidence, simultaneous)
    if is_path(released) or isinstance(released, SqlTable):
        return _of_file(released, given, column, by, confidence, simultaneous)
    told = carried_secrets(metadata_of(released), "the table")
    _refuse_released(by, [name for one in told for name in one.names])
    if given is None and told:
        carried = choose_carried(metadata_of(released), column, "the table")
        given, column = carried.mechanism, carried.names if len(carried.names) > 1 else carried.names[0]
    if given is None:
        raise InvalidInput(
            "mechanism must be given: the table does not carry the one it was released by. It is the .mechanism of "
            "what lw.protect returned, or what lw.Mechanism.load or lw.StratifiedMechanism.load reads."
        )
    if isinstance(given, StratifiedMechanism):
        from leakwise.tables.strata.estimate import estimate_by_stratum

        return estimate_by_stratum(released, given, column, by, confidence, simultaneous)[0]
    chosen = check_mechanism(given)
    size = chosen.shape[1]
    if isinstance(released, Mapping) and column is None and not any(map(frames.is_column, released.values())):
        if by is not None:
            raise InvalidInput(f"by={by!r} needs the released table. With counts, estimate each group on its own.")
        return _estimate(_given_counts(released, chosen), chosen, confidence, simultaneous)
    check_data(released, "released")
    outcomes = plain_alphabet(chosen.output_alphabet)
    if frames.is_column(released):
        refuse_names(column, by)
        codes = encode_column(released, outcomes, name="released")
        return _estimate(counted(codes, size), chosen, confidence, simultaneous)
    if column is None:
        raise unnamed("the table", frames.column_names(released))
    names = columns_among(frames.column_names(released), column)
    needed = [*names] if by is None else [*names, by]
    frames.check_columns(released, needed)
    _warn_of_another(chosen, names, told, "the table")
    _refuse_released(by, names)
    held = frames.hold(released, needed)
    codes = encode_columns([frames.column_of(held, name) for name in names], names, outcomes, "outputs")
    if by is None:
        return _estimate(counted(codes, size), chosen, confidence, simultaneous)
    values, places = frames.groups_of(frames.column_of(held, by), name=f"column {by!r}")
    if places.size != codes.size:
        raise InvalidInput(f"column {by!r} has {places.size} rows and column {column!r} has {codes.size}.")
    groups = Groups(by, size)
    groups.add(values, places, codes)
    return _grouped(groups, chosen, confidence, simultaneous)


def _of_file(
    path: Any, mechanism: AnyMechanism | None, column: Any, by: Hashable, confidence: float, simultaneous: bool
) -> Estimate | GroupedEstimate:
    """From a released file or a table of a database, a batch at a time: only counts are held."""
    table = path if isinstance(path, SqlTable) else open_table(path, "released")
    told = carried_secrets(table.metadata, repr(str(path)))
    beside_it = [] if told or isinstance(table, SqlTable) else released_beside(table)
    _refuse_released(by, [name for one in [*told, *beside_it] for name in one.names])
    if mechanism is None:
        beside = None if told or isinstance(table, SqlTable) else mechanism_beside(table, column)
        carried = beside or choose_carried(table.metadata, column, repr(str(path)))
        names, chosen = carried.names, carried.mechanism
    else:
        chosen = mechanism if isinstance(mechanism, StratifiedMechanism) else check_mechanism(mechanism)
        if column is None and isinstance(chosen, StratifiedMechanism):
            column = chosen.secret
        if column is None:
            raise unnamed(repr(str(path)), table.names)
        names = columns_among(table.names, column)
    _warn_of_another(chosen, names, told, repr(str(path)))
    _refuse_released(by, names)
    if isinstance(chosen, StratifiedMechanism):
        from leakwise.tables.strata.estimate import estimate_by_stratum

        title = names if len(names) > 1 else names[0]
        found, counts = estimate_by_stratum(table, chosen, title, by, confidence, simultaneous)
        compare_digest(counts, chosen, repr(str(path)))
        return found
    outcomes = plain_alphabet(chosen.output_alphabet)
    if by is None:
        check: Any = check_table if isinstance(table, SqlTable) else check_file
        counts = check(table, names, outcomes, what="outputs").counts
        compare_digest(counts, chosen, repr(str(path)))
        return _estimate(counts, chosen, confidence, simultaneous)
    needed = [str(name) for name in (*names, by)]
    frames.check_names(table.names, [*names, by], repr(str(path)))
    groups = Groups(by, chosen.shape[1])
    for batch in table.batches(needed):
        columns = [batch[name] for name in needed[:-1]]
        codes = encode_columns(columns, needed[:-1], outcomes, "outputs", encode=table.encode)
        if codes.size:
            groups.add(*table.distinct(batch[needed[-1]]), codes)
    if not groups.counts:
        raise InvalidInput(f"{str(path)!r} has no rows: there is nothing to estimate from.")
    compare_digest(np.sum(list(groups.counts.values()), axis=0), chosen, repr(str(path)))
    return _grouped(groups, chosen, confidence, simultaneous)


def _grouped(groups: Groups, mechanism: Mechanism, confidence: float, simultaneous: bool) -> GroupedEstimate:
    # All intervals of all groups share the failure probability, group by group and then letter by letter.
    share = 1 - (1 - confidence) / len(groups.counts) if simultaneous else confidence
    found = {
        value: _estimate(groups.counts[value], mechanism, share, simultaneous) for value in in_order(groups.counts)
    }
    return GroupedEstimate(groups.by, found, confidence, simultaneous)


def _by_strata(released: Any, column: Any) -> Carried | None:
    """The release by strata that a file or an Arrow table carries, where it is the one that is meant."""
    metadata = open_table(released, "released").metadata if is_path(released) else metadata_of(released)
    told = carried_secrets(metadata, repr(str(released)) if is_path(released) else "the table")
    wanted = tuple(column) if isinstance(column, (list, tuple)) else (column,)
    found = [one for one in told if one.names == wanted or (column is None and len(told) == 1)]
    return found[0] if found and isinstance(found[0].mechanism, StratifiedMechanism) else None


def _jointly(mechanism: Any, column: Any, by: Any, survey: bool) -> Mapping[Any, Any] | None:
    """Which columns are estimated jointly, with their mechanisms; None where one column is estimated by itself."""
    if isinstance(mechanism, (list, tuple)) and all(isinstance(one, (str, tuple)) for one in mechanism):
        return dict.fromkeys(mechanism)  # theirs are found in the file
    several = isinstance(by, (list, tuple)) and not isinstance(mechanism, StratifiedMechanism)
    if isinstance(mechanism, Mapping):
        if column is None and (len(mechanism) > 1 or survey or several):
            return mechanism
        return {column: mechanism.get(column)} if survey or several else None
    if not (survey or several):
        return None
    if column is None:
        column = mechanism.secret if isinstance(mechanism, StratifiedMechanism) else None
    if column is None:
        raise InvalidInput("column must say which column of the table was released.")
    return {tuple(column) if isinstance(column, list) else column: mechanism}


def _refuse_released(by: Hashable, released: Sequence[Hashable]) -> None:
    if by is not None and by in released:
        raise InvalidInput(
            f"by={by!r} is a released column itself: its groups are those of outcomes, not of true values, and "
            "estimates within them would be biased. Group by a column that was not randomized."
        )


def _of_mapping(mechanisms: Mapping[Any, Any], column: Any) -> tuple[Any, Any]:
    """The mechanism that is meant, and its column."""
    if column is None and len(mechanisms) == 1:
        column = next(iter(mechanisms))
    wanted = tuple(column) if isinstance(column, list) else column
    if wanted not in mechanisms:
        raise InvalidInput(
            f"column must be one of those that mechanism names: {some_of(list(mechanisms))}. Got {column!r} instead."
        )
    return mechanisms[wanted], wanted


def _warn_of_another(chosen: AnyMechanism, names: tuple[Hashable, ...], told: Sequence[Carried], name: str) -> None:
    if any(one.names == names and one.mechanism != chosen for one in told):
        warnings.warn(
            f"{name} says that {some_of(names)} was released by another mechanism than the one given. Leave mechanism "
            "out to use what the file says.",
            LeakwiseWarning,
            stacklevel=4,
        )


def compare_digest(counts: Counts, mechanism: AnyMechanism, name: str) -> None:
    """Refuse a table that is not the one that the file of the mechanism belongs to."""
    if mechanism.outcomes_digest is not None and mechanism.outcomes_digest != digest_of_outcomes(counts):
        raise InvalidInput(
            f"The mechanism belongs to another released table than {name}. If a release was interrupted, its mechanism "
            "is next to the other with the ending '.next'. If rows were left out on purpose, read them into a table "
            "(pandas, polars, Arrow) and estimate from that."
        )


def _estimate(counts: Counts, mechanism: Mechanism, confidence: float, simultaneous: bool) -> Estimate:
    # The linear programs behind it are loaded when someone estimates.
    from leakwise.tables.estimate.inversion import invert, invert_structured

    if not counts.any():
        raise InvalidInput("released must hold at least one row. Got none, and nothing can be estimated from it.")
    kernel = mechanism.kernel
    impossible = np.flatnonzero((counts > 0) & (kernel.column_max() == 0))
    if impossible.size:
        raise InvalidInput(
            f"released has {int(counts[impossible].sum())} rows with outcomes that this mechanism never gives: "
            f"{some_of([mechanism.outputs[place] for place in impossible])}. It was released by another one."
        )
    if isinstance(kernel, CommonLawKernel):
        common = ratio_array(kernel.common, kernel.denominator)
        diagonal = kernel.diagonal / kernel.denominator
        found = invert_structured(counts, common, diagonal, confidence=confidence, simultaneous=simultaneous)
        law = common + diagonal * found.frequencies
    elif isinstance(kernel, CodeKernel) and kernel.shape[0] * kernel.shape[1] > _DENSE:
        from leakwise.tables.estimate.codes import code_law, invert_code

        found = invert_code(counts, kernel, confidence=confidence, simultaneous=simultaneous)
        law = code_law(kernel, found.frequencies)
    else:
        found = invert(counts, kernel.matrix, confidence=confidence, simultaneous=simultaneous)
        law = found.frequencies @ kernel.matrix
    if not fits(counts, law, int((kernel.column_max() > 0).sum())):
        warnings.warn(
            "The outcomes do not fit this mechanism: whatever the true frequencies are, it gives such counts less than "
            "once in 10⁹ times. They were released by another mechanism, or changed since. Do not use the estimate.",
            LeakwiseWarning,
            stacklevel=3,
        )
    few = kernel.shape[0] * kernel.shape[1] <= _NUMBERS
    every = np.ones(kernel.shape[0], dtype=np.bool_)
    cells = [(np.asarray(mechanism.matrix), every, counts)] if few else []
    return Estimate(plain_alphabet(mechanism.input_alphabet), found, edges_of(mechanism.input_alphabet), cells)


def _given_counts(given: Mapping[Any, Any], mechanism: Mechanism) -> Counts:
    counts = np.zeros(mechanism.shape[1], dtype=np.int64)
    for outcome, count in given.items():
        place = mechanism.output_alphabet.code(outcome, name="outcome")
        try:
            number = operator.index(count)
        except TypeError:
            number = -1
        if isinstance(count, bool) or not 0 <= number <= 1 << 53:
            raise InvalidInput(
                f"The count of outcome {outcome!r} must be a whole number, not negative, at most 2^53. Got {count!r} "
                "instead."
            )
        counts[place] = number
    return counts


def check_confidence(confidence: Any) -> None:
    """Refuse what is not a confidence."""
    if isinstance(confidence, bool) or not isinstance(confidence, (int, float, np.number)) or not 0 < confidence < 1:
        raise InvalidInput(f"confidence must be a number strictly between 0 and 1, such as 0.95. Got {confidence!r}.")
