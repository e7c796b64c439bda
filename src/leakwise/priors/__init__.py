"""What the adversary is assumed to know: one prior, or a set of priors that answers one question, least_mass."""

from leakwise.priors.all_priors import AllPriors
from leakwise.priors.ball import Ball
from leakwise.priors.box import Box
from leakwise.priors.hull import Hull
from leakwise.priors.kl import KLBall
from leakwise.priors.layer_cake import LayerCake
from leakwise.priors.prior import Prior
from leakwise.priors.sets import PriorSet, as_prior, as_prior_set

__all__ = [
    "AllPriors",
    "Ball",
    "Box",
    "Hull",
    "KLBall",
    "LayerCake",
    "Prior",
    "PriorSet",
    "as_prior",
    "as_prior_set",
]
