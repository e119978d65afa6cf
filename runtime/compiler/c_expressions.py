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
PRECEDENCE = (("||",), ("&&",), ("==", "!="), ("<", "<=", ">", ">="), ("+", "-"), ("*", "/", "%"))
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
NAN_TEST = re.compile(r"\b([ab]) != \1\b")
TOKEN = re.compile(r"\s*(\|\||&&|[=!<>]=|[-+*/%<>!?:()]|\w+)")


@record
class TypedValue:
    """A value in code: its text, and its C type; with ``lanes``, so many of them side by side."""

    text: str
    type: str
    lanes: int = 0

    @property
    def element(self) -> str:
        return TYPES[self.type][0]

    @property
    def llvm(self) -> str:
        return vector_type(self.element, self.lanes)

    @property
    def signed(self) -> bool:
        return TYPES[self.type][1]

    @property
    def floating(self) -> bool:
        return self.element in ("float", "double")

    @property
    def bit_width(self) -> int:
        return bit_width(self.element)


def vector_type(element: str, lanes: int) -> str:
    """A type of LLVM: so many elements side by side, or with 0 one by itself."""
    return f"<{lanes} x {element}>" if lanes else element


def element_and_lanes(llvm: str) -> tuple[str, int]:
    """The element of a type of LLVM, and how many lanes it has; 0: it is no vector."""
    lanes, _, element = llvm.strip("<>").partition(" x ")
    return (element, int(lanes)) if element else (llvm, 0)


def bit_width(llvm: str) -> int:
    """The size of a type of LLVM."""
    element, lanes = element_and_lanes(llvm)
    return (lanes or 1) * ({"float": 32, "double": 64}.get(element) or int(element[1:]))


def splat_constant(element: str, text: str, lanes: int) -> str:
    """A constant in all lanes."""
    return f"<{', '.join([f'{element} {text}'] * lanes)}>" if lanes else text


