"""Loops over scalars with Ifs, inner loops and a Gather."""

from __future__ import annotations

from typing import Any

import numpy as np
from hypothesis import strategies as st

FLOAT_BINARY = ("Add", "Sub", "Mul", "Div", "Min", "Max")
INT_BINARY = ("Add", "Sub", "Mul", "Div", "Mod", "Min", "Max")
UNARY = ("Neg", "Abs", "Identity")
COMPARE = ("Less", "LessOrEqual", "Greater", "GreaterOrEqual", "Equal")
NUMBERS = {"float": "float", "double": "double", "int64": "int64", "int32": "int32"}
INTEGERS = ("int64", "int32")
CASTS = {
    "int64": [(7, "int64"), (6, "int32"), (1, "float"), (11, "double")],
    "int32": [(7, "int64"), (6, "int32"), (1, "float")],
}
#: Special numbers: NaN of both signs, both zeros, the least and the largest.
SPECIAL_FLOATS = (float("nan"), -float("nan"), float("inf"), -float("inf"), -0.0, 1e-45, -1e-310, 3e38, -1.7e308)
SPECIAL_INTEGERS = {"int64": (-(2**63), 2**63 - 1), "int32": (-(2**31), 2**31 - 1)}


@st.composite
def bodies(
    draw: st.DrawFn, depth: int, names: list[tuple[str, str]], prefix: str
) -> tuple[list[str], list[tuple[str, str]]]:
    """Lines of a body over scalars, and all names (name, type) that they assign."""
    lines: list[str] = []
    names = list(names)
    for n in range(draw(st.integers(0, 6))):
        name = f"{prefix}t{n}"
        a, kind = draw(st.sampled_from(names))
        same = [other for other, k in names if k == kind]
        b = draw(st.sampled_from(same))
        choice = draw(st.integers(0, 11))
        if kind == "bool":
            lines.append(f"{name} = {draw(st.sampled_from(('And', 'Or', 'Xor')))} ({a}, {b})")
        elif choice < 4:
            operator = draw(st.sampled_from(INT_BINARY if kind in INTEGERS else FLOAT_BINARY))
            lines.append(f"{name} = {operator} ({a}, {b})")
        elif choice == 4:
            lines.append(f"{name} = {draw(st.sampled_from(UNARY))} ({a})")
        elif choice == 5:
            lines.append(f"{name} = {draw(st.sampled_from(COMPARE))} ({a}, {b})")
            kind = "bool"
        elif choice == 6:
            conditions = [other for other, k in names if k == "bool"]
            lines.append(f"{name} = Where ({draw(st.sampled_from(conditions))}, {a}, {b})")
        elif choice == 7:
            target = draw(st.sampled_from(CASTS.get(kind, [(1, "float"), (11, "double")])))
            lines.append(f"{name} = Cast <to = {target[0]}> ({a})")
            kind = target[1]
        elif choice == 8 and kind not in INTEGERS:
            lines.append(f"{name} = {draw(st.sampled_from(('Tanh', 'Sqrt')))} ({a})")
        elif choice == 9:
            condition = draw(st.sampled_from([other for other, k in names if k == "bool"]))
            lines.append(f"""{name} = If <
                then_branch = {name}_then () => ({kind} {name}_a) {{ {name}_a = Add ({a}, {b}) }},
                else_branch = {name}_else () => ({kind} {name}_b) {{ {name}_b = Neg ({a}) }}> ({condition})""")
        elif choice == 10 and kind == "float":
            lines.append(f"{name} = Gather (table, where)")
        elif depth:
            inner_names = [*names, (f"{name}j", "int64"), (f"{name}u", kind)]
            inner, left = draw(bodies(depth - 1, inner_names, f"{name}_"))
            result = draw(st.sampled_from([x for x, k in left if k == kind]))
            keep = draw(st.sampled_from([x for x, k in left if k == "bool"]))
            inside = "\n".join(inner)
            lines.append(f"""{name} = Loop <body = {name}_body (int64 {name}j, bool {name}d, {kind} {name}u) =>
                (bool {name}k, {kind} {name}r) {{ {inside} {name}k = Identity ({keep}) {name}r = Identity ({result})
                }}> (trips, yes, {a})""")
        else:
            lines.append(f"{name} = Identity ({a})")
        names.append((name, kind))
    return lines, names


