"""Create a reproducer for a finding: reduced, written to a folder, and verified from the written files."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from ....runtime.atomic_file import discard, write_text
from ....runtime.text import count_text, escape_lines
from ...extract.output_folder import staging_folder
from ..initial_candidate import Finding
from ..interestingness import PeerDisagreement
from ..reducer import ReductionResult, reduce
from ..reduction_session import ReductionSession
from . import repro_report
from .repro_folder import ReproFolder, check_repro, run_scripts, write_repro
from .repro_report import FindingSource

_END_TEXTS = {
    "spent": ", ended by a limit",
    "interrupted": ", interrupted",
    "unconfirmed": "; smaller parts did not show it again",
}


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
        end_text = _END_TEXTS.get(reduced.end_reason, "")
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


def _with_short_timeout(finding: Finding) -> AbstractContextManager[None]:
    """Use a short timeout for tests of a runtime that hangs; the final check uses the full one."""
    predicate = finding.test
    if finding.observation.kind == "hung" and isinstance(predicate, PeerDisagreement):
        return predicate.peer.shortened_timeout()
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
    with _with_short_timeout(finding):
        reduced = reduce(session)
    with staging_folder(folder, force=True) as temporary:
        for part in _reductions_to_confirm(session, reduced, finding):
            for path in temporary.iterdir():
                discard(path)
            title = repro_report.finding_title(source, part)
            pack = write_repro(part, finding, title, temporary)
            check_repro(pack, finding.test, part.candidate.inputs)
            if pack.recheck is not None:
                break
        run_scripts(pack)
        page = temporary / "README.md"
        write_text(page, repro_report.report_text(pack, part, finding, source))
        pack.files.append(page)
    return Repro(finding, part, pack.moved_to(folder), title)


def _reductions_to_confirm(
    session: ReductionSession, reduced: ReductionResult, finding: Finding
) -> Iterator[ReductionResult]:
    """The reduced part; then those that showed the finding before it, from the last to the first one."""
    yield reduced
    for candidate, observation in (*reversed(session.previous), (finding.candidate, finding.observation)):
        yield replace(reduced, candidate=candidate, observation=observation, end_reason="unconfirmed")