class LlvmWriter:
    """Lines of code, one basic block after the other."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.block = ""
        #: What is written is computed with numbers alone: x != x is false.
        self.assume_no_nan = False
        #: LLVM's functions that are called: name -> type of the result, and of the arguments.
        self.declared_functions: dict[str, tuple[str, str]] = {}
        self._last = 0

    def fresh_name(self, prefix: str = "v") -> str:
        """A name that is not used yet."""
        self._last += 1
        return f"{prefix}{self._last}"

    def emit(self, line: str) -> None:
        self.lines.append(f"  {line}")

    def assign(self, code: str) -> str:
        """The name of what an instruction gives."""
        name = f"%{self.fresh_name()}"
        self.emit(f"{name} = {code}")
        return name

    def begin_block(self, label: str) -> None:
        """Begin a block; the one before has ended."""
        self.block = label
        self.lines.append(f"{label}:")

    def branch(self, label: str) -> None:
        self.emit(f"br label %{label}")

    def branch_if(self, condition: str, yes: str, no: str, likely: bool | None = None) -> None:
        """End a block by one of two branches."""
        weights = "" if likely is None else f", !prof !{0 if likely else 1}"
        self.emit(f"br i1 {condition}, label %{yes}, label %{no}{weights}")

    def compare_integers(self, kind: str, t: str, a: str, b: str | int) -> str:
        """A comparison of integers, as i1."""
        return self.assign(f"icmp {kind} {t} {a}, {b}")

    def and_(self, a: str, b: str) -> str:
        return self.assign(f"and i1 {a}, {b}")

    def or_(self, a: str, b: str) -> str:
        return self.assign(f"or i1 {a}, {b}")

    def add(self, a: str, b: str | int) -> str:
        """The sum of two i64."""
        return self.assign(f"add i64 {a}, {b}")

    def multiply(self, a: str, b: str | int) -> str:
        """The product of two i64."""
        return self.assign(f"mul i64 {a}, {b}")

    # -- C

    def cast(self, value: TypedValue, to: str) -> TypedValue:
        """A value as another C type."""
        old, new = value.element, TYPES[to][0]
        if old == new:
            return TypedValue(value.text, to, value.lanes)
        if value.floating:
            code = "fpext" if bit_width(old) < bit_width(new) else "fptrunc"
        elif new in ("float", "double"):
            code = "sitofp" if value.signed else "uitofp"
        elif bit_width(old) < bit_width(new):
            code = "sext" if value.signed else "zext"
        else:
            code = "trunc"
        done = TypedValue(
            self.assign(f"{code} {value.llvm} {value.text} to {vector_type(new, value.lanes)}"), to, value.lanes
        )
        return self.fence(done) if code in ("sitofp", "uitofp") else done

    def is_true(self, value: TypedValue) -> str:
        """Whether a value is not zero, as i1."""
        if value.floating:
            return self.assign(
                f"fcmp une {value.llvm} {value.text}, {splat_constant(value.element, '0.0', value.lanes)}"
            )
        return self.assign(f"icmp ne {value.llvm} {value.text}, {splat_constant(value.element, '0', value.lanes)}")

    def call(self, function: str, value: TypedValue) -> TypedValue:
        """What one of LLVM's functions gives for a value."""
        name, _, suffix = function.rpartition(".")
        name = f"{name}.v{value.lanes}{suffix}" if value.lanes else function
        self.declared_functions[name] = value.llvm, value.llvm
        return TypedValue(self.assign(f"call {value.llvm} @{name}({value.llvm} {value.text})"), value.type, value.lanes)

    def fence(self, value: TypedValue) -> TypedValue:
        """The same float, of which LLVM does not know where it comes from. Else it moves signs over other operations
        (a - -b is a + b, a * (float)-1 is -a), which are those of another NaN then."""
        return self.call(f"llvm.arithmetic.fence.f{value.bit_width}", value)

    def opaque(self, llvm: str, text: str) -> str:
        """A vector of at least 128 bits as it is, of which LLVM does not know where it comes from."""
        element = "double" if bit_width(llvm) % 64 == 0 and bit_width(element_and_lanes(llvm)[0]) == 64 else "float"
        float_type = vector_type(element, bit_width(llvm) // bit_width(element))
        value = TypedValue(text, element, bit_width(llvm) // bit_width(element))
        if llvm != float_type:
            value = TypedValue(self.assign(f"bitcast {llvm} {text} to {float_type}"), element, value.lanes)
        text = self.fence(value).text
        return text if llvm == float_type else self.assign(f"bitcast {float_type} {text} to {llvm}")

    def bit_as_int(self, bit: str, lanes: int) -> TypedValue:
        """An i1 as C has it: an int."""
        return TypedValue(
            self.assign(f"zext {vector_type('i1', lanes)} {bit} to {vector_type('i32', lanes)}"), "int32_t", lanes
        )


def promote(value: TypedValue, writer: LlvmWriter) -> TypedValue:
    """What is narrower than int is one."""
    return writer.cast(value, "int32_t") if not value.floating and value.bit_width < 32 else value


def common_type(a: TypedValue, b: TypedValue) -> str:
    """The type in which C computes with two values."""
    for wanted in ("double", "float"):
        if wanted in (a.type, b.type):
            return wanted
    wide = max(a.bit_width, b.bit_width)
    unsigned = any(v.bit_width == wide and not v.signed for v in (a, b))
    return f"{'u' if unsigned else ''}int{wide}_t"


class ExpressionParser:
    """One expression over named values; code for it is written as it is read."""

    def __init__(self, text: str, names: dict[str, TypedValue], writer: LlvmWriter) -> None:
        text = NAN_TEST.sub("0", text) if writer.assume_no_nan else text
        self.tokens = [m.group(1) for m in TOKEN.finditer(text)]
        if "".join(self.tokens) != re.sub(r"\s+", "", text):
            raise ValueError(f"no expression of the list: {text!r}")
        self.position = 0
        self.names, self.writer = names, writer
        self.lanes = max([value.lanes for value in names.values()], default=0)

    def peek(self) -> str:
        return self.tokens[self.position] if self.position < len(self.tokens) else ""

    def expect(self, wanted: str = "") -> str:
        token = self.peek()
        if not token or (wanted and token != wanted):
            raise ValueError(f"expected {wanted or 'more'} at {self.position} of {' '.join(self.tokens)}")
        self.position += 1
        return token

    def parse(self) -> TypedValue:
        value = self.parse_conditional()
        if self.peek():
            raise ValueError(f"unexpected {self.peek()!r} in {' '.join(self.tokens)}")
        return value

    def parse_conditional(self) -> TypedValue:
        """``c ? a : b``: of one number only the branch that is taken is computed, since divisions trap."""
        begun = self.position
        condition = self.parse_binary(0)
        if self.peek() != "?":
            return condition
        if self.lanes:
            return self.parse_vector_conditional(condition)
        asked = self.tokens[begun : self.position]
        self.expect("?")
        w = self.writer
        yes, no, end = w.fresh_name("yes"), w.fresh_name("no"), w.fresh_name("end")
        # NaN is seldom: as a branch, it does not wait for what is compared.
        w.branch_if(w.is_true(condition), yes, no, likely=False if asked == [asked[0], "!=", asked[0]] else None)
        w.begin_block(yes)
        # Both branches have to be known before either is converted: their instructions stay where they are.
        a = self.parse_conditional()
        self.expect(":")
        from_yes, hole = w.block, len(w.lines)
        w.begin_block(no)
        b = self.parse_conditional()
        to = common_type(promoted_type(a), promoted_type(b))
        b = w.cast(b, to)
        w.branch(end)
        from_no, rest = w.block, w.lines[hole:]
        del w.lines[hole:]
        a = w.cast(a, to)
        w.branch(end)
        w.lines += rest
        w.begin_block(end)
        return TypedValue(w.assign(f"phi {TYPES[to][0]} [ {a.text}, %{from_yes} ], [ {b.text}, %{from_no} ]"), to)

    def parse_vector_conditional(self, condition: TypedValue) -> TypedValue:
        """The same in each lane: both sides are computed."""
        self.expect("?")
        w = self.writer
        chosen = w.is_true(condition)
        a = self.parse_conditional()
        self.expect(":")
        b = self.parse_conditional()
        to = common_type(promoted_type(a), promoted_type(b))
        a, b = w.cast(a, to), w.cast(b, to)
        return TypedValue(
            w.assign(f"select {vector_type('i1', self.lanes)} {chosen}, {a.llvm} {a.text}, {b.llvm} {b.text}"),
            to,
            self.lanes,
        )

    def parse_binary(self, level: int) -> TypedValue:
        if level == len(PRECEDENCE):
            return self.parse_unary()
        a = self.parse_binary(level + 1)
        while self.peek() in PRECEDENCE[level]:
            a = self.combine(self.expect(), a, self.parse_binary(level + 1))
        return a

    def combine(self, operator: str, a: TypedValue, b: TypedValue) -> TypedValue:
        w = self.writer
        if operator in ("&&", "||"):
            # Both sides are computed: none of the list's has an effect.
            x, y = w.is_true(a), w.is_true(b)
            code = "and" if operator == "&&" else "or"
            return w.bit_as_int(w.assign(f"{code} {vector_type('i1', self.lanes)} {x}, {y}"), self.lanes)
        a, b = promote(a, w), promote(b, w)
        to = common_type(a, b)
        a, b = w.cast(a, to), w.cast(b, to)
        column = 0 if a.floating else 1 if a.signed else 2
        if operator in COMPARISONS:
            kind = "fcmp" if a.floating else "icmp"
            return w.bit_as_int(
                w.assign(f"{kind} {COMPARISONS[operator][column]} {a.llvm} {a.text}, {b.text}"), self.lanes
            )
        return TypedValue(w.assign(f"{ARITHMETIC[operator][column]} {a.llvm} {a.text}, {b.text}"), to, self.lanes)

    def parse_unary(self) -> TypedValue:
        w = self.writer
        token = self.expect()
        if token == "-":
            value = promote(self.parse_unary(), w)
            zero = splat_constant(value.element, "0", value.lanes)
            code = f"fneg {value.llvm} {value.text}" if value.floating else f"sub {value.llvm} {zero}, {value.text}"
            done = TypedValue(w.assign(code), value.type, value.lanes)
            return w.fence(done) if value.floating else done
        if token == "!":
            true = splat_constant("i1", "true", self.lanes)
            return w.bit_as_int(
                w.assign(f"xor {vector_type('i1', self.lanes)} {w.is_true(self.parse_unary())}, {true}"), self.lanes
            )
        if token == "(":
            if self.peek() in TYPES:
                to = self.expect()
                self.expect(")")
                return w.cast(self.parse_unary(), to)
            value = self.parse_conditional()
            self.expect(")")
            return value
        if token in FUNCTIONS:
            self.expect("(")
            value = self.parse_conditional()
            self.expect(")")
            return w.fence(w.call(FUNCTIONS[token], value))
        if token.isdigit():
            return TypedValue(splat_constant("i32", token, self.lanes), "int32_t", self.lanes)
        return self.names[token]


def promoted_type(value: TypedValue) -> TypedValue:
    """A value as far as its type after promotion is concerned."""
    return TypedValue(value.text, "int32_t", value.lanes) if not value.floating and value.bit_width < 32 else value


def write_expression(text: str, names: dict[str, TypedValue], to: str, writer: LlvmWriter) -> TypedValue:
    """Write code for a C expression, its result as the C type ``to``.

    Raises:
        ValueError: the text is outside the grammar; KeyError: it has a name that stands for nothing.
    """
    return writer.cast(ExpressionParser(text, names, writer).parse(), to)


def declarations(writer: LlvmWriter) -> Iterator[str]:
    """What code with expressions declares."""
    for name, (result, arguments) in writer.declared_functions.items():
        yield f"declare {result} @{name}({arguments})"
