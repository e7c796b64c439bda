"""What an answer guarantees, in words: the sentence, its proof or its breach, and what the prior rests on."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from leakwise.guarantee import at_most, for_anyone, misleads, no_guess, nor_for_anyone, taken_as_exact
from leakwise.priors import Prior
from leakwise.studio.figures import upper_bound

if TYPE_CHECKING:
    from leakwise.studio.answers import Solved

__all__ = ["about_prior", "promise", "seal"]


def promise(solved: Solved) -> str:
    """Return the guarantee in one sentence; where the limit is broken, that it is."""
    certificate = solved.certificate
    if certificate.holds:
        who = for_anyone(solved.priors)
        if certificate.further.anyone is not None and certificate.anyone is not None:
            who = nor_for_anyone(who, certificate.anyone)
        return " ".join([no_guess(certificate.ratio, who), *_of_values(solved)])
    where = "" if isinstance(solved.priors, Prior) else "For a prior that the sample leaves possible: "
    lift = certificate.printed_lift
    if missed := [one.excess for one in certificate.kept if not one.kept]:
        return " ".join(missed)
    return f"{where}Some guess becomes {lift} times as likely; you allow {certificate.printed_limit}."


def seal(solved: Solved) -> dict[str, Any]:
    """Return what is proven of the answer, and a word for it."""
    certificate = solved.certificate
    lift, allowed = certificate.printed_lift, certificate.printed_limit
    if solved.state.level.kind == "epsilon":
        allowed += f" (ε = {solved.state.level.value.strip()})"
    if certificate.holds:
        words = f"Proven on exact integers: the largest lift is {lift}, and your limit is {allowed}."
        if certificate.further.anyone is not None and certificate.anyone is not None:
            words += f" For anyone, whatever they knew, it is {at_most(certificate.anyone)}, also within your limit."
    elif missed := [one.excess for one in certificate.kept if not one.kept]:
        words = f"A limit is broken. {' '.join(missed)} Bring another mechanism, or allow more."
    else:
        words = (
            f"The limit is broken: the largest lift is {lift}, at the outcome {certificate.outcome!r} for the value "
            f"{certificate.letter!r}, and your limit is {allowed}. Bring another mechanism, or allow more."
        )
    words += "".join(f" {said}" for said in _idle(solved))
    claim = certificate.optimality
    if claim is not None and solved.utility is not None:
        words += f" Proven as well: {upper_bound(solved.utility, claim.bound)}."
    if certificate.failure:
        words += f" The prior is an estimate. {misleads(certificate.prior)}"
    return {
        "holds": certificate.holds,
        "state": _state(solved),
        "words": words,
        "epsilon": float(certificate.epsilon_upper),
        "lift": certificate.largest_lift,
        "optimal": claim is not None,
    }


def _of_values(solved: Solved) -> list[str]:
    """What limits of single values guarantee, each in a sentence."""
    return [one.sentence for one in solved.certificate.kept if one.kept and one.sentence]


def _idle(solved: Solved) -> list[str]:
    """Limits that say nothing beside the others."""
    return solved.certificate.limits.idle(solved.priors) if solved.design is not None else []


def _state(solved: Solved) -> str:
    """The badge."""
    if not solved.certificate.holds:
        return "Limit broken"
    if solved.state.prior.origin == "table" and not solved.certificate.failure:
        return "Proven for the counted prior only"
    return "Proven" if solved.complete else "Proven, perhaps not the best"


def about_prior(solved: Solved) -> str:
    """Return what a prior that was counted means for the guarantee; nothing for one that was given."""
    words = []
    if (estimated := taken_as_exact(solved.priors, '"Only known from a sample"')) is not None:
        words.append(estimated)
    if solved.state.prior.origin == "table":
        words.append(
            "The prior was counted from your table. The guarantee takes these frequencies as known to anyone and does "
            "not cover what they reveal about the rows: the mechanism was made for the exact counts, and the "
            "certificate, the report, the prior file and the link contain them. Keep these with the table. To release "
            'this very table, use lw.protect(..., prior="table") or leakwise release --prior-from-table, which rest on '
            "rounded frequencies."
        )
    return " ".join(words)
