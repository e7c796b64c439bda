"""compare(): mechanisms side by side, at equal leakage or at equal utility, with the best design among them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from leakwise.errors import InvalidInput, did_you_mean
from leakwise.exact import exact_fraction, level
from leakwise.optimize.comparison.families import SETS, Family, read_mechanisms
from leakwise.optimize.comparison.result import MechanismComparison
from leakwise.optimize.comparison.side_by_side import SideBySide
from leakwise.optimize.problem.utilities import as_utility
from leakwise.optimize.problem.utility import Utility
from leakwise.optimize.search.limits import Progress
from leakwise.priors import PriorByStratum, as_prior_set

__all__ = ["compare"]

_AT = ("pml", "ldp")


def compare(
    prior: Any,
    mechanisms: Any = None,
    utilities: Iterable[Any] = ("frequencies", "mutual_information"),
    *,
    epsilon: object = None,
    lift: object = None,
    at: str = "pml",
    utility: Any = None,
    value: object = None,
    delta: object = None,
    designs: bool = True,
    time_limit: float | None = None,
    progress: Progress | None = None,
) -> MechanismComparison:
    """Compare what mechanisms leak and what they tell, at equal leakage or at equal utility.

    Families (mechanisms that depend on an ε) are brought to the same leakage with ``epsilon`` or ``lift``, or with
    ``utility`` and ``value`` to the least ε that reaches a required utility. The best design for each utility is among
    them, with its upper bound.

    Parameters
    ----------
    prior
        A Prior, a list of probabilities, or a mapping from labels; or a set of priors, for all of which the leakage is.
    mechanisms
        A mapping from names to mechanisms (compared as they are) and families: functions of ε, or of values and ε as
        ``lw.randomized_response``, or names of the catalog; or a list of such. All families of the catalog that need
        no order of the values if left out.
    utilities
        By name or object, as for :func:`leakwise.design`.
    epsilon, lift
        The leakage to bring families to: ε in nats, or e^ε.
    at
        Which leakage: ``"pml"``, that for the prior, or ``"ldp"``, that for anyone, whatever they knew.
    utility, value
        Instead of a leakage: a utility, and how much of it is required. For ``"frequencies"`` minus the sum of the
        variances from one row: a standard error of 0.01 in all from 10,000 rows is -1.
    delta
        Show the leakage envelope at this probability, too: what holds after any post-processing except with δ.
    designs
        Whether to design a mechanism for each utility.
    time_limit
        Seconds for each design.
    progress
        Called with the stage, the value and the upper bound of a design as they change.

    Examples
    --------
    >>> from leakwise import randomized_response
    >>> found = compare([0.5, 0.3, 0.2], [randomized_response], ["frequencies"], lift="3/2")
    >>> {row.name: round(row.rows_needed, 2) for row in found.rows}
    {'design for frequencies': 1.0, 'randomized_response': 4.61}
    >>> found = compare([0.5, 0.3, 0.2], [randomized_response], ["frequencies"], utility="frequencies", value=-4)
    >>> {row.name: round(row.epsilon, 2) for row in found.rows}
    {'design for frequencies': 0.4, 'randomized_response': 0.77}
    """
    if isinstance(prior, PriorByStratum):
        raise InvalidInput("prior must be one prior. Compare the strata one by one: prior[stratum].")
    if at not in _AT:
        raise InvalidInput(f"at must be one of {', '.join(_AT)}. Got {at!r} instead.{did_you_mean(at, _AT)}")
    if (utility is None) != (value is None):
        raise InvalidInput("utility= and value= go together: which utility is required, and how much of it.")
    if utility is not None and (epsilon is not None or lift is not None):
        raise InvalidInput("Give either a leakage (epsilon= or lift=) or a required utility (utility= and value=).")
    known = as_prior_set(prior)
    goals = _goals(utilities, utility)
    asked = None if epsilon is None and lift is None else level(epsilon, lift)
    run = SideBySide(known, goals, at, delta, designs, time_limit, progress=progress)
    given = read_mechanisms(mechanisms, known.alphabet)
    run.optional = mechanisms is None
    if run.optional and not set(SETS) & set(given):
        run.remarks.append(f"Left out, for they take long with {len(known.alphabet):,} values: {', '.join(SETS)}.")
    if utility is not None:
        return run.at_equal_utility(given, goals[0], float(exact_fraction(value, "value")))
    if asked is None and (families := [name for name, one in given.items() if isinstance(one, Family)]):
        which = f"{families[0]} depends" if len(families) == 1 else f"{families[0]} and others depend"
        raise InvalidInput(
            f"{which} on an ε: give epsilon= or lift= (--epsilon, --lift) for equal leakage, or utility= and value= "
            "(--utility, --value) for equal utility."
        )
    return run.at_equal_leakage(given, asked)


def _goals(utilities: Any, required: Any) -> list[Utility]:
    """Return the utilities, the required one first."""
    several = [utilities] if isinstance(utilities, str | Utility) else list(utilities)
    goals = [as_utility(one) for one in several]
    if required is not None:
        first = as_utility(required)
        goals = [first, *(one for one in goals if one is not first)]
    if not goals:
        raise InvalidInput("utilities must contain at least one utility. Got none.")
    names = [goal.name for goal in goals]
    if twice := {name for name in names if names.count(name) > 1}:
        raise InvalidInput(f"utilities has {min(twice)!r} twice. Give an object of the same kind a name of its own.")
    return goals
