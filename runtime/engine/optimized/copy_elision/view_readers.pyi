from collections.abc import Callable
from typing import Any

bind_with_views: Callable[..., Any]

class ViewReaders: ...
