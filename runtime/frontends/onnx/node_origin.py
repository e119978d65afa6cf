"""The source location of an ONNX node, from its metadata, doc string and name.

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
from ...record import record
from .proto import DecodeError, NodeProto, StringStringEntryProto

OriginSource = Origin | Callable[[], Origin]
#: Larger entries are not node metadata and are ignored.
_MAX_ENTRY_BYTES = 1 << 16
#: Limits for the number of scopes and for the characters of each.
_MAX_SCOPES, _MAX_SCOPE_CHARS = 64, 200
_TORCH, _SCRIPT = "pkg.torch.onnx.", "pkg.onnxscript."
#: ``%mul_2 : [num_users=1] = call_function[...]``
# Compiled at their first use: a run does not ask for origins.
_FX_NODE = r"%([\w.]+)"
_QUOTED = r"""'([^']*)'|"([^"]*)\""""
#: torch's names for the exported module.
_ROOT_SCOPES = ("", "_export_root", "L__self__")


@record(frozen=True)
class LazyNodeOrigin:
    """Lazily decoded origin of a node, as most are never used; calling it returns the origin."""

    entries: Sequence[bytes]
    doc: str
    name: str

    def __call__(self) -> Origin:
        """The origin; invalid entries are ignored."""
        from ...graph.stack_trace import origin_from_stack_trace

        metadata = dict(_parse_metadata_entries(self.entries))
        origin = origin_from_stack_trace(metadata.get(f"{_TORCH}stack_trace", "") or _doc_text(self.doc))
        fx_node = re.match(_FX_NODE, metadata.get(f"{_TORCH}fx_node", ""))
        framework_node = "" if fx_node is None else fx_node[1][:_MAX_SCOPE_CHARS]
        return replace(origin, scopes=_module_scopes(metadata, self.name), framework_node=framework_node)


def node_origin_source(proto: NodeProto, call: OriginSource) -> OriginSource:
    """The origin of a node; without any, ``call``, that of the enclosing function call."""
    entries: Sequence[Any] = cast(Any, proto).metadata_props
    if not entries and not proto.doc_string and (call is not UNKNOWN_ORIGIN or "/" not in proto.name):
        return call
    return LazyNodeOrigin(
        [entry if type(entry) is bytes else _copy_small_bytes(entry) for entry in entries], proto.doc_string, proto.name
    )


def _copy_small_bytes(data: Any) -> bytes:
    """A copy of the bytes, so that the model can be freed; empty for a large slice of a file."""
    return bytes(data) if isinstance(data, memoryview) and len(data) <= _MAX_ENTRY_BYTES else b""


def _doc_text(doc: Any) -> str:
    """A doc string; empty if it is not text, or longer than any stack trace."""
    return doc if isinstance(doc, str) and len(doc) <= _MAX_ENTRY_BYTES else ""


def _parse_metadata_entries(entries: Sequence[bytes]) -> list[tuple[str, str]]:
    entries_read = []
    for data in entries:
        try:
            entry = StringStringEntryProto.FromString(data)
        except DecodeError:
            continue
        if isinstance(entry.key, str) and isinstance(entry.value, str):
            entries_read.append((entry.key, entry.value))
    return entries_read


def _module_scopes(metadata: Mapping[str, str], name: str) -> tuple[str, ...]:
    """The modules around a node; the last name in torch's list is the node itself."""
    if names := metadata.get(f"{_TORCH}name_scopes", ""):
        return _relative_scopes([a or b for a, b in re.findall(_QUOTED, names)][:-1])
    if names := metadata.get(f"{_SCRIPT}name_scopes", ""):
        return _relative_scopes([a or b for a, b in re.findall(_QUOTED, names)])
    return tuple(part[:_MAX_SCOPE_CHARS] for part in name.split("/")[:-1] if part)[:_MAX_SCOPES]


def _relative_scopes(paths: Sequence[str]) -> tuple[str, ...]:
    """``["", "decoder", "decoder.layers.0"]`` -> ``("decoder", "layers.0")``"""
    scopes = []
    parent = ""
    for path in paths[: _MAX_SCOPES + 1]:
        if path in _ROOT_SCOPES:
            parent = path
            continue
        relative = path.removeprefix(f"{parent}.") if parent else path
        scopes.append(relative[:_MAX_SCOPE_CHARS])
        parent = path
    return tuple(scopes)
