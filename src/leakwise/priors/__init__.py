"""What the adversary is assumed to know: one prior, or a set of priors that answers one question, least_mass."""

from leakwise.priors.by_stratum import PriorByStratum
from leakwise.priors.prior import Prior
from leakwise.priors.prior_set import PriorSet, as_prior, as_prior_set, over_letters
from leakwise.priors.sets.all_priors import AllPriors
from leakwise.priors.sets.ball import Ball
from leakwise.priors.sets.box import Box
from leakwise.priors.sets.hull import Hull
from leakwise.priors.sets.kl import KLBall
from leakwise.priors.sets.layer_cake import LayerCake

__all__ = [
    "AllPriors",
    "Ball",
    "Box",
    "Hull",
    "KLBall",
    "LayerCake",
    "Prior",
    "PriorByStratum",
    "PriorSet",
    "as_prior",
    "as_prior_set",
    "over_letters",
]
