"""Coverage as files: a page of HTML, and JSON."""

from __future__ import annotations

import json
import operator
from collections.abc import Iterator, Sequence
from functools import reduce
from html import escape
from pathlib import Path

from ...runtime.atomic_file import write_text
from ...runtime.errors import InputError, UsageError, file_error, one_line
from ...runtime.graph import Graph
from ...runtime.text import escape_unprintable
from .points import PointKind
from .report import Coverage, loop_rows, summary_line
from .source_marks import lines_with_coverage

COVERAGE_SUFFIXES = (".html", ".json")
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; color: #222;
  background: #fff }
table { border-collapse: collapse } th, td { padding: .2em .8em; text-align: right; border-bottom: 1px solid #ddd }
th:first-child, td:first-child { text-align: left } pre { line-height: 1.4; overflow-x: auto }
.covered { background: #e3f6e3 } .partial { background: #fff3cf } .missed { background: #fbdfdf } i { color: #a33 }
@media (prefers-color-scheme: dark) {
  body { color: #ddd; background: #1c1c1c } th, td { border-color: #444 } i { color: #f99 }
  .covered { background: #1e3a1e } .partial { background: #4a3d10 } .missed { background: #4d2020 } }
"""
_CLASSES = {"+": "covered", "~": "partial", "-": "missed"}


def check_coverage_path(path: Path) -> None:
    """Refuse a path that no coverage is written to.

    Raises:
        UsageError: another suffix, or there is no such folder.
    """
    if path.suffix.lower() not in COVERAGE_SUFFIXES:
        raise UsageError(f"{path}: coverage is written into {' or '.join(COVERAGE_SUFFIXES)}", name=str(path))
    if path.is_dir() or not path.absolute().parent.is_dir():
        raise UsageError(f"{path}: there is no folder '{path.parent}'" if not path.is_dir() else f"{path}: is a folder")


def save_coverage(path: Path, parts: Sequence[tuple[Coverage, Graph | None]]) -> None:
    """Write the coverage of models; a page shows it next to the pseudo-code of those whose graph is given.

    Raises:
        UsageError: the file cannot be written.
    """
    if path.suffix.lower() == ".json":
        text = json.dumps({"models": [coverage.to_json() for coverage, _ in parts]}, indent=1, allow_nan=False) + "\n"
    else:
        text = "".join(_html_page(parts))
    try:
        write_text(path, text)
    except OSError as error:
        raise file_error(UsageError, path, "cannot be written", error) from None


def read_coverage(path: Path) -> list[Coverage]:
    """Read what :func:`save_coverage` wrote as JSON.

    Raises:
        InputError: it cannot be read.
    """
    try:
        return [Coverage.from_json(data) for data in json.loads(path.read_text("utf-8"))["models"]]
    except OSError as error:
        raise file_error(InputError, path, "cannot be read", error) from None
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"{path}: is no coverage: {one_line(error)}", name=str(path)) from None


def merge_coverage(folder: Path, number: int) -> Coverage | None:
    """The coverage of a job of a sweep, from what its processes wrote into a folder; None: no case ran."""
    parts = [part for path in sorted(folder.glob(f"*-{number}.json")) for part in read_coverage(path)]
    return reduce(operator.or_, parts) if parts else None


def _html_page(parts: Sequence[tuple[Coverage, Graph | None]]) -> Iterator[str]:
    names = ", ".join(escape_unprintable(coverage.model) for coverage, _ in parts)
    yield '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>Coverage of {escape(names)}</title><style>{_STYLE}</style></head><body>\n<h1>Loop coverage</h1>\n"
    for coverage, graph in parts:
        yield f"<h2>{escape(summary_line(coverage))}</h2>\n"
        yield from _html_table(coverage)
        if graph is not None:
            yield from _html_source(coverage, graph)
    yield "</body></html>\n"


def _html_table(coverage: Coverage) -> Iterator[str]:
    titles = ["loop", *(kind.value for kind in PointKind if kind is not PointKind.NODE), "nodes"]
    yield "<table><tr>" + "".join(f"<th>{title}</th>" for title in titles) + "</tr>\n"
    for row in loop_rows(coverage):
        yield "<tr>" + "".join(f"<td>{escape(cell) or '–'}</td>" for cell in row) + "</tr>\n"
    yield "</table>\n"
    missed = [*coverage.faults, *coverage.missed]
    if missed:
        yield f"<details><summary>{len(missed)} points to look at</summary><ul>\n"
        yield "".join(f"<li>{escape(escape_unprintable(str(point)))}</li>\n" for point in missed)
        yield "</ul></details>\n"


def _html_source(coverage: Coverage, graph: Graph) -> Iterator[str]:
    yield "<pre>"
    for mark, text, missed in lines_with_coverage(graph, coverage):
        note = f"   <i>{escape(escape_unprintable(missed))}</i>" if missed else ""
        line = f"{mark or ' '} {escape(escape_unprintable(text))}"
        yield (f'<span class="{_CLASSES[mark]}">{line}</span>' if mark else line) + note + "\n"
    yield "</pre>\n"
