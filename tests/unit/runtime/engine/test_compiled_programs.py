"""Scalar programs as machine code: the same bits as the interpreter's, from wherever one takes over from the other."""

from __future__ import annotations

import subprocess
import sys
import threading
from typing import Any

import numpy as np
import pytest

import loopdbg
from loopdbg.runtime.compiler import llvm_jit
from loopdbg.runtime.compiler.c_expression_lowering import write_expression
from loopdbg.runtime.compiler.llvm_writer import LlvmWriter, TypedValue
from loopdbg.runtime.engine.engine import Engine
from optimizer_access import optimizer_of, requires_optimizer, start_engine
from text_models import model

pytestmark = [
    requires_optimizer,
    pytest.mark.skipif(
        not llvm_jit.is_available(), reason="llvmlite (extra fast) is not installed, or LOOPDBG_COMPILE=0"
    ),
]

NESTED = """g (int64 M, float x0) => (float x, float[S] s) {
  x, s = Loop <body = outer (int64 i, bool c, float a) => (bool c, float b, float e) {
    n = Constant <value = int64 {700}> ()
    b = Loop <body = inner (int64 j, bool d, float u) => (bool d, float w) {
      jf = Cast <to = 1> (j)
      t = Mul (u, u)
      k = Sub (t, jf)
      w = Tanh (k)
    }> (n, , a)
    e = Identity (b)
  }> (M, , x0)
}"""
INPUTS = {"M": 20_000, "x0": np.float32(0.3)}


def started(m: loopdbg.Model, inputs: dict[str, Any], compile_after: float) -> Engine:
    return start_engine(m, inputs, compile_after=compile_after)


def bits(m: loopdbg.Model, engine: Engine) -> dict[str, bytes]:
    assert engine.resume() == ("end", -1)
    return {name: value.tobytes() for name, value in engine.results().items()}


def check_compiled(m: loopdbg.Model, inputs: dict[str, Any]) -> dict[str, bytes]:
    """Compiled code gives the bits of the interpreter, which are returned."""
    expected = bits(m, started(m, inputs, -1))
    engine = started(m, inputs, 0)
    assert bits(m, engine) == expected and optimizer_of(engine).compiled
    return expected


def test_interpreter_runs_until_code_is_compiled() -> None:
    m = model(NESTED)
    expected = bits(m, started(m, {**INPUTS, "M": 5000}, -1))
    engine = started(m, {**INPUTS, "M": 5000}, 1e-9)
    first = bits(m, engine)
    # A run that ended within its first time slice leaves it to the next start to have code made.
    for _ in range(2):
        engine.start(m.check({**INPUTS, "M": 5000}))
        for thread in threading.enumerate():
            if thread.name == "loopdbg-compile":
                thread.join()
    engine.start(m.check({**INPUTS, "M": 5000}))
    assert optimizer_of(engine).compiled
    assert bits(m, engine) == first == expected


def test_a_program_that_a_time_slice_ended_goes_on_as_code_inside_an_inner_loop() -> None:
    """The interpreter hands over in the middle of an iteration of the outer loop, wherever its time slice ended."""
    m = model(NESTED)
    expected = bits(m, started(m, {**INPUTS, "M": 2000}, -1))
    engine = started(m, {**INPUTS, "M": 2000}, -1)
    depths = []

    def tick() -> None:
        depths.append(len(engine.stack))
        engine.optimizer.compile_after = 0  # the next tick compiles what is suspended

    engine.on_tick = tick
    assert bits(m, engine) == expected
    assert depths and optimizer_of(engine).compiled


def test_code_stops_where_the_interpreter_does() -> None:
    m = model(NESTED)
    seen = []
    for compile_after in (-1, 0):
        engine = started(m, INPUTS, compile_after)
        engine.stop_at(0, 431)
        assert engine.resume() == ("boundary", 0)
        engine.stop_at(1, 3)
        assert engine.resume() == ("boundary", 1)
        seen.append((engine.loop_state(0), engine.loop_state(1), [engine.loops.totals(k)[:3] for k in (0, 1)]))
        assert bool(optimizer_of(engine).compiled) == (compile_after == 0)
    assert seen[0] == seen[1]


def test_another_thread_interrupts_code() -> None:
    m = model(NESTED)
    engine = started(m, {**INPUTS, "M": 2**62}, 0)
    timer = threading.Timer(0.05, engine.interrupt)
    timer.start()
    assert engine.resume() == ("interrupt", -1)
    timer.join()
    assert optimizer_of(engine).compiled
    iteration = engine.loop_state(0)[0]
    engine.clear_stops()
    engine.stop_at(0, iteration + 10)
    assert engine.resume() == ("boundary", 0)


