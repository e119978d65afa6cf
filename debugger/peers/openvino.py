"""OpenVINO with its CPU plugin or another, one thread and exact settings. Runs in the peer's process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import openvino
from openvino import opset13 as ops

from .child import OptionError
from .jobs import PRECISION_OPTION, IrBodyJob, IrJob, Job, NodeTime, OnnxJob, RuntimeSetup, variable_input_name

#: Compute float32 and cache attention as float32 also on processors with bfloat16.
_EXACT_CONFIG = {
    "EXECUTION_MODE_HINT": "ACCURACY",
    PRECISION_OPTION: "f32",
    "KV_CACHE_PRECISION": "f32",
    "INFERENCE_NUM_THREADS": "1",
    "NUM_STREAMS": "1",
}
#: Plugins that delegate to other devices: HETERO:GPU,CPU.
_META_PLUGINS = ("AUTO", "HETERO", "MULTI", "BATCH")

_MAX_INT32 = 2**31 - 1


class OpenvinoRuntime:
    """The runtime that the child process serves."""

    version = str(openvino.__version__).split("-")[0]

    def __init__(self, setup: RuntimeSetup) -> None:
        self._core = openvino.Core()
        for library in setup.libraries:
            self._load_extension(library)
        self._device = setup.device or "CPU"
        plugin, _, devices = self._device.partition(":")
        self.usual_precision = ""
        for device in self._check_devices(
            [name for name in devices.split(",") if name] if plugin in _META_PLUGINS else [plugin]
        ):
            self.usual_precision = self.usual_precision or self._reduced_precision(device)
            self._core.set_property(device, self._exact_config(device))
        properties = self._core.get_property(plugin, "SUPPORTED_PROPERTIES")
        unknown = next((name for name in setup.options if name not in properties), None)
        if unknown is not None:
            settable = ", ".join(sorted(name for name, access in properties.items() if access == "RW"))
            raise OptionError(f"openvino's {plugin} plugin has no property '{unknown}'; it has {settable}")
        self._config = self._exact_config(plugin) | dict(setup.options)
        self.configuration: Mapping[str, str] = {"device": self._device, **self._config}

    def _load_extension(self, library: str) -> None:
        try:
            self._core.add_extension(library)
        except Exception as error:
            raise OptionError(f"openvino cannot load the operators of {library}: {error}") from None

    def _check_devices(self, names: Sequence[str]) -> Sequence[str]:
        """Return the devices that models will run on; without names, all available ones.

        Raises:
            OptionError: a device is not available.
        """
        available = self._core.available_devices
        # GPU means GPU.0 if there are several.
        missing = next((name for name in names if not any(name in (id_, id_.split(".")[0]) for id_ in available)), None)
        if missing is not None:
            devices = ", ".join([*available, *_META_PLUGINS])
            raise OptionError(f"openvino {OpenvinoRuntime.version} has no device '{missing}' here; it has {devices}")
        return names or available

    def _reduced_precision(self, device: str) -> str:
        """The precision below float32 that a device chooses by itself; empty if there is none."""
        if PRECISION_OPTION not in self._core.get_property(device, "SUPPORTED_PROPERTIES"):
            return ""
        precision = self._core.get_property(device, PRECISION_OPTION)
        return str(precision.get_type_name()) if precision in (openvino.Type.bf16, openvino.Type.f16) else ""

    def _exact_config(self, plugin: str) -> dict[str, str]:
        supported = self._core.get_property(plugin, "SUPPORTED_PROPERTIES")
        return {name: value for name, value in _EXACT_CONFIG.items() if name in supported}

    def open(self, job: Job) -> OpenVinoModel:
        """Load a model."""
        if isinstance(job, OnnxJob):
            model = self._core.read_model(job.data or job.path)
        elif isinstance(job, IrJob):
            model = self._core.read_model(job.path, job.weights)
            for name, position in job.trajectories:
                _add_trajectory(model, name, position)
            model.add_results(_result_nodes(model, job.values))
        else:
            model = _body_model(self._core.read_model(job.path, job.weights), job)
        measured = not isinstance(job, IrBodyJob) and job.measure_nodes
        config = {**self._config, **({"PERF_COUNT": "YES"} if measured else {})}
        return OpenVinoModel(self._core.compile_model(model, self._device, config), job)


class OpenVinoModel:
    """A loaded model."""

    def __init__(self, model: Any, job: Job) -> None:
        self._model = model
        self._by_position = isinstance(job, IrJob | IrBodyJob)
        self._measured = not isinstance(job, IrBodyJob) and job.measure_nodes
        self._variables: Sequence[str] = job.variables if isinstance(job, IrJob) else ()
        self._fed_variables: Sequence[str] = job.fed_variables if isinstance(job, IrJob) else ()
        self._start_request_sequence(job.state if isinstance(job, IrJob) else {})

    def _start_request_sequence(self, state: Mapping[str, Any]) -> None:
        """Begin a sequence of runs, with these values of variables before the first one."""
        self._request = self._model.create_infer_request()
        for variable in self._request.query_state():
            if variable.name in state:
                variable.state = openvino.Tensor(np.ascontiguousarray(state[variable.name]))

    def run(self, feeds: Mapping[str, Any]) -> list[Any]:
        """Return the outputs, in order."""
        inputs: dict[Any, Any] = {}
        if self._fed_variables:
            fed = {name: feeds.get(variable_input_name(name)) for name in self._fed_variables}
            self._start_request_sequence({name: value for name, value in fed.items() if value is not None})
        if self._by_position:
            inputs = {int(name): value for name, value in feeds.items() if name.isdecimal()}
        else:
            # A conversion may drop an unused input.
            names = {name for port in self._model.inputs for name in port.get_names()}
            inputs = {name: value for name, value in feeds.items() if name in names}
        results = self._request.infer({name: np.asarray(value) for name, value in inputs.items()}, share_inputs=False)
        outputs = [np.array(results[port]) for port in self._model.outputs]
        if self._variables:
            state = {variable.name: variable for variable in self._request.query_state()}
            outputs += [np.array(state[name].state.data) for name in self._variables]
        return outputs

    def take_node_times(self) -> list[NodeTime]:
        """Return the times of the nodes in the last run; a loop is one node."""
        if not self._measured:
            return []
        return [
            NodeTime(info.node_name, info.node_type, info.real_time.total_seconds(), 1)
            for info in self._request.profiling_info
            if info.real_time
        ]


def _add_trajectory(model: Any, name: str, position: int) -> None:
    """Add an output: a result of a loop's body in every iteration, stacked."""
    loop = next(op for op in model.get_ops() if op.friendly_name == name and hasattr(op, "get_concatenated_slices"))
    _replace_maximum_trip_count(loop)
    body = loop.get_function()
    source = body.get_results()[position].input_value(0)
    result = ops.result(ops.unsqueeze(source, ops.constant(np.zeros(1, np.int64))))
    body.add_results([result])
    model.add_results([ops.result(loop.get_concatenated_slices(result.output(0), 0, 1, 1, -1, 0))])
    model.validate_nodes_and_infer_types()


