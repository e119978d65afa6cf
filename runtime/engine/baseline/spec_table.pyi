from typing import Any

import numpy as np

class SpecTable:
    """Number -> (dtype, shape)."""

    def __len__(self) -> int: ...
    def __getitem__(self, spec: int) -> tuple[np.dtype[Any], tuple[int, ...]] | None: ...
