"""What several outcomes of a row tell together, in words."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from leakwise.alphabet import joined
from leakwise.guarantee import at_most, nor_for_anyone

__all__ = ["row_guarantee"]

_INDEPENDENT = " (rows independent)"


def row_guarantee(
    secrets: Sequence[str],
    lifts: Sequence[Fraction],
    *,
    given: Sequence[object] = (),
    anyone: Fraction | None = None,
    who: str = "for anyone who sees the row",
    exact: Fraction | None = None,
    unrelated: Sequence[object] = (),
) -> str:
    """Return the guarantee of a row of which several secrets were drawn for, one after the other.

    Parameters
    ----------
    secrets, lifts
        The secrets in their order, and the largest lift of each beside the outcomes before it.
    given
        The columns that the guarantee is relative to.
    anyone
        The largest lift of all outcomes together for any prior whatever, where it is part of the guarantee.
    who
        For whom it holds.
    exact
        The largest lift of all outcomes together, where it is known exactly.
    unrelated
        Columns that are seen beside them and are assumed to tell nothing.

    Examples
    --------
    >>> print(row_guarantee(["ill", "age and sex"], [Fraction(2), Fraction(3)], given=["job"], anyone=Fraction(600)))
    No guess about a row, be it about ill, about age and sex or about anything else in it, becomes more than 6 times \
as likely as job makes it already, for anyone who sees the row, nor more than 600 times as likely for anyone, whatever \
they knew (rows independent). One outcome after the other: at most 2 times by that of ill, then at most 3 times by \
that of age and sex.
    """
    product = Fraction(1)
    for lift in lifts:
        product *= lift
    whole = product if exact is None else min(exact, product)
    about = ", ".join(f"about {one}" for one in secrets)
    than = f" as {joined(given)} {'makes' if len(given) == 1 else 'make'} it already" if given else " by seeing it"
    who = f"{who}{_INDEPENDENT}" if anyone is None else nor_for_anyone(f"{who}{_INDEPENDENT}", anyone)
    if unrelated:
        tells = "tells" if len(unrelated) == 1 else "tell"
        who = who.replace(_INDEPENDENT, f"{_INDEPENDENT[:-1]}; if {joined(unrelated)} {tells} nothing about them)")
    words = (
        f"No guess about a row, be it {about} or about anything else in it, becomes more than {at_most(whole)} times "
        f"as likely{than}, {who}."
    )
    if len(secrets) < 2:
        return words
    each = [f"at most {at_most(lift)} times by that of {one}" for one, lift in zip(secrets, lifts, strict=True)]
    return f"{words} One outcome after the other: {', then '.join(each)}."