def _replace_maximum_trip_count(loop: Any) -> None:
    """Make a trip count of 2^31-1, which converters write for "no limit", the -1 that says so: OpenVINO collects no
    rows of a loop with the former."""
    if loop.get_type_name() != "Loop":
        return
    source = loop.input_value(0)
    if source.get_node().get_type_name() != "Constant" or int(source.get_node().data.reshape(-1)[0]) < _MAX_INT32:
        return
    loop.input(0).replace_source_output(ops.constant(np.int64(-1)).output(0))


def _partial_shape(shape: Sequence[int | None] | None) -> Any:
    if shape is None:
        return openvino.PartialShape.dynamic()
    return openvino.PartialShape([-1 if dim is None else dim for dim in shape])


def _body_model(model: Any, job: IrBodyJob) -> Any:
    """Return the body of a loop as a separate model."""
    for name, subgraph in job.path_to_loop:
        op = next(op for op in model.get_ops() if op.friendly_name == name and hasattr(op, "get_function"))
        model = op.get_function(("then", "else").index(subgraph)) if subgraph in ("then", "else") else op.get_function()
    parameters = model.get_parameters()
    for parameter, shape, dtype in zip(parameters, job.shapes, job.dtypes, strict=True):
        parameter.set_partial_shape(_partial_shape(shape))
        parameter.set_element_type(openvino.Type(np.dtype(dtype)))
    body = openvino.Model([*model.get_results(), *_result_nodes(model, job.values)], parameters, "body")
    body.validate_nodes_and_infer_types()
    return body


def _result_nodes(model: Any, values: Sequence[tuple[str, int]]) -> list[Any]:
    """Further outputs, by nodes' names and ports."""
    ops_by_name = {op.friendly_name: op for op in model.get_ops()}
    return [ops.result(ops_by_name[name].output(port)) for name, port in values]


RUNTIME = OpenvinoRuntime
