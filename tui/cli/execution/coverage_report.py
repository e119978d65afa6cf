"""Coverage of runs on the command line: measured, printed and written."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from .. import terminal

if TYPE_CHECKING:
    from ....debugger.coverage.recorder import CoverageRecorder
    from ....debugger.coverage.report import Coverage
    from ....runtime.graph import Graph
    from ....runtime.model import Model

#: The option without a file: a table is printed.
TABLE = Path()


class RunCoverage:
    """The coverage of one run; nothing where it is not requested. ``path``: the value of ``--coverage``."""

    def __init__(self, path: Path | None, model: Model) -> None:
        self._path, self._model = path, model
        self.recorder: CoverageRecorder | None = None
        if path is not None:
            from ....debugger.coverage.recorder import CoverageRecorder

            check_coverage_option(path)
            self.recorder = CoverageRecorder(model)

    @property
    def result(self) -> Coverage | None:
        """What the run covered."""
        return None if self.recorder is None else self.recorder.coverage

    def print_table(self) -> None:
        """Print the table, unless it goes into a file."""
        if self.result is not None:
            print_coverage(self._path, [self.result])

    def save(self) -> None:
        """Write the file, if one is given.

        Raises:
            UsageError: it cannot be written.
        """
        if self.result is not None:
            save_coverage_if_requested(self._path, [(self.result, self._model.graph)])


def check_coverage_option(path: Path | None) -> None:
    """Refuse a file that coverage cannot be written to, before anything runs."""
    if path not in (None, TABLE):
        from ....debugger.coverage.report_files import check_coverage_path

        assert path is not None
        check_coverage_path(path)


def print_coverage(path: Path | None, parts: Sequence[Coverage]) -> None:
    """Print tables, or where they are written one line each."""
    from ....debugger.coverage.report import coverage_lines, summary_line

    for coverage in parts:
        terminal.out("")
        for line in coverage_lines(coverage) if path == TABLE else [f"{summary_line(coverage)}, written into {path}"]:
            terminal.out(line)


def save_coverage_if_requested(path: Path | None, parts: Sequence[tuple[Coverage, Graph | None]]) -> None:
    """Write the file of the option, if it names one."""
    if path not in (None, TABLE):
        from ....debugger.coverage.report_files import save_coverage

        assert path is not None
        save_coverage(path, parts)
