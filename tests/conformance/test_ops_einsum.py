"""Einsum next to NumPy, onnxruntime and OpenVINO."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdbg.runtime.errors import ModelError
from loopdbg.runtime.graph import System

from .single_node import Array, assert_close, openvino_node, run_here

EXTENTS = dict(zip("abcdehijkmnstz", (2, 3, 1, 4, 2, 2, 3, 4, 5, 3, 2, 4, 5, 2), strict=True))
#: Equations, and for each input what its ellipsis represents.
EQUATIONS = [
    *("ij,jk->ik", "ij,kj->ik", "ij,jk", "ij,jk->ki", "ij,ij->ij", "ij,ij->", "i,i->", "i,j->ij", "i,j->ji", "ij->ji"),
    *(
        "ij->",
        "ij->i",
        "ij->j",
        "bij,bjk->bik",
        "bhid,bhjd->bhij",
        "bhij,bhjd->bhid",
        "bthd,bshd->bhts",
        "bts,bsd->btd",
    ),
    *(
        "bshd,hdm->bsm",
        "bsm,mhd->bhsd",
        "abc,cd,de->abe",
        "ab,bc,cd,de->ae",
        "ab,cd,e->e",
        "aab,bc->ac",
        "ii->i",
        "ii->",
    ),
    *("iij,jk->ik", "ba,cb", "aij,ik,kj->a", "i,->i", ",->", "z,a,b->zab", "ab,ab,ab->b", "abcd->dbca", "aijk,bj->bka"),
]
ELLIPSES: list[tuple[str, list[tuple[int, ...]]]] = [
    ("...ij,...jk->...ik", [(2, 3), (2, 3)]),
    ("...ij,...jk->...ik", [(2, 1), (3,)]),
    ("...ij,jk->i...k", [(2, 3), ()]),
    ("...ij,...jk", [(2,), ()]),
    ("...->...", [(2, 3)]),
    ("...i->...", [(2, 3)]),
    ("i...->i...", [(4, 2)]),
    ("...i,...i->...", [(2,), (2,)]),
    ("b...d,bd->b...", [(3, 2), ()]),
    ("...ii->...i", [(2, 3)]),
    ("...,...->...", [(2, 1), (3,)]),
    ("...ij->ji", [()]),
]


def draw_operands(equation: str, hidden: list[tuple[int, ...]] | None = None, dtype: Any = np.float32) -> list[Array]:
    terms = equation.split("->")[0].split(",")
    rng = np.random.default_rng(len(equation))
    results = []
    for k, term in enumerate(terms):
        before, _, after = term.partition("...")
        middle = hidden[k] if hidden else ()
        shape = (*(EXTENTS[c] for c in before), *middle, *(EXTENTS[c] for c in after))
        x = rng.integers(-5, 6, shape) if np.dtype(dtype).kind == "i" else rng.normal(size=shape)
        results.append(np.asarray(x, dtype))
    return results


def run_operator(equation: str, *inputs: Array) -> Array:
    result = run_here(System.ONNX, "Einsum", list(inputs), version=12, attributes={"equation": equation})[0]
    return np.asarray(result)


@pytest.mark.parametrize("equation", EQUATIONS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_einsum(equation: str, dtype: Any) -> None:
    inputs = draw_operands(equation, dtype=dtype)
    np.testing.assert_allclose(run_operator(equation, *inputs), np.einsum(equation, *inputs), rtol=2e-5, atol=1e-5)


@pytest.mark.parametrize(("equation", "hidden"), ELLIPSES, ids=str)
def test_an_ellipsis(equation: str, hidden: list[tuple[int, ...]]) -> None:
    inputs = draw_operands(equation, hidden)
    if equation == "...ij->ji":
        np.testing.assert_array_equal(run_operator(equation, *inputs), inputs[0].T)
        return
    np.testing.assert_allclose(run_operator(equation, *inputs), np.einsum(equation, *inputs), rtol=1e-5, atol=1e-6)


# OpenVINO's CPU plugin refuses one label in three inputs, and gives garbage or an error for repeated ones.
@pytest.mark.parametrize("equation", EQUATIONS[:22])
def test_einsum_of_openvino(equation: str) -> None:
    assert_close(
        *openvino_node("Einsum", list(draw_operands(equation)), opset=7, equation=equation), rtol=2e-5, atol=1e-5
    )


def test_halves_are_summed_wide_and_ones_stretch() -> None:
    x = np.full((1, 3000), 1.0, np.float16)
    assert run_operator("ij,ij->i", x, x)[0] == 3000
    a, b = np.arange(6.0).reshape(2, 3), np.arange(4.0).reshape(1, 4)
    np.testing.assert_array_equal(run_operator("ij,ik->ik", a, b), np.einsum("ij,ik->ik", a, np.repeat(b, 2, 0)))
    empty = run_operator("ij,jk->ik", np.zeros((2, 0), np.float32), np.zeros((0, 3), np.float32))
    np.testing.assert_array_equal(empty, np.zeros((2, 3), np.float32))


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ij,jk->ik", [(2, 3)]),
        ("ij->ik", [(2, 3)]),
        ("ij->iji", [(2, 3)]),
        ("ij,jk->ik", [(2, 3), (4, 5)]),
        ("ijk->i", [(2, 3)]),
        ("i->i", [(2, 3)]),
        ("ii->i", [(2, 3)]),
        ("i1->i", [(2, 3)]),
    ],
)
def test_what_does_not_fit(equation: str, shapes: list[tuple[int, ...]]) -> None:
    with pytest.raises(ModelError):
        run_operator(equation, *(np.zeros(shape, np.float32) for shape in shapes))
