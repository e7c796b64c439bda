"""The command line as a whole: its commands, its errors, its exit codes.

Exit codes: 0 done, 1 a certificate was rejected or a limit is broken, 2 the input is wrong or no answer exists, 130
interrupted.
"""

from __future__ import annotations

import importlib
import re
import shutil
import sys
import warnings
from typing import Annotated, Any, TextIO

import typer
from typer.core import TyperGroup

from leakwise.errors import CertificateRejected, LeakwiseError, LeakwiseWarning

__all__ = ["COMMANDS", "app", "main"]

_BY_USER = {
    "Data stewards: release a table": ("advise", "release", "ledger", "memo-key", "pack"),
    "Analysts: learn from a released table": ("estimate", "regress"),
    "Privacy engineers: what a mechanism leaks": (
        "audit",
        "audit-program",
        "certify",
        "verify",
        "envelope",
        "aggregate",
        "sample-size",
        "export",
    ),
    "Researchers: which mechanism is best": ("design", "compare", "tradeoff", "worst-case", "records", "papers"),
    "Everyone": ("studio",),
}
_TABLES = ("advise", "release", "ledger", "memo-key", "pack", "estimate", "regress")
_RESEARCH = ("records", "papers", "studio")
COMMANDS = {
    name: "tables" if name in _TABLES else "research" if name in _RESEARCH else "mechanisms"
    for names in _BY_USER.values()
    for name in names
}
"""The commands in the order of the help, with their folders. A module is loaded when its command or the help is asked
for.

To add a command: write ``leakwise/cli/commands/<folder>/<name>.py`` (underscores for hyphens) with a function of that
name, and add the name here; for a group of commands, or one with settings of its own, write a function
``register(app: typer.Typer) -> None``. Import what is heavy inside the command, so that the help stays quick.
"""

REJECTED, WRONG = 1, 2


class _Commands(TyperGroup):
    """Load a command when it is asked for, and say what went wrong in one sentence.

    A traceback is for mistakes of Leakwise itself.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        # For an unknown name all are loaded, so that a similar one can be suggested.
        for name in (cmd_name,) if cmd_name in COMMANDS else COMMANDS:
            if name not in self.commands:
                loaded = typer.Typer(callback=_nothing)  # with a callback Typer makes a group even of one command
                own = name.replace("-", "_")
                module = importlib.import_module(f"leakwise.cli.commands.{COMMANDS[name]}.{own}")
                if hasattr(module, "register"):
                    module.register(loaded)
                else:
                    loaded.command(name)(getattr(module, own))
                group = typer.main.get_group(loaded)
                _flow(group)
                _tell_defaults(group)
                for command in group.commands.values():
                    one: Any = command
                    one.rich_help_panel = next(user for user, names in _BY_USER.items() if name in names)
                self.commands.update(group.commands)
        return super().get_command(ctx, cmd_name)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        _flow(self)
        super().format_help(ctx, formatter)

    def invoke(self, ctx: Any) -> Any:
        from leakwise.cli.screen.output import say  # it loads NumPy, which --version does not need

        with warnings.catch_warnings():
            warnings.simplefilter("always", LeakwiseWarning)
            shown = warnings.showwarning
            warnings.showwarning = lambda message, category, *rest, **more: (
                say(f"Note: {message}")
                if issubclass(category, LeakwiseWarning)
                else shown(message, category, *rest, **more)
            )
            try:
                return super().invoke(ctx)
            except LeakwiseError as error:
                say(f"Error: {error}", colour="red")
                raise typer.Exit(REJECTED if isinstance(error, CertificateRejected) else WRONG) from error


def _nothing() -> None: ...


def _flow(command: Any) -> None:
    """Let the paragraphs of a help text fill the terminal, and break its examples so that they can be copied.

    Rich would keep the line breaks of the docstring, and break long lines between any two words.
    """
    if command.help:
        paragraphs = command.help.split("\n\n")
        command.help = "\n\n".join(
            _examples(one) if one.startswith("\b") else " ".join(one.split()) for one in paragraphs
        )
    for part in getattr(command, "commands", {}).values():
        _flow(part)


def _examples(paragraph: str) -> str:
    from leakwise.cli.screen.layout import typed

    first, *lines = re.sub(r"\\\n\s*", "", paragraph).splitlines()
    width = shutil.get_terminal_size().columns - 2  # of the margins
    return "\n".join([first, *(line for one in lines for line in typed(one.strip(), width))])


def _tell_defaults(command: Any) -> None:
    """Let every option say its default, in words where it is not a value.

    The help shows square brackets: rich would take ``[default: ...]`` for a style and drop it.
    """
    for option in command.params:
        told = option.help or ""
        if option.default is None and not option.required and "[default: " not in told:
            told += " [default: none]"
        if option.help is not None:
            option.help = told.replace("[", "\\[")
    for part in getattr(command, "commands", {}).values():
        _tell_defaults(part)


app = typer.Typer(
    name="leakwise",
    cls=_Commands,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(asked: bool) -> None:
    if asked:
        from leakwise import __version__

        typer.echo(f"leakwise {__version__}")
        raise typer.Exit


@app.callback()
def leakwise(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Measure what a randomized release reveals about a secret, and design the most useful release within a limit.

    Leakage is in nats: an outcome with leakage ε makes no guess about the secret more than e^ε times as likely.

    \b
    leakwise advise clinic.csv -c hiv --drop name
    leakwise release survey.csv -c smokes --domain no,yes --lift 2 --prior no=0.8,yes=0.2
    leakwise estimate survey.released.csv
    leakwise audit randomized-response:letters=no/yes,epsilon=1 --prior no=0.7,yes=0.3
    leakwise design --prior a=0.5,b=0.3,c=0.2 --lift 2

    Every command has --help with examples and every default, --all for everything that it found, and --json for
    programs.
    """


def main() -> None:
    """Run the command line; the entry point of the ``leakwise`` script."""
    for stream in (sys.stdout, sys.stderr):
        # A terminal without Unicode shows ε as "?" rather than ending in an error.
        _forgiving(stream)
    app(prog_name="leakwise")


def _forgiving(stream: TextIO) -> None:
    reconfigure = getattr(stream, "reconfigure", None)
    if reconfigure is not None:
        reconfigure(errors="replace")
