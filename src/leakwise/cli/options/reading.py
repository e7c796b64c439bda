"""Mechanisms and priors as they are written on a command line.

Shared by every command: the options, and what turns their texts into objects.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from leakwise.cli.options import csv_files
from leakwise.cli.options.domain import read_domain
from leakwise.cli.options.typed import is_number, label, number, typed_words, whole
from leakwise.cli.screen.output import say
from leakwise.documents.csv_matrix import read_labelled_matrix
from leakwise.errors import InvalidInput, did_you_mean, some_of

if TYPE_CHECKING:
    from leakwise.alphabet import Alphabet, Label
    from leakwise.mechanism import Mechanism
    from leakwise.priors import Prior, PriorSet

__all__ = [
    "PRIOR_WORDS",
    "TRUTH",
    "ColumnOption",
    "CountsOption",
    "DataOption",
    "FailureOption",
    "MechanismArgument",
    "PriorOption",
    "PriorsOption",
    "every_prior_left",
    "named_after",
    "read_mechanism",
    "read_prior",
    "with_labels_of",
]

MechanismArgument = Annotated[
    str,
    typer.Argument(
        metavar="MECHANISM",
        help="A file that save() wrote, a CSV matrix with or without labels, or a name such as "
        "randomized-response:n=4,epsilon=1.",
    ),
]
PriorOption = Annotated[
    str | None,
    typer.Option(
        "--prior",
        "-p",
        metavar="PRIOR",
        help="0.5,0.3,0.2 or a=0.5,b=0.5 or 'uniform', a file that save() wrote, or a CSV of label,probability "
        "(or label,count) rows. Whole numbers that sum to more than 1 are counts. This, --counts or another sample is "
        "needed [default: none].",
    ),
]
PriorsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--prior",
        "-p",
        metavar="PRIOR",
        help="What is publicly known beforehand: no=0.7,yes=0.3 (whole numbers are counts), 'uniform' (every value is "
        "as likely as any other), 'unknown' (nothing is known: the guarantee holds for every prior), a file that "
        "save() wrote, or a CSV of label,probability or label,count rows. With --protect one for each secret, or one "
        "of all together.",
    ),
]
CountsOption = Annotated[
    str | None,
    typer.Option(
        "--counts", metavar="COUNTS", help="Counts of a sample: 500,300 or a=500,b=300, or a CSV of label,count rows."
    ),
]
DataOption = Annotated[
    Path | None, typer.Option("--data", metavar="FILE", help="A CSV table; with --column and --domain.")
]
ColumnOption = Annotated[str | None, typer.Option("--column", metavar="NAME", help="The column of --data.")]
FailureOption = Annotated[
    str | None,
    typer.Option(
        "--failure",
        metavar="PROBABILITY",
        help="With counts: treat them as a sample, and answer for every prior that it leaves possible, "
        "except with this probability [default: none; the frequencies are taken as exact, and the answer says so].",
    ),
]

PRIOR_WORDS = ("uniform", "unknown")
"""The priors that a release knows by a word: all values as likely as each other, and every prior."""
# Probabilities that are typed may miss 1 by this much; more is taken for a mistake.
_SUM_TOLERANCE = Fraction(1, 10**9)
TRUTH = {"true": True, "false": False, "1": True, "0": False, "yes": True, "no": False}
"""The words for truth values in a column that contains nothing else."""
# Parameters of named mechanisms that are whole numbers.
_WHOLE = ("blocks", "hashes", "k", "people", "sensitivity", "size", "width")


# ----------------------------------------------------------------------------------------------------- mechanisms


def _catalog() -> dict[str, Callable[..., Mechanism]]:
    from leakwise.mechanism import catalog

    others = ("exponential", "shuffle_amplification")  # one takes a matrix, the other is a bound
    return {name.replace("_", "-"): getattr(catalog, name) for name in catalog.__all__ if name not in others}


def read_mechanism(text: str) -> Mechanism:
    """Return a mechanism from a saved file, a CSV matrix, or a catalog name with parameters.

    >>> read_mechanism("randomized-response:n=2,lift=3").matrix.tolist()
    [[0.75, 0.25], [0.25, 0.75]]
    """
    from leakwise.documents import document_format
    from leakwise.mechanism import Mechanism
    from leakwise.mechanism.stratified_file import FORMAT as STRATIFIED

    catalog = _catalog()
    name, _, parameters = text.partition(":")
    known = catalog.get(name.strip().lower().replace("_", "-"))
    path = Path(text)
    if known is not None and not csv_files.exists(path):
        return _named_mechanism(text, known, parameters)
    if not csv_files.exists(path):
        raise InvalidInput(
            f"MECHANISM must be a file or a name such as {', '.join(catalog)}. There is no file {text!r}."
            f"{did_you_mean(name, catalog)}"
        )
    if csv_files.is_json(path):
        if document_format(path) == STRATIFIED:
            raise InvalidInput(
                f"{text!r} is a mechanism by stratum, and one mechanism is needed here. leakwise certify and ledger "
                "add take it with --prior FILE, the priors of its strata; leakwise audit takes it with --table."
            )
        return Mechanism.load(path)
    matrix, inputs, outputs = read_labelled_matrix(path)
    names = [None if side is None else [label(word) for word in side] for side in (inputs, outputs)]
    return Mechanism(matrix, inputs=names[0], outputs=names[1])


def _named_mechanism(text: str, make: Callable[..., Mechanism], parameters: str) -> Mechanism:
    allowed = [name for name in inspect.signature(make).parameters if name not in ("letters", "law", "prior", "pml")]
    given: dict[str, Any] = {}
    for part in filter(None, (word.strip() for word in parameters.split(","))):
        key, equals, value = part.partition("=")
        key = {"n": "letters"}.get(key.strip(), key.strip())
        if not equals or key not in (*allowed, "letters") or key in given:
            known = ", ".join(f"{name}=…" for name in ("n", *allowed))
            raise InvalidInput(
                f"MECHANISM {text!r} must give each of its parameters once, among {known} (letters=a/b/c names them). "
                f"Got {part!r}.{did_you_mean(key, ('n', 'letters', *allowed))}"
            )
        given[key] = value.strip()
    if "letters" not in given:
        raise InvalidInput(
            f"MECHANISM {text!r} must say how many values there are: n=4, or letters=no/yes to name them."
        )
    _complete(text, make, given, allowed)
    letters = given.pop("letters")
    given |= {name: whole(given[name], name) for name in _WHOLE if name in given}
    if "edges" in given:
        given["edges"] = given["edges"].split("/")
    return make(whole(letters, "n") if "/" not in letters else [label(word) for word in letters.split("/")], **given)


def _complete(text: str, make: Callable[..., Mechanism], given: dict[str, Any], allowed: list[str]) -> None:
    """Refuse a named mechanism that lacks a parameter it cannot be made without."""
    parameters = inspect.signature(make).parameters
    if missing := [
        name for name in allowed if parameters[name].default is inspect.Parameter.empty and name not in given
    ]:
        raise InvalidInput(f"MECHANISM {text!r} must give {' and '.join(f'{name}=…' for name in missing)} as well.")
    levels = {"epsilon", "lift"}
    if levels <= set(allowed) and "flip" not in allowed and len(levels & set(given)) != 1:
        raise InvalidInput(f"MECHANISM {text!r} must give one of epsilon=… (in nats) and lift=… (e^ε), as in lift=2.")


# --------------------------------------------------------------------------------------------------------- priors


def read_prior(
    prior: str | None = None,
    counts: str | None = None,
    data: Path | None = None,
    column: str | None = None,
    domain: str | None = None,
    *,
    mechanism: Mechanism | None = None,
) -> Prior:
    """Return the prior that the shared options describe; with a mechanism, over its values.

    >>> read_prior("a=0.5,b=0.5").labels
    ('a', 'b')
    """
    ways = [name for name, value in (("--prior", prior), ("--counts", counts), ("--data", data)) if value is not None]
    if len(ways) != 1:
        raise InvalidInput(
            f"Say what is known of the secret with exactly one of --prior, --counts or --data. Got "
            f"{' and '.join(ways) or 'none'}. (--prior uniform is an assumption like any other.)"
        )
    if data is None and (column is not None or domain is not None):
        raise InvalidInput("--column and --domain go with --data FILE: the table whose column is counted.")
    if data is not None:
        found = _from_column(data, column, domain)
    elif counts is not None:
        found = _from_counts(counts)
    else:
        assert prior is not None
        found = _from_text(prior, mechanism)
    return found if mechanism is None else with_labels_of(found, mechanism.input_alphabet)


def named_after(mechanism: Mechanism, prior: Prior) -> Mechanism:
    """Return the mechanism with the prior's names for its values where it has only numbers, such as from n=12."""
    from leakwise.mechanism import Mechanism, SetMechanism

    mine, names = mechanism.input_alphabet, prior.alphabet
    if mine.declared or not names.declared or len(mine) != len(names):
        return mechanism
    if isinstance(mechanism, SetMechanism):
        return SetMechanism(names, mechanism.rule)
    outputs = names if mechanism.outputs == mine.labels else mechanism.output_alphabet
    return Mechanism.from_kernel(mechanism.kernel, names, outputs)


