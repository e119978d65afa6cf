"""How often what is tried at random is tried."""

from __future__ import annotations

import os
from typing import Any

from hypothesis import settings

#: The least that shows something of each kind.
LEAST = 25


def tried(times: int, **more: Any) -> settings:
    """So many examples with LOOPDBG_ALL_EXAMPLES, and a third of them without; ``more`` as for ``settings``."""
    if "LOOPDBG_ALL_EXAMPLES" not in os.environ:
        times = min(times, max(LEAST, times // 3))
    return settings(max_examples=times, **more)
