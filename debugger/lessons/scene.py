"""The subject of a lesson: a model with inputs, and its reference run."""

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

#: The models of the lessons, in the package folder.
MODELS_FOLDER = Path(__file__).parents[2] / "sample_models" / "lessons"
#: The default iteration limit of loops in lessons.
_MAX_ITERATIONS = 10_000


@dataclass(frozen=True, eq=False)
class Scene:
    """A model of the lessons by file name, and its inputs."""

    model: str
    inputs: Mapping[str, Any] = field(default_factory=dict)
    #: The folder of the model.
    folder: Path = MODELS_FOLDER
    #: The reference run stops loops after this many iterations.
    max_iterations: int = _MAX_ITERATIONS

    @property
    def path(self) -> Path:
        return self.folder / self.model

    def load(self) -> Model:
        """Load the model.

        Raises:
            ModelError: the file is not installed.
        """
        if not self.path.is_file() and self.folder == MODELS_FOLDER:
            raise ModelError(
                f"{self.path}: the lessons' models are not installed; reinstall the package", name=self.path.name
            )
        return load(self.path)

    def cached_model(self) -> Model:
        """The model, cached by file for drawing many questions."""
        return _load_cached(self.path, self.path.stat().st_mtime) if self.path.is_file() else self.load()

    def input_arrays(self, model: Model) -> dict[str, Data]:
        """The model's inputs as arrays; those not given come from the file next to the model."""
        defaults: Mapping[str, Data] = {}
        if any(port.name not in self.inputs for port in model.inputs):
            with np.load(self.path.with_suffix(".inputs.npz")) as archive:
                defaults = dict(archive)
        inputs = {**defaults, **self.inputs}
        return {port.name: np.asarray(inputs[port.name], port.dtype) for port in model.inputs}

    def with_inputs(self, **inputs: Any) -> Scene:
        """The scene with some inputs changed."""
        return replace(self, inputs={**self.inputs, **inputs})

    @cached_property
    def reference_run(self) -> SceneRun:
        """A complete run with all boundaries."""
        model = self.cached_model()
        boundaries: dict[str, list[Boundary]] = {}

        def record(frame: Frame) -> None:
            boundaries.setdefault(frame.name, []).append(read_boundary(frame))

        run = model.execute(self.input_arrays(model), on_iteration=record, max_iterations=self.max_iterations)
        return SceneRun(self, run, boundaries)


@lru_cache(maxsize=64)
def _load_cached(path: Path, mtime: float) -> Model:
    return load(path)


@dataclass(frozen=True, eq=False)
class SceneRun:
    """A run of a scene, the basis of grading and replies."""

    scene: Scene
    run: Run
    boundaries: Mapping[str, list[Boundary]]

    def __getitem__(self, name: str) -> Any:
        """An input or an output as a Python value."""
        if name in self.scene.inputs:
            return self.scene.inputs[name]
        return to_python(self.run.outputs[name])

    @property
    def iterations(self) -> int:
        """The number of iterations of the first loop."""
        return self.run.loops[0].iterations

    @property
    def stopped_by(self) -> StoppedBy | None:
        """What ended the first loop."""
        return self.run.loops[0].stopped_by

    def carried_value(self, loop: str, name: str, iteration: int) -> Any:
        """The carried value that an iteration receives; after the last iteration, the loop's result."""
        return to_python(self.boundaries[loop][iteration].carried[name])


def to_python(value: Any) -> Any:
    """Convert arrays and scalars to Python values."""
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else value
