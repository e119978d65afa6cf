"""Names of keys: Textual's, those shown to users, and those written in config files."""

from __future__ import annotations

import re
import unicodedata

from ...runtime.errors import UsageError
from ...runtime.text import did_you_mean

#: The displayed symbols of named keys.
_KEY_SYMBOLS = {
    "left": "←",
    "right": "→",
    "up": "↑",
    "down": "↓",
    "escape": "esc",
    "backspace": "⌫",
    "pageup": "pgup",
    "pagedown": "pgdn",
}
_NAMED_KEYS = (
    "enter",
    "space",
    "tab",
    "home",
    "end",
    "insert",
    "delete",
    *(f"f{k}" for k in range(1, 25)),
    *_KEY_SYMBOLS,
)
#: Textual's key names that differ from the Unicode names.
_UNICODE_NAME_ALIASES = {
    "solidus": "slash",
    "reverse_solidus": "backslash",
    "commercial_at": "at",
    "hyphen_minus": "minus",
    "plus_sign": "plus",
    "low_line": "underscore",
}
_KEY_ALIASES = {sign: key for key, sign in _KEY_SYMBOLS.items()} | {"esc": "escape"}
_MODIFIER_PATTERN = re.compile(r"((?:(?:ctrl|shift|alt|super|hyper|meta)\+)*)(.*)", re.DOTALL)


def key_name(key: str) -> str:
    """The displayed name of a key: ``←``, ``esc``, ``^p``."""
    modifier, plus, rest = key.partition("+")
    if plus:
        return f"^{key_name(rest)}" if modifier == "ctrl" else f"{modifier} {key_name(rest)}"
    if key in _NAMED_KEYS:
        return _KEY_SYMBOLS.get(key, key)
    return _CHARACTERS_BY_KEY.get(key, key)


def parse_key(text: str) -> str:
    """Parse a key written as a character or by name: ``?`` and ``question_mark`` are the same.

    Raises:
        UsageError: there is no such key.
    """
    modifiers, name = _MODIFIER_PATTERN.fullmatch(text).groups()  # type: ignore[union-attr]
    if name.startswith("^") and len(name) > 1:
        modifiers, name = f"ctrl+{modifiers}", name[1:]
    key = _textual_key(name)
    if key is None:
        raise UsageError(
            f"there is no key '{text}'{did_you_mean(name, _NAMED_KEYS)}; write the sign that it types, or a name"
            " such as enter, pageup, f5, ctrl+p"
        )
    return modifiers + key


def _textual_key(name: str) -> str | None:
    """Textual's key for a character or a name; None if there is none."""
    name = _KEY_ALIASES.get(name, name)
    if name in _NAMED_KEYS or (len(name) == 1 and name.isalnum()):
        return name
    if len(name) == 1:
        return _unicode_key_name(name)
    return name if name in _CHARACTERS_BY_KEY else None


def _unicode_key_name(sign: str) -> str:
    """Textual's name of the key that types a character."""
    name = unicodedata.name(sign, sign).lower().replace("-", "_").replace(" ", "_")
    return _UNICODE_NAME_ALIASES.get(name, name)


#: The character of each key that has a Unicode name.
_CHARACTERS_BY_KEY = {_unicode_key_name(sign): sign for sign in map(chr, range(0x21, 0x100)) if not sign.isalnum()}
