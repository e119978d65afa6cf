"""The glossary of ``help WORD``."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from functools import cache
from pathlib import Path


@cache
def glossary() -> Mapping[str, str]:
    """Term -> definition, in didactic order."""
    return tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


def glossary_entry(word: str) -> str | None:
    """The definition of a term, also in plural or capitals; None: it is unknown."""
    word = " ".join(word.lower().replace("-", " ").replace("_", " ").split())
    definitions = glossary()
    names = {name.lower(): name for name in definitions}
    for stem in (word, word.removesuffix("s"), word.removesuffix("es")):
        for candidate in (stem, _ALIASES.get(stem, "").lower(), f"execution {stem}"):
            if candidate in names:
                return f"{names[candidate]}: {definitions[names[candidate]]}"
    return None


_ALIASES = {
    "cond": "execution condition",
    "carried": "carried value",
    "invariant": "invariant input",
    "slice": "sliced input",
    "scan": "scan output",
    "iter": "iteration",
    "last value output": "last value",
    "recording": "trace",
    "merged input": "merged",
    "concatenate": "concatenated",
    "kconcatenate": "concatenated",
    "stack": "stacked",
    "yielded": "yield",
    "while": "kWHILE",
    "triplimit.while": "kWHILE",
    "count": "kCOUNT",
    "triplimit.count": "kCOUNT",
    "irecurrence": "recurrence",
    "iterator": "sliced input",
    "iiterator": "sliced input",
}
