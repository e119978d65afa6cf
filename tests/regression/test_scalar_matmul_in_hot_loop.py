"""A product of one number by one number in a loop that became a scalar program: the loop of a gufunc takes more sizes
and strides than that of one element, so that the program read them out of memory that is not its own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from loopdbg.runtime.kernels import kernel as kernels
from text_models import model

ITERATIONS = 1000

LOOP = """g ({dtype}{shape} h0) => ({dtype}{shape} h) {{
  n = Constant <value = int64 {{1000}}> ()
  yes = Constant <value = bool {{1}}> ()
  W = Constant <value = {dtype}{shape} {{{weight}}}> ()
  h = Loop (n, yes, h0) <body = b (int64 i, bool c, {dtype}{shape} h) => (bool c2, {dtype}{shape} h2) {{
    c2 = Identity (c)
    {product}
    one = Constant <value = {dtype} {{1}}> ()
    h2 = Add (t, one)
  }}>
}}"""


@pytest.mark.parametrize(
    ("dtype", "shape", "product"),
    [
        ("float", [1, 1], "t = MatMul (h, W)"),
        ("double", [1, 1], "t = MatMul (h, W)"),
        ("float", [1, 1], "t = Gemm (h, W)"),
        ("float", [1], "d = MatMul (h, W) k = Constant <value = int64[1] {1}> () t = Reshape (d, k)"),
        ("int64", [1, 1], "t = MatMul (h, W)"),
        ("int32", [1, 1], "t = MatMul (h, W)"),
    ],
)
def test_product_of_one_number(dtype: str, shape: list[int], product: str) -> None:
    kind: Any = {"float": np.float32, "double": np.float64}.get(dtype, dtype)
    weight = "3" if dtype.startswith("int") else "0.5"
    text = LOOP.format(dtype=dtype, shape=shape, product=product, weight=weight)
    result = model(text).run({"h0": np.full(shape, 8, kind)})["h"]
    wanted = np.full(shape, 8, kind)
    for _ in range(ITERATIONS):
        wanted = (wanted * np.dtype(kind).type(weight) + np.dtype(kind).type(1)).astype(kind)
    assert result.dtype == wanted.dtype and result.tobytes() == wanted.tobytes()


def test_kernels_say_whether_they_are_elementwise() -> None:
    single = np.dtype(np.float32)
    for kernel in (
        kernels.ufunc_kernel(np.add, (single, single)),
        kernels.ufunc_kernel(np.tanh, (single,)),
        kernels.native_loop_kernel("erf", single),
        kernels.copy_kernel(single),
        kernels.where_kernel(single),
        kernels.cast_kernel(single, np.dtype(np.int64)),
    ):
        assert kernel is not None and kernel.elementwise
    product = kernels.ufunc_kernel(np.matmul, (single, single))
    assert product is not None and not product.elementwise
    assert not kernels.driver_kernel("gather", single).elementwise
