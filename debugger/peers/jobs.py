"""Requests to a peer, as plain records that can be pickled."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

#: OpenVINO's property for the precision of its computations.
PRECISION_OPTION = "INFERENCE_PRECISION_HINT"


@dataclass(frozen=True)
class RuntimeSetup:
    """How a runtime is to run models.

    ``device``: an execution provider of onnxruntime (``CUDA``) or a device of OpenVINO (``GPU``), empty: the CPU; of a
    program the command that starts it.
    ``options``: settings by the runtime's names. ``libraries``: files with custom operators to load.
    ``timeout``: seconds that a command may run.
    """

    device: str = ""
    options: Mapping[str, str] = field(default_factory=dict)
    libraries: Sequence[str] = ()
    timeout: float = 60.0


@dataclass(frozen=True)
class OnnxJob:
    """An ONNX model: a file, or its bytes. Outputs come in the model's order.

    ``disable_optimizations``: no graph optimisations, so that every value is computed as in the model.
    ``measure_nodes``: keep the times of nodes. ``scratch``: owns the temporary folder of the file, and is not sent to
    the peer.
    """

    path: str = ""
    data: bytes = b""
    disable_optimizations: bool = False
    measure_nodes: bool = False
    scratch: Any = field(default=None, repr=False, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return OnnxJob, (self.path, self.data, self.disable_optimizations, self.measure_nodes)


@dataclass(frozen=True)
class IrJob:
    """An OpenVINO IR file, with the carried values of the named loops of its main graph as further outputs.

    Inputs are given by position (``0``, ``1``, ...): a tensor of an IR need not have a name.
    ``trajectories``: pairs of a loop's name and the positions of its body's results; each adds one stacked output.
    ``values``: names of nodes of the main graph and their output ports, further outputs after those.
    ``weights``: the file with the constants, if it is not the ``.bin`` in the same folder.
    ``state``: values of variables before the first run, by name; each run continues from the previous one.
    ``variables``: names of variables whose values after a run are further outputs, the last ones.
    ``fed_variables``: names of variables that are further inputs (:func:`variable_input_name`). With any, no run
    continues the previous one: a variable that is not given has its initial value.
    ``measure_nodes``: keep the times of nodes.
    """

    path: str
    trajectories: Sequence[tuple[str, int]] = ()
    weights: str = ""
    values: Sequence[tuple[str, int]] = ()
    state: Mapping[str, Any] = field(default_factory=dict)
    variables: Sequence[str] = ()
    fed_variables: Sequence[str] = ()
    measure_nodes: bool = False


def variable_input_name(name: str) -> str:
    """The input that gives a variable its value; all other inputs of an IR are numbers."""
    return f"variable {name}"


@dataclass(frozen=True)
class IrBodyJob:
    """The body of one loop of an IR. ``path_to_loop``: from the main graph inwards, the name of each node and the
    subgraph in it (``body``, ``then``, ``else``).

    Inputs are the body's Parameters by position (``0``, ``1``, ...), with these dtypes and shapes (None: any length or
    any rank); outputs are its Results by position, then the named values. ``weights`` as in :class:`IrJob`.
    """

    path: str
    path_to_loop: Sequence[tuple[str, str]]
    shapes: Sequence[Sequence[int | None] | None]
    dtypes: Sequence[str]
    values: Sequence[tuple[str, int]] = field(default=())
    weights: str = ""


Job = OnnxJob | IrJob | IrBodyJob


@dataclass(frozen=True)
class NodeTime:
    """The time of a node in one run, in seconds, after the runtime's own optimisations."""

    name: str
    op_type: str
    seconds: float
    calls: int


@dataclass(frozen=True)
class RunTimes:
    """The seconds of several runs; the nodes' times in one of them, if the job asked for them."""

    runs: Sequence[float]
    nodes: Sequence[NodeTime] = ()
