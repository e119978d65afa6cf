"""Ways to be fast that ``benchmarks/optimization_gains.py`` switches off from outside: each is of use where it is on,
none where it is off, and results are the same to the bit."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import loopdbg
from optimizer_access import requires_optimizer
from text_models import model, text_with_initializers

sys.path.append(str(Path(__file__).resolve().parents[3] / "benchmarks"))

from optimization_switches import SWITCHES
from switch_comparison import useful_switches

Loaded = tuple[loopdbg.Model, dict[str, Any]]


def ones(*shape: int) -> Any:
    return np.linspace(-1, 1, int(np.prod(shape)), dtype=np.float32).reshape(shape)


def numbers() -> Loaded:
    """Single numbers."""
    text = """
    g (int64 M, float v0) => (float v) {
      v = Loop (M, , v0) <body = b (int64 i, bool c, float x) => (bool c2, float x2) {
        c2 = Identity (c)
        y = Mul (x, x)
        x2 = Cos (y)
      }>
    }"""
    return model(text), {"M": np.int64(600), "v0": np.float32(0.3)}


def rows() -> Loaded:
    """Products with weights, of rows that are known beforehand, and of a matrix that is turned again each time."""
    text = """
    g (int64 M, float[40,1,64] X, float[256,64] K, float[1,256] h0) => (float[1,256] h) {
      h = Loop (M, , h0) <body = b (int64 i, bool c, float[1,256] u) => (bool c2, float[1,256] u2) {
        c2 = Identity (c)
        row = Gather (X, i)
        p = MatMul (row, W)
        t = Transpose (K)
        q = MatMul (row, t)
        s = Add (p, q)
        u2 = Tanh (s)
      }>
    }"""
    inputs = {"M": np.int64(40), "X": ones(40, 1, 64), "K": ones(256, 64), "h0": ones(1, 256)}
    return text_with_initializers(text, W=ones(64, 256)), inputs


def large() -> Loaded:
    """Elementwise nodes over large tensors, and nodes that only show memory in another way, in the main graph too."""
    text = """
    g (int64 M, float[64,256] z) => (float[64,256] h) {
      shape = Constant <value = int64[3] {1, 64, 256}> ()
      flat = Constant <value = int64[2] {64, 256}> ()
      z1 = Reshape (z, shape)
      z2 = Neg (z1)
      h0 = Reshape (z2, flat)
      h = Loop (M, , h0) <body = b (int64 i, bool c, float[64,256] u) => (bool c2, float[64,256] u2) {
        c2 = Identity (c)
        cut = Constant <value = int64[1] {0}> ()
        end = Constant <value = int64[1] {8}> ()
        part = Slice (u, cut, end)
        turned = Transpose (part)
        p = MatMul (part, turned)
        top = ReduceMax <keepdims = 0> (p)
        a = Mul (u, u)
        s = Add (a, top)
        u2 = Tanh (s)
      }>
    }"""
    return model(text), {"M": np.int64(8), "z": ones(64, 256)}


def growing() -> Loaded:
    """Values that grow, along the first axis and along one with others before it."""
    text = """
    g (int64 M, float[n,2] a0, float[1,2,m,4] k0) => (float[p,2] a, float[1,2,q,4] k) {
      a, k = Loop (M, , a0, k0) <body = b (int64 i, bool c, float[n,2] x, float[1,2,m,4] y)
                               => (bool c2, float[p,2] x2, float[1,2,q,4] y2) {
        c2 = Identity (c)
        one = Constant <value = float[1,2] {1.0, 2.0}> ()
        more = Constant <value = float[1,2,1,4] {1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0}> ()
        x2 = Concat <axis = 0> (x, one)
        y2 = Concat <axis = 2> (y, more)
      }>
    }"""
    return model(text), {"M": np.int64(40), "a0": ones(1, 2), "k0": ones(1, 2, 1, 4)}


def written() -> Loaded:
    """A row that is written into what is carried, and results as long as the numbers say."""
    text = """
    g (int64 M, float[64,8] h0, float[1,8] row) => (float[64,8] h) {
      h = Loop (M, , h0) <body = b (int64 i, bool c, float[64,8] u) => (bool c2, float[64,8] u2) {
        c2 = Identity (c)
        axes = Constant <value = int64[2] {0, 1}> ()
        at = Unsqueeze (i, axes)
        there = NonZero (u)
        count = Size (there)
        number = Cast <to = 1> (count)
        new = Add (row, number)
        u2 = ScatterND (u, at, new)
      }>
    }"""
    return model(text), {"M": np.int64(40), "h0": ones(64, 8), "row": ones(1, 8)}


def bytes_of() -> Loaded:
    """Products of bytes, with what makes them of floats, and as integers of 32 bits."""
    text = """
    g (int64 M, float[2,32] h0, int32[2,32] n0) => (float[2,32] h, int32[2,32] n) {
      h, n = Loop (M, , h0, n0) <body = b (int64 i, bool c, float[2,32] u, int32[2,32] v)
                               => (bool c2, float[2,32] u2, int32[2,32] v2) {
        c2 = Identity (c)
        q, scale, zero = DynamicQuantizeLinear (u)
        p = MatMulInteger (q, W, zero)
        f = Cast <to = 1> (p)
        u2 = Mul (f, scale)
        wide = MatMul (v, N)
        most = Constant <value = int32 {100}> ()
        v2 = Mod (wide, most)
      }>
    }"""
    whole = np.arange(1024).reshape(32, 32) % 11
    inputs = {"M": np.int64(8), "h0": ones(2, 32), "n0": np.ones((2, 32), np.int32)}
    return text_with_initializers(text, W=(whole - 5).astype(np.int8), N=whole.astype(np.int32)), inputs


def sequence() -> Loaded:
    text = """
    g (int64 M, float[4] x) => (float[n,4] rows) {
      none = SequenceEmpty <dtype = 1> ()
      all = Loop (M, , none) <body = b (int64 i, bool c, seq(float[4]) s) => (bool c2, seq(float[4]) s2) {
        c2 = Identity (c)
        s2 = SequenceInsert (s, x)
      }>
      rows = ConcatFromSequence <axis = 0, new_axis = 1> (all)
    }"""
    return model(text), {"M": np.int64(9), "x": ones(4)}


LIVES_BY: dict[str, Callable[[], Loaded]] = {
    "scalar programs": numbers,
    "panels": rows,
    "batched hoisting": rows,
    "invariants": rows,
    "fusion": large,
    "quantized chains": bytes_of,
    "copy elision": large,
    "aliases": large,
    "ranges of shapes": growing,
    "appends in place": growing,
    "capacity for more": growing,
    "data-dependent shapes": written,
    "bytes in 32 bits": bytes_of,
    "shared sequences": sequence,
    "buffers exchanged": large,
}


def test_each_has_a_loop() -> None:
    assert LIVES_BY.keys() == SWITCHES.keys()


@requires_optimizer
@pytest.mark.parametrize("name", SWITCHES)
def test_off_is_off(name: str) -> None:
    switch, load = SWITCHES[name], LIVES_BY[name]
    whole, of_use = useful_switches(load, [switch])
    assert of_use == [switch]
    with switch.disabled():
        part, of_use = useful_switches(load, [switch])
    assert not of_use
    for a, b in zip(whole.outputs, part.outputs, strict=True):
        if name == "panels":  # they settle the order of sums
            assert {key: len(value) for key, value in a.items()} == {key: len(value) for key, value in b.items()}
        else:
            assert a == b
