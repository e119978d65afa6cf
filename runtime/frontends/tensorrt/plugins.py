"""What scripts say of plugins: classes of them can be written, and fields filled, but no layer of one can be added."""

from __future__ import annotations

from typing import Any

from .callbacks import Callback
from .setting_enums import PluginFieldType


class PluginField:
    """A named parameter of a plugin."""

    def __init__(self, name: str = "", data: Any = None, type: PluginFieldType = PluginFieldType.UNKNOWN) -> None:
        self.name, self.data, self.type = name, data, type

    @property
    def size(self) -> int:
        return 0 if self.data is None else len(self.data)


class PluginFieldCollection(list[PluginField]):
    """The parameters of a plugin."""


class IPluginCreator(Callback):
    """Makes a plugin in an older form."""

    def create_plugin(self, name: str, field_collection: Any) -> None:
        """What a script's own creator makes of these."""


class IPluginCreatorV3One(Callback):
    """Makes a plugin."""

    def create_plugin(self, name: str, field_collection: Any, phase: Any) -> None:
        """What a script's own creator makes of these."""


class IPluginCapability(Callback):
    """Part of a plugin."""


class IPluginV2(Callback):
    """A plugin in its oldest form."""


class IPluginV2DynamicExt(IPluginV2):
    """A plugin in an older form."""


class IPluginV3(Callback):
    """A plugin."""


class IPluginV3OneCore(IPluginCapability):
    """Part of a plugin."""


class IPluginV3OneBuild(IPluginCapability):
    """Part of a plugin."""


class IPluginV3OneRuntime(IPluginCapability):
    """Part of a plugin."""


class IPluginResourceContext(Callback):
    """What a plugin is given of an engine."""


class IExprBuilder(Callback):
    """Builds sizes of a plugin's outputs."""


class DimsExprs(Callback):
    """Such sizes."""


class PluginTensorDesc(Callback):
    """What a plugin is told of a tensor."""


class DynamicPluginTensorDesc(Callback):
    """The same, with bounds."""
