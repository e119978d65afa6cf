"""Parser of the inputs of ``restart``: ``x0=5 limit=x0+1``."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from ....runtime.errors import UsageError
from ....runtime.graph import TensorType
from ....runtime.input_validation import resolve_aliases
from ....runtime.model import Data, Model
from ...describe.value_names import mask_quoted, unquote
from ...expression.expression import Scope, parse

#: A name and its assignment sign; comparisons and function arguments do not match.
_ASSIGNMENT = re.compile(r"(?:^|(?<=[\s,]))([^\s,=<>!()\[\]]+)\s*=(?!=)\s*")


def map_inputs(text: str, model: Model, scope: Scope) -> Mapping[str, Data]:
    """The inputs in a text, each with the value of its expression.

    Raises:
        UsageError: it has no input, or one twice, or a value is invalid.
    """
    types = {port.name: port.type for port in model.inputs}
    inputs: dict[str, Data] = {}
    for name, expression in _split_assignments(text):
        [full_name] = resolve_aliases(model.graph, {name: None})
        if full_name in inputs:
            raise UsageError(f"'{name}' is given twice", name=name, expected="given once")
        inputs[full_name] = _to_plain_number(parse(expression).evaluate(scope), types.get(full_name))
    return inputs


def _split_assignments(text: str) -> Iterator[tuple[str, str]]:
    """Names and the texts of their values."""
    masked = mask_quoted(text)
    signs = [sign for sign in _ASSIGNMENT.finditer(masked) if not _bracket_depth(masked[: sign.start()])]
    if not signs or masked[: signs[0].start()].strip():
        raise UsageError(
            f"restart takes inputs as NAME=VALUE, as in restart x0=5, not '{text}'", expected="NAME=VALUE", got=text
        )
    for sign, next_sign in zip(signs, [*signs[1:], None], strict=True):
        value = text[sign.end() : len(text) if next_sign is None else next_sign.start()].strip().rstrip(",")
        yield unquote(text[sign.start(1) : sign.end(1)]), value


def _bracket_depth(text: str) -> int:
    """The number of open brackets at the end of a text."""
    return sum((sign in "([") - (sign in ")]") for sign in text)


def _to_plain_number(value: Any, declared: Any) -> Data:
    """Convert a number to a plain one if its dtype differs from the input's, so that the input can convert it."""
    is_numeric = isinstance(value, np.ndarray | np.generic) and not np.asarray(value).dtype.hasobject
    if is_numeric and isinstance(declared, TensorType) and declared.dtype not in (None, np.asarray(value).dtype):
        return value.tolist()
    return value
