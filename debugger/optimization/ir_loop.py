"""A Loop or TensorIterator of an OpenVINO IR that is edited."""

from __future__ import annotations

from collections.abc import Sequence

from ...runtime.errors import UnsupportedError
from ...runtime.graph import BackEdge, Loop, ScanOutput, Value
from ...runtime.modelfile.ir_graph import (
    LOOP_TYPES,
    Element,
    IrGraph,
    back_edges,
    input_ports,
    output_ports,
    port_map_entries,
    renumber_ports,
    walk_graphs,
)
from ..rewriting.editable_model import EditableIr


class IrLoop:
    """A loop of a file, found by its name.

    Raises:
        UnsupportedError: the file does not have it once.
    """

    def __init__(self, model: EditableIr, loop: Loop) -> None:
        places = [
            (net, layer)
            for net in walk_graphs(model.net)
            for layer in net.layers_of_type(*LOOP_TYPES)
            if layer.get("name") == loop.name
        ]
        if len(places) != 1:
            raise UnsupportedError(f"the file does not have {loop.describe()} once", **loop.error_fields)
        self.loop = loop
        self.net, self.layer = places[0]
        self.body = IrGraph(self.layer.find("body"))

    def remove_values(self, edges: Sequence[BackEdge], scans: Sequence[ScanOutput]) -> None:
        """Remove carried values on which nothing that is used depends, and scan outputs that nothing reads."""
        outputs = [scan.outer for scan in scans]
        outputs += [last.outer for last in self.loop.last_values if self.loop.back_edge_for(last) in edges]
        removed = [self._parameter_id(edge) for edge in edges]
        self._remove_outputs(outputs)
        for parameter in removed:
            self._remove_back_edge(parameter)
        self.body.remove_dead()
        for parameter in removed:
            for entry in port_map_entries(self.layer, "input"):
                if entry.get("internal_layer_id") == parameter:
                    entry.getparent().remove(entry)
                    self._remove_input(entry.get("external_port_id"))
            self.body.remove_layer(self.body.layer(parameter))
        renumber_ports(self.net, self.layer)

    def replace_by_initial_value(self, edge: BackEdge) -> None:
        """Make a carried value that does not change an invariant input.

        Raises:
            UnsupportedError: an output of the model has its name from the loop's output.
        """
        parameter = self._parameter_id(edge)
        external = next(
            entry.get("external_port_id")
            for entry in port_map_entries(self.layer, "input")
            if entry.get("internal_layer_id") == parameter
        )
        source = self.net.source_by_input()[self.layer.get("id"), external]
        outputs = [last.outer for last in self.loop.last_values if self.loop.back_edge_for(last) is edge]
        results = {layer.get("id") for layer in self.net.layers_of_type("Result")}
        for outer in outputs:
            port = (self.layer.get("id"), self._output_port(outer))
            readers = [item.get("to-layer") for item in self.net.edges() if _source_port(item) == port]
            if results.intersection(readers):
                raise UnsupportedError(f"the model's output has its name from loop '{self.loop.name}'")
            self.net.redirect_readers(port, source)
        self._remove_outputs(outputs)
        self._remove_back_edge(parameter)
        renumber_ports(self.net, self.layer)

    def _parameter_id(self, edge: BackEdge) -> str:
        """The id of the body's Parameter of a carried value."""
        parameters = self.body.layers_of_type("Parameter")
        return str(parameters[self.loop.body.inputs.index(edge.param)].get("id"))

    def _output_port(self, outer: Value) -> str:
        return str(self.loop.output_ports[self.loop.outputs.index(outer)])

    def _remove_outputs(self, outputs: Sequence[Value]) -> None:
        for port in [self._output_port(outer) for outer in outputs]:
            for entry in port_map_entries(self.layer, "output"):
                if entry.get("external_port_id") == port:
                    entry.getparent().remove(entry)
                    self._remove_result(entry.get("internal_layer_id"))
            for element in output_ports(self.layer):
                if element.get("id") == port:
                    element.getparent().remove(element)

    def _remove_back_edge(self, parameter: str) -> None:
        for element in back_edges(self.layer):
            if element.get("to-layer") == parameter:
                element.getparent().remove(element)
                self._remove_result(element.get("from-layer"))

    def _remove_result(self, id: str) -> None:
        """Remove a Result of the body that nothing refers to any more."""
        used = {entry.get("internal_layer_id") for entry in port_map_entries(self.layer, "output")}
        used |= {element.get("from-layer") for element in back_edges(self.layer)}
        if id not in used:
            self.body.remove_layer(self.body.layer(id))

    def _remove_input(self, port: str) -> None:
        """Remove an input port that no entry of the port map refers to any more."""
        if any(entry.get("external_port_id") == port for entry in port_map_entries(self.layer, "input")):
            return
        self.net.disconnect((self.layer.get("id"), port))
        for element in input_ports(self.layer):
            if element.get("id") == port:
                element.getparent().remove(element)


def _source_port(edge: Element) -> tuple[str, str]:
    return edge.get("from-layer"), edge.get("from-port")
