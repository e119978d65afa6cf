"""What a peer is asked to run. Plain records, so that they go through a pipe."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class RuntimeSetup:
    """How a runtime is to run models.

    ``device``: by its own name: an execution provider of onnxruntime (``CUDA``), a device of OpenVINO (``GPU``); empty:
    the processor. ``options``: its settings, by its own names. ``libraries``: files with operators that it is to load.
    """

    device: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    libraries: Sequence[str] = ()


@dataclass(frozen=True)
class OnnxJob:
    """An ONNX model: a file, or its bytes. Outputs come in the model's order.

    ``plain``: without the peer's graph optimisations, so that every value is computed as the model says. ``scratch``:
    owns the temporary folder that the file is in, and stays in this process.
    """

    path: str = ""
    data: bytes = b""
    disable_optimizations: bool = False
    scratch: Any = field(default=None, repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return OnnxJob, (self.path, self.data, self.disable_optimizations)


@dataclass(frozen=True)
class IrJob:
    """An OpenVINO IR file as it is, with the carried values of the named loops of its main graph as further outputs.

    Inputs are fed by position (``0``, ``1``, ...): a tensor of an IR need not have a name.
    ``trajectories``: pairs of a loop's name and the positions of its body's results; each adds one output, stacked.
    ``values``: names of nodes of the main graph and their output ports, further outputs after those.
    ``weights``: the file with its constants, if not the ``.bin`` beside it.
    ``state``: what variables are before the first run, by name; each run goes on with what the one before assigned.
    """

    path: str
    trajectories: Sequence[tuple[str, int]] = ()
    weights: str = ""
    values: Sequence[tuple[str, int]] = ()
    state: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class IrBodyJob:
    """The body of one loop of an IR. ``where``: from the main graph inwards, the name of each node and which of its
    graphs (``body``, ``then``, ``else``).

    Inputs are the body's Parameters by position (``0``, ``1``, ...), of the given dtypes and shapes (None: any length,
    or any rank); outputs its Results by position, then the named values. ``weights`` as in :class:`IrJob`.
    """

    path: str
    path_to_loop: Sequence[tuple[str, str]]
    shapes: Sequence[Sequence[int | None] | None]
    dtypes: Sequence[str]
    values: Sequence[tuple[str, int]] = field(default=())
    weights: str = ""


Job = OnnxJob | IrJob | IrBodyJob
