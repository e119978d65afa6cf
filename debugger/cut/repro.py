"""From a finding to a folder that shows it: reduced, written, and seen again on what was written."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from ...runtime.atomic_file import write_text
from ...runtime.text import counted, printable_lines
from . import report
from .find import Finding
from .folder import filled
from .lab import Lab
from .pack import Pack, check, write
from .predicate import Disagreement
from .reduce import Reduced, reduce
from .report import About


@dataclass(frozen=True)
class Repro:
    """What came of it."""

    finding: Finding
    reduced: Reduced
    pack: Pack
    title: str

    @property
    def confirmed(self) -> bool:
        """The files of the pack show the finding."""
        return self.pack.again is not None

    def lines(self) -> list[str]:
        """What to tell a person."""
        reduced, pack = self.reduced, self.pack
        ended = {"spent": ", ended by a limit", "interrupted": ", interrupted"}.get(reduced.ended, "")
        lines = [
            self.title,
            f"{self.finding.nodes} nodes -> {reduced.candidate.count} ({counted(reduced.tests, 'test')}{ended}); "
            f"{', '.join(path.name for path in pack.models)}: {pack.nbytes} bytes",
        ]
        lines += [
            f"{one.script}: {one.last}" + (f" (status {one.status})" if one.status < 0 else "") for one in pack.ran
        ]
        again = "the files in it show it again" if self.confirmed else "THE FILES IN IT DO NOT SHOW IT AGAIN"
        return [*lines, f"wrote {pack.folder}: {again}"]

    def __str__(self) -> str:
        return printable_lines(self.lines())


def _hurried(finding: Finding) -> AbstractContextManager[None]:
    """Of a runtime that hangs most tests wait for an answer that does not come; what is left is waited for in full."""
    predicate = finding.predicate
    if finding.shown.kind == "hung" and isinstance(predicate, Disagreement):
        return predicate.peer.hurried()
    return nullcontext()


def make(
    finding: Finding,
    about: About,
    folder: Path,
    *,
    most: int = 1000,
    seconds: float = 300.0,
    say: Callable[[str], object] = lambda text: None,
) -> Repro:
    """Reduce, write and check. ``most``: tests at most; ``seconds``: how long; ``say``: is told how far it is.

    Raises:
        UsageError: the folder cannot be written.
    """
    lab = Lab(
        finding.predicate, finding.candidate, finding.shown, limit=finding.limit, most=most, seconds=seconds, say=say
    )
    with _hurried(finding):
        reduced = reduce(lab)
    title = report.title_of(about, reduced)
    with filled(folder, force=True) as temporary:
        pack = write(reduced, finding, title, temporary)
        check(pack, finding.predicate, reduced.candidate.inputs)
        page = temporary / "README.md"
        write_text(page, report.report(pack, reduced, finding, about))
        pack.files.append(page)
    return Repro(finding, reduced, pack.moved(folder), title)
