"""Asks for the mode of any loop of a model: one whose body is in no other row of the table."""

from __future__ import annotations

from ...runtime.errors import UsageError
from .classify import MOST, ModeQuestion
from .modes import row_of
from .scene import Scene


def mode_of(scene: Scene) -> ModeQuestion:
    """Which mode the first loop of a scene's model is in.

    Raises:
        UsageError: the model has no loop, or its table has no row for it.
    """
    model = scene.known()
    if not model.loops:
        raise UsageError(f"{scene.path.name} has no loop whose mode could be asked for")
    try:
        row_of(model)
    except StopIteration:
        raise UsageError(f"the loop of {scene.path.name} is in no row of its system's table") from None
    name = model.loops[0].name
    return ModeQuestion(Scene(scene.model, scene.inputs, scene.folder, MOST), f"loop '{name}' of {scene.model}", {})
