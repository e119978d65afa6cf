"""What ``--against`` names: another runtime, or an exported program of PyTorch."""

from __future__ import annotations

import argparse
from dataclasses import dataclass

#: Runtimes that are run live.
PEERS = ("onnxruntime", "openvino")
TORCH = "torch"


@dataclass(frozen=True)
class Against:
    """``torch:FILE`` or the name of a runtime, with what stands behind its colon in ``rest``."""

    name: str
    rest: str = ""

    @property
    def is_torch(self) -> bool:
        """It is a program of PyTorch, and ``rest`` its file."""
        return self.name == TORCH


def against(text: str) -> Against:
    """What the option's text means.

    Raises:
        argparse.ArgumentTypeError: it is none of those that there are.
    """
    name, colon, rest = text.partition(":")
    if name == TORCH and rest:
        return Against(name, rest)
    if name in PEERS and not colon:
        return Against(name)
    raise argparse.ArgumentTypeError(f"'{text}' is none of {', '.join(PEERS)}, torch:FILE.pt2")
