"""The subject of a lesson: a model with inputs, and what running it gives."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from ...runtime.errors import ModelError
from ...runtime.frame import Frame
from ...runtime.graph import StoppedBy
from ...runtime.model import Data, Model, Run, load
from ..session.boundary import Boundary, read_boundary

#: The models of the lessons, beside the package's code.
MODELS_FOLDER = Path(__file__).parents[2] / "lesson_models"
#: No lesson runs a loop longer than this to its end.
_MAX_ITERATIONS = 10_000


@dataclass(frozen=True, eq=False)
class Scene:
    """A model of the lessons by its file's name, and its inputs."""

    model: str
    inputs: Mapping[str, Any] = field(default_factory=dict)
    #: Where the model is.
    folder: Path = MODELS_FOLDER
    #: A loop that runs longer is played no further.
    max_iterations: int = _MAX_ITERATIONS

    @property
    def path(self) -> Path:
        return self.folder / self.model

    def load(self) -> Model:
        """The model.

        Raises:
            ModelError: its file is not where the package has it.
        """
        if not self.path.is_file() and self.folder == MODELS_FOLDER:
            raise ModelError(f"{self.path}: the lessons' models are not installed; install the package anew")
        return load(self.path)

    def cached_model(self) -> Model:
        """The model to be played or read: of one file once, however many questions are drawn."""
        return _load_cached(self.path, self.path.stat().st_mtime) if self.path.is_file() else self.load()

    def input_arrays(self, model: Model) -> dict[str, Data]:
        """The inputs as the model takes them; those that are not named here are those beside the model."""
        beside: Mapping[str, Data] = {}
        if any(port.name not in self.inputs for port in model.inputs):
            with np.load(self.path.with_suffix(".inputs.npz")) as archive:
                beside = dict(archive)
        given = {**beside, **self.inputs}
        return {port.name: np.asarray(given[port.name], port.dtype) for port in model.inputs}

    def with_inputs(self, **inputs: Any) -> Scene:
        """The same with some inputs changed."""
        return replace(self, inputs={**self.inputs, **inputs})

    @cached_property
    def reference_run(self) -> SceneRun:
        """What it gives when it is run to its end."""
        model = self.cached_model()
        boundaries: dict[str, list[Boundary]] = {}

        def see(frame: Frame) -> None:
            boundaries.setdefault(frame.name, []).append(read_boundary(frame))

        run = model.execute(self.input_arrays(model), on_iteration=see, max_iterations=self.max_iterations)
        return SceneRun(self, run, boundaries)


@lru_cache(maxsize=64)
def _load_cached(path: Path, changed: float) -> Model:
    return load(path)


@dataclass(frozen=True, eq=False)
class SceneRun:
    """A run of a scene: what questions are checked against, and what replies tell of."""

    scene: Scene
    run: Run
    boundaries: Mapping[str, list[Boundary]]

    def __getitem__(self, name: str) -> Any:
        """An input or an output, in Python's own types."""
        if name in self.scene.inputs:
            return self.scene.inputs[name]
        return to_python(self.run.outputs[name])

    @property
    def iterations(self) -> int:
        """How often the first loop ran."""
        return self.run.loops[0].iterations

    @property
    def stopped_by(self) -> StoppedBy | None:
        """What ended the first loop."""
        return self.run.loops[0].stopped_by

    def carried_value(self, loop: str, name: str, iteration: int) -> Any:
        """What an iteration received as a carried value; behind the last one, what the loop gives."""
        return to_python(self.boundaries[loop][iteration].carried[name])


def to_python(value: Any) -> Any:
    """A value in Python's own types."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