def every_prior_left(prior: Prior, failure: str | None) -> PriorSet:
    """Return the prior itself; with --failure every prior that its sample leaves possible."""
    if failure is None:
        return prior
    if prior.sample_size is None:
        raise InvalidInput(
            f"--failure {failure} goes with a sample: --counts, --data, or a file of counts. This prior was given as "
            "known."
        )
    return prior.confidence(number(failure, "--failure"), "layer-cake")


def _from_text(text: str, mechanism: Mechanism | None) -> Prior:
    from leakwise.documents import document_format
    from leakwise.priors import Prior
    from leakwise.priors.by_stratum_file import FORMAT as BY_STRATUM

    path = Path(text)
    word, _, size = text.strip().partition(":")
    if word == "uniform" and (size or mechanism is not None):
        return Prior.uniform(whole(size, "uniform:") if size else mechanism.input_alphabet)  # type: ignore[union-attr]
    if word == "unknown":
        raise InvalidInput(
            "--prior unknown (every prior) goes with leakwise release. Here --anyone (for a design also --ldp) limits "
            "the lift for every prior, and an audit always shows it."
        )
    if csv_files.exists(path):
        if csv_files.is_json(path):
            if document_format(path) == BY_STRATUM:
                raise InvalidInput(
                    f"--prior {text!r} has a prior for each stratum, and one prior is needed here. Such a file goes "
                    "with a mechanism by stratum, to leakwise certify and ledger add."
                )
            return Prior.load(path)
        labels, values, counted = csv_files.read_distribution(path)
        return _weighed(values, [label(name) for name in labels], f"--prior {text}", counted)
    if word == "uniform":
        raise InvalidInput(
            "--prior uniform must say over which values: uniform:4 for four; in a release, --domain VALUES."
        )
    if "=" not in text and not any(is_number(part) for part in text.split(",")):
        raise InvalidInput(
            "--prior must be probabilities such as no=0.7,yes=0.3 (or 0.7,0.3), counts, 'uniform', 'unknown' (in a "
            f"release), or a file of them. There is no file {text!r}.{_near(path)}"
        )
    return _weighed(*_pairs(text, "--prior"), "--prior", False)


