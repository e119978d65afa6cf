"""What is to be done on a card, and how often each of it was."""

from __future__ import annotations

from collections.abc import Mapping

from .key_wording import KeyWording
from .lesson import LessonStep
from .scene import Scene


class StepProgress:
    """Counts the steps of a lesson as they are done; what is to be done in one scene is not done in another."""

    def __init__(self, scenes: Mapping[str, Scene], steps: tuple[LessonStep, ...]) -> None:
        self._steps = steps
        self._counts = [0] * len(steps)
        letter = next(iter(scenes), "")
        self._scenes: list[Scene | None] = []
        for step in steps:
            letter = step.keys.partition(" ")[2] if step.command == "scene" else letter
            self._scenes.append(scenes.get(letter))

    def step_line(self, k: int, voice: KeyWording) -> str:
        """A step as the card has it."""
        step, count = self._steps[k], self._counts[k]
        mark = "✓" if count >= step.times else "·"
        keys = voice(f"`{step.keys}`").strip("`")
        return f"{mark} {keys:<8} {step.description}" + (
            f" ({count} of {step.times})" if 0 < count < step.times else ""
        )

    def next_step_text(self) -> str:
        """The next step in a sentence; empty where all are done."""
        for step, count in zip(self._steps, self._counts, strict=True):
            if count < step.times:
                times = f" ({count + 1} of {step.times})" if step.times > 1 else ""
                return f"Next is `{step.keys}`{times}: {step.description}."
        return ""

    def record_command(self, command: str, rest: str, scene: Scene | None) -> list[int]:
        """Note a command as done; returns the steps that are done now and were not."""
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
        what = step.keys.partition(" ")[2].lower() if step.exact else ""
        here = self._scenes[k] is scene
        return here and self._counts[k] < step.times and step.command == command and what in ("", rest.lower())
