"""A design for every stratum: strata are separate problems, and the same problem is solved once."""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction
from typing import Any, Concatenate, ParamSpec, Protocol, overload

import numpy as np

from leakwise.alphabet import Label
from leakwise.errors import Infeasible, InvalidInput, LeakwiseError, LeakwiseWarning, NotConverged, check_seconds
from leakwise.exact import level
from leakwise.mechanism import Mechanism, StratifiedMechanism, identity
from leakwise.optimize.design_result import Design, is_open
from leakwise.optimize.finish.stratum_names import same_names
from leakwise.optimize.problem.recentred import Recentred
from leakwise.optimize.problem.together import Together
from leakwise.optimize.problem.utilities import as_utility
from leakwise.optimize.stratified_result import OtherStrata, StratifiedDesign, StratumDesign
from leakwise.priors import AllPriors, Ball, Box, Prior, PriorByStratum, PriorSet
from leakwise.priors.sets.noisy import NoisyLayerCake
from leakwise.priors.sets.rounded import RoundedLayerCake
from leakwise.proof import AskedLimits, asked_limits, certify, certify_by_stratum, limits_in_stratum, prior_cost
from leakwise.types import Bools, Counts, Floats

__all__ = ["by_stratum", "design_strata", "design_with_rest"]
P = ParamSpec("P")
Answer = tuple[Mechanism, StratumDesign]

_LIMITS = tuple(inspect.signature(asked_limits).parameters)
# A stratum with fewer rows never uses its own frequencies as they are: its mechanism would tell who is in it.
_FEWEST_ROWS = 1000
# Utilities whose mechanisms can be compared at any prior.
_COMPARED = ("frequencies", "information")
_OF_THE_SEARCH = ("time_limit", "progress")


# From so many strata on those with estimates so close (in l1) share a design, if it loses at most this share of value.
_MANY, _SIMILAR, _LOSS = 100, 0.05, 0.03
_FEWEST, _MOST_ALIKE, _PATIENCE = 2, 64, 3  # how many share one, and after how many failures none is tried any more
_COUNTED = (RoundedLayerCake, NoisyLayerCake)


class Designs(Protocol[P]):
    """A function that designs for one prior, and for the priors of all strata."""

    @overload
    def __call__(self, prior: PriorByStratum, *args: P.args, **options: P.kwargs) -> StratifiedDesign: ...

    @overload
    def __call__(self, prior: Any, *args: P.args, **options: P.kwargs) -> Design: ...


def by_stratum(design: Callable[Concatenate[Any, P], Design]) -> Designs[P]:
    """Return a design function that takes a :class:`PriorByStratum`, too: one design per stratum."""

    @functools.wraps(design)
    def run(prior: Any, *args: P.args, **options: P.kwargs) -> Any:
        check_seconds(options.get("time_limit"))
        if not isinstance(prior, PriorByStratum):
            return design(prior, *args, **options)
        given = {**dict(zip(("epsilon",), args, strict=False)), **options}
        if given.get("margin") is not None:
            from leakwise.optimize.least_lift_by_stratum import at_least_lift

            return at_least_lift(functools.partial(design_strata, design, prior), prior, given)
        result = _designed(problem := _Problem(design, prior, given), with_rest=prior.absent > 0)
        problem.tell(result)
        return result

    return run


def design_strata(design: Callable[..., Design], priors: PriorByStratum, given: dict[str, Any]) -> StratifiedDesign:
    """Design for every stratum, without a word of single ones."""
    return _designed(_Problem(design, priors, given), with_rest=priors.absent > 0)


def design_with_rest(
    priors: PriorByStratum, asked: AskedLimits, utility: Any, time_limit: float, rest: tuple[int, Fraction]
) -> StratifiedDesign:
    """Design for the strata of a table, and one mechanism that holds for every prior for all rows outside them.

    ``rest`` is how many other strata there are, and their share of the rows. Nothing is said here of single strata.
    """
    from leakwise.optimize.design import design

    function = inspect.unwrap(design)
    problem = _Problem(function, priors, {"epsilon": asked, "utility": utility, "time_limit": time_limit}, rest)
    return _designed(problem, with_rest=True)


