"""Measurements of OpenDP from mechanisms, and back where the measurement says its matrix.

OpenDP knows of a measurement how far apart its outcomes are for inputs so far apart. For a mechanism: inputs are equal
or not (the discrete distance), and outcomes differ by at most ε of local differential privacy (the max divergence).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from fractions import Fraction
from typing import Any

from leakwise.errors import InvalidInput, require
from leakwise.exact import log_lower
from leakwise.leakage import ldp
from leakwise.leakage.measures.differential import ldp_ratio
from leakwise.mechanism import Mechanism

__all__ = ["from_opendp", "to_opendp"]

_FEATURES = ("contrib", "honest-but-curious")


def to_opendp(mechanism: Mechanism) -> Any:
    """Return a measurement of OpenDP that draws from the mechanism."""
    prelude = _opendp("A measurement of OpenDP")
    epsilon = ldp(mechanism)
    try:
        domain = prelude.user_domain(
            f"values of a Leakwise mechanism ({len(mechanism.inputs)})", member=_Member(mechanism), descriptor=mechanism
        )
        return prelude.m.make_user_measurement(
            domain, prelude.discrete_distance(), prelude.max_divergence(), _Draw(mechanism), _Map(epsilon)
        )
    except prelude.OpenDPException as error:
        if "enable_features" not in str(error):
            raise
        raise InvalidInput(
            "OpenDP takes measurements of other libraries only when it is told that they are trusted. Call "
            f"opendp.prelude.enable_features{_FEATURES!r} first."
        ) from error


class _Draw:
    """What the measurement does: one outcome for a value."""

    def __init__(self, mechanism: Mechanism) -> None:
        self.mechanism = mechanism

    def __call__(self, value: Any) -> Any:
        return self.mechanism.sample(value)


class _Member:
    """Whether a value is declared."""

    def __init__(self, mechanism: Mechanism) -> None:
        self._inputs = mechanism.inputs

    def __call__(self, value: Any) -> bool:
        return value in self._inputs


class _Map:
    """From how far apart inputs are to how far apart outcomes are."""

    def __init__(self, epsilon: float) -> None:
        self._epsilon = epsilon

    def __call__(self, distance: int) -> float:
        return self._epsilon if distance else 0.0


def from_opendp(measurement: Any) -> Mechanism:
    """Return the mechanism that a measurement of OpenDP draws from, with its exact probabilities."""
    prelude = _opendp("Reading a measurement of OpenDP")
    if not isinstance(measurement, prelude.Measurement):
        raise InvalidInput(f"measurement must be a Measurement of OpenDP. Got {type(measurement).__name__} instead.")
    told: Mapping[str, Any] = getattr(measurement, "__opendp_dict__", {})
    name = str(told.get("__function__", "unknown"))
    found = _READ[name](told["__kwargs__"]) if name in _READ else None
    if found is None:
        raise InvalidInput(
            f"The probabilities of this measurement ({name}) cannot be read. They can for {', '.join(_KNOWN)} (opendp "
            "0.13 or newer), and for those that Mechanism.to_opendp made. For others: lw.audit_program(measurement, "
            "inputs) tests what they leak."
        )
    _refuse_other(found, measurement)
    return found


def _refuse_other(mechanism: Mechanism, measurement: Any) -> None:
    """Refuse a mechanism that leaks more than the measurement says: then it was read wrongly."""
    ratio = ldp_ratio(mechanism)
    if ratio is not None and log_lower(ratio) > measurement.map(1):
        raise InvalidInput(
            f"The measurement guarantees ε = {measurement.map(1)}, and the mechanism read from its arguments has "
            f"{ldp(mechanism)}: they are not the same. Were the arguments changed after it was made?"
        )


def _categories(given: Mapping[str, Any]) -> Mechanism:
    """The truth with a probability, which is a float and means its exact value, and otherwise any other category."""
    return _kept(list(dict.fromkeys(given["categories"])), given["prob"])


def _bool(given: Mapping[str, Any]) -> Mechanism:
    return _kept([False, True], given["prob"])


def _kept(values: list[Any], probability: float) -> Mechanism:
    keep = Fraction(probability)
    other = (1 - keep) / (len(values) - 1)
    rows = [[keep if one == two else other for two in values] for one in values]
    return Mechanism(rows, inputs=values, outputs=values)


def _own(given: Mapping[str, Any]) -> Mechanism | None:
    draw = given["function"]
    return draw.mechanism if isinstance(draw, _Draw) else None


_KNOWN = ("make_randomized_response", "make_randomized_response_bool")
_READ: dict[str, Callable[[Mapping[str, Any]], Mechanism | None]] = {
    "make_randomized_response": _categories,
    "make_randomized_response_bool": _bool,
    "make_user_measurement": _own,
}


def _opendp(purpose: str) -> Any:
    return require("opendp.prelude", extra="interop", purpose=purpose)
