"""Mode questions for loops of arbitrary models, without variants of the body in other rows."""

from __future__ import annotations

from ...runtime.errors import UsageError
from .loop_modes import find_mode
from .mode_question import MAX_ITERATIONS, ModeQuestion
from .scene import Scene


def mode_drill(scene: Scene) -> ModeQuestion:
    """Create the question for the mode of the first loop of a scene's model.

    Raises:
        UsageError: the model has no loop, or no row of the table matches.
    """
    model = scene.cached_model()
    if not model.loops:
        raise UsageError(f"{scene.path.name} has no loop whose mode could be asked for")
    try:
        find_mode(model)
    except StopIteration:
        raise UsageError(f"the loop of {scene.path.name} is in no row of its system's table") from None
    name = model.loops[0].name
    return ModeQuestion(
        Scene(scene.model, scene.inputs, scene.folder, MAX_ITERATIONS), f"loop '{name}' of {scene.model}", {}
    )
