"""What someone sees who gets an outcome with only some of its given columns: mechanisms averaged over the others.

A mechanism per stratum is made for whoever sees the whole row. To someone who sees a part u' of the given columns the
outcome comes from P(y|s,u') = Σ_u P(u|s,u') P_u(y|s). That mechanism, with the prior P(s|u'), says what they learn (the
mathematics, section 8).
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from fractions import Fraction

from leakwise.alphabet import GivenColumns, Label
from leakwise.errors import InvalidInput, did_you_mean, some_of
from leakwise.exact import over_common_denominator
from leakwise.mechanism.mechanism import Mechanism
from leakwise.mechanism.stratified import StratifiedMechanism
from leakwise.priors import Prior, PriorByStratum

__all__ = ["seen_with"]


def seen_with(
    mechanism: StratifiedMechanism, priors: PriorByStratum, given: Sequence[Hashable]
) -> tuple[Mechanism, Prior] | tuple[StratifiedMechanism, PriorByStratum]:
    """Return the mechanism and the prior of someone who sees an outcome with only these of its given columns.

    Parameters
    ----------
    mechanism, priors
        The mechanisms by stratum, and a known prior for each of them, with how frequent it is.
    given
        The columns that are seen; with none of them both results are for all rows together.

    Examples
    --------
    >>> from leakwise import certify
    >>> cp = PriorByStratum({"f": Prior({"no": 0.99, "yes": 0.01}), "m": Prior({"no": 0.5, "yes": 0.5})}, given="sex")
    >>> x, y = (Mechanism([[1], [1]], inputs=["no", "yes"], outputs=[outcome]) for outcome in "xy")
    >>> sm = StratifiedMechanism({"f": x, "m": y}, cp.given_columns)
    >>> whole, part = certify(sm, cp), certify(*seen_with(sm, cp, []))
    >>> print(f"a lift of {whole.largest_lift:.2f} with sex, {part.largest_lift:.2f} without")
    a lift of 1.00 with sex, 1.96 without
    """
    own = mechanism.given_columns
    if unknown := [name for name in given if name not in own.names]:
        raise InvalidInput(
            f"given must name some of the columns that the mechanism is by, {own.quoted}. Got {some_of(unknown)}."
            + did_you_mean(unknown[0], own.names)
        )
    if sets := [key for key in priors if not isinstance(priors[key], Prior)]:
        raise InvalidInput(
            f"priors must be known, one for each stratum: {some_of(sets)} have a set of priors, which does not say how "
            "the strata share a value. Take the priors in the middle of the sets, or share the rows whole."
        )
    if mechanism.otherwise is not None and (mechanism.otherwise not in (mechanism[key] for key in priors)):
        raise InvalidInput(
            "mechanism has one for strata without a prior (otherwise): how often those occur is not known, so nothing "
            "can be said to someone who does not see the stratum. Give every stratum a prior, or share the rows whole."
        )
    places = [own.names.index(name) for name in own.names if name in given]
    groups: dict[tuple[Label, ...], list[Label]] = {}
    for key in priors:
        parts = own.parts(key)
        groups.setdefault(tuple(parts[place] for place in places), []).append(key)
    found = {key: _averaged(mechanism, priors, strata) for key, strata in groups.items()}
    if not places:
        return found[()][:2]
    columns = GivenColumns({own.names[place]: own.domains[place] for place in places})
    named = {columns.stratum(key): one for key, one in found.items()}
    return (
        StratifiedMechanism({key: one[0] for key, one in named.items()}, columns, secret=mechanism.secret),
        PriorByStratum(
            {key: one[1] for key, one in named.items()},
            dict(zip(columns.names, columns.domains, strict=True)),
            {key: one[2] for key, one in named.items()},
            secret=priors.secret,
        ),
    )


def _averaged(
    mechanism: StratifiedMechanism, priors: PriorByStratum, strata: Sequence[Label]
) -> tuple[Mechanism, Prior, Fraction]:
    """The mechanism and the prior of several strata together, and how frequent they are."""
    letters, outputs = mechanism.inputs, list(dict.fromkeys(y for key in strata for y in mechanism[key].outputs))
    index = {label: place for place, label in enumerate(outputs)}
    joint = [[Fraction(0)] * len(outputs) for _ in letters]
    masses = [Fraction(0)] * len(letters)
    for key in strata:
        one, weight = mechanism[key], priors.weights[key]
        for row, mass in enumerate(priors[key].nominal.fractions):
            if not mass:
                continue
            masses[row] += weight * mass
            for place, count in enumerate(one.weights[row].tolist()):
                joint[row][index[one.outputs[place]]] += weight * mass * Fraction(int(count), one.denominator)
    total = sum(masses, Fraction(0))
    # A value that does not occur may have any outcomes: those of all rows together.
    whole = [sum(column, Fraction(0)) / total for column in zip(*joint, strict=True)]
    rows = [[cell / mass for cell in row] if mass else whole for row, mass in zip(joint, masses, strict=True)]
    numerators, _ = over_common_denominator(masses)
    averaged = Mechanism(rows, inputs=mechanism.input_alphabet, outputs=outputs)
    return averaged, Prior.from_integers(mechanism.input_alphabet, numerators), total
