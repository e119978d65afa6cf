"""JUnit XML reports for CI systems: one test suite with a case for each check.

The format is that of pytest (``xunit2``).
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
from ...runtime.errors import UsageError, file_error
from ...runtime.text import escape_lines, escape_unprintable

#: Cases are spooled to disk above this size: the totals come first in the file and are known last.
_SPOOL_MAX_BYTES = 1 << 24


@dataclass(frozen=True)
class JUnitCase:
    """One check. Without ``failure`` and ``error`` it passed.

    ``name``, ``classname``: the name and the group. ``seconds``: the duration. ``failure``: lines that describe the
    failure; ``error``: lines that describe why the check could not run; the first line is also the message. ``kind``: a
    machine-readable word such as ``assert``, ``differs``, ``timeout``. ``file``, ``line``: the source location if
    known. ``properties``: further data by name.
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
    """Write a report; the cases are consumed one by one and not kept in memory.

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
        head = _xml_attributes({"name": suite, **counts, "skipped": 0, "time": f"{seconds:.6f}"})
        try:
            with atomic_text(path) as file:
                _write_document(file, head, body)
        except OSError as error:
            raise file_error(UsageError, path, "cannot be written", error) from None


def _write_document(file: IO[str], head: str, body: IO[str]) -> None:
    file.write(f'<?xml version="1.0" encoding="utf-8"?>\n<testsuites><testsuite{head}>\n')
    shutil.copyfileobj(body, file)
    file.write("</testsuite></testsuites>\n")


def _case_xml(case: JUnitCase) -> Iterator[str]:
    file_attributes = {"file": case.file} if case.file else {}
    line_attributes = {"line": case.line} if case.file and case.line else {}
    name_attributes = {"classname": case.classname, "name": case.name, "time": f"{case.seconds:.6f}"}
    yield f"<testcase{_xml_attributes({**name_attributes, **file_attributes, **line_attributes})}>\n"
    if case.properties:
        yield "<properties>"
        yield from (f"<property{_xml_attributes({'name': k, 'value': v})}/>" for k, v in case.properties.items())
        yield "</properties>\n"
    for tag, lines in (("error", case.error), ("failure", () if case.error else case.failure)):
        if lines:
            attributes = {"type": case.kind or tag, "message": lines[0]}
            yield f"<{tag}{_xml_attributes(attributes)}>{escape(escape_lines(lines))}</{tag}>\n"
    yield "</testcase>\n"


def _xml_attributes(attributes: Mapping[str, object]) -> str:
    """XML attributes of an element; unprintable characters are escaped."""
    return "".join(f" {name}={quoteattr(escape_unprintable(str(value)))}" for name, value in attributes.items())