def _near(path: Path) -> str:
    """A word, or a file beside the one that is not there, which may have been meant."""
    try:
        files = [one.name for one in path.parent.iterdir() if one.suffix.lower() in (".csv", ".json")]
    except (OSError, ValueError):
        files = []
    return did_you_mean(path.name, [*PRIOR_WORDS, *files])


def _weighed(values: list[Any], labels: list[Label] | None, name: str, counted: bool) -> Prior:
    """A prior from probabilities; whole numbers that are more than one in all are counts, which is said."""
    from leakwise.priors import Prior

    total = sum(values)
    if counted or (total > 1 and all(isinstance(value, int) for value in values)):
        found = Prior.from_counts(values, labels=labels)
        say(f"Note: {name} is taken as counts, of {found.sample_size:,} rows in all.")
        return found
    if abs(total - 1) > _SUM_TOLERANCE:
        way = "Divide percentages by 100" if total > 1 else "Give every value its probability"
        raise InvalidInput(
            f"{name} must be probabilities that sum to 1, or counts, which are whole numbers. They sum to "
            f"{float(total):.12g}. {way}."
        )
    return Prior(values, labels=labels)


def _from_counts(text: str) -> Prior:
    """Counts as typed, or from a file of two columns."""
    from leakwise.priors import Prior

    path = Path(text)
    if not csv_files.exists(path):
        if "=" not in text and not any(is_number(part) for part in text.split(",")):
            raise InvalidInput(
                f"--counts must be numbers such as 500,300 or a=500,b=300, or a file. There is no file {text!r}."
            )
        values, labels = _pairs(text, "--counts")
        return Prior.from_counts(values, labels=labels)
    if csv_files.is_json(path):
        found = Prior.load(path)
        if found.sample_size is None:
            raise InvalidInput(f"--counts: the prior in {text!r} was not counted. Give it with --prior.")
        return found
    names, values, _ = csv_files.read_distribution(path)
    return Prior.from_counts(values, labels=[label(name) for name in names])


