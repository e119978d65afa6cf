"""The progress of the steps on a card."""

from __future__ import annotations

from collections.abc import Mapping

from .key_wording import KeyWording
from .lesson import LessonStep
from .scene import Scene


class StepProgress:
    """Counts completed steps of a lesson; a step counts only in its own scene."""

    def __init__(self, scenes: Mapping[str, Scene], steps: tuple[LessonStep, ...]) -> None:
        self._steps = steps
        self._counts = [0] * len(steps)
        letter = next(iter(scenes), "")
        self._scenes: list[Scene | None] = []
        for step in steps:
            letter = step.keys.partition(" ")[2] if step.command == "scene" else letter
            self._scenes.append(scenes.get(letter))

    def step_line(self, k: int, wording: KeyWording) -> str:
        """The line of a step on the card."""
        step, count = self._steps[k], self._counts[k]
        mark = "✓" if count >= step.times else "·"
        keys = wording(f"`{step.keys}`").strip("`")
        return f"{mark} {keys:<8} {step.description}" + (
            f" ({count} of {step.times})" if 0 < count < step.times else ""
        )

    def next_step_text(self) -> str:
        """The next step as a sentence; empty if all are done."""
        for step, count in zip(self._steps, self._counts, strict=True):
            if count < step.times:
                times = f" ({count + 1} of {step.times})" if step.times > 1 else ""
                return f"Next is `{step.keys}`{times}: {step.description}."
        return ""

    def record_command(self, command: str, rest: str, scene: Scene | None) -> list[int]:
        """Record a command; returns the newly completed steps."""
        done = []
        for _ in range(int(rest) if rest.isdecimal() else 1):
            k = next((k for k in range(len(self._steps)) if self._step_matches(k, command, rest, scene)), None)
            if k is None:
                break
            self._counts[k] += 1
            done += [k] if self._counts[k] == self._steps[k].times else []
        return done

    def _step_matches(self, k: int, command: str, rest: str, scene: Scene | None) -> bool:
        step = self._steps[k]
        argument = step.keys.partition(" ")[2].lower() if step.exact else ""
        in_scene = self._scenes[k] is scene
        return in_scene and self._counts[k] < step.times and step.command == command and argument in ("", rest.lower())
