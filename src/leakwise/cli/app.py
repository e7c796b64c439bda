"""The command line as a whole: its commands, its errors, its exit codes.

Exit codes: 0 done, 1 a certificate was rejected or a limit is broken, 2 the input is wrong or no answer exists, 130
interrupted.
"""

from __future__ import annotations

import importlib
import sys
import warnings
from typing import Annotated, Any, TextIO

import typer
from typer.core import TyperGroup

from leakwise.cli.screen.output import say
from leakwise.errors import CertificateRejected, LeakwiseError, LeakwiseWarning

__all__ = ["COMMANDS", "app", "main"]

COMMANDS = {
    "audit": "mechanisms",
    "design": "mechanisms",
    "tradeoff": "mechanisms",
    "envelope": "mechanisms",
    "worst-case": "mechanisms",
    "verify": "mechanisms",
    "sample-size": "mechanisms",
    "export": "mechanisms",
    "records": "research",
    "advise": "tables",
    "release": "tables",
    "memo-key": "tables",
    "estimate": "tables",
    "regress": "tables",
    "ledger": "tables",
    "pack": "tables",
    "papers": "research",
    "studio": "research",
}
"""The commands in the order of the help, with their folders. A module is loaded when its command or the help is asked
for.

To add a command: write ``leakwise/cli/commands/<folder>/<name>.py`` (underscores for hyphens) with a function
``register(app: typer.Typer) -> None``, and add the name here. Import what is heavy inside the command, so that the help
stays quick.
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
                place = f"leakwise.cli.commands.{COMMANDS[name]}.{name.replace('-', '_')}"
                importlib.import_module(place).register(loaded)
                group = typer.main.get_group(loaded)
                _flow(group)
                _literal(group)
                self.commands.update(group.commands)
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: Any) -> Any:
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
    """Let the paragraphs of a help text fill the terminal: rich would keep the line breaks of the docstring."""
    if command.help:
        paragraphs = command.help.split("\n\n")
        command.help = "\n\n".join(one if one.startswith("\b") else " ".join(one.split()) for one in paragraphs)
    for part in getattr(command, "commands", {}).values():
        _flow(part)


def _literal(command: Any) -> None:
    """Let the help of options show its square brackets: rich would take ``[default: ...]`` for a style and drop it."""
    for option in command.params:
        if getattr(option, "help", None):
            option.help = option.help.replace("[", "\\[")
    for part in getattr(command, "commands", {}).values():
        _literal(part)


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
    leakwise audit randomized-response:letters=no/yes,epsilon=1 --prior no=0.7,yes=0.3
    leakwise verify certificate.json

    Every command has --help with examples, and --json for programs.
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
