"""Words that the code must not use: ``python .ci/vocabulary.py [PATH...]`` lists them, and fails if there are any.

The left-hand words say little or have several meanings here; the text names what to write instead.
"""

from __future__ import annotations

import ast
import io
import re
import subprocess
import sys
import tokenize
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("runtime", "debugger", "tui", "src", "tests", "benchmarks", "sample_models", ".ci", "docs", "editors")

# As the whole name of a variable, parameter, attribute or function.
NAMES = {
    **dict.fromkeys(("one", "found", "at", "there", "made", "given", "wide", "so_many"), "name the value's role"),
    **dict.fromkeys(("of", "look", "whole", "take", "place", "plain"), "as a function: a verb and its object"),
    "otherwise": "fallback, default",
}
FUNCTIONS_ONLY = {"of", "look", "whole", "take", "place", "plain"}
# As a part of a name between underscores, and as a word of a comment, a docstring or a message.
WORDS = {
    "told": "result, message, report, description, record; reported, printed, passed",
    "stands": "is, is written, is at, means",
    "room": "width, padding, space; folder, package",
    "rooms": "widths, paddings, spaces",
    "beside": "next to, in the same folder, as well as",
    "said": "message; stated, reported",
    "nobody": "no caller, no reader, no consumer",
    "somebody": "a caller, a reader",
    "anew": "again",
}
PHRASES = {"so many": "N", "in vain": "without success; a failed attempt"}
_PROSE = re.compile(rf"\b({'|'.join([*WORDS, *(phrase.replace(' ', chr(92) + 's+') for phrase in PHRASES)])})\b", re.I)
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_C_LINE = re.compile(r"^\s*(?:cdef|cpdef|def|for)\b|=")
_C_NAME = re.compile(
    r"(?:\b(?:cdef|cpdef)\b[^=(]*?\b|\bfor\s+|^\s*|,\s*\*?\s*|\*)(one|found|at|there|made|given|wide|so_many)\s*(?:[=,:)]|in\b|$)"
)


def name_fault(name: str, is_function: bool) -> str | None:
    """What to write in place of a name; None: it is good."""
    bare = name.strip("_").lower()
    if bare in NAMES and (is_function or bare not in FUNCTIONS_ONLY):
        return NAMES[bare]
    parts = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", name)
    return next((WORDS[part.lower()] for part in parts if part.lower() in WORDS), None)


def python_faults(text: str) -> Iterator[tuple[int, str, str]]:
    """Line, word and what to write instead, for each word of a Python file that it must not use."""
    for node in ast.walk(ast.parse(text)):
        line = getattr(node, "lineno", 0)
        for name, is_function in _names_bound(node):
            if advice := name_fault(name, is_function):
                yield line, name, advice
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            for number, part in enumerate(node.value.split("\n") if node.end_lineno != node.lineno else [node.value]):
                yield from _prose_faults(part, line + number)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            yield from _prose_faults(token.string, token.start[0])


def _names_bound(node: ast.AST) -> Iterator[tuple[str, bool]]:
    """Names that a node gives to something, and whether that is a function or a class."""
    match node:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            yield name, True
        case ast.Name(id=name, ctx=ast.Store()) | ast.arg(arg=name) | ast.Attribute(attr=name, ctx=ast.Store()):
            yield name, False
        case ast.MatchAs(name=str(name)) | ast.MatchStar(name=str(name)) | ast.ExceptHandler(name=str(name)):
            yield name, False
        case ast.alias(asname=str(name)):
            yield name, False


def _prose_faults(text: str, line: int) -> Iterator[tuple[int, str, str]]:
    for match in _PROSE.finditer(text):
        word = " ".join(match[1].lower().split())
        yield line, match[1], WORDS.get(word) or PHRASES[word]


def other_faults(text: str, code: bool) -> Iterator[tuple[int, str, str]]:
    """The same for Cython, C, Markdown and JSON, by line; names of variables in Cython and C where they are bound."""
    for number, line in enumerate(text.splitlines(), 1):
        yield from _prose_faults(line, number)
        if code and _C_LINE.search(line):
            for match in _C_NAME.finditer(line.split("#")[0].split("//")[0]):
                yield number, match[1], NAMES[match[1]]
        if code:
            for name in _IDENTIFIER.findall(line):
                if "_" in name and (advice := name_fault(name, False)):
                    yield number, name, advice


def faults(path: Path) -> list[tuple[int, str, str]]:
    """What a file must not use, by line."""
    text = path.read_text(encoding="utf-8")
    if path.suffix in (".py", ".pyi"):
        result = python_faults(text)
    else:
        result = other_faults(text, code=path.suffix not in (".md", ".json"))
    return sorted(set(result))


def main() -> int:
    patterns = sys.argv[1:] or FOLDERS
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard", "--", *patterns],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    count = 0
    for name in listed.stdout.splitlines():
        path = ROOT / name
        if (
            path.suffix not in (".py", ".pyi", ".pyx", ".pxd", ".h", ".c", ".md", ".json")
            or path == Path(__file__)
            or path.is_symlink()
        ):
            continue
        for line, word, advice in faults(path) if path.is_file() else ():
            print(f"{name}:{line}: {word}: {advice}")
            count += 1
    print(f"{count} words to replace" if count else "no word to replace")
    return 1 if count else 0


if __name__ == "__main__":
    sys.exit(main())
