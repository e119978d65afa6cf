"""From tokens to a tree, by how tightly operators bind. What stands behind a value, [...] and @, binds tightest."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, NoReturn, TypeVar

from ...runtime.text import near
from .errors import ExpressionError
from .functions import FUNCTIONS
from .nodes import Binary, Call, Compare, Constant, Index, Items, Logic, Name, Node, Past, Range, Rest, State, Unary
from .tokens import CONSTANTS, PAST_FUNCTIONS, STATE_WORDS, Token, TokenKind, tokenize

#: Brackets and powers inside one another, each of which takes a dozen calls to read; Python allows 1 000.
MAX_NESTING = 30
#: The depth of trees, which sums of many terms have too: every later step walks them by recursion.
MAX_DEPTH = 100
#: How tightly operators bind.
_ANY, _NOT, _COMPARE, _SIGNED, _POWER = 1, 3, 4, 7, 8
_LEVELS = {
    "or": 1,
    "and": 2,
    **dict.fromkeys(("<", "<=", ">", ">=", "==", "!="), _COMPARE),
    **dict.fromkeys("+-", 5),
    **dict.fromkeys(("*", "/", "//", "%"), 6),
    "**": _POWER,
}
_Read = TypeVar("_Read")


def parse_tree(text: str) -> Node:
    """The tree of an expression.

    Raises:
        ExpressionError: the text is no expression.
    """
    if not text.strip():
        raise ExpressionError(text, 0, "an empty expression")
    parser = _Parser(text)
    tree = parser.expression()
    if parser.token.kind is not TokenKind.END:
        parser.unexpected("an operator or the end")
    return tree


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokenize(text)
        self.at = 0
        self.nesting = 0

    # -- tokens

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def is_sign(self, *signs: str) -> bool:
        return self.token.kind is TokenKind.SIGN and self.token.value in signs

    def take(self) -> Token:
        """The token, which is not the last, and on to the next."""
        self.at += 1
        return self.tokens[self.at - 1]

    def close(self, sign: str, opened: Token) -> None:
        if self.is_sign(sign):
            self.take()
        elif self.token.kind is TokenKind.END:
            self.fail(f"'{opened.value}' is not closed", opened.position)
        else:
            self.unexpected(f"'{sign}'")

    def several(self, closing: str, read: Callable[[], _Read]) -> tuple[_Read, ...]:
        """What stands between brackets, the first of which comes next."""
        opened = self.take()
        found: list[_Read] = []
        while not self.is_sign(closing):
            found.append(read())
            if not self.is_sign(","):
                break
            self.take()
        self.close(closing, opened)
        return tuple(found)

    # -- errors

    def fail(self, problem: str, position: int, hint: str = "") -> NoReturn:
        raise ExpressionError(self.text, position, problem, hint)

    def unexpected(self, wanted: str) -> NoReturn:
        token = self.token
        if token.kind is TokenKind.END:
            self.fail(f"it ends where {wanted} should come", token.position)
        hint = f"{wanted} should come here"
        if self.is_sign("="):
            hint = "write '==' to compare"
        elif self.is_sign("/", ":"):
            hint = "names with such characters are written between backquotes: `/rnn/h:0`"
        self.fail(f"unexpected {self.text[token.position : token.end]!r}", token.position, hint)

    def checked(self, node: Node) -> Node:
        if node.depth > MAX_DEPTH:
            self.fail(f"more than {MAX_DEPTH} operations on top of one another", node.position)
        return node

    # -- operators

    def expression(self, least: int = _ANY) -> Node:
        """Whatever an expression can be, inside of brackets for instance."""
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            self.fail(f"nested more than {MAX_NESTING} deep", self.token.position)
        tree = self.operators(least)
        self.nesting -= 1
        return tree

    def level(self) -> int:
        """How tightly the operator binds that comes next; 0: none comes."""
        return _LEVELS.get(self.token.value, 0) if self.token.kind is TokenKind.SIGN else 0

    def operators(self, least: int) -> Node:
        """Operators that bind at least so tightly, and their operands."""
        tree = self.prefixed(least)
        while (level := self.level()) >= least:
            signs, operands = [], [tree]
            while self.level() == level:
                signs.append(self.take())
                # To the right first: 2 ** 3 ** 2 is 2 ** 9, and 2 ** -1 is allowed.
                operands.append(self.expression(_SIGNED) if level == _POWER else self.operators(level + 1))
            tree = self.joined(level, signs, operands)
        return tree

    def prefixed(self, least: int) -> Node:
        """An operand, with what stands before it where that may stand there: ``not``, or signs."""
        for signs, level, inside in ((("not",), _NOT, _COMPARE), (("+", "-"), _SIGNED, _POWER)):
            if least <= level and self.is_sign(*signs):
                taken = []
                while self.is_sign(*signs):
                    taken.append(self.take())
                tree = self.operators(inside)
                for token in reversed(taken):
                    tree = self.checked(Unary(position=token.position, sign=token.value, operand=tree))
                return tree
        return self.operand()

    def joined(self, level: int, signs: list[Token], operands: list[Node]) -> Node:
        """Operands of one level, with the operators between them."""
        first, words = signs[0].position, [token.value for token in signs]
        if level < _NOT:
            return self.checked(Logic(position=first, word=words[0], operands=tuple(operands)))
        if level == _COMPARE:
            positions = tuple(token.position for token in signs)
            return self.checked(
                Compare(position=first, signs=tuple(words), operands=tuple(operands), positions=positions)
            )
        tree = operands[0]
        for token, right in zip(signs, operands[1:], strict=True):
            tree = self.checked(Binary(position=token.position, sign=token.value, left=tree, right=right))
        return tree

    def operand(self) -> Node:
        tree = self.checked(self.atom())
        while True:
            at = self.token.position
            if self.is_sign("["):
                entries = self.several("]", self.entry)
                if not entries:
                    self.fail("an empty index", at)
                tree = self.checked(Index(position=at, operand=tree, entries=entries))
            elif self.is_sign("@"):
                self.take()
                tree = self.checked(self.past("at", tree, at, self.iteration()))
            elif self.is_sign("("):
                self.fail("only the functions of the language can be called", at)
            else:
                return tree

    def entry(self) -> Node:
        """One entry of an index."""
        position = self.token.position
        if self.is_sign("..."):
            self.take()
            return Rest(position=position)
        parts: list[Node | None] = [None]
        while True:
            if self.is_sign(":") and len(parts) < 3:
                self.take()
                parts.append(None)
            elif parts[-1] is None and not self.is_sign(",", "]"):
                parts[-1] = self.expression()
            else:
                break
        if len(parts) > 1:
            start, stop, step = (*parts, None)[:3]
            return Range(position=position, start=start, stop=stop, step=step)
        if parts[0] is None:
            self.unexpected("an index")
        return parts[0]

    # -- other iterations

    def iteration(self) -> Node:
        token = self.token
        if token.kind is TokenKind.NUMBER:
            if not isinstance(token.value, int):
                self.fail("iterations are whole numbers", token.position)
            return Constant(position=self.take().position, value=token.value)
        if self.is_sign("("):
            return self.between_parentheses()
        self.fail("after '@' comes an iteration", token.position, "write x@40 or x@(iter - 3)")

    def past(
        self, moment: Literal["prev", "init", "at", "all"], operand: Node, position: int, when: Node | None = None
    ) -> Past:
        if any(isinstance(node, Past) for node in operand.walk()):
            self.fail("an earlier iteration of an earlier iteration", position, "write x@(iter - 2) for two back")
        return Past(position=position, moment=moment, operand=operand, when=when)

    # -- what stands alone

    def atom(self) -> Node:
        token = self.token
        if token.kind in (TokenKind.NUMBER, TokenKind.TEXT):
            return Constant(position=self.take().position, value=token.value)
        if token.kind is TokenKind.NAME:
            return Name(position=self.take().position, name=token.value)
        if token.kind is TokenKind.WORD:
            return self.word()
        if self.is_sign("("):
            return self.between_parentheses()
        if self.is_sign("["):
            return Items(position=token.position, items=self.several("]", self.expression))
        self.unexpected("a value")

    def between_parentheses(self) -> Node:
        opened = self.take()
        tree = self.expression()
        if self.is_sign(","):
            self.fail("unexpected ','", self.token.position, "lists are written [1, 2]")
        self.close(")", opened)
        return tree

    def word(self) -> Node:
        word, position = self.token.value, self.take().position
        if word in CONSTANTS:
            return Constant(position=position, value=CONSTANTS[word])
        if word in STATE_WORDS:
            return State(position=position, word=word)
        if not self.is_sign("("):
            return Name(position=position, name=word)
        if word in FUNCTIONS:
            return self.call(word, position)
        if word not in PAST_FUNCTIONS:
            known = (*FUNCTIONS, *PAST_FUNCTIONS)
            names = " or ".join(map(repr, near(word, known)))
            hint = f"did you mean {names}?" if names else "there are " + ", ".join(sorted(known))
            self.fail(f"no function {word!r}", position, hint)
        operands = self.several(")", self.expression)
        if len(operands) != 1:
            self.fail(f"{word}(x) takes one value", position)
        (operand,) = operands
        if word == "history":
            if not isinstance(operand, Name):
                self.fail("history(x) takes the name of a value", position)
            return self.past("all", operand, position)
        if word != "delta":
            return self.past("init" if word == "init" else "prev", operand, position)
        before = self.past("prev", operand, position)
        return Binary(position=position, sign="-", left=operand, right=before)

    def call(self, word: str, position: int) -> Node:
        function = FUNCTIONS[word]
        given: dict[str, Node] = {}

        def argument() -> None:
            at = self.token.position
            after = self.tokens[self.at + 1 : self.at + 2]
            if self.token.kind is TokenKind.WORD and after[0].kind is TokenKind.SIGN and after[0].value == "=":
                parameter = self.take().value
                self.take()
                if parameter not in function.parameters:
                    self.fail(f"no parameter {parameter!r}: {function.usage}", at)
            elif len(given) < len(function.parameters):
                parameter = function.parameters[len(given)]
            else:
                self.fail(f"too many arguments: {function.usage}", at)
            if parameter in given:
                self.fail(f"'{parameter}' is given twice", at)
            given[parameter] = self.expression()

        self.several(")", argument)
        missing = [p for p in function.parameters[: function.required] if p not in given]
        if missing:
            self.fail(f"'{missing[0]}' is missing: {function.usage}", position)
        return Call(position=position, function=word, arguments=tuple(map(given.get, function.parameters)))
