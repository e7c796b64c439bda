"""design_from_data(): a mechanism for a prior that is only known from a sample, with a promise about the true one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np

from leakwise.alphabet import Alphabet, Label
from leakwise.charts.table import html_table, number, text_table
from leakwise.errors import Infeasible, InvalidInput, LeakwiseError, did_you_mean, some_of
from leakwise.exact import Level, level, log_lower
from leakwise.leakage import epsilon_from_sample, sample_size
from leakwise.mechanism import Mechanism, constant, randomized_response
from leakwise.optimize.evaluate import utility_interval
from leakwise.optimize.robust import conservative_lift, robust_design
from leakwise.optimize.utilities import FInformation, LinearUtility, Utility, as_utility
from leakwise.priors import AllPriors, Ball, Prior
from leakwise.priors.around import checked_failure, unseen_letters
from leakwise.priors.confidence import confidence
from leakwise.priors.sample import counts_of, log_subsets_upper, log_up
from leakwise.proof import Certificate, certify

__all__ = ["Alternative", "DataDesign", "design_from_data"]

STRATEGIES = ("split", "layer-cake", "ball", "conservative")
_ALL = (*STRATEGIES, "best")


@dataclass(frozen=True)
class Alternative:
    """One way of going about it, and what it would have given.

    ``mechanism`` is None when the sample is too small for it; ``note`` then says why. ``value`` is the utility at the
    estimate from all data, ``epsilon`` the leakage proven for the true prior but for ``failure``.
    """

    strategy: str
    mechanism: Mechanism | None
    epsilon: float
    value: float
    failure: float
    note: str
    certificate: Certificate | None = None


@dataclass(frozen=True, repr=False)
class DataDesign:
    """A mechanism designed from a sample.

    Attributes
    ----------
    mechanism
        What to release with.
    epsilon
        With probability at least 1 - ``failure`` over the sample, the mechanism is ``epsilon``-PML for the true prior.
    value
        Its utility at the estimate.
    failure
        The probability of being wrong, everything that was tried included.
    strategy
        The way that was taken.
    certificate
        What can be stored and checked again; None for a split, whose proof is the second part of the sample itself.
    alternatives
        What the other ways would have given.
    prior
        The estimate from all data.
    """

    mechanism: Mechanism
    epsilon: float
    value: float
    failure: float
    strategy: str
    certificate: Certificate | None
    alternatives: tuple[Alternative, ...]
    prior: Prior
    utility: str

    def guarantee(self) -> str:
        """The promise in words."""
        words = (
            f"No guess about the secret becomes more than {number(math.exp(self.epsilon))} times likelier by seeing "
            "the outcome"
        )
        if self.failure:
            words += (
                f", unless the sample of {self.prior.sample_size:,} rows misleads, which happens with probability at "
                f"most {number(self.failure)}. This is about secrets drawn like the sample; the rows that were used "
                "for the design are not covered themselves."
            )
        else:
            words += ", whatever the true prior is."
        if unseen := unseen_letters(self.prior):
            words += f" Letters that the sample never showed ({some_of(unseen)}) are covered as well."
        return words

    def _rows(self) -> list[list[object]]:
        return [
            [
                ("→ " if option.strategy == self.strategy else "") + option.strategy,
                "" if option.mechanism is None else number(option.epsilon, 6),
                "" if option.mechanism is None else number(option.value, 6),
                number(option.failure),
                option.note,
            ]
            for option in self.alternatives
        ]

    def __repr__(self) -> str:
        headers = ["strategy", "ε'", self.utility, "failure", "note"]
        return text_table(headers, self._rows(), title=self.guarantee()) + "\n" + repr(self.mechanism)

    def _repr_html_(self) -> str:
        headers = ["strategy", "ε'", self.utility, "failure", "note"]
        return html_table(headers, self._rows(), caption=self.guarantee()) + self.mechanism._repr_html_()

    def to_dict(self) -> dict[str, Any]:
        """Plain data."""
        return {
            "strategy": self.strategy,
            "epsilon": self.epsilon,
            "value": self.value,
            "utility": self.utility,
            "failure": self.failure,
            "guarantee": self.guarantee(),
            "certificate": None if self.certificate is None else self.certificate.to_dict(),
            "alternatives": [
                {
                    "strategy": option.strategy,
                    "possible": option.mechanism is not None,
                    "epsilon": option.epsilon,
                    "value": option.value,
                    "failure": option.failure,
                    "note": option.note,
                }
                for option in self.alternatives
            ],
            "mechanism": self.mechanism.to_dict(),
        }


def design_from_data(
    column: Any,
    epsilon: object = None,
    *,
    lift: object = None,
    failure: object,
    domain: Iterable[Label] | Alphabet | None = None,
    strategy: str = "best",
    utility: Any = "mutual_information",
    compare: bool = True,
    seed: int | None = None,
) -> DataDesign:
    """The best mechanism that a sample can vouch for: at most ε for the true prior, but for the failure.

    Parameters
    ----------
    column
        The sample, i.i.d. rows: a list, an array, a Series or an Arrow column with ``domain``, or an empirical Prior.
    epsilon, lift
        The leakage to keep for the true prior, in nats or as a factor.
    failure
        How often the sample may mislead.
    domain
        Every value that can occur, whether it does or not.
    strategy
        ``"split"``: design on a random half, certify on the other by bounds on the outcomes alone. ``"layer-cake"``:
        design at the estimate for a smaller ε, certified for all sets of letters at once. ``"ball"``: the robust
        optimum on the l1 ball. ``"conservative"``: the design of the estimate at the ε that serves the whole ball.
        ``"best"``: the most useful of the first three, each at a third of the failure; and local differential privacy,
        which needs no sample.
    utility
        As for ``lw.design``; taken at the estimate.
    compare
        Whether to work out the other strategies, too, for the table of alternatives.
    seed
        For tests only: how the sample is split.

    Examples
    --------
    >>> d = design_from_data(Prior.from_counts({"no": 7000, "yes": 3000}), lift=2, failure=1e-6)
    >>> d.epsilon <= 0.6931471805599453, d.strategy
    (True, 'layer-cake')
    """
    if strategy not in _ALL:
        raise InvalidInput(
            f"strategy must be one of {', '.join(_ALL)}. Got {strategy!r} instead.{did_you_mean(strategy, _ALL)}"
        )
    prior = _sample(column, domain)
    asked, goal, chance = level(epsilon, lift), as_utility(utility), checked_failure(failure)
    work = _Work(prior, asked, goal, np.random.default_rng(seed))
    wanted = STRATEGIES[:3] if strategy == "best" else (strategy,)
    each = chance / len(wanted)
    tried = [work.attempt(name, each) for name in wanted]
    fallback = work.everywhere()
    possible = [option for option in (*tried, *([fallback] if strategy == "best" else [])) if option.mechanism]
    if not possible:
        raise Infeasible(_too_few(prior, asked, chance, tried[0].note), witness=tried[0])
    best = max(possible, key=lambda option: option.value)
    others = [option for option in (*tried, fallback) if option is not best]
    if compare:
        done = {option.strategy for option in (best, *others)}
        others += [work.attempt(name, chance) for name in STRATEGIES if name not in done]
    paid = 0.0 if best is fallback else float(chance)
    assert best.mechanism is not None
    return DataDesign(
        best.mechanism,
        best.epsilon,
        best.value,
        paid,
        best.strategy,
        best.certificate,
        (best, *others),
        prior,
        goal.name,
    )


def _sample(column: Any, domain: Iterable[Label] | Alphabet | None) -> Prior:
    if isinstance(column, Prior):
        if domain is not None:
            raise InvalidInput("domain must not be given beside a Prior: its letters are the domain.")
        counts_of(column)
        return column
    if domain is None:
        raise InvalidInput("domain must be declared: the list of values that can occur, whether they do or not.")
    return Prior.from_data(column, domain)


def _too_few(prior: Prior, asked: Level, failure: Fraction, note: str) -> str:
    samples = prior.sample_size
    try:
        needed = sample_size(len(prior), asked.epsilon / 2, asked.epsilon, failure=failure)
        more = f" From {needed:,} samples on half of the leakage can be spent at the estimate."
    except InvalidInput:
        more = ""
    return (
        f"{samples:,} samples over {len(prior)} letters are too few for {asked.words} at failure {float(failure):g} "
        f"({note}).{more} Local differential privacy needs no sample: lw.randomized_response(labels, epsilon)."
    )


class _Work:
    """One sample, one level, one utility; every strategy as a method."""

    def __init__(self, prior: Prior, asked: Level, goal: Utility, generator: np.random.Generator) -> None:
        self.prior, self.asked, self.goal, self.generator = prior, asked, goal, generator
        self.letters = prior.labels

    def attempt(self, strategy: str, failure: Fraction) -> Alternative:
        """A strategy, or why it is not possible."""
        run: Callable[[Fraction], Alternative] = getattr(self, "_" + strategy.replace("-", "_"))
        try:
            return run(failure)
        except LeakwiseError as error:
            return Alternative(strategy, None, math.inf, 0.0, float(failure), str(error))

    def everywhere(self) -> Alternative:
        """Local differential privacy: for every prior, without a sample."""
        everything = AllPriors(self.prior)
        if len(self.prior) <= 7:
            mechanism = robust_design(everything, lift=self.asked.below, utility=self.goal, time_limit=20).mechanism
        else:
            mechanism = randomized_response(self.prior.alphabet, lift=self.asked.below)
        found = certify(mechanism, everything, lift=self.asked.below)
        return self._option("all priors", mechanism, found.epsilon_upper, Fraction(0), "needs no sample", found)

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
        if isinstance(self.goal, LinearUtility) and mechanism.outputs != self.goal.says(self.prior).labels:
            # What an outcome says is then read off the column: the best guess after seeing it.
            gains = self.goal.gains(self.prior) * self.prior.probabilities[:, None]
            return float((gains.T @ mechanism.matrix).max(axis=0).sum())
        return utility_interval(mechanism.kernel, self.prior, self.goal)[0]

    def _designed(self, prior: Prior, lift: Fraction) -> Mechanism:
        from leakwise.optimize.design import design

        if lift <= 1:
            return constant(prior.alphabet)
        return design(prior, lift=lift, utility=self.goal, time_limit=20).mechanism

    # -- strategies ---------------------------------------------------------------------------------------------

    def _ball(self, failure: Fraction) -> Alternative:
        ball = confidence(self.prior, failure, "weissman-phi")
        if isinstance(self.goal, FInformation) or len(self.prior) <= 20:
            found = robust_design(ball, lift=self.asked.below, utility=self.goal)
            return self._option("ball", found.mechanism, found.epsilon, failure, found.method, found.certificate)
        return self._conservative(failure)

    def _conservative(self, failure: Fraction) -> Alternative:
        ball = confidence(self.prior, failure, "weissman-phi")
        assert isinstance(ball, Ball)
        narrower = conservative_lift(ball, self.asked.below)
        if narrower <= 1:
            raise Infeasible("the ball around the estimate is so large that only a constant release is left")
        mechanism = self._designed(self.prior, narrower)
        found = certify(mechanism, ball, lift=self.asked.below)
        note = f"ε = {number(math.log(narrower))} at the estimate"
        return self._option("conservative", mechanism, found.epsilon_upper, failure, note, found)

    def _layer_cake(self, failure: Fraction) -> Alternative:
        cake = confidence(self.prior, failure, "layer-cake")
        target = log_lower(self.asked.below)
        union = log_subsets_upper(len(self.prior)) + log_up(1 / failure)
        assert self.prior.sample_size is not None
        low = -math.log(_kl_upper(math.exp(-target), union / self.prior.sample_size))
        best: tuple[Mechanism, Certificate] | None = None
        # The sets hold for all mechanisms at once, so any number of them may be tried: the closed form first, which
        # always serves, then up towards the level itself.
        high = target
        for step in range(9):
            here = low if step == 0 else (low + high) / 2
            mechanism = self._designed(self.prior, Fraction(math.exp(here) * (1 - 1e-9)))
            found = certify(mechanism, cake, lift=self.asked.below)
            if found.holds:
                low = here
                if best is None or self._value(mechanism) > self._value(best[0]):
                    best = (mechanism, found)
            else:
                high = here
        if best is None or low <= 0 or best[0].shape[1] < 2:
            raise Infeasible("no set of letters is known well enough to leave more than a constant release")
        note = f"ε = {number(low)} at the estimate"
        return self._option("layer-cake", best[0], best[1].epsilon_upper, failure, note, best[1])

    def _split(self, failure: Fraction) -> Alternative:
        counts = np.array(counts_of(self.prior), dtype=np.int64)
        total = int(counts.sum())
        if total < 4:
            raise Infeasible("there is nothing to split")
        # A random half of i.i.d. rows is an i.i.d. sample of its own, independent of the other half.
        first = self.generator.multivariate_hypergeometric(counts, total // 2, method="marginals")
        second = counts - first
        labels = self.letters if self.prior.alphabet.declared else None
        plan, proof = Prior.from_counts(first, labels), Prior.from_counts(second, labels)
        target = log_lower(self.asked.below)
        level_ = failure / len(_CANDIDATES)
        expected = Prior.from_counts(np.maximum(np.rint(plan.probabilities * second.sum()), 0).astype(int), labels)
        low, high = 0.0, target
        for _ in range(6):
            middle = (low + high) / 2
            mechanism = self._designed(plan, Fraction(math.exp(middle)))
            foreseen = epsilon_from_sample(mechanism, expected, level_, plan=plan)
            low, high = (middle, high) if foreseen.epsilon <= target else (low, middle)
        if low == 0:
            raise Infeasible("half of the sample cannot vouch for any design")
        # Some room for luck: the first candidate is as foreseen, the others hold back a part of the margin more.
        margin = target - low
        best: Alternative | None = None
        for share in _CANDIDATES:
            spent = low - share * min(margin, low)
            mechanism = self._designed(plan, Fraction(math.exp(spent)))
            found = epsilon_from_sample(mechanism, proof, level_, plan=plan)
            if found.epsilon > target:
                continue
            note = f"ε = {number(spent)} at the first half"
            option = self._option("split", mechanism, found.epsilon, failure, note)
            best = option if best is None or option.value > best.value else best
        if best is None:
            raise Infeasible("the second half of the sample did not bear the design out")
        return best


# How much of the margin between the two ε the mechanisms compared on the second half hold back besides. At usual
# failures the margin is some five standard deviations of an outcome's frequency; the halves differ by one or two.
_CANDIDATES = (0.0, 0.4, 1.0)


def _kl_upper(x: float, radius: float) -> float:
    """The largest y ≥ x whose divergence to x, kl(y‖x), is at most radius: the share that may fall to x."""
    low, high = x, 1.0
    for _ in range(200):
        y = (low + high) / 2
        first = y * math.log(y / x)
        second = (1 - y) * math.log((1 - y) / (1 - x)) if y < 1 else 0.0
        low, high = (y, high) if first + second <= radius else (low, y)
    return high
