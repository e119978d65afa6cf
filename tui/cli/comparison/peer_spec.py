"""Values of ``--against``: another runtime, any program, or an exported PyTorch program."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from dataclasses import dataclass

from ...config import PEER_EXAMPLE_DEVICES

TORCH, COMMAND = "torch", "cmd"


@dataclass(frozen=True)
class PeerSpec:
    """``torch:FILE``, ``cmd:COMMAND`` or the name of a runtime; ``argument``: the file, command or device after the
    colon."""

    name: str
    argument: str = ""

    @property
    def is_torch(self) -> bool:
        """Whether it is a PyTorch program."""
        return self.name == TORCH

    @property
    def text(self) -> str:
        """The text of the option."""
        return f"{self.name}:{self.argument}" if self.argument else self.name


def parse_peer_spec(text: str) -> PeerSpec:
    """An argparse type: a peer.

    Raises:
        argparse.ArgumentTypeError: There is no such peer.
    """
    name, colon, rest = text.partition(":")
    if name == COMMAND:
        _validate_placeholders(rest)
        return PeerSpec(name, rest)
    if (name == TORCH and rest) or (name in PEER_EXAMPLE_DEVICES and (rest or not colon)):
        return PeerSpec(name, rest)
    if name in PEER_EXAMPLE_DEVICES:
        raise argparse.ArgumentTypeError(
            f"'{text}' names no device: write {name}, or {name}:{PEER_EXAMPLE_DEVICES[name]}"
        )
    others = "torch:FILE.pt2, cmd:PROGRAM {model} {inputs} {outputs}"
    raise argparse.ArgumentTypeError(
        f"there is no peer '{name}'; peers are {', '.join(PEER_EXAMPLE_DEVICES)}, {others}"
    )


def parse_check_command(text: str) -> str:
    """An argparse type: a command that tests a model.

    Raises:
        argparse.ArgumentTypeError: It is not a command, or lacks ``{model}``.
    """
    _validate_placeholders(text, ("{model}",))
    return text


def _validate_placeholders(text: str, required: Sequence[str] = ()) -> None:
    """``required``: the placeholders that it must have; by default all."""
    # Imported lazily: --help needs none of it.
    from ....debugger.peers.command_template import PLACEHOLDERS, split_command
    from ....runtime.errors import UsageError

    try:
        split_command(text, required or PLACEHOLDERS)
    except UsageError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def parse_runtime(text: str) -> str:
    """An argparse type: a runtime, optionally with its device.

    Raises:
        argparse.ArgumentTypeError: There is no such runtime.
    """
    spec = parse_peer_spec(text)
    if spec.is_torch:
        raise argparse.ArgumentTypeError(
            f"'{text}' is a program, and a runtime is needed: {', '.join(PEER_EXAMPLE_DEVICES)}"
        )
    return spec.text
