"""Loops that run beside the loop whose rows they read."""

from __future__ import annotations

import os
import signal
import threading
from typing import Any

import numpy as np
import pytest

import loopdbg
from floors import needs_fast
from loopdbg.runtime.engine.wavefront import wavefront
from loopdbg.runtime.engine.wavefront.wavefront import find_links
from loopdbg.runtime.errors import ExecutionError
from loopdbg.runtime.graph import Loop, StoppedBy
from loopdbg.runtime.kernels import team
from loopdbg.runtime.model import Run
from loopdbg.runtime.ops import weights as panels
from loopdbg.runtime.plan import batch, bind
from models import cell_model, floats, with_weights

pytestmark = needs_fast


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Everything is worth a thread, of which there are two."""
    monkeypatch.setattr(batch, "LEAST_WEIGHTS", 1)
    monkeypatch.setattr(bind, "BLOCK", 8)
    monkeypatch.setattr(panels, "PANEL_BYTES", (1, 1 << 20))
    monkeypatch.setattr(wavefront, "BLOCK", 4)
    monkeypatch.setattr(wavefront, "LEAST_WORK", 0)
    use(monkeypatch, 2)


def use(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    monkeypatch.setattr(team, "threads", lambda: threads)


def layer(
    n: int,
    source: str,
    o: str = "o = Tanh (sum)",
    keep: str = "keep = Identity (c)",
    cond: str = "",
    trips: str = "M",
    begin: str = "h0",
) -> str:
    return f"""
      h{n}, s{n} = Loop <body = step{n} (int64 i, bool c, float[1,8] u) => (bool keep, float[1,8] o, float[1,8] row) {{
        {keep}
        x = Gather <axis = 0> ({source}, i)
        x_W = MatMul (x, W{n})
        u_R = MatMul (u, R{n})
        sum = Add (x_W, u_R)
        {o}
        row = Identity (o)
      }}> ({trips}, {cond}, {begin})"""


WEIGHTS = {f"{letter}{n}": floats(8, 8) / 2 for letter in "WR" for n in range(1, 5)}


def network(*layers: str, last: int = 2, **constants: Any) -> loopdbg.Model:
    return with_weights(
        f"""
    net (int64 M, bool cond, int64 stop, int64 K, float[r,1,8] X, float[1,8] h0)
        => (float[N,1,8] rows, float[1,8] h1_last) {{
      {"".join(layers)}
      rows = Identity (s{last})
      h1_last = Identity (h1)
    }}""",
        **{name: value for name, value in WEIGHTS.items() if int(name[1]) <= last},
        **constants,
    )


TWO = (layer(1, "X"), layer(2, "s1"))


def given(rows: int = 40, **more: Any) -> dict[str, Any]:
    return {"M": rows, "cond": True, "stop": 10**6, "K": 0, "X": floats(rows, 1, 8), "h0": floats(1, 8), **more}


def links(m: loopdbg.Model) -> list[tuple[int, int]]:
    """Leaders and followers, as numbers among the loops."""
    loops = [k for k, node in enumerate(m.graph.nodes) if isinstance(node, Loop)]
    return [(loops.index(link.leader), loops.index(link.follower)) for link in find_links(m.graph)]


def taken(m: loopdbg.Model) -> list[int]:
    """The loops that the last run took from other engines."""
    return [] if m._wavefront is None else [follower.index for follower in m._wavefront.taken]


def told(run: Any) -> list[Any]:
    return [
        (loop.path, loop.iterations, loop.entries, loop.stopped_by, loop.reasons, loop.trip_count, loop.notes)
        for loop in run.loops
    ]


def alone(m: loopdbg.Model, inputs: dict[str, Any]) -> Run:
    """A run on one thread: whoever looks at iterations sees them one after the other."""
    return m.execute(inputs, on_iteration=lambda frame: None)


def check(m: loopdbg.Model, inputs: dict[str, Any], *others: int) -> None:
    plain = alone(m, inputs)
    for _ in range(3):
        run = m.execute(inputs)
        assert taken(m) == list(others)
        assert told(run) == told(plain)
        for name, value in plain.outputs.items():
            np.testing.assert_array_equal(run.outputs[name], value)


@pytest.mark.parametrize("rows", [2, 3, 4, 5, 11, 40, 300])
def test_two_layers(rows: int) -> None:
    m = network(*TWO)
    assert links(m) == [(0, 1)]
    check(m, given(rows), 1)


def test_runs_of_any_length_one_after_the_other() -> None:
    m = network(*TWO)
    for rows in (40, 7, 300, 40, 2, 41):
        check(m, given(rows), 1)
    check(m, given(0))
    check(m, given(1))
    check(m, given(12), 1)


@pytest.mark.parametrize(("threads", "others"), [(1, []), (2, [1, 3]), (3, [1, 2]), (4, [1, 2, 3]), (9, [1, 2, 3])])
def test_four_layers(threads: int, others: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, threads)
    m = network(layer(1, "X"), layer(2, "s1"), layer(3, "s2"), layer(4, "s3"), last=4)
    assert links(m) == [(0, 1), (1, 2), (2, 3)]
    check(m, given(50), *others)


@pytest.mark.parametrize("batch_size", [1, 2])
def test_layers_of_openvino(batch_size: int) -> None:
    """Parts of the rows; with a batch of 2 the collected rows are not in the order in which they come."""
    m = cell_model("LSTMCell", 2, [(32, 6), (32, 8), (32,)], {}, batch_size, layers=3)
    assert links(m) == [(0, 1), (1, 2)]
    inputs = {port.name: floats(*port.shape) for port in m.inputs}
    check(m, inputs, *([1] if batch_size == 1 else []))


def test_what_a_follower_needs_has_to_be_there_before_the_leader() -> None:
    between = "\n      K2 = Add (K, M)"
    late = network(TWO[0], between, layer(2, "s1", trips="K2"))
    assert links(late) == []
    check(late, given(40, K=-3))
    early = network(between, TWO[0], layer(2, "s1", trips="K2"))
    assert links(early) == [(0, 1)]
    check(early, given(40, K=-3), 1)


def test_weights_that_follow_from_constants() -> None:
    m = network("\n      T = Transpose (V)", TWO[0], layer(2, "s1").replace("W2", "T"), V=floats(8, 8))
    assert links(m) == [(0, 1)] or taken(m) == []
    check(m, given(40), *([1] if links(m) else []))


def test_a_follower_that_ends_early() -> None:
    m = network(TWO[0], layer(2, "s1", keep="keep = Less (i, stop)", cond="cond"))
    for stop in (0, 5, 38, 39, 10**6):
        check(m, given(40, stop=stop), 1)


@pytest.mark.parametrize(
    "layers",
    [
        (layer(1, "X", keep="keep = Less (i, stop)", cond="cond"), layer(2, "s1")),  # nobody knows how many rows come
        (layer(1, "X"), layer(2, "s1", begin="h1")),  # it begins where the other ends
        (layer(1, "X"), layer(2, "s1", "all = ReduceSum <keepdims = 0> (s1) o = Add (all, sum)")),
        (layer(1, "X"), layer(2, "s1", "first = Gather <axis = 0> (s1, zero) o = Add (first, sum)")),
        (layer(1, "X"), "\n turned = Neg (s1)", layer(2, "turned")),
    ],
)
def test_who_cannot_begin_early(layers: Any) -> None:
    m = network(*layers, zero=np.array(0))
    assert links(m) == []
    check(m, given(40))


def test_a_row_that_something_else_uses() -> None:
    m = network(TWO[0], layer(2, "s1", "p = Add (sum, x) o = Tanh (p)"))
    assert links(m) == [(0, 1)]
    check(m, given(40), 1)


def test_the_leader_fails() -> None:
    m = network(*TWO)
    check(m, given(40), 1)
    with pytest.raises(ExecutionError, match=r"iteration 40: index 40 is out of bounds") as plain:
        alone(m, given(40, M=60))
    with pytest.raises(ExecutionError) as fast:
        m.run(given(40, M=60))
    assert str(fast.value) == str(plain.value)
    check(m, given(40), 1)


def test_the_follower_fails() -> None:
    m = network("\n      K2 = Add (K, M)", TWO[0], layer(2, "s1", trips="K2"))
    with pytest.raises(ExecutionError, match=r"iteration 40: index 40 is out of bounds") as plain:
        alone(m, given(40, K=9))
    with pytest.raises(ExecutionError) as fast:
        m.run(given(40, K=9))
    assert str(fast.value) == str(plain.value)


def test_what_is_not_worth_a_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(wavefront, "LEAST_WORK", 41 * 64)
    check(network(*TWO), given(40))
    check(network(*TWO), given(41), 1)


def test_a_limit_is_kept() -> None:
    m = network(*TWO)
    m.run(given(40))
    run = m.execute(given(40), max_iterations=20)
    assert run.message == "loop 'Loop_0' reached the limit of 20 iterations without ending"


def test_two_runs_at_once() -> None:
    m = network(*TWO)
    inputs = [given(200) for _ in range(4)]
    wanted = [alone(m, one).outputs["rows"] for one in inputs]
    results: dict[int, Any] = {}

    def run(k: int) -> None:
        for _ in range(20):
            results[k] = m.run(inputs[k])["rows"]

    workers = [threading.Thread(target=run, args=(k,)) for k in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    for k, rows in enumerate(wanted):
        np.testing.assert_array_equal(results[k], rows)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own() -> None:
    m = network(*TWO)
    inputs = given(40)
    wanted = m.run(inputs)["rows"]
    child = os.fork()
    if not child:
        signal.alarm(200)  # a hang is killed
        os._exit(not np.array_equal(m.run(inputs)["rows"], wanted))
    assert os.waitpid(child, 0)[1] == 0


@pytest.mark.parametrize("waiting", [False, True])
def test_ctrl_c(waiting: bool) -> None:
    """While both loops run, and while the first one is over and waits for the other."""
    m = network(TWO[0], layer(2, "s1", "p = Sin (sum) q = Cos (p) r = Sin (q) t = Cos (r) o = Tanh (t)"))
    m.run(given(40))
    sent = []

    def tick(run: Any) -> None:
        if not sent and (run.loops[0].stopped_by is not None) == waiting:
            sent.append(run.loops[0].iterations)
            os.kill(os.getpid(), signal.SIGINT)

    run = m.execute(given(1_000_000), on_tick=tick)
    assert sent
    assert run.stopped_by is StoppedBy.INTERRUPT
    assert run.message.startswith(f"interrupted in loop 'Loop_{int(waiting)}', iteration ")
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    check(m, given(40), 1)
