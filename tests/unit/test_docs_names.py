"""Paths and names on the documentation pages exist."""

from __future__ import annotations

import re
import shlex
from functools import cache
from pathlib import Path

import pytest

import source_checks
from loopdbg.tui.cli import _choose_command

ROOT = source_checks.ROOT
PAGES = sorted(
    page
    for page in (
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("benchmarks/*.md"),
        *ROOT.glob("editors/**/*.md"),
        *ROOT.glob("runtime/*/*.md"),
    )
    if page.name != "CHANGELOG.md"
)
#: Pages about the code itself: all names on them are checked.
DEVELOPER_PAGES = [
    page
    for page in PAGES
    if page.name in ("CONTRIBUTING.md", "hooks.md") or "dev" in page.parts or "runtime" in page.parts
]
FOLDERS = "runtime|debugger|tui|tests|docs|benchmarks|sample_models|changelog\\.d|editors|src|\\.ci|\\.github"
SOURCES = (
    "runtime",
    "debugger",
    "tui",
    "src",
    "tests",
    "benchmarks",
    "sample_models",
    ".ci",
    "Makefile",
    "setup.py",
    "pyproject.toml",
)
#: Parts of test names.
FOREIGN = {"any_keys", "any_line"}


def page_id(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def paths_on(page: Path) -> set[str]:
    """Paths from the root of the repository, and targets of links as such paths."""
    text = page.read_text("utf-8")
    named = set(re.findall(rf"(?<![\w/.-])((?:{FOLDERS})/[\w./-]*[\w/])", text))
    links = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", text)
    return named | {(page.parent / link).resolve().relative_to(ROOT).as_posix() for link in links}


def exists(path: str) -> bool:
    """SECURITY.md names tests by their paths in ``tests``."""
    return (ROOT / path).exists() or (ROOT / "tests" / path).exists()


@cache
def source_words() -> frozenset[str]:
    """Every identifier of the sources, and every base name of a file."""
    words: set[str] = set()
    for folder in SOURCES:
        top = ROOT / folder
        for path in [top] if top.is_file() else top.rglob("*"):
            if path.suffix in (".py", ".pyx", ".pxd", ".pyi", ".h", ".c", ".toml", "") and path.is_file():
                words.update((path.name, path.stem))
                words.update(re.findall(r"\w+", path.read_text("utf-8", errors="replace")))
    return frozenset(words)


def names_on(page: Path) -> set[str]:
    """Identifiers with an underscore or an inner capital, and names of source files, that are set as code."""
    text = page.read_text("utf-8")
    code = re.findall(r"```\w*\n(.*?)```", text, re.DOTALL) + re.findall(r"`([^`\n]+)`", text)
    names: set[str] = set()
    for part in code:
        names.update(re.findall(r"\b[a-z]\w*_\w+\b|\b[A-Z][a-z]+[A-Z]\w+\b|(?<![*\w])_[a-z]\w+\b", part))
        names.update(re.findall(r"(?<![\w/*.-])\w+\.(?:pyx|pxd|h|c|py)\b", part))
    return names - FOREIGN


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_paths_exist(page: Path) -> None:
    assert not sorted(path for path in paths_on(page) if not exists(path))


@pytest.mark.parametrize("page", DEVELOPER_PAGES, ids=page_id)
def test_names_exist(page: Path) -> None:
    assert not sorted(names_on(page) - source_words())
    text = page.read_text("utf-8")
    partial = set(re.findall(r"`((?:\w+/)+\w+\.(?:py|pyx|pxd|h|c))`", text))
    assert not sorted(path for path in partial if not any(ROOT.glob(f"runtime/**/{path}")) and not exists(path))


def test_methods_on_the_layout_page_exist() -> None:
    text = (ROOT / "docs" / "dev" / "layout.md").read_text("utf-8")
    methods = set(re.findall(r"\b([A-Z]\w+)\.(?!md\b)([a-z_]\w*)\b", text))
    assert len(methods) > 15
    assert not [f"{owner}.{method}" for owner, method in sorted(methods) if not has_method(owner, method)]


@cache
def class_bodies(owner: str) -> list[str]:
    """The sources of the classes of that name, and of the classes that they derive from."""
    bodies: list[str] = []
    for folder in ("runtime", "debugger", "tui"):
        for path in (ROOT / folder).rglob("*.py*"):
            if path.suffix not in (".py", ".pyx"):
                continue
            for definition in re.finditer(
                rf"^(?:cdef )?class {owner}\b(?:\(([^)]*)\))?.*?(?=^\S|\Z)", path.read_text("utf-8"), re.M | re.S
            ):
                bodies.append(definition[0])
                for base in re.findall(r"\w+", definition[1] or ""):
                    bodies += class_bodies(base) if base != owner else []
    return bodies


def has_method(owner: str, method: str) -> bool:
    return any(re.search(rf"\b{method}\(", body) for body in class_bodies(owner))


def test_each_kind_of_change_has_a_folder_and_a_check() -> None:
    lines = (ROOT / "docs" / "dev" / "layout.md").read_text("utf-8").partition("| change |")[2].splitlines()
    kinds = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")]
    kinds = [row for row in kinds if row[0] != "---"]
    assert len(kinds) > 15
    assert all(len(row) == 4 and row[1] and row[3] for row in kinds)


def test_entry_pages_link_to_the_layout_page() -> None:
    for name in ("README.md", "CONTRIBUTING.md"):
        assert "(docs/dev/layout.md)" in (ROOT / name).read_text("utf-8")


def test_pages_that_llms_txt_names_exist() -> None:
    text = (ROOT / "docs" / "site" / "llms.txt").read_text("utf-8")
    targets = re.findall(r"\]\(([^)]+)\)", text)
    pages = [target.removeprefix("_sources/").removesuffix(".txt").replace(".html", ".md") for target in targets]
    assert len(pages) > 15
    assert [page for page in pages if not (ROOT / page).is_file()] == []


def test_skill_names_itself() -> None:
    text = (ROOT / "editors" / "skills" / "loopdbg" / "SKILL.md").read_text("utf-8")
    head = re.match(r"---\nname: (\S+)\ndescription: (.+)\n---\n", text)
    assert head and head[1] == "loopdbg" and len(head[2]) <= 1024
    rows = re.findall(r"^\| [^|]+ \| `(loopdbg [^`]+)` \|$", text, re.M)
    assert len(rows) == 11
    for row in rows:
        command, rest = _choose_command(shlex.split(row)[1:])
        assert command.parser().parse(rest)
