"""Tokens of ports: a client of a port shows that the person who started the server let it in."""

from __future__ import annotations

import hmac
import secrets

from ...runtime.errors import UsageError

#: A chosen token has at least this many characters.
TOKEN_MIN_CHARS = 16


def new_token() -> str:
    """A random token of 192 bits that a URL and a JSON text can hold as it is."""
    return secrets.token_urlsafe(24)


def token_matches(received: object, token: str) -> bool:
    """Whether a client sent the token; the comparison takes the same time wherever the two differ."""
    return isinstance(received, str) and hmac.compare_digest(received.encode("utf-8", "replace"), token.encode())


def validate_token(token: str, source: str) -> str:
    """The token that a person chose.

    Args:
        token: what was chosen.
        source: where it comes from, for the message.

    Raises:
        UsageError: it is too short to be secret, or not printable ASCII.
    """
    if len(token) < TOKEN_MIN_CHARS or not (token.isascii() and token.isprintable()):
        raise UsageError(f"{source} needs at least {TOKEN_MIN_CHARS} printable ASCII characters: it lets clients in")
    return token
