"""What ``--against`` names: another runtime, or an exported program of PyTorch."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

from ..config import PEERS

TORCH = "torch"


@dataclass(frozen=True)
class Against:
    """``torch:FILE`` or the name of a runtime, with what stands behind its colon in ``rest``: the file, or a device."""

    name: str
    rest: str = ""

    @property
    def is_torch(self) -> bool:
        """It is a program of PyTorch, and ``rest`` its file."""
        return self.name == TORCH

    @property
    def text(self) -> str:
        """As it was written."""
        return f"{self.name}:{self.rest}" if self.rest else self.name


def against(text: str) -> Against:
    """What the option's text means.

    Raises:
        argparse.ArgumentTypeError: it is none of those that there are.
    """
    name, colon, rest = text.partition(":")
    if (name == TORCH and rest) or (name in PEERS and (rest or not colon)):
        return Against(name, rest)
    if name in PEERS:
        raise argparse.ArgumentTypeError(f"'{text}' names no device: write {name}, or {name}:{PEERS[name]}")
    raise argparse.ArgumentTypeError(f"there is no peer '{name}'; peers are {', '.join(PEERS)}, torch:FILE.pt2")


def peer(text: str) -> str:
    """A runtime, with its device where one is named.

    Raises:
        argparse.ArgumentTypeError: there is none of that name.
    """
    found = against(text)
    if found.is_torch:
        raise argparse.ArgumentTypeError(f"'{text}' is a program, and a runtime is needed: {', '.join(PEERS)}")
    return found.text
