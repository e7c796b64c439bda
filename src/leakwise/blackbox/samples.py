"""audit_samples(): the leakage that pairs of secrets and answers show."""

from __future__ import annotations

from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet, as_alphabet, encode_column
from leakwise.blackbox.asking import LEAST
from leakwise.blackbox.assess import Question, claim_of
from leakwise.blackbox.counts import declared_outcomes
from leakwise.blackbox.forms import Forms
from leakwise.blackbox.result import BlackBoxAudit
from leakwise.blackbox.views import Views, learned_views
from leakwise.errors import InvalidInput
from leakwise.priors import Prior, as_prior
from leakwise.priors.sets.around_estimate import checked_failure

__all__ = ["audit_samples", "letters_of", "prior_over"]


def audit_samples(
    x: Any,
    y: Any,
    *,
    inputs: Any = None,
    outputs: Any = None,
    prior: Any = None,
    epsilon: object = None,
    lift: object = None,
    measure: str | None = None,
    failure: float = 0.05,
    seed: int = 0,
) -> BlackBoxAudit:
    """Return what a program leaks at least (and at most), from secrets put in and answers that came out.

    Half of the pairs, at random, choose the events that tell the secrets apart best; the other half tests them, so that
    the bounds hold whatever was chosen. For each secret the answers must be independent draws; how often each secret
    occurs among the pairs does not matter.

    Parameters
    ----------
    x, y
        The secrets and the answers, of the same length.
    inputs
        The secrets to tell apart; by default those that occur.
    outputs
        Every answer that can come. Only with labels, each of which stands for one answer as it is, the upper ends are
        finite: ``lw.bins(low, high, count)`` puts numbers together, and 1 and True, or 0.0 and -0.0, counted as one
        label are put together as well; what differs inside may tell everything. Without it outcomes are read off the
        first half, many numbers put into bins; answers of many parts (lists, arrays, JSON texts, bits) are also looked
        at by single parts, pairs of them and a small classifier. The lower ends always hold.
    prior
        Of the secrets, for PML.
    epsilon, lift, measure
        A claim to judge, and of what: ``"ldp"``, ``"pml"`` (the default with a prior) or ``"maximal_leakage"``.
    failure
        The probability that any of the bounds is wrong.
    seed
        How the pairs are divided.

    Examples
    --------
    >>> import leakwise as lw
    >>> m = lw.randomized_response(2, epsilon=1.0)
    >>> secrets = [0, 1] * 5_000
    >>> answers = lw.release(secrets, m, order="keep", unsafe_seed=1)
    >>> found = audit_samples(secrets, answers, outputs=[0, 1], epsilon=0.5)
    >>> found.verdict, found.measures["ldp"].lower <= 1.0 <= found.measures["ldp"].upper
    ('refuted', True)
    """
    chance = float(checked_failure(failure))
    secrets, answers = _listed(x, "x"), _listed(y, "y")
    if len(secrets) != len(answers):
        raise InvalidInput(f"x and y must be of the same length. Got {len(secrets):,} and {len(answers):,}.")
    letters = letters_of(inputs, prior, secrets)
    known = None if prior is None else prior_over(prior, letters)
    codes = np.asarray(encode_column(secrets, letters, name="x"), dtype=np.int64)
    each = np.bincount(codes, minlength=len(letters))
    if each.min() < LEAST:
        few = letters.labels[int(each.argmin())]
        raise InvalidInput(
            f"x must hold every input at least {LEAST} times. Got {few!r} {each.min()} times: ask about it more often, "
            "or leave it out of inputs (and of the prior)."
        )
    halves = _halves(codes, len(letters), np.random.default_rng(seed))
    parts = [[[answers[place] for place in np.sort(pair[side])] for pair in halves] for side in (0, 1)]
    views = learned_views(parts[0], letters.labels) if outputs is None else Views(declared_outcomes(outputs))
    tables = views.chosen_on(parts[0]), views.tables(parts[1])
    forms = Forms("secrets")
    for code, secret in zip(codes.tolist(), secrets, strict=True):
        forms.note(code, secret)
    question = Question(letters.labels, known, claim_of(epsilon, lift, measure, known), forms)
    return question.answer(views, *tables, chance, len(answers), chance)


def _halves(codes: Any, letters: int, generator: np.random.Generator) -> list[tuple[Any, Any]]:
    """For each input the places of its answers, divided at random."""
    found = []
    for letter in range(letters):
        places = generator.permutation(np.flatnonzero(codes == letter))
        found.append((places[: len(places) // 2], places[len(places) // 2 :]))
    return found


def letters_of(inputs: Any, prior: Any, secrets: list[Any]) -> Alphabet:
    if inputs is not None:
        letters = as_alphabet(inputs, name="inputs")
    elif prior is not None:
        letters = as_prior(prior).alphabet
    else:
        letters = Alphabet(sorted(dict.fromkeys(secrets), key=str), name="x")
    if len(letters) < 2:
        raise InvalidInput("There must be at least two inputs to tell apart.")
    return letters


def prior_over(prior: Any, letters: Alphabet) -> Prior:
    known = as_prior(prior)
    order = letters.positions_in(known.alphabet, mine="inputs", theirs="prior")
    return known if order is None else known.reordered(np.asarray(list(order), dtype=np.intp))


def _listed(column: Any, name: str) -> list[Any]:
    if isinstance(column, (str, bytes)) or not (hasattr(column, "__len__") and hasattr(column, "__iter__")):
        raise InvalidInput(f"{name} must be a list or a column. Got {type(column).__name__} instead.")
    listed = (
        column.tolist() if hasattr(column, "tolist") else column.to_pylist() if hasattr(column, "to_pylist") else column
    )
    return list(listed)
