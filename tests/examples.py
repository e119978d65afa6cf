"""How often what is tried at random is tried."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

ALL = "LOOPDBG_ALL_EXAMPLES" in os.environ
#: The least that shows something of each kind.
LEAST = 25


def tried(times: int, **more: Any) -> settings:
    """So many examples with LOOPDBG_ALL_EXAMPLES, and a third of them without; ``more`` as for ``settings``."""
    if not ALL:
        times = min(times, max(LEAST, times // 3))
    return settings(max_examples=times, **more)
