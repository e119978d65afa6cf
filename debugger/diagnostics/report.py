"""What a diagnosis found, as a record, text and JSON."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from ...runtime.lazy_function_registry import load_plugin
from ...runtime.text import count_text, escape_lines
from .node_checks import DiagnosticKind


@dataclass(frozen=True)
class Diagnostic:
    """Something in a run that is seldom meant. ``node``: its name, "" where it is about the loop; ``code``: the node as
    pseudo-code; ``iteration``: the first one, None in the main graph, and ``entry`` those of the loops around it;
    ``count``: in how many it was so; ``text``: one sentence; ``values``: the numbers that it rests on.

    >>> wrong = loopdbg.load("collatz.onnx").diagnose({"start": 2**62 + 3}, max_iterations=5).findings[0]
    >>> wrong.kind.value, wrong.loop, wrong.iteration, wrong.op_type
    ('integer overflow', 'main ▸ collatz', 0, 'Mul')
    """

    kind: DiagnosticKind
    loop: str
    node: str
    op_type: str
    code: str
    iteration: int | None
    entry: tuple[int, ...]
    count: int
    text: str
    values: Mapping[str, str] = field(default_factory=dict)

    def __str__(self) -> str:
        numbers = () if self.iteration is None else (*self.entry, self.iteration)
        place = f"{self.loop}, iteration {', '.join(map(str, numbers))}" if numbers else self.loop
        more = f" and {count_text(self.count - 1, 'later one')}" if self.count > 1 else ""
        code = f"{self.code}: " if self.code else ""
        return f"{self.kind.value}: {place}{more}: {code}{self.text}"


def finding_json(finding: Diagnostic) -> dict[str, Any]:
    """A finding as a JSON object."""
    return {**asdict(finding), "kind": finding.kind.value, "entry": list(finding.entry)}


@dataclass(frozen=True)
class Diagnosis:
    """What is suspicious in a run. ``str()`` is the report; ``stopped``: why the run was not judged to its end.

    >>> print(model.diagnose(inputs))
    newton_sqrt.onnx: nothing suspicious in 5 iterations
    """

    model: str
    findings: tuple[Diagnostic, ...]
    iterations: int
    stopped: str = ""
    interrupted: bool = False

    def to_json(self) -> dict[str, Any]:
        """The report as a JSON object.

        >>> model.diagnose(inputs).to_json()["findings"]
        []
        """
        return {**asdict(self), "findings": [finding_json(finding) for finding in self.findings]}

    def lines(self) -> Iterator[str]:
        """The report as text.

        >>> next(model.diagnose(inputs).lines())
        'newton_sqrt.onnx: nothing suspicious in 5 iterations'
        """
        count = count_text(len(self.findings), "finding") if self.findings else "nothing suspicious"
        yield f"{self.model}: {count} in {count_text(self.iterations, 'iteration')}"
        yield from (f"  {finding}" for finding in self.findings)
        if self.stopped:
            yield f"  judged up to here: {self.stopped}"

    def __str__(self) -> str:
        return escape_lines(self.lines())

    def _repr_html_(self) -> str:
        html: str = load_plugin("html")("text", self)
        return html
