from collections.abc import Callable
from typing import Any

bind_through: Callable[..., Any]

class Readers: ...
