"""Text with expressions in it, as in ``x = {x}, moved by {norm(delta(x))}``: what logpoints print."""

from __future__ import annotations

from .language import Expression, ExpressionError, Scope, format_value, parse
from .tokens import mask_quoted

#: Columns for one value.
_VALUE_WIDTH = 60


class LogTemplate:
    """Text parsed once; ``{{`` and ``}}`` stand for braces.

    Raises:
        ExpressionError: a brace is not closed, or what is inside is no expression.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._parts: list[str | Expression] = []
        plain = ""
        k = 0
        while k < len(text):
            if text[k : k + 2] in ("{{", "}}"):
                plain += text[k]
                k += 2
            elif text[k] == "{":
                # A name or a string may hold a brace.
                end = k + 1 + mask_quoted(text[k + 1 :]).find("}")
                if end <= k:
                    raise ExpressionError(text, k, "this brace is not closed", "{{ stands for a brace")
                self._parts += [plain, parse(text[k + 1 : end])]
                plain = ""
                k = end + 1
            else:
                plain += text[k]
                k += 1
        self._parts.append(plain)

    def __str__(self) -> str:
        return self.text

    @property
    def expressions(self) -> list[Expression]:
        """What has to be known for it."""
        return [part for part in self._parts if isinstance(part, Expression)]

    def format(self, scope: Scope) -> str:
        """The text with the values of a scope; what has no value there is said in brackets."""
        told = []
        for part in self._parts:
            if isinstance(part, Expression):
                try:
                    told.append(format_value(part.evaluate(scope), _VALUE_WIDTH))
                except ExpressionError as error:
                    told.append(f"<{error.problem}>")
            else:
                told.append(part)
        return "".join(told)
