"""Where a PostgreSQL database is: the address with its password, which is used, and the one without, which is shown."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote

from leakwise.errors import InvalidInput

__all__ = ["Address", "address_of", "refuse_address", "without_password"]

_SCHEME = re.compile(r"postgres(ql)?:/", re.IGNORECASE)
_WHOLE = re.compile(r"(?P<scheme>postgres(?:ql)?://)(?:(?P<who>[^@/?]*)@)?(?P<rest>.*)", re.DOTALL)
_HOST = r"(?:\[[0-9A-Fa-f:.%]*\]|[^\[\]:@/?,]*)(?::[0-9]*)?"
_PLACE = re.compile(rf"(?:{_HOST})(?:,{_HOST})*(?:/[^?@]*)?")
# What libpq would read otherwise than it looks: a % that begins nothing, and a password with a question mark.
_BROKEN = re.compile(r"%(?![0-9A-Fa-f]{2})|\0|://[^@/]*\?[^@/]*@")
# Shorter ones occur in messages by chance; to replace them there would tell them.
_SHORTEST = 4


@dataclass(frozen=True)
class Address:
    """The address of a database, as libpq takes it.

    Attributes
    ----------
    uri
        All of it. It is never shown.
    shown
        The address without its passwords: what is printed, and can be used where the password comes from elsewhere.
    secrets
        The passwords, as they are written and as they are meant.
    """

    uri: str = field(repr=False)
    shown: str = field(compare=False)
    secrets: tuple[str, ...] = field(default=(), repr=False, compare=False)

    def __str__(self) -> str:
        return self.shown

    def __repr__(self) -> str:
        return repr(self.shown)

    @property
    def name(self) -> str:
        """The name of the database, as far as the address tells it."""
        main, _, query = self.shown.partition("://")[2].partition("?")
        told = [unquote(value) for key, _, value in map(_pair, query.split("&")) if key == "dbname"]
        return unquote(main.partition("/")[2]) or next(iter(told), "") or "postgresql"

    def hidden(self, message: str) -> str:
        """Return a message in which no password stands."""
        message = message.replace(self.uri, self.shown)
        for secret in self.secrets:
            message = message.replace(secret, "***") if len(secret) >= _SHORTEST else message
        return message

    def with_defaults(self, **settings: str) -> str:
        """Return all of the address, with settings that it does not name itself."""
        named = {key for key, _, _ in map(_pair, self.uri.partition("?")[2].split("&"))}
        more = [f"{key}={value}" for key, value in settings.items() if key not in named]
        return self.uri + ("&" if "?" in self.uri else "?") + "&".join(more) if more else self.uri


def address_of(text: Any) -> Address | None:
    """Return the address in a text; None where it is the path of a file.

    >>> address_of("postgresql://ada:secret@db.example/clinic?sslmode=require")
    'postgresql://ada@db.example/clinic?sslmode=require'
    """
    if not isinstance(text, str) or _SCHEME.match(text) is None:
        return None
    found = _WHOLE.fullmatch(text)
    place, mark, query = ("", "", "") if found is None else found["rest"].partition("?")
    if found is None or _PLACE.fullmatch(place) is None or _BROKEN.search(text):
        raise InvalidInput(
            "database must be an address that PostgreSQL understands: postgresql://user@host:port/database. Got "
            "another, which is not shown here because it may contain a password. In a password, @ is written %40, / "
            "%2F, : %3A, ? %3F and % %25; better leave it out, and put it into PGPASSWORD or the file ~/.pgpass."
        )
    user, _, password = (found["who"] or "").partition(":")
    pairs = [_pair(pair) for pair in query.split("&")] if mark else []
    hidden = [value for key, _, value in pairs if _is_secret(key)]
    kept = "&".join(pair for key, pair, _ in pairs if not _is_secret(key))
    shown = found["scheme"] + (f"{user}@" if user else "") + place + (f"?{kept}" if kept else "")
    secrets = [word for written in (password, *hidden) for word in (written, unquote(written)) if word]
    return Address(text, shown, tuple(dict.fromkeys(secrets)))


def without_password(text: str) -> str:
    """Return a text as it is, and the address of a database without its password."""
    found = address_of(text)
    return text if found is None else found.shown


def refuse_address(path: Any, name: str) -> None:
    """Refuse the address of a database where the path of a file belongs, before anyone prints it."""
    if _SCHEME.match(str(path)):
        raise InvalidInput(
            f"{name} must be the path of a file. Got the address of a PostgreSQL database: a table there is "
            "lw.SqlTable(address, table), and on the command line TABLE with --from-sql ADDRESS, or --out TABLE with "
            "--to-sql ADDRESS."
        )


def _pair(pair: str) -> tuple[str, str, str]:
    """A setting of an address: its name as it is meant, all of it, and its value."""
    key, _, value = pair.partition("=")
    return unquote(key), pair, value


def _is_secret(key: str) -> bool:
    return key != "passfile" and any(word in key.lower() for word in ("pass", "pwd", "secret", "token"))
