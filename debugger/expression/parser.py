"""From tokens to a tree: recursive descent, one method a level of binding, loosest first.

or, and, not, comparisons, + and -, * / // %, the sign of a number, **, then what stands behind a value: [...] and @.
"""

from __future__ import annotations

from typing import NoReturn

from .errors import ExpressionError, near
from .functions import FUNCTIONS
from .nodes import (
    Binary,
    Call,
    Compare,
    Constant,
    Index,
    Items,
    Logic,
    Name,
    Node,
    Not,
    Past,
    Range,
    Rest,
    State,
    Unary,
)
from .tokens import CONSTANTS, OPERATOR_WORDS, PAST_FUNCTIONS, STATE_WORDS, Kind, Token, tokenize

#: Brackets and powers inside one another, each of which takes a dozen calls to read; Python allows 1 000.
MAX_NESTING = 30
#: The depth of trees, which sums of many terms have too: every later step walks them by recursion.
MAX_DEPTH = 100
_COMPARISONS = ("<", "<=", ">", ">=", "==", "!=")


def parse_tree(text: str) -> Node:
    """The tree of an expression.

    Raises:
        ExpressionError: the text is no expression.
    """
    if not text.strip():
        raise ExpressionError(text, 0, "an empty expression")
    parser = _Parser(text)
    tree = parser.expression()
    if parser.token.kind is not Kind.END:
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
        return self.token.kind is Kind.SIGN and self.token.value in signs

    def is_word(self, word: str) -> bool:
        return self.token.kind is Kind.WORD and self.token.value == word

    def take(self) -> Token:
        token = self.token
        if token.kind is not Kind.END:
            self.at += 1
        return token

    def close(self, sign: str, opened: Token) -> None:
        if self.is_sign(sign):
            self.take()
        elif self.token.kind is Kind.END:
            self.fail(f"'{opened.value}' is not closed", opened.position)
        else:
            self.unexpected(f"'{sign}'")

    # -- errors

    def fail(self, problem: str, position: int, hint: str = "") -> NoReturn:
        raise ExpressionError(self.text, position, problem, hint)

    def unexpected(self, wanted: str) -> NoReturn:
        token = self.token
        if token.kind is Kind.END:
            self.fail(f"it ends where {wanted} should come", token.position)
        hint = f"{wanted} should come here"
        if token.kind is Kind.SIGN and token.value == "=":
            hint = "write '==' to compare"
        elif token.kind is Kind.SIGN and token.value in ("/", ":", "."):
            hint = "names with such characters are written between backquotes: `/rnn/h:0`"
        self.fail(f"unexpected {self.text[token.position : token.end]!r}", token.position, hint)

    def checked(self, node: Node) -> Node:
        if node.depth > MAX_DEPTH:
            self.fail(f"more than {MAX_DEPTH} operations on top of one another", node.position)
        return node

    # -- levels

    def expression(self) -> Node:
        self.enter()
        tree = self.logic("or")
        self.nesting -= 1
        return tree

    def enter(self) -> None:
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            self.fail(f"nested more than {MAX_NESTING} deep", self.token.position)

    def logic(self, word: str) -> Node:
        first = self.logic("and") if word == "or" else self.negation()
        if not self.is_word(word):
            return first
        position = self.token.position
        operands = [first]
        while self.is_word(word):
            self.take()
            operands.append(self.logic("and") if word == "or" else self.negation())
        return self.checked(Logic(position=position, word="or" if word == "or" else "and", operands=tuple(operands)))

    def negation(self) -> Node:
        positions = []
        while self.is_word("not"):
            positions.append(self.take().position)
        tree = self.comparison()
        for position in reversed(positions):
            tree = self.checked(Not(position=position, operand=tree))
        return tree

    def comparison(self) -> Node:
        operands = [self.sum()]
        signs, positions = [], []
        while self.is_sign(*_COMPARISONS):
            token = self.take()
            signs.append(token.value)
            positions.append(token.position)
            operands.append(self.sum())
        if not signs:
            return operands[0]
        return self.checked(
            Compare(position=positions[0], signs=tuple(signs), operands=tuple(operands), positions=tuple(positions))
        )

    def sum(self) -> Node:
        tree = self.product()
        while self.is_sign("+", "-"):
            token = self.take()
            tree = self.checked(Binary(position=token.position, sign=token.value, left=tree, right=self.product()))
        return tree

    def product(self) -> Node:
        tree = self.signed()
        while self.is_sign("*", "/", "//", "%"):
            token = self.take()
            tree = self.checked(Binary(position=token.position, sign=token.value, left=tree, right=self.signed()))
        return tree

    def signed(self) -> Node:
        signs = []
        while self.is_sign("+", "-"):
            signs.append(self.take())
        tree = self.power()
        for token in reversed(signs):
            tree = self.checked(Unary(position=token.position, sign=token.value, operand=tree))
        return tree

    def power(self) -> Node:
        base = self.postfix()
        if not self.is_sign("**"):
            return base
        token = self.take()
        self.enter()
        # To the right first: 2 ** 3 ** 2 is 2 ** 9, and 2 ** -1 is allowed.
        exponent = self.signed()
        self.nesting -= 1
        return self.checked(Binary(position=token.position, sign="**", left=base, right=exponent))

    def postfix(self) -> Node:
        tree = self.atom()
        while True:
            if self.is_sign("["):
                tree = self.index(tree)
            elif self.is_sign("@"):
                token = self.take()
                tree = self.past("at", tree, token.position, self.iteration())
            elif self.is_sign("("):
                self.fail("only the functions of the language can be called", self.token.position)
            else:
                return tree

    def iteration(self) -> Node:
        token = self.token
        if token.kind is Kind.NUMBER:
            if not isinstance(token.value, int):
                self.fail("iterations are whole numbers", token.position)
            return Constant(position=self.take().position, value=token.value)
        if self.is_sign("("):
            self.take()
            tree = self.expression()
            self.close(")", token)
            return tree
        self.fail("after '@' comes an iteration", token.position, "write x@40 or x@(iter - 3)")

    def past(self, moment: str, operand: Node, position: int, when: Node | None = None) -> Node:
        if any(isinstance(node, Past) for node in operand.walk()):
            self.fail("an earlier iteration of an earlier iteration", position, "write x@(iter - 2) for two back")
        assert moment in ("prev", "init", "at")
        return self.checked(Past(position=position, moment=moment, operand=operand, when=when))  # type: ignore[arg-type]

    # -- what stands alone

    def atom(self) -> Node:
        token = self.token
        if token.kind in (Kind.NUMBER, Kind.TEXT):
            self.take()
            return Constant(position=token.position, value=token.value)
        if token.kind is Kind.NAME:
            self.take()
            return Name(position=token.position, name=token.value)
        if token.kind is Kind.WORD and token.value not in OPERATOR_WORDS:
            return self.word()
        if self.is_sign("("):
            self.take()
            tree = self.expression()
            if self.is_sign(","):
                self.fail("unexpected ','", self.token.position, "lists are written [1, 2]")
            self.close(")", token)
            return tree
        if self.is_sign("["):
            self.take()
            items = self.list_of("]", token)
            return self.checked(Items(position=token.position, items=tuple(items)))
        self.unexpected("a value")

    def word(self) -> Node:
        token = self.take()
        word = token.value
        if word in CONSTANTS:
            return Constant(position=token.position, value=CONSTANTS[word])
        if word in STATE_WORDS:
            return State(position=token.position, word=word)
        if not self.is_sign("("):
            return Name(position=token.position, name=word)
        if word in PAST_FUNCTIONS:
            opened = self.take()
            operand = self.expression()
            self.close(")", opened)
            if word != "delta":
                return self.past(word, operand, token.position)
            before = self.past("prev", operand, token.position)
            return self.checked(Binary(position=token.position, sign="-", left=operand, right=before))
        if word not in FUNCTIONS:
            names = near(word, (*FUNCTIONS, *PAST_FUNCTIONS))
            hint = (
                f"did you mean {' or '.join(repr(n) for n in names)}?"
                if names
                else "there are " + ", ".join(sorted((*FUNCTIONS, *PAST_FUNCTIONS)))
            )
            self.fail(f"no function {word!r}", token.position, hint)
        return self.call(word, token)

    def call(self, word: str, token: Token) -> Node:
        function = FUNCTIONS[word]
        opened = self.take()
        given: dict[str, Node] = {}
        while not self.is_sign(")"):
            at = self.token.position
            parameter = self.keyword(word)
            if parameter is None:
                if len(given) >= len(function.parameters):
                    self.fail(f"too many arguments: {function.usage}", self.token.position)
                parameter = function.parameters[len(given)]
            if parameter in given:
                self.fail(f"'{parameter}' is given twice", at)
            given[parameter] = self.expression()
            if not self.is_sign(","):
                break
            self.take()
        self.close(")", opened)
        missing = [p for p in function.parameters[: function.required] if p not in given]
        if missing:
            self.fail(f"'{missing[0]}' is missing: {function.usage}", token.position)
        arguments = tuple(given.get(parameter) for parameter in function.parameters)
        return self.checked(Call(position=token.position, function=word, arguments=arguments))

    def keyword(self, function: str) -> str | None:
        """``rtol=`` before an argument."""
        after = self.tokens[min(self.at + 1, len(self.tokens) - 1)]
        if self.token.kind is not Kind.WORD or after.kind is not Kind.SIGN or after.value != "=":
            return None
        name: str = self.token.value
        if name not in FUNCTIONS[function].parameters:
            self.fail(f"no parameter {name!r}: {FUNCTIONS[function].usage}", self.token.position)
        self.take()
        self.take()
        return name

    def list_of(self, closing: str, opened: Token) -> list[Node]:
        items: list[Node] = []
        while not self.is_sign(closing):
            items.append(self.expression())
            if not self.is_sign(","):
                break
            self.take()
        self.close(closing, opened)
        return items

    def index(self, operand: Node) -> Node:
        opened = self.take()
        entries: list[Node] = []
        while not self.is_sign("]"):
            entries.append(self.entry())
            if not self.is_sign(","):
                break
            self.take()
        self.close("]", opened)
        if not entries:
            self.fail("an empty index", opened.position)
        return self.checked(Index(position=opened.position, operand=operand, entries=tuple(entries)))

    def entry(self) -> Node:
        position = self.token.position
        if self.is_sign("..."):
            self.take()
            return Rest(position=position)
        parts: list[Node | None] = [None]
        colons = 0
        while True:
            if self.is_sign(":") and colons < 2:
                self.take()
                colons += 1
                parts.append(None)
            elif parts[-1] is None and not self.is_sign(",", "]"):
                parts[-1] = self.expression()
            else:
                break
        if not colons:
            if parts[0] is None:
                self.unexpected("an index")
            return parts[0]
        start, stop, step = (*parts, None)[:3]
        return self.checked(Range(position=position, start=start, stop=stop, step=step))
