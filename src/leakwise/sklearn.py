"""scikit-learn: the release as a step of a pipeline, and a classifier that learns from released labels."""

from __future__ import annotations

import warnings
from collections.abc import Hashable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from leakwise.alphabet import GivenColumns, StratumCounts, as_alphabet, encode_column
from leakwise.errors import InvalidInput, LeakwiseWarning, require
from leakwise.mechanism import AnyMechanism, Mechanism
from leakwise.priors import Prior, PriorByStratum, PriorSet, over_letters
from leakwise.priors.sample import counts_of
from leakwise.priors.sets.rounded import RoundedLayerCake
from leakwise.rooms import offering
from leakwise.tables.kinds import frames
from leakwise.tables.kinds.plain import natural_array, object_array, take_labels
from leakwise.tables.release.certain_values import refuse_certainty
from leakwise.tables.release.checking import RowBeside, RowCheck, counted
from leakwise.tables.release.draw import draw_codes
from leakwise.tables.release.exchange import Exchanger
from leakwise.tables.release.impossible_values import refuse_impossible
from leakwise.tables.release.row_order import RowOrder, warn_of_order
from leakwise.tables.strata.release import refuse_strata, warn_of_readable_strata
from leakwise.workflow.limits import TEN_TIMES, release_limits

require("sklearn", extra="sklearn", purpose="leakwise.sklearn")

from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin  # noqa: E402
from sklearn.utils.validation import check_is_fitted, validate_data  # noqa: E402

from leakwise.learning import NoiseAwareClassifier  # noqa: E402
from leakwise.types import Array, Floats  # noqa: E402

if TYPE_CHECKING:
    from leakwise.optimize import Design, StratifiedDesign
    from leakwise.optimize.from_data import DataDesign

    AnyDesign = Design | DataDesign | StratifiedDesign

__all__ = ["LeakageRandomizer", "NoiseAwareClassifier"]
__dir__ = offering(globals())

_WAYS_OUT = "Put X into a random order first, with everything that goes with it: sklearn.utils.shuffle(X, y)."


