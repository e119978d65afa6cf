"""The origin of an IR layer: its name and the names of the nodes that were fused into it (``rt_info``).

OpenVINO's PyTorch front end names layers ``__module.decoder.layers.0/aten::add/Add_3``, its ONNX front end keeps the
names of ONNX nodes; ``fused_names`` of a serialized model lists the original nodes.
"""

from __future__ import annotations

from collections.abc import Callable

from ...graph import UNKNOWN_ORIGIN, Origin
from ...record import record
from .ir_document import IrLayer

#: Limits for the characters of names and for the number of scopes.
_MAX_NAME_CHARS, _MAX_SCOPES = 200, 64
_MODULE_PREFIX = "__module."


@record(frozen=True)
class LazyLayerOrigin:
    """Lazily parsed origin of a layer; calling it returns the origin."""

    layer_name: str
    fused_names: str

    def __call__(self) -> Origin:
        """The origin; an IR has no source lines."""
        return Origin(
            scopes=_module_scopes(self.layer_name),
            framework_node=", ".join(_split_fused_names(self.fused_names))[:_MAX_NAME_CHARS],
        )


def layer_origin_source(layer: IrLayer) -> Origin | Callable[[], Origin]:
    """The origin of a layer; ``UNKNOWN_ORIGIN`` where the IR has none."""
    info = layer.element.find("rt_info")
    fused = [] if info is None else [e.get("value", "") for e in info if e.get("name") == "fused_names"]
    return LazyLayerOrigin(layer.name, fused[0] if fused else "") if fused or "/" in layer.name else UNKNOWN_ORIGIN


def _module_scopes(name: str) -> tuple[str, ...]:
    parts = [part.removeprefix(_MODULE_PREFIX) for part in name.split("/")[:-1]]
    return tuple(part[:_MAX_NAME_CHARS] for part in parts if part and "::" not in part)[:_MAX_SCOPES]


def _split_fused_names(fused: str) -> list[str]:
    return [name.strip() for name in fused.split(",") if name.strip()]