def numbers(kind: str) -> st.SearchStrategy[Any]:
    """Small numbers and special ones."""
    if kind in INTEGERS:
        return st.one_of(st.integers(-5, 5), st.sampled_from(SPECIAL_INTEGERS[kind])).map(np.dtype(kind).type)
    kept = np.dtype("float32" if kind == "float" else "float64").type
    return st.one_of(st.integers(-8, 8).map(lambda n: n / 4), st.sampled_from(SPECIAL_FLOATS)).map(kept)


@st.composite
def programs(draw: st.DrawFn) -> tuple[str, dict[str, Any]]:
    """A loop over scalars: back edges that cross, pass through or share a result, Ifs, inner loops, a Gather."""
    kinds = [draw(st.sampled_from(sorted(NUMBERS))) for _ in range(draw(st.integers(1, 4)))]
    given_names = [(f"p{k}", kind) for k, kind in enumerate(kinds)]
    given_names += [("i", "int64"), ("c", "bool"), ("w", "float"), ("n", "int64"), ("yes", "bool"), ("no", "bool")]
    lines, names = draw(bodies(1, given_names, ""))
    results = [draw(st.sampled_from([name for name, have in names if have == kind])) for kind in kinds]
    keep = draw(st.sampled_from([name for name, kind in names if kind == "bool"]))
    scanned = draw(st.lists(st.sampled_from(names), max_size=2))
    params = ", ".join(f"{kind} {name}" for name, kind in given_names[: len(kinds)])
    carried = ", ".join(f"{kind} r{k}" for k, kind in enumerate(kinds))
    scans = "".join(f", {kind} e{k}" for k, (_, kind) in enumerate(scanned))
    finals = ", ".join(f"{kind} o{k}" for k, kind in enumerate(kinds))
    stacked = "".join(f", {kind}[S] s{k}" for k, (_, kind) in enumerate(scanned))
    passing = draw(st.booleans())
    renames = [f"r{k} = Identity ({name})" for k, name in enumerate(results)]
    if passing:  # results that are parameters themselves
        renames = []
        carried = ", ".join(f"{kind} {name}" for kind, name in zip(kinds, results, strict=True))
    renames += [f"e{k} = Identity ({name})" for k, (name, _) in enumerate(scanned)]
    names_out = ", ".join([f"o{k}" for k in range(len(kinds))] + [f"s{k}" for k in range(len(scanned))])
    body = "\n".join([*lines, *renames, f"keep = Identity ({keep})"])
    text = f"""
    g (int64 M, float w, int64 n, int64 where, int64 trips, bool yes, bool no, float[5] table,
       {", ".join(f"{kind} v{k}" for k, kind in enumerate(kinds))}) => ({finals}{stacked}) {{
      {names_out} = Loop <body = body (int64 i, bool c, {params}) => (bool keep, {carried}{scans}) {{
        {body}
      }}> (M, {draw(st.sampled_from(("yes", "")))}, {", ".join(f"v{k}" for k in range(len(kinds)))})
    }}"""
    inputs: dict[str, Any] = {
        "M": draw(st.integers(0, 40)),
        "w": draw(st.sampled_from((0.5, -1.25, 3.0))),
        "n": draw(st.integers(-3, 3)),
        "where": draw(st.integers(-6, 5)),
        "trips": draw(st.integers(-1, 4)),
        "yes": True,
        "no": False,
        "table": [1.0, 2.0, 3.0, 4.0, 5.0],
    }
    for k, kind in enumerate(kinds):
        inputs[f"v{k}"] = draw(numbers(kind))
    return text, inputs
