"""Loops of steps that are exact in float16, of which one loses digits in one iteration."""

from __future__ import annotations

import numpy as np

TRIPS, COUNT = 6, 4
X0 = np.array([0.25, 1.5, -0.75], np.float32)
#: How a node loses what it reads, and the operators that do it.
LOSSES = {
    "absorbed": ("v = Add ({value}, big) w = Sub (v, big)", {"Add", "Sub"}),
    "underflow": ("v = Mul ({value}, tiny) w = Div (v, tiny)", {"Mul", "Div"}),
    "overflow": ("v = Mul ({value}, huge) w = Div (v, huge)", {"Mul", "Div"}),
    "cancelled": ("v = Add ({value}, odd) w = Sub (v, odd)", {"Add", "Sub"}),
    "epsilon": (
        "v = Add ({value}, small) u = Sub (v, {value}) q = Div (u, small) w = Mul ({value}, q)",
        {"Add", "Sub", "Div", "Mul"},
    ),
    "squared": (
        "v = Mul ({value}, large) u = Mul (v, v) q = Div (u, v) w = Div (q, large)",
        {"Mul", "Div"},
    ),
    "root": (
        "v = Mul ({value}, fine) u = Mul (v, v) q = Sqrt (u) m = Div (q, fine) sign = Sign ({value}) w = Mul (m, sign)",
        {"Mul", "Sqrt", "Div", "Sign"},
    ),
    "product": ("weights = Mul (eye, heavy) v = MatMul ({value}, weights) w = Div (v, heavy)", {"MatMul", "Div"}),
}
_OPERANDS = {
    "big": "big = Where (hit, b, zero)",
    "odd": "odd = Where (hit, o, zero)",
    "tiny": "tiny = Where (hit, t, one)",
    "huge": "huge = Where (hit, h, one)",
    "small": "small = Where (hit, e, one)",
    "large": "large = Where (hit, l, one)",
    "fine": "fine = Where (hit, f, one)",
    "heavy": "heavy = Where (hit, h, one)",
}
#: Loss, position in the body, iteration.
CASES = [(loss, position, (2 * k + position) % TRIPS) for k, loss in enumerate(LOSSES) for position in range(COUNT)]


def lossy_text(loss: str, position: int, iteration: int, kind: str = "float") -> str:
    """A loop of steps that are exact in float16, of which one loses digits in one iteration."""
    lines, value = [], "x_in"
    for k in range(COUNT):
        if k == position:
            lines.append(LOSSES[loss][0].format(value=value))
            value = "w"
        lines.append(f"s{k} = Mul ({value}, {('two', 'half')[k % 2]})")
        value = f"s{k}"
    numbers = {"two": 2, "half": 0.5, "zero": 0, "one": 1, "b": 2048, "t": 2**-24, "h": 60000, "o": 1234.5, "e": 2**-14}
    numbers |= {"l": 512, "f": 2**-20}
    head = " ".join(
        f"{name} = Constant <value = float {{{float(number)!r}}}> ()"
        if kind == "float"
        else f"{name}0 = Constant <value = float {{{float(number)!r}}}> () {name} = Cast <to = 10> ({name}0)"
        for name, number in numbers.items()
    )
    head += " flat = Constant <value = float[9] {1, 0, 0, 0, 1, 0, 0, 0, 1}> ()"
    head += " square = Constant <value = int64[2] {3, 3}> ()"
    eye = "eye = Reshape (flat, square)"
    head += f" {eye}" if kind == "float" else f" {eye.replace('eye', 'wide')} eye = Cast <to = 10> (wide)"
    body = " ".join(lines)
    return f"""g (int64 M, {kind}[3] x0) => ({kind}[3] x) {{
        {head} when = Constant <value = int64 {{{iteration}}}> ()
        x = Loop <body = body (int64 i, bool c, {kind}[3] x_in) => (bool keep, {kind}[3] x_out) {{
            keep = Identity (c) hit = Equal (i, when)
            {" ".join(operand for name, operand in _OPERANDS.items() if name in LOSSES[loss][0])}
            {body} x_out = Neg ({value})
        }}> (M, , x0)
    }}"""