def _designed(problem: _Problem, *, with_rest: bool) -> StratifiedDesign:
    priors = problem.priors
    # The most frequent strata first: they are to have their share of a limited time.
    solved = {key: problem.solved(key) for key in sorted(priors, key=lambda key: -priors.weights[key])}
    rest = problem.every_prior(problem.limits) if with_rest else None
    otherwise = None if rest is None else rest.mechanism
    mechanisms: Mapping[Label, Mechanism] = {key: solved[key][0] for key in priors}
    legend: Mapping[Label, str] = {}
    if not problem.goal.labelled:
        mechanisms, otherwise, legend = same_names(mechanisms, problem.known, priors.labels, otherwise)
    impossible = {
        key: [label for label, here in zip(priors.labels, prior.support, strict=True) if not here]
        for key, prior in problem.known.items()
    }
    stratified = StratifiedMechanism(
        mechanisms, priors.given_columns, secret=priors.secret, impossible=impossible, otherwise=otherwise
    )
    certificate = certify_by_stratum(stratified, priors.replaced(problem.proven), problem.limits).verify()
    told, words = {key: solved[key][1] for key in priors}, problem.limits.describe()
    return StratifiedDesign(stratified, certificate, priors, told, problem.goal.name, words, problem.rest_told, legend)


def _token(known: PriorSet) -> object:
    """What tells problems apart: the same one is solved once."""
    return type(known), tuple(known.nominal.weights.tolist()), None if isinstance(known, Prior) else known