def _pairs(text: str, option: str) -> tuple[list[Any], list[Label] | None]:
    """The numbers that are typed, and the values that they are of, if they are named."""
    words = list(typed_words(text))
    named = ["=" in rest for _, rest in words]
    if any(named) and not all(named):
        raise InvalidInput(
            f"{option} must name all of its numbers or none. Got {text!r}. A name with a comma goes in double quotes: "
            '"a, b"=0.5.'
        )
    values = [number(rest.rpartition("=")[2], option) for _, rest in words]
    if not any(named):
        return values, None
    return values, [label(rest.rpartition("=")[0]) if quoted is None else quoted for quoted, rest in words]


def _from_column(data: Path, column: str | None, domain: str | None) -> Prior:
    from leakwise.alphabet import Bins
    from leakwise.alphabet.dates import DateBins
    from leakwise.priors import Prior

    if column is None or domain is None:
        raise InvalidInput(
            "--data needs --column NAME and --domain VALUES. The domain must be declared: one read off the private "
            "column reveals which values occur."
        )
    letters = read_domain(domain)
    values = csv_files.read_column(data, column)
    if isinstance(letters, DateBins):
        return Prior.from_data([word or None for word in values], letters)
    if isinstance(letters, Bins):
        # An empty cell stays a missing value, which bins refuse by name.
        return Prior.from_data([float(number(word, column)) if word else float("nan") for word in values], letters)
    return Prior.from_data([label(word) if word else None for word in values], letters)


def with_labels_of(prior: Prior, letters: Alphabet) -> Prior:
    """Return the prior with the labels of a mechanism where the two differ only in kind, such as '1' and 1."""
    from leakwise.alphabet import Alphabet
    from leakwise.priors import Prior

    if not prior.alphabet.declared or not letters.declared or set(prior.labels) == set(letters.labels):
        return prior
    by_text = {_text(name): name for name in letters}
    texts = [_text(name) for name in prior.labels]
    if any(isinstance(name, bool) for name in letters):
        texts = [_text(TRUTH.get(str(text).lower(), text)) for text in texts]
    if len(by_text) < len(letters) or set(texts) != set(by_text):
        lacking, extra = _difference(by_text, texts), _difference(texts, by_text)
        raise InvalidInput(
            "The values of the prior must be those of the mechanism or of --domain."
            + (f" The prior lacks {some_of(lacking)}." if lacking else "")
            + (" A missing value has its probability without a name: no=0.6,yes=0.3,=0.1." if None in lacking else "")
            + (f" Only the prior has {some_of(extra)}.{did_you_mean(extra[0], lacking)}" if extra else "")
        )
    return Prior.from_integers(
        Alphabet([by_text[text] for text in texts]), [int(weight) for weight in prior.weights], prior.sample_size
    )


def _text(name: Label) -> str | None:
    return None if name is None else str(name)


def _difference(left: Iterable[str | None], right: Iterable[str | None]) -> Sequence[str | None]:
    there = set(right)
    return [text for text in left if text not in there]
