"""Reports in the JUnit XML that CI systems read: one test suite, a case for each thing that was tried.

The form is the one that pytest writes (``xunit2``): a file from here is read by whatever reads those.
"""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO
from xml.sax.saxutils import escape, quoteattr

from ...runtime.atomic_file import atomic_text
from ...runtime.errors import UsageError
from ...runtime.text import escape_lines, escape_unprintable

#: So much of the cases is kept in memory: what there are of them is known last, and stands first.
_SPOOL_MAX_BYTES = 1 << 24


@dataclass(frozen=True)
class JUnitCase:
    """One thing that was tried. With neither ``failure`` nor ``error`` it passed.

    ``name``, ``classname``: what it is called, and the group that it is in. ``seconds``: how long it took.
    ``failure``: what is not as it should be; ``error``: why that could not be found out; lines of text, of which the
    first one is the message too. ``kind``: a word for programs, such as ``assert``, ``differs``, ``timeout``.
    ``file``, ``line``: where that is in the source, as far as it is known. ``properties``: what else there is to say,
    by name.
    """

    name: str
    classname: str = ""
    seconds: float = 0.0
    failure: Sequence[str] = ()
    error: Sequence[str] = ()
    kind: str = ""
    file: str = ""
    line: int = 0
    properties: Mapping[str, object] = field(default_factory=dict)


def write_report(path: Path, cases: Iterable[JUnitCase], suite: str = "loopdbg") -> None:
    """Write a report on the cases, which are asked for one by one and not kept.

    Raises:
        UsageError: the file cannot be written.
    """
    count: Counter[str] = Counter()
    with tempfile.SpooledTemporaryFile(_SPOOL_MAX_BYTES, "w+", encoding="utf-8") as body:
        seconds = 0.0
        for case in cases:
            count.update(["tests", *(["errors"] if case.error else ["failures"] if case.failure else [])])
            seconds += case.seconds
            body.writelines(_case_xml(case))
        body.seek(0)
        counts = {word: count[word] for word in ("errors", "failures", "tests")}
        head = _attributes({"name": suite, **counts, "skipped": 0, "time": f"{seconds:.6f}"})
        try:
            with atomic_text(path) as file:
                _write_document(file, head, body)
        except OSError as error:
            raise UsageError(f"{path}: cannot be written: {error.strerror}") from None


def _write_document(file: IO[str], head: str, body: IO[str]) -> None:
    file.write(f'<?xml version="1.0" encoding="utf-8"?>\n<testsuites><testsuite{head}>\n')
    shutil.copyfileobj(body, file)
    file.write("</testsuite></testsuites>\n")


def _case_xml(case: JUnitCase) -> Iterator[str]:
    place = {"file": case.file} if case.file else {}
    line = {"line": case.line} if case.file and case.line else {}
    named = {"classname": case.classname, "name": case.name, "time": f"{case.seconds:.6f}"}
    yield f"<testcase{_attributes({**named, **place, **line})}>\n"
    if case.properties:
        yield "<properties>"
        yield from (f"<property{_attributes({'name': k, 'value': v})}/>" for k, v in case.properties.items())
        yield "</properties>\n"
    for tag, lines in (("error", case.error), ("failure", () if case.error else case.failure)):
        if lines:
            about = {"type": case.kind or tag, "message": lines[0]}
            yield f"<{tag}{_attributes(about)}>{escape(escape_lines(lines))}</{tag}>\n"
    yield "</testcase>\n"


def _attributes(told: Mapping[str, object]) -> str:
    """Attributes of an element. Names out of files are written as in a terminal: all of that XML can hold."""
    return "".join(f" {name}={quoteattr(escape_unprintable(str(value)))}" for name, value in told.items())
