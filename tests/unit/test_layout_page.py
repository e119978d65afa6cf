"""docs/layout.md names what there is."""

from __future__ import annotations

import re

import pytest

import source_checks

PAGE = (source_checks.ROOT / "docs" / "layout.md").read_text("utf-8")
#: What begins with a folder of the repository, with a file or without.
PATHS = sorted(set(re.findall(r"\b((?:runtime|debugger|tui|tests|docs|benchmarks|changelog\.d)/[\w./]*\w/?)", PAGE)))


def test_paths_are_found_on_the_page() -> None:
    assert len(PATHS) > 40


@pytest.mark.parametrize("path", PATHS)
def test_a_path_that_is_named_exists(path: str) -> None:
    assert (source_checks.ROOT / path).exists()
    assert not path.endswith("/") or (source_checks.ROOT / path).is_dir()


def test_each_kind_of_change_has_a_folder_and_a_check() -> None:
    rows = [
        [cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| ")
    ]
    kinds = [row for row in rows if row[0] not in ("change", "---")]
    assert len(kinds) > 15
    assert all(len(row) == 5 and row[1] and row[4] for row in kinds)


def test_the_pages_that_people_begin_with_link_to_it() -> None:
    for name in ("README.md", "CONTRIBUTING.md"):
        assert "(docs/layout.md)" in (source_checks.ROOT / name).read_text("utf-8")
