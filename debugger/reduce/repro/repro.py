"""Create a reproducer for a finding: reduced, written to a folder, and verified from the written files."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from ....runtime.atomic_file import write_text
from ....runtime.text import count_text, escape_lines
from ...extract.output_folder import write_folder
from ..initial_candidate import Finding
from ..interestingness import PeerDisagreement
from ..reducer import ReductionResult, reduce
from ..reduction_session import ReductionSession
from . import repro_report
from .repro_folder import ReproFolder, check_repro, write_repro
from .repro_report import FindingSource


@dataclass(frozen=True)
class Repro:
    """The result of a reproduction."""

    finding: Finding
    reduced: ReductionResult
    output: ReproFolder
    title: str

    @property
    def confirmed(self) -> bool:
        """Whether the written files show the finding."""
        return self.output.recheck is not None

    def lines(self) -> list[str]:
        """Return the report for a person."""
        reduced, pack = self.reduced, self.output
        end_text = {"spent": ", ended by a limit", "interrupted": ", interrupted"}.get(reduced.end_reason, "")
        lines = [
            self.title,
            f"{self.finding.original_node_count} nodes -> {reduced.candidate.node_count}"
            f" ({count_text(reduced.tests, 'test')}{end_text}); "
            f"{', '.join(path.name for path in pack.models)}: {pack.nbytes} bytes",
        ]
        lines += [
            f"{run.script}: {run.last_line}" + (f" (status {run.status})" if run.status < 0 else "")
            for run in pack.script_runs
        ]
        status_text = "the files in it show it again" if self.confirmed else "THE FILES IN IT DO NOT SHOW IT AGAIN"
        return [*lines, f"wrote {pack.folder}: {status_text}"]

    def __str__(self) -> str:
        return escape_lines(self.lines())


def _short_timeout(finding: Finding) -> AbstractContextManager[None]:
    """Use a short timeout for tests of a runtime that hangs; the final check uses the full one."""
    predicate = finding.test
    if finding.observation.kind == "hung" and isinstance(predicate, PeerDisagreement):
        return predicate.peer.hurry()
    return nullcontext()


def make_repro(
    finding: Finding,
    source: FindingSource,
    folder: Path,
    *,
    most: int = 1000,
    seconds: float = 300.0,
    say: Callable[[str], object] = lambda text: None,
) -> Repro:
    """Reduce, write and check. ``most``: maximum number of tests; ``seconds``: time limit; ``say``: progress callback.

    Raises:
        UsageError: the folder cannot be written.
    """
    session = ReductionSession(
        finding.test, finding.candidate, finding.observation, limit=finding.limit, most=most, seconds=seconds, say=say
    )
    with _short_timeout(finding):
        reduced = reduce(session)
    title = repro_report.finding_title(source, reduced)
    with write_folder(folder, force=True) as temporary:
        pack = write_repro(reduced, finding, title, temporary)
        check_repro(pack, finding.test, reduced.candidate.inputs)
        page = temporary / "README.md"
        write_text(page, repro_report.report_text(pack, reduced, finding, source))
        pack.files.append(page)
    return Repro(finding, reduced, pack.moved_to(folder), title)
