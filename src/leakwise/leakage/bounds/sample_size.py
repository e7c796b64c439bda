"""How many samples a wanted promise needs, before any of them is drawn."""

from __future__ import annotations

import math

from leakwise.exact import level, log_lower
from leakwise.leakage.bounds.wrong_prior import _at_the_estimate, _method, _rate, _whole, estimation_bound
from leakwise.priors.confidence import log_union
from leakwise.priors.sets.around_estimate import checked_failure

__all__ = ["sample_size"]


def sample_size(
    letters: int,
    epsilon: object = None,
    target: object = None,
    *,
    failure: object,
    lift: object = None,
    target_lift: object = None,
    method: str = "layer-cake",
) -> int:
    """Return the number of i.i.d. samples after which a mechanism with leakage ε at the estimate keeps ``target``.

    Whatever the true prior is, and whichever mechanism with that ε is chosen after seeing the sample, it leaks at most
    ε' = ``target`` for the true prior with probability at least 1 - ``failure``. ``method="layer-cake"`` needs
    ⌈L / kl(e^{-ε}‖e^{-ε'})⌉ samples with L = log(2^N-2) - log δ; ``method="weissman"`` is the number that [ED] (8) asks
    for, ⌈L / (2(e^{-ε} - e^{-ε'})²)⌉, which is never smaller.

    Parameters
    ----------
    letters
        How many values are declared, whether the sample will show them or not.
    epsilon, lift
        The leakage at the estimate, in nats or as a factor, over every declared value
        (``lw.epsilon(mechanism, estimate, every_letter=True)``).
    target, target_lift
        The leakage to keep for the true prior; it must be larger.
    failure
        How often the sample may mislead.
    method
        ``"layer-cake"`` or ``"weissman"``.

    Examples
    --------
    >>> sample_size(20, lift=5, target_lift=6, failure=1e-5)
    6667
    >>> sample_size(20, lift=5, target_lift=6, failure=1e-5, method="weissman")
    11420
    """
    size, chance = _whole(letters, "letters"), checked_failure(failure)
    asked, wanted = _at_the_estimate(epsilon, lift), level(target, target_lift, name="target")
    rate = _rate(asked, wanted, _method(method))
    if size == 1:
        return 1
    samples = max(1, math.ceil(log_union(size, chance) / rate))
    while estimation_bound(lift=asked.above, letters=size, samples=samples, failure=chance, method=method) > log_lower(
        wanted.below
    ):
        samples += 1 + (samples >> 40)  # what rounding asks for
    return samples
