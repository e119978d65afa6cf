"""What ``--against`` names: another runtime, or an exported program of PyTorch."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from ...config import PEER_EXAMPLE_DEVICES

TORCH = "torch"


@dataclass(frozen=True)
class PeerSpec:
    """``torch:FILE`` or the name of a runtime, with what stands behind its colon in ``rest``: the file, or a device."""

    name: str
    argument: str = ""

    @property
    def is_torch(self) -> bool:
        """It is a program of PyTorch, and ``rest`` its file."""
        return self.name == TORCH

    @property
    def text(self) -> str:
        """As it was written."""
        return f"{self.name}:{self.argument}" if self.argument else self.name


def parse_peer_spec(text: str) -> PeerSpec:
    """What the option's text means.

    Raises:
        argparse.ArgumentTypeError: it is none of those that there are.
    """
    name, colon, rest = text.partition(":")
    if (name == TORCH and rest) or (name in PEER_EXAMPLE_DEVICES and (rest or not colon)):
        return PeerSpec(name, rest)
    if name in PEER_EXAMPLE_DEVICES:
        raise argparse.ArgumentTypeError(
            f"'{text}' names no device: write {name}, or {name}:{PEER_EXAMPLE_DEVICES[name]}"
        )
    raise argparse.ArgumentTypeError(
        f"there is no peer '{name}'; peers are {', '.join(PEER_EXAMPLE_DEVICES)}, torch:FILE.pt2"
    )


def parse_runtime(text: str) -> str:
    """A runtime, with its device where one is named.

    Raises:
        argparse.ArgumentTypeError: there is none of that name.
    """
    found = parse_peer_spec(text)
    if found.is_torch:
        raise argparse.ArgumentTypeError(
            f"'{text}' is a program, and a runtime is needed: {', '.join(PEER_EXAMPLE_DEVICES)}"
        )
    return found.text
