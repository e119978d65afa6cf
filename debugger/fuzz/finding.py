"""A finding of the fuzzer: inputs that expose a fault, and where."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from ...runtime.input_validation import Data
from ..value_text import value_text


class FindingKind(StrEnum):
    """The kind of a fault."""

    #: A loop never ends.
    ENDLESS = "endless"
    #: A node or a boundary failed: an index out of range, shapes that do not fit.
    ERROR = "error"
    #: Outputs differ from those of the peer or the reference.
    DIFFERS = "differs"
    #: An assertion or an invariant is false.
    ASSERT = "assert"
    #: The model ran longer than the time limit, in an operator or a loop.
    TIMEOUT = "timeout"
    #: The process ended.
    KILLED = "killed"


@dataclass(frozen=True)
class PairRow:
    """One value at the first iteration at which two runs diverge, in the run that fails and in the other one."""

    name: str
    failing: str
    passing: str


@dataclass(frozen=True)
class MinimalPair:
    """Adjacent inputs of which the first ones fail as a finding does, and the others pass.

    ``change``: their difference. ``loop``, ``iteration``: where the two runs first take another decision
    or one of them ends; None: nowhere. ``rows``: the values there.
    """

    failing: Mapping[str, Data]
    passing: Mapping[str, Data]
    change: str
    loop: str | None = None
    iteration: int | None = None
    rows: tuple[PairRow, ...] = ()


@dataclass(frozen=True)
class FuzzFinding:
    """A fault and the inputs that expose it.

    ``message``: what fails; ``loop``, ``iteration``, ``node``: where, if known. ``minimal``: no single shrink step
    keeps the failure. ``pair``: adjacent inputs of which only some fail, if there are any near these.
    """

    kind: FindingKind
    inputs: Mapping[str, Data]
    message: str
    loop: str | None = None
    iteration: int | None = None
    node: str | None = None
    minimal: bool = False
    pair: MinimalPair | None = None

    @property
    def signature(self) -> tuple[str, str]:
        """Equal for two findings of one fault."""
        return failure_signature(self.kind, self.message, self.loop, self.node)

    def as_json(self) -> dict[str, Any]:
        """The finding without its inputs."""
        pair = self.pair
        return {
            "kind": self.kind.value,
            "message": self.message,
            "loop": self.loop,
            "iteration": self.iteration,
            "node": self.node,
            "inputs": inputs_text(self.inputs),
            "minimal": self.minimal,
            "pair": pair
            and {
                "change": pair.change,
                "loop": pair.loop,
                "iteration": pair.iteration,
                "values": [[row.name, row.failing, row.passing] for row in pair.rows],
            },
        }


def inputs_text(inputs: Mapping[str, Data]) -> str:
    """Inputs on one line."""

    def text(value: Data) -> str:
        return f"[{', '.join(map(text, value))}]" if isinstance(value, list) else value_text(value, 60)

    return ", ".join(f"{name} = {'nothing' if value is None else text(value)}" for name, value in inputs.items())


def failure_signature(kind: FindingKind, message: str, loop: str | None, node: str | None) -> tuple[str, str]:
    """What two failures of one fault have in common: the loop, the assertion, the output or the node."""
    if kind is FindingKind.ENDLESS:
        detail = loop or ""
    elif kind is FindingKind.ASSERT:
        detail = message
    elif kind is FindingKind.DIFFERS:
        parts = message.split("'")
        detail = parts[1] if len(parts) > 2 and message.startswith("output") else "failure"
    else:
        detail = node or re.sub(r"[-\d.]+", "#", message) if kind is FindingKind.ERROR else ""
    return kind.value, detail
