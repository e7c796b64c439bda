"""A file of settings for a command: its options under the names that are typed, as TOML."""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

import typer

from leakwise.documents import write_atomically
from leakwise.documents.settings import settings_text
from leakwise.errors import InvalidInput, did_you_mean

__all__ = ["ConfigOption", "SaveConfigOption", "saved_settings"]

# What is said of one call of a command, and not of every one.
_OF_ONE_CALL = ("config", "save-config", "overwrite", "dry-run", "json", "help")
# The files of one release: the next one has others. They may be in a file of settings, but are not saved in one.
_FILES = ("table", "out", "report", "steward-report", "certificate", "save-mechanism", "format", "out-format")


def _read(ctx: typer.Context, path: Path | None) -> Path | None:
    """Take what a file of settings says wherever the command line says nothing."""
    if path is None:
        return None
    try:
        # A float keeps its digits: it is read as exactly as one that is typed.
        settings = tomllib.loads(path.read_text(encoding="utf-8-sig"), parse_float=str)
    except OSError as error:
        raise InvalidInput(f"Cannot read the settings {str(path)!r}: {error.strerror}.") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InvalidInput(f"The settings {str(path)!r} are not a TOML file: {error}") from error
    known = {key: one for key, one in _keys(ctx).items() if key not in _OF_ONE_CALL}
    taken = {}
    for key, value in settings.items():
        if key in _OF_ONE_CALL:
            raise InvalidInput(f"The settings {str(path)!r} may not contain {key!r}: give it on the command line.")
        if key not in known:
            raise InvalidInput(f"The settings {str(path)!r} contain the unknown key {key!r}.{did_you_mean(key, known)}")
        taken[known[key].name] = _value(value, known[key], key, path)
    ctx.default_map = {**(ctx.default_map or {}), **taken}
    return path


def _keys(ctx: typer.Context) -> dict[str, Any]:
    """The parameters of a command by the names that are typed: of an option the long one, without its hyphens."""
    return {one.opts[0].lstrip("-"): one for one in ctx.command.params}


def _value(value: Any, parameter: Any, key: str, path: Path) -> Any:
    """Return a setting as it would have been typed."""
    if parameter.multiple:
        parts = value if isinstance(value, list) else [value]
        return [_text(one, key, path) for one in parts]
    if getattr(parameter, "is_flag", False):
        if not isinstance(value, bool):
            raise InvalidInput(f"{key!r} in the settings {str(path)!r} must be true or false. Got {value!r} instead.")
        return value
    return _text(value, key, path)


def _text(value: Any, key: str, path: Path) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int):
        raise InvalidInput(
            f"{key!r} in the settings {str(path)!r} must be a text or a number, as it is typed after --{key}. "
            f"Got {value!r} instead."
        )
    return str(value)


def saved_settings(ctx: typer.Context, path: Path, more: Mapping[str, Any]) -> Path:
    """Write what was typed, and taken from other settings, as a file for ``--config``.

    Defaults are left out, and so are the files of this one release. ``more`` are further settings.
    """
    told = {
        key: ctx.params[one.name]
        for key, one in _keys(ctx).items()
        if key not in (*_OF_ONE_CALL, *_FILES) and one.name in ctx.params and not _by_default(ctx, one.name)
    }
    text = settings_text(str(ctx.info_name), path.name, _without_passwords({**told, **more}))
    write_atomically(path, text.encode())
    return path


def _by_default(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is None or source.name == "DEFAULT"


def _without_passwords(value: Any) -> Any:
    from leakwise.tables.address import without_password

    if isinstance(value, bool):
        return value
    if isinstance(value, Mapping):
        return {key: _without_passwords(one) for key, one in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, str | Path):
        return [_without_passwords(one) for one in value]
    return without_password(str(value))


ConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        is_eager=True,
        callback=_read,
        help='Take options from a TOML file: lift = 2, given = ["sex", "age"]. What is typed wins. '
        "Paths in it count from the folder that the command runs in.",
    ),
]

SaveConfigOption = Annotated[
    Path | None,
    typer.Option(
        "--save-config",
        metavar="FILE",
        help="Write the options of this release, and its mechanism, as settings for --config.",
    ),
]
