"""A pytest plugin: claims about what a program leaks, tested like everything else.

``from leakwise.pytest import assert_leaks_at_most`` in a test is all that is needed. pytest loads this file when
Leakwise is installed beside it; nothing else of Leakwise is loaded before a claim is tested. (PYTEST_DONT_REWRITE: the
only assertions here are about its own data.)
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Callable, Generator
from dataclasses import dataclass, field
from decimal import Decimal
from fractions import Fraction
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from leakwise.blackbox import BlackBoxAudit

__all__ = ["assert_leaks_at_most"]

FORMAT, VERSION = "leakwise-pytest", 1
DEFAULT = 0.99


def assert_leaks_at_most(
    program: Callable[..., Any],
    inputs: Any = None,
    *,
    epsilon: object = None,
    lift: object = None,
    measure: str | None = None,
    prior: Any = None,
    outputs: Any = None,
    confidence: float | None = None,
    seconds: float | None = 10.0,
    samples: int = 200_000,
    batch: bool = False,
) -> BlackBoxAudit:
    """Run a program and fail if its answers prove that it leaks more than is claimed.

    Parameters
    ----------
    program, inputs, measure, prior, outputs, batch
        As for :func:`leakwise.audit_program`.
    epsilon, lift
        The claim: exactly one of them.
    confidence
        A program that keeps its claim passes with at least this probability. By default the claims of a pytest session
        share ``1 - --leakwise-confidence`` (1%): the n-th gets 1/(n(n+1)) of it, however many there will be. Outside
        pytest the default is 99%.
    seconds, samples
        The most time and the most answers to spend. A program that keeps its claim is asked until one of them is used
        up, unless ``outputs`` let the claim be confirmed.

    Returns
    -------
    The audit, for tests that ask for more.

    Examples
    --------
    >>> import random
    >>> coin = random.Random(1)
    >>> honest = lambda x: x if coin.random() < 0.75 else 1 - x
    >>> assert_leaks_at_most(honest, [0, 1], lift=4, samples=5_000).verdict
    'not refuted'
    """
    __tracebackhide__ = True
    from leakwise.blackbox import audit_program
    from leakwise.errors import InvalidInput

    if (epsilon is None) == (lift is None):
        raise InvalidInput("Give the claim as either epsilon= (in nats) or lift=.")
    if confidence is not None:
        _confidence(confidence, "confidence", InvalidInput)
    account = _accounts[-1] if _accounts else _Account(DEFAULT, 1.0)
    failure = account.next() if confidence is None else _rest(confidence)
    start = time.monotonic()
    found = audit_program(
        program,
        inputs,
        outputs=outputs,
        prior=prior,
        epsilon=epsilon,
        lift=lift,
        measure=measure,
        failure=failure,
        samples=samples,
        seconds=seconds,
        batch=batch,
    )
    name = getattr(program, "__qualname__", None) or type(program).__name__
    account.claims.append(_told(name, found, time.monotonic() - start))
    if found.verdict == "refuted":
        raise AssertionError(_message(name, found))
    return found


@dataclass(eq=False)
class _Account:
    """What the claims of a session may be wrong about together, and what they used of it."""

    confidence: float
    share: float
    claims: list[dict[str, Any]] = field(default_factory=list)
    _asked: int = 0

    def next(self) -> float:
        """The failure probability of the next claim that names none of its own: all of them add up to the total."""
        self._asked += 1
        return _rest(self.confidence) * self.share / (self._asked * (self._asked + 1))

    def take(self) -> list[dict[str, Any]]:
        """The claims since this was last asked."""
        taken, self.claims = self.claims, []
        return taken


# The innermost session is the last: a session may run another one inside itself.
_accounts: list[_Account] = []


def _told(name: str, found: BlackBoxAudit, seconds: float) -> dict[str, Any]:
    """A claim and what became of it, as plain data; the schema is in docs/how-to/test-your-code.md."""
    from leakwise.guarantee import lift_above, lift_below

    assert found.claim is not None
    measure, epsilon = found.claim
    shown, lower = found.to_dict(), found.measures[measure].lower
    return {
        "program": name,
        "measure": measure,
        "claimed": {"epsilon": epsilon, "lift": _number(lift_above(epsilon))},
        "verdict": found.verdict,
        "at_least": {"epsilon": lower, "lift": _number(lift_below(lower))},
        "failure": found.failure,
        "event": shown["events"].get(measure),
        "answers": found.samples,
        "seconds": round(seconds, 3),
        "sentence": found.sentence,
    }


def _number(lift: Fraction | float) -> float | None:
    """A lift as JSON has it; None beyond all floats."""
    return float(lift) if lift < 1e300 else None


def _message(name: str, found: BlackBoxAudit) -> str:
    from leakwise.blackbox.result import MEASURES
    from leakwise.guarantee import at_least, at_most, lift_below

    assert found.claim is not None
    measure, epsilon = found.claim
    lower = found.measures[measure].lower
    lines = [
        f"{name} leaks more than it claims.",
        f"  claim:  {MEASURES[measure]} at most {at_most(epsilon)}",
        f"  found:  {MEASURES[measure]} at least {at_least(lower)} (a lift of {at_least(lift_below(lower))})",
    ]
    if measure in found.events:
        event = found.events[measure]
        lines += [f"  event:  {event.sentence}", f"  counts: {event.counts}"]
    lines.append(
        f"  A program that keeps its claim fails so with probability at most {at_most(found.failure)} "
        f"(confidence {at_least(100 * (1 - found.failure))}%). {found.samples:,} answers were asked for."
    )
    return "\n".join(lines)


def _confidence(value: object, name: str, wrong: type[Exception]) -> float:
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = float("nan")
    if isinstance(value, bool) or not 0 < number < 1:
        raise wrong(f"{name} must be between 0 and 1, such as 0.99. Got {value!r} instead.")
    return number


def _rest(confidence: float) -> float:
    """0.05 for 0.95: in decimals, as it was typed."""
    return float(1 - Decimal(repr(float(confidence))))


# ------------------------------------------------------------------------------------------------- what pytest calls


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options."""
    group = parser.getgroup("leakwise", "claims about what programs leak")
    group.addoption(
        "--leakwise-confidence",
        metavar="P",
        default=str(DEFAULT),
        help="no program that keeps its claim fails in the whole session, with at least this probability [0.99]",
    )
    group.addoption("--leakwise-json", metavar="FILE", help="write every claim that was tested to this file, as JSON")


