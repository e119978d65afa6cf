"""Errors of runtimes as text: whole sentences, with the part that names the cause."""

from __future__ import annotations

import re

#: The longest text, and the mark of sentences that are left out of a longer one.
MAX_CHARS = 600
_OMITTED = " ... "
#: Where a runtime's own source code raised the error, and its codes of the kind of error.
_SOURCE_LOCATION = re.compile(
    r"Exception from \S+:\d+:\s*|Check '(?:[^'\n]|'(?! failed))*' failed at \S+:\d+:\s*|"
    r"\[ONNXRuntimeError\]\s*:\s*\d+\s*:\s*\w+\s*:\s*"
)
_SENTENCE_END = re.compile(r"(?<=[.:;])\s+")


def shorten_error_message(kind: str, message: str) -> str:
    """The error of a runtime in one line.

    Args:
        kind: its type, such as ``RuntimeError``.
        message: all of its text, in which the cause is often the last line.

    Returns:
        The text without locations in the runtime's source code; of a long one the first and the last sentences.
    """
    text = " ".join(_SOURCE_LOCATION.sub(" ", message).split()) or " ".join(message.split())
    text = f"{kind}: {text}" if text else kind
    if len(text) <= MAX_CHARS:
        return text
    sentences = _SENTENCE_END.split(text)
    first: list[str] = []
    last: list[str] = []
    budget = MAX_CHARS - len(_OMITTED)
    while sentences:
        # The cause is at the end: the last sentences have two thirds of the space.
        is_last = sum(map(len, last)) <= 2 * sum(map(len, first))
        sentence = sentences.pop() if is_last else sentences.pop(0)
        if len(sentence) + 1 > budget:
            break
        budget -= len(sentence) + 1
        if is_last:
            last.insert(0, sentence)
        else:
            first.append(sentence)
    if not last:
        return f"...{text[3 - MAX_CHARS :]}"
    return f"{' '.join(first)}{_OMITTED}{' '.join(last)}".strip()
