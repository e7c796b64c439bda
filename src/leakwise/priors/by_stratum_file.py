"""Priors by stratum as plain data: the domain once, then the exact integers of every stratum."""

from __future__ import annotations

import os
from fractions import Fraction
from typing import Any

import msgspec

from leakwise.alphabet import (
    GivenBody,
    GivenColumns,
    alphabet_from_plain,
    alphabet_with_edges,
    edges_of,
    label_from_plain,
    label_to_plain,
    newest,
)
from leakwise.documents import read_document, read_integer, write_document, write_integer
from leakwise.errors import InvalidInput
from leakwise.priors.by_stratum import PriorByStratum
from leakwise.priors.prior import Prior
from leakwise.priors.sets.files import SetBody, set_from_body, set_to_body

__all__ = ["PriorByStratumBody", "load", "priors_from_body", "priors_to_body", "save", "to_plain_data"]

FORMAT = "leakwise.prior-by-stratum"
VERSION = 2  # 2: bins with infinite edges, and of dates


class StratumBody(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """One stratum: the integers of its prior, how frequent it is, and the set around its prior if there is one."""

    stratum: Any
    weight: tuple[str, str]
    weights: list[str]
    sample_size: int | None = None
    around: SetBody | None = None


class PriorByStratumBody(msgspec.Struct, forbid_unknown_fields=True, omit_defaults=True):
    """The contents of the file."""

    labels: list[Any]
    declared: bool
    given: GivenBody
    strata: list[StratumBody]
    secret: Any = None
    edges: list[float | str] | None = None


def save(priors: PriorByStratum, path: str | os.PathLike[str]) -> None:
    """Write the file."""
    version = newest(1, VERSION, priors.alphabet, *priors.given_columns.domains)
    write_document(path, FORMAT, version, priors_to_body(priors))


def to_plain_data(priors: PriorByStratum) -> dict[str, Any]:
    """Return plain data for a reader: probabilities as floats."""
    return {
        "secret": label_to_plain(priors.secret),
        "given": [label_to_plain(name) for name in priors.given],
        "labels": [label_to_plain(label) for label in priors.labels],
        "failure": priors.failure,
        "absent": priors.absent,
        "strata": [
            {
                "stratum": label_to_plain(key),
                "weight": float(priors.weights[key]),
                "sample_size": priors[key].nominal.sample_size,
                "probabilities": priors[key].nominal.probabilities.tolist(),
            }
            for key in priors
        ],
    }


def priors_to_body(priors: PriorByStratum) -> PriorByStratumBody:
    """Return the priors of all strata as a file body."""
    strata = []
    for key in priors:
        known, share = priors[key], priors.weights[key]
        strata.append(
            StratumBody(
                label_to_plain(key),
                (write_integer(share.numerator), write_integer(share.denominator)),
                [write_integer(weight) for weight in known.nominal.weights.tolist()],
                known.nominal.sample_size,
                None if isinstance(known, Prior) else set_to_body(known),
            )
        )
    alphabet = priors.alphabet
    return PriorByStratumBody(
        [label_to_plain(label) for label in alphabet],
        alphabet.declared,
        priors.given_columns.to_body(),
        strata,
        label_to_plain(priors.secret),
        edges_of(alphabet),
    )


def load(path: str | os.PathLike[str]) -> PriorByStratum:
    """Read the file."""
    return priors_from_body(read_document(path, FORMAT, VERSION, PriorByStratumBody), str(path))


def priors_from_body(body: PriorByStratumBody, name: str) -> PriorByStratum:
    """Return the priors that a file body describes, checked as if a stranger had typed it."""
    given = GivenColumns.from_body(body.given, name)
    alphabet = alphabet_from_plain(body.labels, declared=body.declared, name=name)
    alphabet = alphabet_with_edges(alphabet, body.edges, name=name)
    priors, weights = {}, {}
    for one in body.strata:
        key = given.stratum(label_from_plain(one.stratum))
        above, below = (read_integer(part, name) for part in one.weight)
        if key in priors or len(one.weights) != len(alphabet) or not above or not below:
            raise InvalidInput(f"{name!r} is damaged: the stratum {key!r} is not a valid one.")
        nominal = Prior.from_integers(alphabet, [read_integer(weight, name) for weight in one.weights], one.sample_size)
        priors[key] = nominal if one.around is None else set_from_body(one.around, nominal, name)
        weights[key] = Fraction(above, below)
    if sum(weights.values()) != 1:
        raise InvalidInput(f"{name!r} is damaged: the weights of its strata do not sum to 1.")
    columns = dict(zip(given.names, given.domains, strict=True))
    return PriorByStratum(priors, columns, weights, secret=label_from_plain(body.secret))
