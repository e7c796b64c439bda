"""What a guarantee says of a prior that was counted and is taken as exact, and what would cover the true one."""

from __future__ import annotations

from leakwise.priors import Prior, PriorByStratum, PriorSet

__all__ = ["COVERS", "taken_as_exact", "without_advice"]

COVERS = "A failure probability (prior.confidence, --failure)"
_LEFT = "covers every prior that the rows leave possible."


def taken_as_exact(
    priors: PriorSet | PriorByStratum, covers: str = "A failure probability (prior.confidence in Python)"
) -> str | None:
    """Return the warning that a prior was counted and not known, or None where it was given or is a set.

    ``covers`` says what would cover the true prior: ``COVERS`` where the command line has an option for it.
    """
    several = isinstance(priors, PriorByStratum)
    known = [priors[key] for key in priors] if isinstance(priors, PriorByStratum) else [priors]
    rows = [one.sample_size for one in known if isinstance(one, Prior) and one.sample_size is not None]
    if not rows:
        return None
    what = "The priors of the strata are estimates" if several else "The prior is an estimate"
    true = "the true priors" if several else "the true prior"
    return (
        f"{what} from {sum(rows):,} rows and {'were' if several else 'was'} taken as exact: for {true} the "
        f"lift may be larger. {covers} {_LEFT}"
    )


def without_advice(words: str) -> str:
    """Return a guarantee without the advice to cover the true prior: for limits that are kept for one prior only."""
    return words.replace(f" {COVERS} {_LEFT}", "")
