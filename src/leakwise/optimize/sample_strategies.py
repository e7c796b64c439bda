"""Ways to a mechanism whose leakage is proven for a prior that is only known from a sample [ED]."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from leakwise.charts.table import number
from leakwise.errors import Infeasible, LeakwiseError
from leakwise.exact import last_that_holds, level, log_lower
from leakwise.leakage import epsilon_from_sample
from leakwise.leakage.bounds.mean import kl
from leakwise.mechanism import Mechanism, constant, randomized_response
from leakwise.optimize.design_result import Design
from leakwise.optimize.problem.kept_frequencies import KeptFrequencies
from leakwise.optimize.problem.prior_set_cone import conservative_lift
from leakwise.optimize.problem.utility import Utility
from leakwise.optimize.search.limits import Limits
from leakwise.priors import AllPriors, Ball, Prior, PriorSet
from leakwise.priors.confidence import confidence
from leakwise.priors.sample import coarse_prior, counts_of, log_subsets_upper, log_up
from leakwise.priors.sets.rounded import RoundedLayerCake
from leakwise.proof import AskedLimits, Certificate, certify

__all__ = ["STRATEGIES", "Alternative", "Strategies"]

STRATEGIES = ("split", "layer-cake", "ball", "conservative")


@dataclass(frozen=True)
class Alternative:
    """One way of going about it, and what it would have given.

    ``mechanism`` is None when the sample is too small for it; ``note`` then says why. ``value`` is the utility at the
    estimate from all data, ``epsilon`` the leakage proven for the true prior except with ``failure``.
    """

    strategy: str
    mechanism: Mechanism | None
    epsilon: float
    value: float
    failure: float
    note: str
    certificate: Certificate | None = None


class Strategies:
    """One sample, one level, one utility; every strategy as a method.

    With ``rounded`` mechanism and level follow from the rounded frequencies alone: they are designed for them, and
    what is proven on the way holds for every table that rounds to them.
    """

    def __init__(
        self,
        prior: Prior,
        limits: AskedLimits,
        goal: Utility,
        generator: np.random.Generator,
        *,
        rounded: bool = False,
        seconds: float = 60.0,
    ) -> None:
        self.prior, self.goal, self.generator = prior, goal, generator
        self.wanted, self.asked = limits, level(limits.level)
        self.rounded, self.letters = rounded, prior.labels
        self.target = log_lower(self.asked.below)
        self.limits = Limits(seconds=seconds)

    def attempt(self, strategy: str, failure: Fraction) -> Alternative:
        """Return a strategy, or why it is not possible."""
        run: Callable[[Fraction], Alternative] = getattr(self, "_" + re.sub("[- ]", "_", strategy))
        try:
            return run(failure)
        except LeakwiseError as error:
            return Alternative(strategy, None, math.inf, 0.0, float(failure), str(error))

    @property
    def _strict(self) -> AskedLimits:
        """The limits, the first one without the hair that a typed float is allowed."""
        return replace(self.wanted, level=level(lift=self.asked.below))

    def _all_priors(self, failure: Fraction) -> Alternative:
        """Local differential privacy: for every prior, without a sample."""
        everything = AllPriors(self.prior)
        if isinstance(self.goal, KeptFrequencies) and self.goal.forbidden:
            raise Infeasible("forbidden pairs make outcomes impossible, which no limit for every prior allows")
        if isinstance(self.goal, KeptFrequencies):
            everything = AllPriors(self._plan(counts_of(self.prior)))
            mechanism = self._best(everything, self._strict).mechanism
        elif len(self.prior) <= 7 and not self.rounded:
            mechanism = self._best(everything, self._strict).mechanism
        else:
            others = (one.below for one in (self.wanted.anyone, *(most for _, most in self.wanted.lift_of)) if one)
            mechanism = randomized_response(self.prior.alphabet, lift=min([self.asked.below, *others]))
        found = certify(mechanism, everything, self._strict)
        if not found.holds:
            raise Infeasible("no mechanism for every prior keeps these limits")
        return self._option("all priors", mechanism, found.epsilon_upper, failure, "needs no sample", found)

    def _option(
        self,
        strategy: str,
        mechanism: Mechanism,
        epsilon: float,
        failure: Fraction,
        note: str,
        certificate: Certificate | None = None,
    ) -> Alternative:
        value = self._value(mechanism)
        return Alternative(strategy, mechanism, epsilon, value, float(failure), note, certificate)

    def _value(self, mechanism: Mechanism) -> float:
        # What an outcome says is read off its column: the best guess after seeing it.
        return self.goal.interval(mechanism.kernel, self._plan(counts_of(self.prior)))[0]

    def _plan(self, counts: Sequence[int]) -> Prior:
        """What to design for: the estimate, a letter that was never seen counted as half a row; or a rounded one."""
        letters = self.prior.alphabet
        if self.rounded:
            return coarse_prior(counts, letters)
        if all(counts):
            return self.prior if sum(counts) == self.prior.sample_size else Prior.from_integers(letters, counts)
        return Prior.from_integers(letters, [2 * count or 1 for count in counts])

    def _designed(self, plan: Prior, epsilon: float) -> Mechanism:
        lift = Fraction(math.exp(epsilon) * (1 - 1e-12))
        if lift <= 1:
            return constant(plan.alphabet)
        share = (lift - 1) / (self.asked.below - 1)
        return self._best(plan, replace(self.wanted.narrowed(share, plan), level=level(lift=lift))).mechanism

    def _best(self, priors: PriorSet, asked: AskedLimits) -> Design:
        from leakwise.optimize.design import designed

        part = self.limits.part(_SHARE, _LONGEST)
        found = designed(priors, asked, self.goal, "auto", part)
        self.limits.stopped |= part.stopped
        return found

    def _climb(
        self, plan: Prior, start: float, prove: Callable[[Mechanism], float]
    ) -> Iterator[tuple[float, Mechanism, float]]:
        """Designs whose proven ε closes in on the target: the ε each spends at the plan, and the ε proven for it.

        What is proven grows with what is spent, at e^{proven - spent} where a fixed mass is lost to the doubt, so
        that a few steps are enough.
        """
        low, high, spent = 0.0, self.target, start
        tried = set[float]()
        for _ in range(_STEPS):
            tried.add(spent)
            mechanism = self._designed(plan, spent)
            proven = prove(mechanism)
            yield spent, mechanism, proven
            if proven <= self.target:
                low = spent
                if self.target - proven < 1e-4 * self.target:
                    return
                if self.limits.exhausted and mechanism.shape[1] > 1:
                    self.limits.stopped = True
                    return
                ahead = spent + (self.target - proven) * math.exp(spent - proven)
            else:
                high = spent
                # A little below the target, so that steps from above end there and not ever closer above it.
                over = 1.02 * (proven - self.target) + 5e-5 * self.target
                ahead = spent - over * math.exp(spent - proven) if math.isfinite(proven) else 0.0
            spent = ahead if low < ahead < high else (low + high) / 2
            if high - low < 1e-4 * self.target or spent in tried:
                return

    def _certified_on(self, strategy: str, around: PriorSet, start: float, failure: Fraction) -> Alternative:
        """The best design for the plan that keeps the level for every prior of the set."""
        best: tuple[float, float, Mechanism, Certificate] | None = None
        proofs: list[Certificate] = []

        def prove(mechanism: Mechanism) -> float:
            proofs.append(certify(mechanism, around, self._strict))
            kept = all(one.kept for one in proofs[-1].kept)
            return proofs[-1].epsilon_upper if kept else math.inf

        # The set holds for all mechanisms at once, so any number of them may be tried.
        for spent, mechanism, _ in self._climb(self._plan(counts_of(self.prior)), start, prove):
            if proofs[-1].holds and mechanism.shape[1] > 1:
                value = self._value(mechanism)
                if best is None or value > best[0]:
                    best = (value, spent, mechanism, proofs[-1])
        if best is None:
            raise Infeasible("no set of letters is known well enough to leave more than a constant release")
        _, spent, mechanism, found = best
        proven, note = found.epsilon_upper, f"ε = {number(spent)} at the {'rounded ' if self.rounded else ''}estimate"
        if isinstance(around, RoundedLayerCake):
            # What can be stored is the proof for the sample itself, which is one of those that round to the same.
            found = certify(mechanism, confidence(self.prior, failure, "layer-cake"), self._strict)
        return self._option(strategy, mechanism, proven, failure, note, found)

    # -- strategies ---------------------------------------------------------------------------------------------

    def _ball(self, failure: Fraction) -> Alternative:
        ball = confidence(self.prior, failure, "weissman-phi")
        if self.goal.kind == "information" or len(self.prior) <= 20:
            found = self._best(ball, self._strict)
            return self._option("ball", found.mechanism, found.epsilon, failure, found.method, found.certificate)
        return self._conservative(failure)

    def _conservative(self, failure: Fraction) -> Alternative:
        ball = confidence(self.prior, failure, "weissman-phi")
        assert isinstance(ball, Ball)
        narrower = conservative_lift(ball, self.asked.below)
        if narrower <= 1:
            raise Infeasible("the ball around the estimate is so large that only a constant release is left")
        return self._certified_on("conservative", ball, math.log(narrower), failure)

    def _layer_cake(self, failure: Fraction) -> Alternative:
        cake = RoundedLayerCake(self.prior, failure) if self.rounded else confidence(self.prior, failure, "layer-cake")
        self.wanted.for_priors(cake)
        union = log_subsets_upper(len(self.prior)) + log_up(1 / failure)
        assert self.prior.sample_size is not None
        start = -math.log(_kl_upper(math.exp(-self.target), union / self.prior.sample_size))
        return self._certified_on("layer-cake", cake, start, failure)

    def _split(self, failure: Fraction) -> Alternative:
        if self.wanted.by_value:
            raise Infeasible("limits of single values are proven for sets of priors, not by a second half")
        counts = np.array(counts_of(self.prior), dtype=np.int64)
        total = int(counts.sum())
        if total < 4:
            raise Infeasible("there is nothing to split")
        # A random half of i.i.d. rows is an i.i.d. sample of its own, independent of the other half.
        first = self.generator.multivariate_hypergeometric(counts, total // 2, method="marginals")
        second = counts - first
        labels = self.letters if self.prior.alphabet.declared else None
        plan, proof = self._plan(first.tolist()), Prior.from_counts(second, labels)
        level_ = failure / len(_CANDIDATES)
        foreseen = Prior.from_counts(np.rint(plan.probabilities * second.sum()).astype(int), labels)
        planned = [
            spent
            for spent, _, proven in self._climb(
                plan, self.target / 2, lambda one: epsilon_from_sample(one, foreseen, level_, plan=plan).epsilon
            )
            if proven <= self.target
        ]
        if not planned:
            raise Infeasible("half of the sample cannot vouch for any design")
        # Some room for luck: the first candidate is as foreseen, the others hold back a part of the margin more.
        low = max(planned)
        margin = self.target - low
        best: Alternative | None = None
        for share in _CANDIDATES:
            spent = low - share * min(margin, low)
            mechanism = self._designed(plan, spent)
            found = epsilon_from_sample(mechanism, proof, level_, plan=plan)
            if found.epsilon > self.target or mechanism.shape[1] < 2:
                continue
            option = self._option("split", mechanism, found.epsilon, failure, f"ε = {number(spent)} at the first half")
            best = option if best is None or option.value > best.value else best
        if best is None:
            raise Infeasible("the second half of the sample did not bear the design out")
        return best


# For one design: a share of the time that is left, and no more than so many seconds.
_SHARE, _LONGEST = 0.25, 20.0
# Designs that are tried on the way to the target.
_STEPS = 5
# How much of the margin between the two ε the mechanisms compared on the second half hold back besides. At usual
# failures the margin is some five standard deviations of an outcome's frequency; the halves differ by one or two.
_CANDIDATES = (0.0, 0.4, 1.0)


def _kl_upper(x: float, radius: float) -> float:
    """The largest y ≥ x whose divergence to x, kl(y‖x), is at most radius: the share that may fall to x."""
    return last_that_holds(lambda y: kl(y, x) > radius, 1.0, x)
