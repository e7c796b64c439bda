"""What every design promises, and the priors and utilities it is asked for."""

from __future__ import annotations

from hypothesis import strategies as st

import leakwise as lw

__all__ = ["F_UTILITIES", "UTILITIES", "check", "priors"]

F_UTILITIES = ["mutual_information", "total_variation", "chi_square", "hellinger"]
UTILITIES = [*F_UTILITIES, "guessing"]


def priors(most=6, ties=True):
    weights = st.lists(st.integers(1, 6 if ties else 10**6), min_size=2, max_size=most)
    return weights.map(lw.Prior)


def check(design, prior, epsilon):
    """What every design promises."""
    assert lw.certify(design.mechanism, prior, epsilon=epsilon).holds
    assert design.epsilon <= epsilon + 1e-15
    assert design.value <= design.bound
    assert design.gap == max(0.0, design.bound - design.value)
    design.certificate.verify()
    assert design.mechanism.denominator == 2**60