class _Problem:
    """The problems of all strata, the answers found so far, and the time that is left."""

    def __init__(
        self,
        design: Callable[..., Design],
        priors: PriorByStratum,
        options: dict[str, Any],
        rest: tuple[int, Fraction] = (0, Fraction(0)),
    ) -> None:
        self.priors, self._design, self._rest = priors, design, rest
        self._options = {name: value for name, value in options.items() if name not in (*_LIMITS, *_OF_THE_SEARCH)}
        self._limit, self._progress = options.get("time_limit"), options.get("progress")
        self._end = None if self._limit is None else time.monotonic() + float(self._limit)
        self._left, self._failed = len(priors), 0
        self._answers: dict[object, Answer] = {}
        self._warned: dict[str, None] = {}
        self._everywhere: dict[AskedLimits, Design | None] = {}
        # A zero is a value that cannot occur only where the prior is given as known, not where it was counted.
        self.known = {key: one for key in priors if isinstance(one := priors[key], Prior) and one.sample_size is None}
        self._proven: dict[Label, PriorSet] = {}
        self.goal = as_utility(options.get("utility", "mutual_information"))
        self.limits = asked_limits(**{name: value for name, value in options.items() if name in _LIMITS})
        self.limits.refuse_in_total("priors by stratum: design for each stratum by itself")

    def solved(self, key: Label) -> Answer:
        """Return the mechanism of a stratum, what it is worth there, and where it comes from."""
        known = self._taken(key)
        self._left -= 1
        token = _token(known)
        again = token in self._answers
        if not again:
            answer = self._of_prior(known, key) if isinstance(known, Prior) else self._of_set(known, key)
            self._answers[token] = answer
            if len(self.priors) >= _MANY and isinstance(known, _COUNTED):
                self._estimates[3][self._places[key]] = False
                if answer[1].source in ("own", "merged"):
                    self._share(known, answer)
        mechanism, found = self._answers[token]
        # What holds for every prior is certified for every prior: the certificate then tells no counts of the stratum.
        # Noisy counts may be told; and that nothing better was found with them is something that they told.
        told = found.source == "every prior" and not prior_cost(known)
        self._proven[key] = AllPriors(self._anything) if told else known
        return mechanism, replace(found, source="shared") if again and found.source == "own" else found

    def _share(self, known: PriorSet, own: Answer) -> None:
        """Give strata that are nearly alike one design, where it hardly loses and each one's own certificate holds.

        Every stratum's rounded (or noisy) counts are a little different; the design for all their sets together is the
        one of the first at a slightly smaller lift. Where that does not do, tables of such strata are left alone.
        """
        limits, loss = limits_in_stratum(self.limits, known), _LOSS * abs(own[1].value)
        possible = self._failed < _PATIENCE and self.goal.kind in _COMPARED and limits.level is not None
        near = self._near(known) if possible and not limits.by_value else {}
        while len(near) >= _FEWEST:
            with contextlib.suppress(Infeasible, NotConverged):
                found = self._called(Together([known, *near.values()]), limits)
                values = {key: self._worth(found.mechanism, one)[0] for key, one in near.items()}
                kept = all(certify(found.mechanism, one, limits).holds for one in (known, *near.values()))
                here = self._worth(found.mechanism, known)[0]
                if kept and min(here, *values.values()) >= own[1].value - loss:
                    told = replace(own[1], method=found.method)
                    self._answers[_token(known)] = found.mechanism, replace(told, value=here)
                    for key, one in near.items():
                        shared = replace(told, value=values[key], bound=max(told.bound, values[key]), source="shared")
                        self._answers[_token(one)] = found.mechanism, shared
                        self._estimates[3][self._places[key]] = False
                    self._failed = 0
                    return
            self._failed += 1
            near = dict(list(near.items())[: len(near) // 4])

    def _near(self, known: PriorSet) -> dict[Label, PriorSet]:
        """The strata without a design yet whose estimate is close to this one's, and rests on about as many rows."""
        keys, estimates, rows, waiting = self._estimates
        apart = np.abs(estimates - known.nominal.probabilities).sum(axis=1)
        here = getattr(known, "sample_size", 0)
        close = np.flatnonzero(waiting & (apart <= _SIMILAR) & (rows >= 2 * here / 3) & (rows <= 3 * here / 2))
        chosen = [keys[place] for place in close[np.argsort(apart[close], kind="stable")][:_MOST_ALIKE].tolist()]
        return {key: one for key in chosen if _token(one := self.priors[key]) not in self._answers}

    @functools.cached_property
    def _estimates(self) -> tuple[list[Label], Floats, Counts, Bools]:
        """The strata with rounded or noisy counts, their estimates and rows, and whether they wait for a design."""
        sets = {key: one for key in self.priors if isinstance(one := self.priors[key], _COUNTED)}
        estimates = np.array([one.nominal.probabilities for one in sets.values()])
        rows = np.array([one.sample_size for one in sets.values()], dtype=np.int64)
        return list(sets), estimates, rows, np.ones(len(sets), dtype=np.bool_)

    @functools.cached_property
    def _places(self) -> dict[Label, int]:
        return {key: place for place, key in enumerate(self._estimates[0])}

    def _taken(self, key: Label) -> PriorSet:
        """Return what is designed for: of a counted prior every value, and nothing of its own where it has few rows."""
        prior = self.priors[key]
        if not isinstance(prior, Prior) or prior.sample_size is None:
            return prior
        return self._weighed(prior) if prior.sample_size >= _FEWEST_ROWS else AllPriors(self._weighed(prior))

    @property
    def proven(self) -> dict[Label, PriorSet]:
        """The priors, and sets of priors, that the mechanisms were made for, in the order of the strata."""
        return {key: self._proven[key] for key in self.priors}

    @functools.cached_property
    def _anything(self) -> Prior:
        return Prior.uniform(self.priors.labels)

    def _of_prior(self, known: Prior, key: Label) -> Answer:
        # Where the given columns determine the secret, a constant outcome keeps every limit there is.
        alone = known.support.sum() == 1
        try:
            own = self._called(known, asked_limits(lift=1) if alone else limits_in_stratum(self.limits, known))
        except Infeasible as error:
            where = self.priors.given_columns.described(key)
            raise Infeasible(f"Where {where}: {error}", witness=error.witness) from error
        return own.mechanism, StratumDesign(own.value, own.bound, own.method, "own")

    def _of_set(self, known: PriorSet, key: Label) -> Answer:
        """The best of three: for the set, for its estimate at a lift so small that it holds for the set, for all."""
        candidates: list[tuple[Design, str]] = []
        wide = None if getattr(known, "is_everything", False) else self._with_every_value(known)
        bound = math.inf
        if wide is not None:
            if (estimate := self._of_estimate(known, wide)) is not None:
                candidates.append((estimate, "own"))
            # What cannot be designed for this set is designed for every prior, and counted in the result.
            with contextlib.suppress(Infeasible, NotConverged):
                own = self._called(wide, limits_in_stratum(self.limits, known))
                candidates.append((own, "own"))
                bound = own.bound
        if (everywhere := self.every_prior(limits_in_stratum(self.limits, known))) is not None:
            candidates.append((everywhere, "every prior"))
        if not candidates:
            raise InvalidInput(
                f"No design was found where {self.priors.given_columns.described(key)}: too little is known of it (its "
                f"set of priors is too wide, or it has fewer than {_FEWEST_ROWS:,} rows), and this utility has no "
                "mechanism that holds for every prior. Merge the stratum with another, or give it a prior that is "
                "public (lw.Prior without a sample size)."
            )
        if self.goal.kind not in _COMPARED:
            best, source = next((pair for pair in candidates if pair[1] == "own"), candidates[-1])
            return best.mechanism, StratumDesign(best.value, max(best.bound, bound), best.method, source)
        # No mechanism is worth more than the secret itself.
        bound = min(bound, self._worth(identity(self.priors.labels), known)[1])
        values = [self._worth(one.mechanism, known)[0] for one, _ in candidates]
        place = values.index(max(values))
        best, source = candidates[place]
        if source == "own" and isinstance(known, RoundedLayerCake) and known.own < known.rows:
            source = "merged"
        return best.mechanism, StratumDesign(values[place], max(bound, values[place]), best.method, source)

    def _of_estimate(self, known: PriorSet, wide: PriorSet) -> Design | None:
        """The design for the estimate alone that holds for an l1 ball around it, e^ε/(1 + e^ε β/2) ([ED] section V)."""
        limit, beta = self.limits.level, getattr(wide, "beta", None)
        if limit is None or beta is None or self.limits.by_value or self.limits.lip or self.goal.kind not in _COMPARED:
            return None
        lift = limit.below / (1 + limit.below * beta / 2)
        if lift <= 1:
            return None
        found = self._called(wide.nominal, replace(self.limits, level=level(lift=lift)))
        return found if certify(found.mechanism, known, self.limits).holds else None

    def _worth(self, mechanism: Mechanism, known: PriorSet) -> tuple[float, float]:
        with np.errstate(all="ignore"):
            return self.goal.interval(mechanism.kernel, self._weighed(known.nominal))

    def every_prior(self, limits: AskedLimits) -> Design | None:
        """The design that holds for every prior: for strata of which too little is known, or that do not occur."""
        if limits not in self._everywhere:
            try:
                self._everywhere[limits] = self._called(AllPriors(self._whole), limits)
            except LeakwiseError:
                self._everywhere[limits] = None
        return self._everywhere[limits]

    @functools.cached_property
    def _whole(self) -> Prior:
        """The prior of all strata together where it is public; where it was counted, nothing is used of it.

        All rows together, less those of large strata, may be one person's. Rounded frequencies are no counts.
        """
        public = all(self.priors[key].nominal.sample_size is None for key in self.priors)
        return self._weighed(self.priors.marginal) if public else self._anything

    @property
    def rest_told(self) -> OtherStrata | None:
        """What the mechanism for every prior is worth to rows outside the strata, as if they were like those inside."""
        strata, share = self._rest
        if not strata:
            return None
        found = self.every_prior(self.limits)
        if found is None:
            raise InvalidInput(
                f"{strata:,} strata have too few rows for a design of their own, and within these limits no mechanism "
                "holds for every prior. Give fewer columns, or coarser ones, or leave out limits of single values."
            )
        everything = AllPriors(self._whole)
        value = self._worth(found.mechanism, everything)[0] if self.goal.kind in _COMPARED else found.value
        return OtherStrata(strata, share, StratumDesign(value, max(found.bound, value), found.method, "every prior"))

    def _called(self, prior: PriorSet, limits: AskedLimits) -> Design:
        options = dict(self._options)
        if self._end is not None:
            options["time_limit"] = max((self._end - time.monotonic()) / (self._left + 1), 0.05)
        if self._progress is not None:
            options["progress"] = self._progress
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always", LeakwiseWarning)
            found = self._design(prior, limits, **options)
        self._warned |= dict.fromkeys(str(one.message) for one in said)
        return found

    def _weighed(self, prior: Prior) -> Prior:
        """Return a prior that gives every value some weight, as if the stratum had one more row, spread over all."""
        if prior.support.all():
            return prior
        rows, size = prior.sample_size or 1000, len(prior)
        spread = [rows * size * mass + 1 for mass in prior.fractions]
        scale = math.lcm(*(one.denominator for one in spread))
        return Prior.from_integers(prior.alphabet, [int(one * scale) for one in spread], prior.sample_size)

    def _with_every_value(self, known: PriorSet) -> PriorSet | None:
        """Return a set that contains this one, around an estimate that has seen every value: frequencies weigh them."""
        if known.nominal.support.all() or self.goal.kind != "frequencies":
            return known
        seen = self._weighed(known.nominal)
        moved = sum(abs(a - b) for a, b in zip(seen.fractions, known.nominal.fractions, strict=True))
        if isinstance(known, Ball):
            return Ball(seen, known.beta + moved)
        if isinstance(known, Box):
            bounds = map(min, known.lower, seen.fractions), map(max, known.upper, seen.fractions)
            return Box(seen, *bounds, None if known.beta is None else known.beta + moved)
        return None if known.convex else Recentred(known, seen)

    def tell(self, result: StratifiedDesign) -> None:
        """Say once what was said of single strata, and how many strata fell back."""
        # A gap is told once, for all strata together.
        words = [text for text in self._warned if "proven gap" not in text]
        if is_open(result):
            late = any(text.startswith("The time limit") for text in self._warned)
            percent = 100 * result.gap / abs(result.bound) if result.bound else math.inf
            words.append(
                f"{'The time limit was reached in some strata. ' if late else ''}The proven gap between the utility of "
                f"all strata and its upper bound is {percent:.1f}% of it: better mechanisms may exist. What they leak "
                "is proven all the same."
            )
        if result.fallbacks:
            share = sum((self.priors.weights[key] for key in result.fallbacks), Fraction(0))
            words.append(
                f"{len(result.fallbacks):,} of {len(self.priors):,} strata, with {float(100 * share):.3g}% of the "
                "rows, have too few rows for a design of their own: they get the mechanism that holds for every prior."
            )
        own = {key: self.priors[key] for key, one in result.strata.items() if one.source != "every prior"}
        counted = [key for key, prior in own.items() if isinstance(prior, Prior) and key not in self.known]
        small = [key for key, prior in own.items() if (prior.nominal.sample_size or _FEWEST_ROWS) < _FEWEST_ROWS]
        if counted:
            words.append(
                f"The priors of {len(counted):,} of {len(self.priors):,} strata are frequencies of a sample and were "
                "taken as known, that is, as public: anyone who has the mechanism or the certificate can solve for "
                "them, exact counts included. Where they are not public, take priors that are (lw.Prior without a "
                "sample size). cp.confidence(failure) no longer takes them as exact, but the mechanisms of strata "
                "with designs of their own still tell their counts."
            )
        if small:
            words.append(
                f"{len(small):,} of {len(self.priors):,} strata have fewer than {_FEWEST_ROWS:,} rows and mechanisms "
                "for sets around their own counts: anyone who has the mechanism can solve for the counts, and those "
                "of so few rows tell of single persons. Merge small strata, or take priors that are public."
            )
        for one in words:
            warnings.warn(one, LeakwiseWarning, stacklevel=5)
