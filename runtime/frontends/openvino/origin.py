"""Where a layer of an IR was made: its name and the names of the nodes that were fused into it (``rt_info``).

OpenVINO's PyTorch front end calls layers ``__module.decoder.layers.0/aten::add/Add_3``, its ONNX front end as the ONNX
node is called; ``fused_names`` of a serialized model lists what the layer was before OpenVINO changed it.
"""

from __future__ import annotations

from collections.abc import Callable

from ...graph import NOWHERE, Origin
from ...record import record
from .xml import Layer

#: Of the names, and of how many of them, anything is kept.
_LONGEST, _SCOPES = 200, 64
_MODULE = "__module."


@record(frozen=True)
class Names:
    """What an IR says of a layer's origin, not yet looked at; called, the origin."""

    own: str
    fused: str

    def __call__(self) -> Origin:
        """The origin: an IR knows no lines."""
        return Origin(scopes=_scopes(self.own), framework_node=", ".join(_names(self.fused))[:_LONGEST])


def source_of(layer: Layer) -> Origin | Callable[[], Origin]:
    """What tells the origin of a layer; ``NOWHERE`` where nothing does."""
    info = layer.element.find("rt_info")
    told = [] if info is None else [one.get("value", "") for one in info if one.get("name") == "fused_names"]
    return Names(layer.name, told[0] if told else "") if told or "/" in layer.name else NOWHERE


def _scopes(name: str) -> tuple[str, ...]:
    parts = [part.removeprefix(_MODULE) for part in name.split("/")[:-1]]
    return tuple(part[:_LONGEST] for part in parts if part and "::" not in part)[:_SCOPES]


def _names(fused: str) -> list[str]:
    return [name.strip() for name in fused.split(",") if name.strip()]
