"""Where a node of an ONNX file was written: what exporters put into its metadata, its doc string and its name.

``torch.onnx`` writes ``pkg.torch.onnx.stack_trace``, ``.fx_node`` and ``.name_scopes``, onnxscript's builder
``pkg.onnxscript.name_scopes``, both ``namespace``; torch's older exporter writes the stack into ``doc_string``. A name
with slashes is a path of scopes (tf2onnx, torch's older exporter).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from ...graph import UNKNOWN_ORIGIN, Origin
from ...graph.stack_trace import origin_from_stack_trace
from ...record import record
from .proto import DecodeError, NodeProto, StringStringEntryProto

OriginSource = Origin | Callable[[], Origin]
#: Entries of more bytes are no metadata of a node; they are not kept.
_MAX_ENTRY_BYTES = 1 << 16
#: Of how many scopes, and of how many characters each, anything is kept.
_MAX_SCOPES, _MAX_SCOPE_CHARS = 64, 200
_TORCH, _SCRIPT = "pkg.torch.onnx.", "pkg.onnxscript."
#: ``%mul_2 : [num_users=1] = call_function[...]``
_FX_NODE = re.compile(r"%([\w.]+)")
_QUOTED = re.compile(r"""'([^']*)'|"([^"]*)\"""")
#: What torch calls the module that was exported.
_ROOT_SCOPES = ("", "_export_root", "L__self__")


@record(frozen=True)
class LazyNodeOrigin:
    """What a file says of a node's origin, not yet looked at, since of most nodes nobody asks; called, the origin."""

    entries: Sequence[bytes]
    doc: str
    name: str

    def __call__(self) -> Origin:
        """The origin; what makes no sense is left out."""
        told = dict(_parse_entries(self.entries))
        found = origin_from_stack_trace(told.get(f"{_TORCH}stack_trace", "") or _doc_text(self.doc))
        node = _FX_NODE.match(told.get(f"{_TORCH}fx_node", ""))
        framework_node = "" if node is None else node[1][:_MAX_SCOPE_CHARS]
        return replace(found, scopes=_scopes(told, self.name), framework_node=framework_node)


def node_origin_source(proto: NodeProto, call: OriginSource) -> OriginSource:
    """What tells the origin of a node; ``call``, that of the function call it is inside of, where nothing else does."""
    entries: Sequence[Any] = cast(Any, proto).metadata_props
    if not entries and not proto.doc_string and (call is not UNKNOWN_ORIGIN or "/" not in proto.name):
        return call
    return LazyNodeOrigin(
        [one if type(one) is bytes else _entry_bytes(one) for one in entries], proto.doc_string, proto.name
    )


def _entry_bytes(data: Any) -> bytes:
    """The bytes, apart from the model around them; of a large part of a file none."""
    return bytes(data) if isinstance(data, memoryview) and len(data) <= _MAX_ENTRY_BYTES else b""


def _doc_text(doc: Any) -> str:
    """A doc string; of one that is no text, or longer than any stack, nothing."""
    return doc if isinstance(doc, str) and len(doc) <= _MAX_ENTRY_BYTES else ""


def _parse_entries(entries: Sequence[bytes]) -> list[tuple[str, str]]:
    found = []
    for data in entries:
        try:
            entry = StringStringEntryProto.FromString(data)
        except DecodeError:
            continue
        if isinstance(entry.key, str) and isinstance(entry.value, str):
            found.append((entry.key, entry.value))
    return found


def _scopes(told: Mapping[str, str], name: str) -> tuple[str, ...]:
    """The modules around a node; the last name of the exporters' lists is the node itself."""
    if listed := told.get(f"{_TORCH}name_scopes", ""):
        return _relative_scopes([a or b for a, b in _QUOTED.findall(listed)][:-1])
    if listed := told.get(f"{_SCRIPT}name_scopes", ""):
        return _relative_scopes([a or b for a, b in _QUOTED.findall(listed)])
    return tuple(part[:_MAX_SCOPE_CHARS] for part in name.split("/")[:-1] if part)[:_MAX_SCOPES]


def _relative_scopes(paths: Sequence[str]) -> tuple[str, ...]:
    """``["", "decoder", "decoder.layers.0"]`` -> ``("decoder", "layers.0")``"""
    found = []
    around = ""
    for path in paths[: _MAX_SCOPES + 1]:
        if path in _ROOT_SCOPES:
            around = path
            continue
        inside = path.removeprefix(f"{around}.") if around else path
        found.append(inside[:_MAX_SCOPE_CHARS])
        around = path
    return tuple(found)
