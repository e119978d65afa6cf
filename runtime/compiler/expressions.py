"""C expressions as code of LLVM: what ``scalar_ops.h`` says of an operation on single elements, for compiled programs.

The grammar is what that list needs: the operators of C on its numeric types (with its integer promotions), casts,
literals and a few functions. Nothing is contracted, and no float is taken for one that is not NaN: the bits are those
of the C compiler.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from ..record import record

#: C type -> (type of LLVM, signed)
TYPES = {
    "float": ("float", True),
    "double": ("double", True),
    "int8_t": ("i8", True),
    "uint8_t": ("i8", False),
    "uint16_t": ("i16", False),
    "int32_t": ("i32", True),
    "uint32_t": ("i32", False),
    "int64_t": ("i64", True),
    "uint64_t": ("i64", False),
}
FUNCTIONS = {"fabsf": "llvm.fabs.f32", "fabs": "llvm.fabs.f64", "sqrtf": "llvm.sqrt.f32", "sqrt": "llvm.sqrt.f64"}
#: Operators by how tightly they bind, the loosest first.
LEVELS = (("||",), ("&&",), ("==", "!="), ("<", "<=", ">", ">="), ("+", "-"), ("*", "/", "%"))
COMPARISONS = {
    "==": ("oeq", "eq", "eq"),
    "!=": ("une", "ne", "ne"),
    "<": ("olt", "slt", "ult"),
    "<=": ("ole", "sle", "ule"),
    ">": ("ogt", "sgt", "ugt"),
    ">=": ("oge", "sge", "uge"),
}
ARITHMETIC = {
    "+": ("fadd", "add", "add"),
    "-": ("fsub", "sub", "sub"),
    "*": ("fmul", "mul", "mul"),
    "/": ("fdiv", "sdiv", "udiv"),
    "%": ("", "srem", "urem"),
}
#: Where an expression asks whether an operand is NaN.
ASKS = re.compile(r"\b([ab]) != \1\b")
TOKEN = re.compile(r"\s*(\|\||&&|[=!<>]=|[-+*/%<>!?:()]|\w+)")


@record
class Value:
    """A value in code: its text, and its C type; with ``lanes``, so many of them side by side."""

    text: str
    type: str
    lanes: int = 0

    @property
    def element(self) -> str:
        return TYPES[self.type][0]

    @property
    def llvm(self) -> str:
        return vector(self.element, self.lanes)

    @property
    def signed(self) -> bool:
        return TYPES[self.type][1]

    @property
    def floating(self) -> bool:
        return self.element in ("float", "double")

    @property
    def bits(self) -> int:
        return bits(self.element)


def vector(element: str, lanes: int) -> str:
    """A type of LLVM: so many elements side by side, or with 0 one by itself."""
    return f"<{lanes} x {element}>" if lanes else element


def parts(llvm: str) -> tuple[str, int]:
    """The element of a type of LLVM, and how many lanes it has; 0: it is no vector."""
    lanes, _, element = llvm.strip("<>").partition(" x ")
    return (element, int(lanes)) if element else (llvm, 0)


def bits(llvm: str) -> int:
    """The size of a type of LLVM."""
    element, lanes = parts(llvm)
    return (lanes or 1) * ({"float": 32, "double": 64}.get(element) or int(element[1:]))


def repeated(element: str, text: str, lanes: int) -> str:
    """A constant in all lanes."""
    return f"<{', '.join([f'{element} {text}'] * lanes)}>" if lanes else text


class Writer:
    """Lines of code, one basic block after the other."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.block = ""
        #: What is written is computed with numbers alone: x != x is false.
        self.numbers = False
        #: LLVM's functions that are called: name -> type of the result, and of the arguments.
        self.called: dict[str, tuple[str, str]] = {}
        self._last = 0

    def name(self, prefix: str = "v") -> str:
        """A name that is not used yet."""
        self._last += 1
        return f"{prefix}{self._last}"

    def do(self, line: str) -> None:
        self.lines.append(f"  {line}")

    def let(self, code: str) -> str:
        """The name of what an instruction gives."""
        name = f"%{self.name()}"
        self.do(f"{name} = {code}")
        return name

    def begin(self, label: str) -> None:
        """Begin a block; the one before has ended."""
        self.block = label
        self.lines.append(f"{label}:")

    def go(self, label: str) -> None:
        self.do(f"br label %{label}")

    def choose(self, condition: str, yes: str, no: str, likely: bool | None = None) -> None:
        """End a block by one of two branches."""
        weights = "" if likely is None else f", !prof !{0 if likely else 1}"
        self.do(f"br i1 {condition}, label %{yes}, label %{no}{weights}")

    def is_(self, kind: str, t: str, a: str, b: str | int) -> str:
        """A comparison of integers, as i1."""
        return self.let(f"icmp {kind} {t} {a}, {b}")

    def both(self, a: str, b: str) -> str:
        return self.let(f"and i1 {a}, {b}")

    def either(self, a: str, b: str) -> str:
        return self.let(f"or i1 {a}, {b}")

    def add(self, a: str, b: str | int) -> str:
        """The sum of two i64."""
        return self.let(f"add i64 {a}, {b}")

    def times(self, a: str, b: str | int) -> str:
        """The product of two i64."""
        return self.let(f"mul i64 {a}, {b}")

    # -- C

    def cast(self, value: Value, to: str) -> Value:
        """A value as another C type."""
        old, new = value.element, TYPES[to][0]
        if old == new:
            return Value(value.text, to, value.lanes)
        if value.floating:
            code = "fpext" if bits(old) < bits(new) else "fptrunc"
        elif new in ("float", "double"):
            code = "sitofp" if value.signed else "uitofp"
        elif bits(old) < bits(new):
            code = "sext" if value.signed else "zext"
        else:
            code = "trunc"
        done = Value(self.let(f"{code} {value.llvm} {value.text} to {vector(new, value.lanes)}"), to, value.lanes)
        return self.fenced(done) if code in ("sitofp", "uitofp") else done

    def is_true(self, value: Value) -> str:
        """Whether a value is not zero, as i1."""
        if value.floating:
            return self.let(f"fcmp une {value.llvm} {value.text}, {repeated(value.element, '0.0', value.lanes)}")
        return self.let(f"icmp ne {value.llvm} {value.text}, {repeated(value.element, '0', value.lanes)}")

    def call(self, function: str, value: Value) -> Value:
        """What one of LLVM's functions gives for a value."""
        name, _, suffix = function.rpartition(".")
        name = f"{name}.v{value.lanes}{suffix}" if value.lanes else function
        self.called[name] = value.llvm, value.llvm
        return Value(self.let(f"call {value.llvm} @{name}({value.llvm} {value.text})"), value.type, value.lanes)

    def fenced(self, value: Value) -> Value:
        """The same float, of which LLVM does not know where it comes from. Else it moves signs over other operations
        (a - -b is a + b, a * (float)-1 is -a), which are those of another NaN then."""
        return self.call(f"llvm.arithmetic.fence.f{value.bits}", value)

    def opaque(self, llvm: str, text: str) -> str:
        """A vector of at least 128 bits as it is, of which LLVM does not know where it comes from."""
        element = "double" if bits(llvm) % 64 == 0 and bits(parts(llvm)[0]) == 64 else "float"
        float_type = vector(element, bits(llvm) // bits(element))
        value = Value(text, element, bits(llvm) // bits(element))
        if llvm != float_type:
            value = Value(self.let(f"bitcast {llvm} {text} to {float_type}"), element, value.lanes)
        text = self.fenced(value).text
        return text if llvm == float_type else self.let(f"bitcast {float_type} {text} to {llvm}")

    def whether(self, bit: str, lanes: int) -> Value:
        """An i1 as C has it: an int."""
        return Value(self.let(f"zext {vector('i1', lanes)} {bit} to {vector('i32', lanes)}"), "int32_t", lanes)


def promoted(value: Value, writer: Writer) -> Value:
    """What is narrower than int is one."""
    return writer.cast(value, "int32_t") if not value.floating and value.bits < 32 else value


def common(a: Value, b: Value) -> str:
    """The type in which C computes with two values."""
    for wanted in ("double", "float"):
        if wanted in (a.type, b.type):
            return wanted
    wide = max(a.bits, b.bits)
    unsigned = any(v.bits == wide and not v.signed for v in (a, b))
    return f"{'u' if unsigned else ''}int{wide}_t"


class Parser:
    """One expression over named values; code for it is written as it is read."""

    def __init__(self, text: str, names: dict[str, Value], writer: Writer) -> None:
        text = ASKS.sub("0", text) if writer.numbers else text
        self.tokens = [m.group(1) for m in TOKEN.finditer(text)]
        if "".join(self.tokens) != re.sub(r"\s+", "", text):
            raise ValueError(f"no expression of the list: {text!r}")
        self.at = 0
        self.names, self.writer = names, writer
        self.lanes = max([value.lanes for value in names.values()], default=0)

    def peek(self) -> str:
        return self.tokens[self.at] if self.at < len(self.tokens) else ""

    def take(self, wanted: str = "") -> str:
        token = self.peek()
        if not token or (wanted and token != wanted):
            raise ValueError(f"expected {wanted or 'more'} at {self.at} of {' '.join(self.tokens)}")
        self.at += 1
        return token

    def whole(self) -> Value:
        value = self.choice()
        if self.peek():
            raise ValueError(f"unexpected {self.peek()!r} in {' '.join(self.tokens)}")
        return value

    def choice(self) -> Value:
        """``c ? a : b``: of one number only the branch that is taken is computed, since divisions trap."""
        begun = self.at
        condition = self.binary(0)
        if self.peek() != "?":
            return condition
        if self.lanes:
            return self.choice_of_each(condition)
        asked = self.tokens[begun : self.at]
        self.take("?")
        w = self.writer
        yes, no, end = w.name("yes"), w.name("no"), w.name("end")
        # NaN is seldom: as a branch, it does not wait for what is compared.
        w.choose(w.is_true(condition), yes, no, likely=False if asked == [asked[0], "!=", asked[0]] else None)
        w.begin(yes)
        # Both branches have to be known before either is converted: their instructions stay where they are.
        a = self.choice()
        self.take(":")
        from_yes, hole = w.block, len(w.lines)
        w.begin(no)
        b = self.choice()
        to = common(promoted_type(a), promoted_type(b))
        b = w.cast(b, to)
        w.go(end)
        from_no, rest = w.block, w.lines[hole:]
        del w.lines[hole:]
        a = w.cast(a, to)
        w.go(end)
        w.lines += rest
        w.begin(end)
        return Value(w.let(f"phi {TYPES[to][0]} [ {a.text}, %{from_yes} ], [ {b.text}, %{from_no} ]"), to)

    def choice_of_each(self, condition: Value) -> Value:
        """The same in each lane: both sides are computed."""
        self.take("?")
        w = self.writer
        chosen = w.is_true(condition)
        a = self.choice()
        self.take(":")
        b = self.choice()
        to = common(promoted_type(a), promoted_type(b))
        a, b = w.cast(a, to), w.cast(b, to)
        return Value(
            w.let(f"select {vector('i1', self.lanes)} {chosen}, {a.llvm} {a.text}, {b.llvm} {b.text}"), to, self.lanes
        )

    def binary(self, level: int) -> Value:
        if level == len(LEVELS):
            return self.unary()
        a = self.binary(level + 1)
        while self.peek() in LEVELS[level]:
            a = self.combine(self.take(), a, self.binary(level + 1))
        return a

    def combine(self, operator: str, a: Value, b: Value) -> Value:
        w = self.writer
        if operator in ("&&", "||"):
            # Both sides are computed: none of the list's has an effect.
            x, y = w.is_true(a), w.is_true(b)
            code = "and" if operator == "&&" else "or"
            return w.whether(w.let(f"{code} {vector('i1', self.lanes)} {x}, {y}"), self.lanes)
        a, b = promoted(a, w), promoted(b, w)
        to = common(a, b)
        a, b = w.cast(a, to), w.cast(b, to)
        column = 0 if a.floating else 1 if a.signed else 2
        if operator in COMPARISONS:
            kind = "fcmp" if a.floating else "icmp"
            return w.whether(w.let(f"{kind} {COMPARISONS[operator][column]} {a.llvm} {a.text}, {b.text}"), self.lanes)
        return Value(w.let(f"{ARITHMETIC[operator][column]} {a.llvm} {a.text}, {b.text}"), to, self.lanes)

    def unary(self) -> Value:
        w = self.writer
        token = self.take()
        if token == "-":
            value = promoted(self.unary(), w)
            zero = repeated(value.element, "0", value.lanes)
            code = f"fneg {value.llvm} {value.text}" if value.floating else f"sub {value.llvm} {zero}, {value.text}"
            done = Value(w.let(code), value.type, value.lanes)
            return w.fenced(done) if value.floating else done
        if token == "!":
            true = repeated("i1", "true", self.lanes)
            return w.whether(w.let(f"xor {vector('i1', self.lanes)} {w.is_true(self.unary())}, {true}"), self.lanes)
        if token == "(":
            if self.peek() in TYPES:
                to = self.take()
                self.take(")")
                return w.cast(self.unary(), to)
            value = self.choice()
            self.take(")")
            return value
        if token in FUNCTIONS:
            self.take("(")
            value = self.choice()
            self.take(")")
            return w.fenced(w.call(FUNCTIONS[token], value))
        if token.isdigit():
            return Value(repeated("i32", token, self.lanes), "int32_t", self.lanes)
        return self.names[token]


def promoted_type(value: Value) -> Value:
    """A value as far as its type after promotion is concerned."""
    return Value(value.text, "int32_t", value.lanes) if not value.floating and value.bits < 32 else value


def write(text: str, names: dict[str, Value], to: str, writer: Writer) -> Value:
    """Write code for a C expression, its result as the C type ``to``.

    Raises:
        ValueError: the text is outside the grammar; KeyError: it has a name that stands for nothing.
    """
    return writer.cast(Parser(text, names, writer).whole(), to)


def declarations(writer: Writer) -> Iterator[str]:
    """What code with expressions declares."""
    for name, (result, arguments) in writer.called.items():
        yield f"declare {result} @{name}({arguments})"