def test_programs_that_are_alike_share_code() -> None:
    m = model(NESTED)
    item, two = (started(m, {**INPUTS, "M": 300}, 0) for _ in range(2))
    kept = set(llvm_jit._cache)
    assert bits(m, item) == bits(m, two)
    assert len(set(llvm_jit._cache) - kept) <= 1


def test_a_forked_process_leaves_llvm_alone_that_was_at_work(monkeypatch: pytest.MonkeyPatch) -> None:
    for held in (False, True):
        lock = threading.Lock()
        monkeypatch.setattr(llvm_jit, "enabled", True)
        monkeypatch.setattr(llvm_jit, "_lock", lock)
        if held:
            lock.acquire()
        llvm_jit._after_fork()
        assert llvm_jit.enabled is not held
        assert not llvm_jit._lock.locked()


def test_without_llvmlite_the_interpreter_does_it() -> None:
    code = (
        "import sys; sys.modules['llvmlite'] = None\n"
        "import numpy as np, onnx, loopdbg\n"
        f"m = loopdbg.load(onnx.parser.parse_model('''<ir_version: 9, opset_import: [\"\" : 18]> {NESTED}'''))\n"
        "from loopdbg.runtime.engine.engine import Engine\n"
        "engine = Engine(m.plan); engine.optimizer.compile_after = 0\n"
        "engine.start(m.check({'M': 300, 'x0': np.float32(0.3)}))\n"
        "print(engine.resume(), engine.optimizer.program_runs > 0, engine.optimizer.compiled)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "('end', -1) True []"


@pytest.mark.parametrize("text", ["a +", "a ** b", "c", "sin(a)", "a ? b"])
def test_an_expression_outside_the_grammar_is_refused(text: str) -> None:
    writer = LlvmWriter()
    writer.begin_block("entry")
    with pytest.raises((ValueError, KeyError)):
        write_expression(text, {"a": TypedValue("%a", "float"), "b": TypedValue("%b", "float")}, "float", writer)


def test_edited_constant_is_reread() -> None:
    m = model(
        """g (int64 M, int64 v0) => (int64 v) <int64 two = {2}> {
          v = Loop <body = b (int64 i, bool c, int64 x) => (bool c, int64 y) {
            h = Div (x, two)
            y = Add (h, i)
          }> (M, , v0)
        }"""
    )
    ended = []
    for compile_after in (-1, 0):
        engine = started(m, {"M": 2000, "v0": 7}, compile_after)
        engine.stop_at(0, 900)
        assert engine.resume() == ("boundary", 0)
        engine.editor.set([value.name for value in m.plan.slots].index("two"), np.int64(3))
        engine.clear_stops()
        ended.append(bits(m, engine))
        assert bool(optimizer_of(engine).compiled) == (compile_after == 0)
        engine.start(m.check({"M": 2000, "v0": 7}))
        ended.append(bits(m, engine))
    assert ended[:2] == ended[2:] and ended[0] != ended[1]


@pytest.mark.parametrize("dtype", ["float16", "float", "double", "int32", "bool"])
def test_branches_hand_on_values_of_any_size(dtype: str) -> None:
    """Each branch of an If copies its result, of 1 to 8 bytes."""
    m = model(f"""g (int64 M, {dtype} x0, bool up) => ({dtype} x) {{
      x = Loop <body = body (int64 i, bool c, {dtype} a) => (bool keep, {dtype} b) {{
        keep = Identity (c)
        two = Constant <value = int64 {{2}}> ()
        zero = Constant <value = int64 {{0}}> ()
        rest = Mod (i, two)
        even = Equal (rest, zero)
        b = If <then_branch = one () => ({dtype} y) {{ y = Identity (a) }},
                else_branch = other () => ({dtype} z) {{ z = Where (up, a, x0) }}> (even)
      }}> (M, , x0)
    }}""")
    inputs = {"M": 5000, "x0": np.array(1, m.inputs[1].type.dtype), "up": True}
    check_compiled(m, inputs)


NANS = [(1.0, np.nan), (np.nan, 1.0), (np.inf, np.inf), (1.0, -np.nan), (np.nan, -np.nan), (-np.nan, np.nan)]
#: Compilers move signs over other operations (a - -b is a + b): of numbers that is the same, of NaN it is not.
SIGNED = [
    "n = Neg (y) r = {op} (x, n)",
    "n = Neg (x) r = {op} (n, y)",
    "n = Neg (x) m = Neg (y) r = {op} (n, m)",
    "n = Abs (x) m = Abs (y) r = {op} (n, m)",
    "q = {op} (x, y) n = Neg (q) r = Abs (n)",
    "q = {op} (x, y) r = Neg (q)",
]


@pytest.mark.parametrize("dtype", ["float", "float[3]", "double[9]"])
@pytest.mark.parametrize("op", ["Add", "Sub", "Mul", "Div"])
@pytest.mark.parametrize("body", SIGNED)
def test_the_sign_of_nan_is_the_operators(body: str, op: str, dtype: str) -> None:
    m = model(f"""g (int64 M, {dtype} x0, {dtype} y0, {dtype} z) => ({dtype} xl, {dtype} yl, {dtype} rl) {{
      xl, yl, rl = Loop <body = body (int64 i, bool c, {dtype} x, {dtype} y, {dtype} before)
          => (bool c, {dtype} x1, {dtype} y1, {dtype} r) {{
        {body.format(op=op)}
        x1 = Sub (x, z)
        y1 = Sub (y, z)
      }}> (M, , x0, y0, z)
    }}""")
    port = m.inputs[1].type
    for x, y in NANS:
        inputs = {"M": 300, **{k: np.full(port.shape, v, port.dtype) for k, v in (("x0", x), ("y0", y), ("z", 0))}}
        check_compiled(m, inputs)


@pytest.mark.parametrize("dtype", ["float", "double", "int32", "int64"])
@pytest.mark.parametrize("shape", [(5,), (9,), (3, 8), (23,), (2, 11)])
def test_vectors_of_any_length(shape: tuple[int, ...], dtype: str) -> None:
    """Numbers, truths and what is cut out and joined; what LLVM has no vectors for has space in wider ones."""
    m = model(f"""g (int64 M, {dtype}{list(shape)} x0, {dtype} one) => ({dtype}{list(shape)} x, bool{list(shape)} b) {{
      b0 = Less (x0, x0)
      x, b = Loop <body = body (int64 i, bool c, {dtype}{list(shape)} u, bool{list(shape)} v)
          => (bool c, {dtype}{list(shape)} w, bool{list(shape)} d) {{
        start = Constant <value_ints = [1]> ()
        first = Constant <value_ints = [0]> ()
        all = Constant <value_ints = [{shape[-1]}]> ()
        axis = Constant <value_ints = [-1]> ()
        head = Slice (u, first, start, axis)
        rest = Slice (u, start, all, axis)
        turned = Concat <axis = -1> (rest, head)
        sum = Add (turned, one)
        low = Less (sum, u)
        d = Xor (low, v)
        w = Where (d, sum, u)
      }}> (M, , x0, b0)
    }}""")
    x0 = np.arange(np.prod(shape)).reshape(shape).astype(m.inputs[1].type.dtype) * 7 % 11
    inputs = {"M": 300, "x0": x0, "one": np.ones((), x0.dtype)}
    check_compiled(m, inputs)


@pytest.mark.parametrize("dtype", ["float", "double", "int32", "int64"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("last", [0, 1])
@pytest.mark.parametrize("operator", ["ArgMax", "ArgMin"])
def test_arg_extremes_with_ties_zeros_and_nan(operator: str, last: int, axis: int, dtype: str) -> None:
    """Ties, zeros of both signs and NaN, in other places at each iteration."""
    shape, kept = [6, 5], [6, 5][1 - axis]
    m = model(f"""g (int64 M, {dtype}{shape} x0) => ({dtype}{shape} x, int64[n, {kept}] found) {{
      x, found = Loop <body = body (int64 i, bool c, {dtype}{shape} u)
          => (bool c, {dtype}{shape} w, int64[{kept}] at) {{
        at = {operator} <axis = {axis}, keepdims = 0, select_last_index = {last}> (u)
        start = Constant <value_ints = [1]> ()
        first = Constant <value_ints = [0]> ()
        all = Constant <value_ints = [30]> ()
        flat = Constant <value_ints = [-1]> ()
        back = Constant <value_ints = [6, 5]> ()
        row = Reshape (u, flat)
        head = Slice (row, first, start, first)
        rest = Slice (row, start, all, first)
        turned = Concat <axis = 0> (rest, head)
        w = Reshape (turned, back)
      }}> (M, , x0)
    }}""")
    kind = m.inputs[1].type.dtype
    odd = [0, 1, -1, 3] if kind.kind == "i" else [np.nan, -np.nan, 0.0, -0.0, 1, np.inf, -np.inf]
    for seed in range(3):
        x0 = np.random.default_rng(seed).choice(np.array(odd, kind), shape)
        inputs = {"M": 300, "x0": x0}
        check_compiled(m, inputs)


@pytest.mark.parametrize("dtype", ["float", "double", "int32", "int64"])
@pytest.mark.parametrize("axis", [0, 1])
@pytest.mark.parametrize("largest", [0, 1])
def test_top_one_with_ties_zeros_and_nan(largest: int, axis: int, dtype: str) -> None:
    """TopK with k = 1: the extremes and their indices, in other places at each iteration."""
    kept = [1 if k == axis else extent for k, extent in enumerate([6, 5])]
    m = model(f"""g (int64 M, {dtype}[6, 5] x0, {dtype}[64, 6, 5] odd)
        => ({dtype}[6, 5] x, {dtype}[n, {kept[0]}, {kept[1]}] best, int64[n, {kept[0]}, {kept[1]}] found) {{
      x, best, found = Loop <body = body (int64 i, bool c, {dtype}[6, 5] u)
          => (bool c, {dtype}[6, 5] w, {dtype}{kept} b, int64{kept} at) {{
        one = Constant <value_ints = [1]> ()
        b, at = TopK <axis = {axis}, largest = {largest}> (u, one)
        many = Constant <value = int64 {{64}}> ()
        k = Mod (i, many)
        w = Gather <axis = 0> (odd, k)
      }}> (M, , x0)
    }}""")
    kind = m.inputs[1].type.dtype
    choices = [0, 1, -1, 3] if kind.kind == "i" else [np.nan, -np.nan, 0.0, -0.0, 1, np.inf, -np.inf]
    odd = np.random.default_rng(axis).choice(np.array(choices, kind), (64, 6, 5))
    if kind.kind == "f":
        odd[::2] = np.nan_to_num(odd[::2])
        odd[1] = np.nan
    inputs = {"M": 300, "x0": odd[0], "odd": odd}
    with np.errstate(all="ignore"):
        expected = check_compiled(m, inputs)
        plain = start_engine(m, inputs, hot_after=-1)
        assert bits(m, plain) == expected


@pytest.mark.parametrize("dtype", ["float", "double", "int32", "int64"])
@pytest.mark.parametrize("axes", [[0], [1], [0, 1]])
@pytest.mark.parametrize("shape", [(2, 7), (3, 8), (7, 9), (2, 27), (1, 61)])
def test_reductions_of_any_length(shape: tuple[int, int], axes: list[int], dtype: str) -> None:
    """In the order of their kernels, with zeros of both signs and NaN among the numbers now and then."""
    kept = [1 if axis in axes else extent for axis, extent in enumerate(shape)]
    names = ("Sum", "Max", "Min", "Prod")
    results = ", ".join(f"{dtype}[n, {kept[0]}, {kept[1]}] r{name}" for name in names)
    feeds = ", ".join(f"{dtype}{kept} s{name}" for name in names)
    nodes = "\n".join(f"s{name} = Reduce{name} <keepdims = 1> (u, axes)" for name in names)
    m = model(f"""g (int64 M, {dtype}{list(shape)} x0, {dtype}[64, {shape[0]}, {shape[1]}] odd)
        => ({dtype}{list(shape)} x, {results}) {{
      x, {", ".join(f"r{name}" for name in names)} = Loop <body = body (int64 i, bool c, {dtype}{list(shape)} u)
          => (bool c, {dtype}{list(shape)} w, {feeds}) {{
        axes = Constant <value_ints = {axes}> ()
        {nodes}
        many = Constant <value = int64 {{64}}> ()
        at = Mod (i, many)
        w = Gather <axis = 0> (odd, at)
      }}> (M, , x0)
    }}""")
    kind = m.inputs[1].type.dtype
    rng = np.random.default_rng(3)
    numbers = rng.integers(-9, 9, (64, *shape)) if kind.kind == "i" else rng.normal(size=(64, *shape))
    odd = numbers.astype(kind)
    if kind.kind == "f":
        odd[::5] = np.where(rng.random(odd[::5].shape) < 0.5, -0.0, 0.0)
        odd[::7] = rng.choice(np.array([np.nan, -np.nan, np.inf, -np.inf, 1, -0.0], kind), odd[::7].shape)
    inputs = {"M": 300, "x0": odd[1], "odd": odd}
    with np.errstate(all="ignore"):
        expected = check_compiled(m, inputs)
        plain = start_engine(m, inputs, hot_after=-1)
        assert bits(m, plain) == expected