class LeakageRandomizer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Categorical columns in, the outcomes of the best mechanism within a leakage limit out.

    Every column is a secret of its own. ``fit`` finds its mechanism: the most useful one of which no outcome makes any
    guess about the value more than ``lift`` times as likely. ``transform`` draws an outcome for every row, exactly,
    from the operating system's randomness. There is no ``random_state``: a draw that could be repeated could be undone,
    and transforming the same rows twice releases them twice, which reveals more than once.

    Parameters
    ----------
    epsilon, lift
        The most that an outcome may reveal: ε in nats, or e^ε. One of the two.
    anyone
        The same limit for anyone, whatever they knew: ten times the lift unless it is given; None switches it off.
    domain
        Every value that can occur, whether it does or not: a list, or ``lw.bins(low, high, count)`` for numbers, for
        all columns; or a mapping from columns (names, or numbers where there are none) to such domains. May be left out
        where the prior names the values. It is never read off the data, which would give away what occurs.
    utility
        What the mechanism is best for, as for ``lw.design``: ``"frequencies"`` (outcomes are not values, but named by
        those they make more likely), ``"mutual_information"``, ``lw.Expected(matrix)``, …
    prior
        What is known beforehand from public sources: a Prior, probabilities, or a set of priors, for all columns; or a
        mapping from columns to such. None: learnt from the sample that ``fit`` gets, by ``lw.design_from_data``,
        such that the guarantee holds for the true prior except with probability ``failure``.
    failure
        How often the sample may mislead, such as 1e-6; only, and then always, with a prior that is learnt.
    time_limit
        Seconds for the design of a mechanism with a given prior.
    given
        Columns of X that go out beside the others: names, or a mapping to domains (``lw.bins`` send numbers out in
        bins). Each other column is a secret with a mechanism for every combination of them, and the guarantee is for
        anyone who sees them. A prior must be a ``lw.PriorByStratum``, or is learnt.
    least_rows
        With ``given`` and a prior that is learnt: combinations with fewer rows get the mechanism for every prior.
    allow_certainty
        A mechanism is refused by ``fit`` whose outcomes make a value certain that was not, or with which the best guess
        is right for more than 99% of the rows where it was right for less than 95%. True takes it all the same.

    Attributes
    ----------
    mechanisms_ : tuple of Mechanism (with given columns, of StratifiedMechanism)
        One for each secret column; what ``lw.estimate`` takes to find the frequencies behind the outcomes.
    designs_ : tuple of Design, DataDesign or StratifiedDesign
        How they were found, with their proofs. The pickled transformer holds no exact count of a sample that it learnt
        from, and no certificate, which rests on them.
    epsilons_ : ndarray
        The leakage that is proven for each, in nats.
    n_features_in_, feature_names_in_
        As everywhere in scikit-learn.

    Notes
    -----
    The promise for a learnt prior is about rows drawn like the sample; the rows of the sample are not covered
    themselves. ``fit_transform`` releases just these and says so by a warning: fit on a sample of its own, or give the
    prior. Columns that tell of one another are one secret: put them together into one column of combinations first.

    Examples
    --------
    >>> import leakwise as lw
    >>> randomizer = LeakageRandomizer(lift=2, prior={"no": 0.75, "yes": 0.25})
    >>> released = randomizer.fit_transform([["no"], ["yes"], ["no"]])
    >>> released.shape, set(released.ravel()) <= set(randomizer.mechanisms_[0].outputs)
    ((3, 1), True)
    """

    def __init__(
        self,
        epsilon: Any = None,
        *,
        lift: Any = None,
        anyone: Any = TEN_TIMES,
        domain: Any = None,
        utility: Any = "frequencies",
        prior: Any = None,
        failure: float | None = None,
        time_limit: float = 30.0,
        given: Any = None,
        least_rows: int = 1000,
        allow_certainty: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.lift = lift
        self.anyone = anyone
        self.domain = domain
        self.utility = utility
        self.prior = prior
        self.failure = failure
        self.time_limit = time_limit
        self.given = given
        self.least_rows = least_rows
        self.allow_certainty = allow_certainty

    def fit(self, X: Any, y: Any = None) -> LeakageRandomizer:
        """Find the mechanism of every column; values outside the domain are refused.

        Parameters
        ----------
        X
            A table: NumPy array, list of rows, pandas or polars DataFrame.
        y
            Not looked at.
        """
        columns = self._columns(X, reset=True)
        given = None
        if self.given is not None:
            frames.check_names(list(columns), [self.given] if isinstance(self.given, str) else list(self.given))
            given = GivenColumns.read(self.given, (), columns.__getitem__)
        self._secrets = [name for name in columns if given is None or name not in given.names]
        domains = _each(self.domain, self._secrets, "domain", isinstance(self.domain, Mapping))
        priors = _each(self.prior, self._secrets, "prior", _is_by_column(self.prior))
        self._learnt = False
        # What the promise is about, where it was given: of a learnt prior every value of the domain is covered.
        self._priors: list[PriorSet | None] = []
        designs = [
            self._designed(name, columns[name], domains[name], priors[name])
            if given is None
            else self._by_strata(name, columns, domains[name], priors[name], given)
            for name in self._secrets
        ]
        if self.failure is not None and not self._learnt:
            raise InvalidInput("failure must be left out where every prior is given: nothing is learnt from the data.")
        self.designs_ = tuple(designs)
        self.mechanisms_: tuple[Any, ...] = tuple(_drawable(one.mechanism) for one in designs)
        self.epsilons_: Floats = np.array([one.epsilon for one in designs])
        return self

    def transform(self, X: Any) -> Array:
        """Return one outcome for every value, drawn again at every call.

        Parameters
        ----------
        X
            A table with the columns of the one that was fitted.

        Returns
        -------
        An array of outcomes, or what ``set_output`` asks for.
        """
        check_is_fitted(self, "mechanisms_")
        columns = self._columns(X, reset=False)
        if self.given is not None:
            return self._drawn_by_strata(X, columns)
        # All columns are checked before the first draw.
        encoded = [
            encode_column(values, mechanism.input_alphabet, name=f"column {name!r}")
            for (name, values), mechanism in zip(columns.items(), self.mechanisms_, strict=True)
        ]
        for name, codes, mechanism in zip(columns, encoded, self.mechanisms_, strict=True):
            # With set_output("pandas") the index of X goes out with the outcomes.
            frames.check_row_labels(X, [name], codes, mechanism.input_alphabet)
        for name, codes, known in zip(columns, encoded, self._priors, strict=True):
            if known is not None:
                refuse_impossible(counted(codes, len(known.alphabet)), known, [name])
        for name, codes, mechanism in zip(columns, encoded, self.mechanisms_, strict=True):
            # The rows belong to others (labels, weights), so that their order can be warned of, but not changed.
            watched = RowOrder(mechanism.inputs)
            watched.add(codes)
            warn_of_order(watched, f"column {name!r}", stacklevel=3, ways_out=_WAYS_OUT)
        drawn = [draw_codes(codes, one.sampler) for codes, one in zip(encoded, self.mechanisms_, strict=True)]
        labels = [natural_array(one.outputs) for one in self.mechanisms_]
        if len({one.dtype.kind for one in labels}) > 1:
            labels = [object_array(one.outputs) for one in self.mechanisms_]
        return np.column_stack([take_labels(of, codes) for of, codes in zip(labels, drawn, strict=True)])

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Array:
        """Return ``fit`` and ``transform`` of the same rows; a warning where the prior was learnt from them."""
        released: Array = self.fit(X, y, **fit_params).transform(X)
        if self._learnt:
            warnings.warn(
                "The rows that the mechanism was designed from are released by it: the promise covers other rows drawn "
                "like them, not these. Fit on a sample of its own, or give the prior.",
                LeakwiseWarning,
                stacklevel=2,
            )
        return released

    @property
    def guarantees(self) -> dict[Hashable, str]:
        """The guarantee for every column, in words."""
        check_is_fitted(self, "mechanisms_")
        return {name: _promise(_public(one)) for name, one in zip(self._secrets, self.designs_, strict=True)}

    def __getstate__(self) -> dict[str, Any]:
        # Who gets the pickled transformer gets no exact count of the sample that it learnt from.
        state = dict(super().__getstate__())
        if "designs_" in state:
            state["designs_"] = tuple(map(_public, state["designs_"]))
        return state

    def _designed(self, name: Hashable, values: Any, domain: Any, prior: Any) -> Design | DataDesign:
        from leakwise.optimize import design
        from leakwise.optimize.from_data import design_from_data

        title = f"column {name!r}"
        if prior is None:
            if domain is None:
                raise InvalidInput(
                    f"domain must be declared for {title}: every value that can occur. One read off the data gives "
                    "away which occur."
                )
            if self.failure is None:
                raise InvalidInput(
                    f"prior must be given for {title}, from public sources; or failure, the probability that a prior "
                    "learnt from the data misleads, such as 1e-6."
                )
            self._learnt = True
            self._priors.append(None)
            encode_column(values, as_alphabet(domain, name="domain"), name=title)  # says which column is wrong
            sample = Prior.from_data(values, domain)
            found = design_from_data(
                sample,
                release_limits(self.epsilon, self.lift, anyone=self.anyone),
                failure=self.failure,
                utility=self.utility,
                strategy="certified",
                compare=False,
                rounded=True,
            )
            self._refuse_certainty(
                found.mechanism, RoundedLayerCake(sample, self.failure), np.array(counts_of(sample)), name
            )
            return found
        known = _over(prior, domain)
        codes = encode_column(values, known.alphabet, name=title)
        counts = counted(codes, len(known.alphabet))
        refuse_impossible(counts, known, [name])
        self._priors.append(known)
        asked = release_limits(self.epsilon, self.lift, anyone=self.anyone, prior=known)
        best: Design = design(known, asked, utility=self.utility, time_limit=self.time_limit)
        self._refuse_certainty(best.mechanism, known, counts, name)
        return best

    def _by_strata(
        self, name: Hashable, columns: Mapping[Hashable, Any], domain: Any, prior: Any, given: GivenColumns
    ) -> StratifiedDesign:
        """The design of a column that goes out beside given ones."""
        from leakwise.optimize import design
        from leakwise.workflow.strata import CountedStrata, certified_by_stratum

        asked = release_limits(self.epsilon, self.lift, anyone=self.anyone)
        self._priors.append(None)
        if isinstance(prior, PriorByStratum) and set(prior.given) == set(given.names):
            found: StratifiedDesign = design(prior, asked, utility=self.utility, time_limit=self.time_limit)
        elif prior is not None or domain is None or self.failure is None or self.utility != "frequencies":
            raise InvalidInput(
                f"prior must be a lw.PriorByStratum for column {name!r}, by {given.quoted}. Or leave it out, with "
                "domain and failure (such as 1e-6): it is then learnt, for the utility 'frequencies'."
            )
        else:
            self._learnt = True
            letters = as_alphabet(domain, name="domain")
            counts = StratumCounts(given, len(letters))
            codes = encode_column(columns[name], letters, name=f"column {name!r}")
            counts.add(given.encode([columns[one] for one in given.names]), codes)
            basis = CountedStrata(counts.strata(), letters, given, name, self.failure, self.least_rows)
            proven = certified_by_stratum(basis, asked, "statistics", None, (str(name),), self.time_limit)
            assert proven[0] is not None
            found = proven[0]
        if not self.allow_certainty:
            warn_of_readable_strata([name], found.mechanism, stacklevel=3)
        return found

    def _drawn_by_strata(self, X: Any, columns: Mapping[Hashable, Any]) -> Array:
        secrets = [((name,), one) for name, one in zip(self._secrets, self.mechanisms_, strict=True)]
        for names, one in secrets:
            beside = RowBeside(one.given_columns, strict=one.otherwise is None, ordered=True)
            check = RowCheck(names, one.input_alphabet, beside=beside)
            frames.check_row_labels(X, names, check.add(columns), one.input_alphabet)
            assert check.strata is not None and check.order is not None  # noqa: PT018
            refuse_strata(check.strata.strata(), one)
            warn_of_order(check.order, f"column {names[0]!r}", stacklevel=4, ways_out=_WAYS_OUT)
        new = Exchanger(secrets)(columns)
        return np.column_stack(
            [
                take_labels(object_array(new[name][1]), new[name][0]) if name in new else np.asarray(values, np.object_)
                for name, values in columns.items()
            ]
        )

    def _refuse_certainty(self, mechanism: Mechanism, priors: PriorSet, counts: Any, name: Hashable) -> None:
        seen = priors.alphabet, counts
        refuse_certainty(mechanism, priors, seen, [name], allowed=self.allow_certainty)

    def _columns(self, X: Any, *, reset: bool) -> dict[Hashable, Any]:
        """The columns by name, or by number where they have none; as they are, categories and texts included."""
        if hasattr(X, "columns") and frames.is_table(X) and not isinstance(X, Mapping):
            validate_data(self, X, reset=reset, skip_check_array=True)
            names = frames.column_names(X)
            frames.check_columns(X, names)
            if not len(X):
                raise InvalidInput("X has no rows: Found array with 0 sample(s) while a minimum of 1 is required.")
            return {name: frames.column_of(X, name) for name in names}
        finite = "allow-nan" if self._takes_missing() else True
        array = validate_data(self, X, reset=reset, dtype=None, ensure_all_finite=finite)
        return {place: array[:, place] for place in range(array.shape[1])}

    def _takes_missing(self) -> bool:
        """Whether a missing value is a letter of some column; another column refuses it when it is read."""
        by_column = (self.domain, isinstance(self.domain, Mapping)), (self.prior, _is_by_column(self.prior))
        given = [one for named, several in by_column for one in (named.values() if several else [named])]
        letters = [getattr(one, "labels", one) for one in given]
        return any(isinstance(one, Iterable) and None in one for one in letters)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        tags.input_tags.allow_nan = self._takes_missing()
        tags.transformer_tags.preserves_dtype = []
        return tags


def _is_by_column(prior: Any) -> bool:
    """Whether a prior is a mapping from columns to priors, not one from values to probabilities."""
    if not isinstance(prior, Mapping):
        return False
    return not any(hasattr(one, "__float__") or isinstance(one, str) for one in prior.values())


def _each(given: Any, names: list[Hashable], title: str, by_column: bool) -> dict[Hashable, Any]:
    """What was given for each column."""
    if not by_column:
        return dict.fromkeys(names, given)
    frames.check_names(names, list(given))
    return {name: given.get(name) for name in names}


def _over(prior: Any, domain: Any) -> Any:
    """The prior (or set of priors), whose letters must be those of the domain where there is one."""
    known = prior if isinstance(prior, PriorSet) else Prior(prior, labels=domain) if _bare(prior) else Prior(prior)
    return known if domain is None else over_letters(known, as_alphabet(domain, name="domain"))


def _bare(prior: Any) -> bool:
    return not isinstance(prior, (Mapping, PriorSet))


def _drawable(mechanism: AnyMechanism) -> AnyMechanism:
    """The mechanism itself where it can be drawn from exactly, which designs can."""
    _ = Exchanger([((None,), mechanism)])
    return mechanism


def _public(found: AnyDesign) -> AnyDesign:
    """What a receiver may have of a design."""
    return found.without_counts() if hasattr(found, "without_counts") else found


def _promise(found: AnyDesign) -> str:
    return str(found.guarantee) if hasattr(found, "guarantee") else found.certificate.sentence