def pytest_configure(config: pytest.Config) -> None:
    """Begin a session."""
    told = config.getoption("--leakwise-confidence")
    confidence = _confidence(told, "--leakwise-confidence", pytest.UsageError)
    worker = getattr(config, "workerinput", None)
    session = _Session(confidence, None if worker is not None else config.getoption("--leakwise-json"))
    session.account = _Account(confidence, 1.0 if worker is None else _share(worker))
    config.pluginmanager.register(session, "leakwise-session")
    _accounts.append(session.account)


def pytest_unconfigure(config: pytest.Config) -> None:
    """End it."""
    session = config.pluginmanager.get_plugin("leakwise-session")
    if session is not None:
        _accounts.remove(session.account)


def _share(worker: dict[str, Any]) -> float:
    """What a process of pytest-xdist may use of the session's failure probability.

    One part for each worker, and one for those that replace workers which crashed.
    """
    workers, mine = int(worker["workercount"]), int("".join(filter(str.isdigit, worker["workerid"])))
    late = mine - workers + 1
    return 1 / (workers + 1) / (late * (late + 1) if late > 0 else 1)


class _Session:
    """The claims of a session, those of its workers among them."""

    account: _Account

    def __init__(self, confidence: float, file: str | None) -> None:
        self._confidence, self._file, self._claims = confidence, file, list[dict[str, Any]]()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        """Put the claims of a test into its report, in which they come back from workers, too."""
        report = yield
        report.leakwise = self.account.take()  # type: ignore[attr-defined]
        return report

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Collect them."""
        self._claims += [{"test": report.nodeid, **claim} for claim in getattr(report, "leakwise", [])]

    @property
    def _false_alarm(self) -> float:
        """The probability that any of the claims is called false and is not, from above."""
        total = sum(Fraction(claim["failure"]) for claim in self._claims)
        nearest = float(total)
        return min(1.0, nearest if nearest >= total else math.nextafter(nearest, 2.0))

    def pytest_sessionfinish(self, exitstatus: int) -> None:
        """Write the file."""
        if self._file is None:
            return
        from leakwise.documents import write_atomically

        told = {
            "format": FORMAT,
            "version": VERSION,
            "confidence": self._confidence,
            "false_alarm": self._false_alarm,
            "tested": len(self._claims),
            "refuted": self._refuted,
            "exit_code": int(exitstatus),
            "claims": self._claims,
        }
        text = json.dumps(told, indent=1, ensure_ascii=False, allow_nan=False)
        write_atomically(self._file, f"{text}\n".encode())

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        """Say how many claims were tested, and how sure a refutation is."""
        if self._claims:
            from leakwise.guarantee import at_most

            terminalreporter.section("leakwise")
            claims = "1 claim was" if len(self._claims) == 1 else f"{len(self._claims)} claims were"
            terminalreporter.write_line(
                f"{claims} tested, {self._refuted} refuted. Programs that all keep their claims fail anywhere in such "
                f"a session with probability at most {at_most(self._false_alarm)}."
            )

    @property
    def _refuted(self) -> int:
        return sum(claim["verdict"] == "refuted" for claim in self._claims)
