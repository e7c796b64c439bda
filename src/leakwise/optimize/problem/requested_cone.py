"""The cone of a request: PML, LDP, local information privacy, or several at once."""

from __future__ import annotations

from fractions import Fraction

from leakwise.errors import InvalidInput
from leakwise.exact import Level, level
from leakwise.optimize.problem.cones import Cone, Intersection, LDPCone, LiftBox, lip_cone, pml_cone
from leakwise.priors import Prior

__all__ = ["constraint_cone", "describe_constraint"]


def constraint_cone(prior: Prior, asked: Level | None, *, ldp: object = None, lip: object = None) -> Cone:
    """Return the cone of columns that satisfy every bound asked for, on the safe side of e^ε."""
    cones: list[Cone] = []
    bound = Fraction(0) if lip is None else level(lip, name="lip").below
    if bound == 1 or (asked is not None and asked.below == 1):
        return pml_cone(prior, Fraction(1))  # only constant columns, which satisfy every other bound as well
    if lip is not None:
        high = bound if asked is None else min(bound, asked.below)
        cones.append(lip_cone(prior, 1 / bound, high))
    elif asked is not None:
        cones.append(pml_cone(prior, asked.below))
    if ldp is not None:
        ratio = level(ldp, name="ldp").below
        # Rows within a factor of t have lifts within 1/t and t: a bound on lifts that is wider says nothing.
        cones = [
            cone for cone in cones if not (isinstance(cone, LiftBox) and cone.high >= ratio and cone.low * ratio <= 1)
        ]
        cones.append(LDPCone(prior, ratio))
    if not cones:
        raise InvalidInput("Give a bound: epsilon= (nats) or lift= for leakage, ldp= or lip= for other guarantees.")
    return cones[0] if len(cones) == 1 else Intersection(cones)


def describe_constraint(asked: Level | None, ldp: object, lip: object) -> str:
    """Return the bounds in words."""
    parts = [] if asked is None else [f"PML {asked.words}"]
    parts += [f"LDP ε = {Fraction(str(ldp)) if isinstance(ldp, str) else ldp}"] if ldp is not None else []
    parts += [f"LIP ±{lip}"] if lip is not None else []
    return ", ".join(parts)
