"""Access tokens of servers: a client proves that the user who started the server authorized it."""

from __future__ import annotations

import hmac
import secrets

from ...runtime.errors import UsageError

#: Minimum length of a user's token.
TOKEN_MIN_CHARS = 16


def new_token() -> str:
    """A random token of 192 bits that needs no escapes in URLs and JSON."""
    return secrets.token_urlsafe(24)


def token_matches(received: object, token: str) -> bool:
    """Whether a client sent the token, compared in constant time."""
    return isinstance(received, str) and hmac.compare_digest(received.encode("utf-8", "replace"), token.encode())


def validate_token(token: str, source: str) -> str:
    """Validate a user's token.

    Args:
        token: the user's token.
        source: its origin, for the message.

    Raises:
        UsageError: it is too short to be secret, or not printable ASCII.
    """
    if len(token) < TOKEN_MIN_CHARS or not (token.isascii() and token.isprintable()):
        raise UsageError(
            f"{source} needs at least {TOKEN_MIN_CHARS} printable ASCII characters: it lets clients in",
            name=source,
            expected=f"{TOKEN_MIN_CHARS} printable ASCII characters",
        )
    return token
