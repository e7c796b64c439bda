"""The archive of a release: made again from the same files it is the same, byte for byte."""

from __future__ import annotations

import io
import json
import math
import os
import tomllib
import zipfile
from collections.abc import Mapping
from fractions import Fraction
from importlib.metadata import version as version_of
from pathlib import Path
from typing import Any

from leakwise.documents import write_atomically
from leakwise.errors import CertificateRejected, InvalidInput
from leakwise.exact import exact_fraction, float_above, log_upper
from leakwise.mechanism.stratified_file import load_any
from leakwise.proof import Certificate, SeveralCertificate, StratifiedCertificate, verify
from leakwise.report.pack.evaluation import COUNTS, evaluation_page
from leakwise.report.pack.lines import Lines
from leakwise.report.pack.numbers import AnyCertificate, holds_counts, numbers_of

__all__ = ["pack"]

_READ = """The paper trail of a release, made by leakwise pack (Leakwise {version}).

evaluation.html   what is guaranteed, every number computed again, and an evaluation
certificate.html  the certificate line by line, which the numbers of the evaluation link to
checks.json       the same numbers and checks for programs
{files}
Check the certificate again with: leakwise verify certificate.json
{private}"""


def pack(
    certificate: str | os.PathLike[str],
    out: str | os.PathLike[str],
    *,
    report: str | os.PathLike[str] | None = None,
    mechanism: str | os.PathLike[str] | None = None,
    settings: str | os.PathLike[str] | None = None,
) -> list[str]:
    """Write the archive, and return what was checked; files that do not belong together are rejected.

    Parameters
    ----------
    certificate, out
        The certificate of the release, and the archive, a ``.zip`` file.
    report, mechanism, settings
        Further files of the release. A report in JSON says how many rows there were, and is compared with the
        certificate.
    """
    given = {"certificate": certificate, "report": report, "mechanism": mechanism, "settings": settings}
    files = {name: Path(path) for name, path in given.items() if path is not None}
    contents = {name: _read(path) for name, path in files.items()}
    proven = verify(certificate)
    if not isinstance(proven, Certificate | StratifiedCertificate | SeveralCertificate):
        raise InvalidInput(f"{str(certificate)!r} is not the certificate of a release.")
    record = _record(files.get("report"), contents.get("report"))
    checks = ["The certificate was verified from its exact integers."]
    checks += _checked(proven, record, files, contents)
    lines = Lines(json.loads(contents["certificate"]))
    numbers = numbers_of(proven, lines, None if record is None else record["rows"])
    private, version = holds_counts(proven), version_of("leakwise")
    names = {name: f"{name}{path.suffix.lower()}" for name, path in files.items()}
    listed = "".join(f"{file:<18}the {name}, as it was saved\n" for name, file in names.items())
    told = {
        "leakwise": version,
        "checks": checks,
        "numbers": [{"name": one.name, "value": one.value, "how": one.how, "line": one.line} for one in numbers],
        "contains_counts": private,
    }
    note = f"\n{COUNTS}\n" if private else ""
    parts = {
        "README.txt": _READ.format(version=version, files=listed, private=note),
        "evaluation.html": evaluation_page(proven, numbers, record, private),
        "checks.json": json.dumps(told, indent=2, ensure_ascii=False) + "\n",
        "certificate.html": lines.page("The certificate, line by line"),
    }
    whole = {name: text.encode() for name, text in parts.items()}
    write_atomically(out, _zipped({**whole, **{names[name]: content for name, content in contents.items()}}))
    return checks


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise InvalidInput(f"Cannot read {str(path)!r}: {error.strerror}.") from error


def _record(path: Path | None, content: bytes | None) -> dict[str, Any] | None:
    """The report as plain data, where it is in JSON."""
    if path is None or content is None or path.suffix.lower() != ".json":
        return None
    try:
        found = json.loads(content)
    except ValueError as error:
        raise InvalidInput(f"The report {str(path)!r} is damaged: {error}") from error
    if not isinstance(found, dict) or not isinstance(found.get("promise"), dict) or type(found.get("rows")) is not int:
        raise InvalidInput(f"{str(path)!r} is not a report of leakwise release.")
    return found


def _checked(
    proven: AnyCertificate, record: Mapping[str, Any] | None, files: Mapping[str, Path], contents: Mapping[str, bytes]
) -> list[str]:
    done = []
    if record is not None:
        _claimed(record["promise"], proven, files["report"])
        if "mechanism" in record and not isinstance(proven, SeveralCertificate):
            _same(json.loads(json.dumps(proven.mechanism.to_dict())) == record["mechanism"], files["report"])
        done.append("The report guarantees no more than the certificate proves, for the same mechanism.")
    if "mechanism" in files:
        drawn, kept = proven.mechanism, load_any(files["mechanism"]).to_dict()
        several = list(drawn.values()) if isinstance(drawn, dict) else [drawn]
        _same(any(one.to_dict() == kept for one in several), files["mechanism"])
        which = "the one" if len(several) == 1 else f"one of the {len(several)}"
        done.append(f"The mechanism is {which} of the certificate.")
    if "settings" in files:
        said = tomllib.loads(contents["settings"].decode("utf-8-sig"), parse_float=str).get("lift")
        asked = getattr(proven, "asked", None)
        if said is not None and asked is not None:
            _same(Fraction(str(said)) == asked.below, files["settings"])
            done.append("The limit of the settings is the one of the certificate.")
    return done


def _claimed(promise: Mapping[str, Any], proven: AnyCertificate, path: Path) -> None:
    """Reject a report that claims smaller numbers than the certificate proves; one secret's lift is its ratio."""
    lift = math.inf if proven.ratio is None else float_above(proven.ratio)
    epsilon = math.inf if proven.ratio is None else log_upper(proven.ratio)
    least = {"lift": lift, "ratio": lift, "epsilon_upper": epsilon, "failure": proven.failure}
    for name, value in least.items():
        told = promise.get(name)
        if told is None or told == "inf":
            continue
        if exact_fraction(told, f"{name} of the report {str(path)!r}") < value * (1 - 1e-12):
            raise CertificateRejected(
                f"The report {str(path)!r} guarantees {name} = {told}, and the certificate proves no less than "
                f"{value}: they do not belong together."
            )


def _same(equal: bool, path: Path) -> None:
    if not equal:
        raise CertificateRejected(f"{str(path)!r} does not belong to the certificate: it says something else.")


def _zipped(parts: Mapping[str, bytes]) -> bytes:
    stream = io.BytesIO()
    # Stored as they are: compressed bytes differ between versions of zlib.
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as archive:
        for name, content in parts.items():
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            entry.external_attr = 0o600 << 16
            entry.create_system = 3
            archive.writestr(entry, content)
    return stream.getvalue()
