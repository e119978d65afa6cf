"""PyTorch as a reference: programs and modules run node by node, with the bits of PyTorch itself."""

from __future__ import annotations

import sys

import numpy as np
import pytest

import loopdbg
from loopdbg.debugger.reference.reference import Reference, Track
from loopdbg.debugger.reference.torch_api import is_torch, open_program, run_torch_reference


def test_missing_torch_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(
        loopdbg.UsageError, match=r"needs torch, which is not installed: pip install 'loopdbg\[torch\]'"
    ):
        run_torch_reference(object(), {})


def test_array_is_recognized_as_non_module_without_imports(monkeypatch):
    monkeypatch.delitem(sys.modules, "torch", raising=False)
    assert not is_torch(np.zeros(3))
    assert "torch" not in sys.modules


torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'loopdbg[torch]'")

from torch._higher_order_ops import while_loop  # noqa: E402

from loopdbg.debugger.reference.torch_export import export_module  # noqa: E402
from loopdbg.debugger.reference.torch_tensors import as_array, as_tensor  # noqa: E402
from loopdbg.debugger.reference.torch_threads import limit_threads  # noqa: E402
from torch_modules import (  # noqa: E402
    CASES,
    BranchInLoopModule,
    DataDependentModule,
    FailingWhileModule,
    NestedLoopModule,
    RecurrentLayersModule,
)


@pytest.fixture(scope="module", params=CASES)
def run_module(request):
    """A module's outputs, and its reference."""
    case = CASES[request.param]
    module = case.module()
    return case, module, run_torch_reference(module, case.arrays())


def module_reference(reference: Reference, name: str) -> Track:
    return next(track for track in reference.tracks if track.name == name)


def test_outputs_equal_those_of_the_module(run_module):
    case, module, reference = run_module
    with torch.no_grad():
        results = module(*case.inputs().values())
    results = (results,) if isinstance(results, torch.Tensor) else results
    outputs = [track.values[()] for track in reference.tracks if track.role == "output"]
    assert [value.tobytes() for value in outputs] == [value.numpy().tobytes() for value in results]


def test_iteration_receives_the_values_of_the_previous_one(run_module):
    _, _, reference = run_module
    received = [track for track in reference.tracks if track.role == "carried"]
    for track in received:
        computed = [
            track_value.values
            for track_value in reference.tracks
            if track_value.loop == track.loop and track_value.role == "result"
        ]
        for key, value in track.values.items():
            before = (*key[:-1], key[-1] - 1)
            assert not key[-1] or any(before in item and np.array_equal(item[before], value) for item in computed)


def test_every_node_has_its_source_line(run_module):
    case, _, reference = run_module
    nodes = [track for track in reference.tracks if track.maker]
    assert nodes
    assert {track.source.rpartition(":")[0] for track in nodes} == {sys.modules[case.make.__module__].__file__}


def test_nested_loops_are_distinguished_by_both_iterations():
    case = CASES["nested"]
    reference = run_torch_reference(case.module(), case.arrays())
    assert reference.trips == {"while_loop": {(): 3}, "while_loop/while_loop": {(0,): 1, (1,): 2, (2,): 3}}
    assert set(module_reference(reference, "while_loop/body/while_loop/body/tanh").values) == {
        (0, 0),
        (1, 0),
        (1, 1),
        (2, 0),
        (2, 1),
        (2, 2),
    }


def test_branch_has_values_where_it_was_taken():
    case = CASES["branches"]
    reference = run_torch_reference(case.module(), case.arrays())
    taken = {
        label: set(module_reference(reference, f"while_loop/body/cond/{label}").values)
        for label in ("true/mul", "false/div")
    }
    assert all(taken.values())
    assert taken["true/mul"] ^ taken["false/div"] == {(k,) for k in range(6)}


def test_layer_states_are_the_final_ones():
    module = RecurrentLayersModule().eval()
    x = torch.randn(2, 5, 3)
    reference = run_torch_reference(module, {"x": x.numpy()})
    with torch.no_grad():
        y, (h, c) = module.lstm(x)
    last = {name: module_reference(reference, f"lstm/{name}").values[(4,)] for name in ("l1/h", "l1/c", "l0_reverse/h")}
    np.testing.assert_allclose(last["l1/h"], h[2], atol=1e-6)
    np.testing.assert_allclose(last["l1/c"], c[2], atol=1e-6)
    np.testing.assert_allclose(last["l0_reverse/h"], h[1], atol=1e-6)
    np.testing.assert_allclose(module_reference(reference, "lstm/l1/h").values[(2,)], y[:, 2, :4], atol=1e-6)


def test_unexportable_module_runs_in_python_with_one_iteration_per_cell_call():
    module = DataDependentModule()
    x = torch.ones(1, 3)
    reference = run_torch_reference(module, {"x": x.numpy()})
    with torch.no_grad():
        assert module_reference(reference, "output 0").values[()].tobytes() == module(x).numpy().tobytes()
        assert (
            module_reference(reference, "cell/h").values[(0,)].tobytes()
            == module.cell(x, torch.zeros(1, 3)).numpy().tobytes()
        )
    assert len(module_reference(reference, "cell/h").values) > 1


def test_iteration_limit_ends_the_run_without_outputs():
    reference = run_torch_reference(NestedLoopModule(), {"x": np.ones((2, 3), np.float32)}, max_iterations=2)
    assert reference.trips == {"while_loop/while_loop": {(0,): 1, (1,): 2}}
    assert not [track for track in reference.tracks if track.role == "output"]
    assert max(key[0] for key in module_reference(reference, "while_loop/body/arg1_1").values) == 1


def test_exceeding_the_memory_limit_suggests_a_remedy():
    with pytest.raises(loopdbg.LimitError, match=r"more than 0 MB from .* on; give max_iterations=N"):
        run_torch_reference(NestedLoopModule(), {"x": np.ones((2, 3), np.float32)}, limit=64)


def test_run_leaves_the_program_unchanged():
    class Counting(torch.nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(1))

        def forward(self, x):
            self.count.add_(1)
            return x * self.count

    program = export_module(Counting(), [torch.ones(2)])
    inputs = {"x": np.ones(2, np.float32)}
    results = [module_reference(run_torch_reference(program, inputs), "output 0").values[()] for _ in range(2)]
    assert [value.tolist() for value in results] == [[1, 1], [1, 1]]


def test_inputs_are_matched_by_name_then_by_position():
    inputs = {"other": np.full(4, 2, np.float32), "limit": np.float32(3)}
    reference = run_torch_reference(export_module(BranchInLoopModule(), [torch.ones(4), torch.tensor(1.0)]), inputs)
    assert reference.inputs["x"].tolist() == [2, 2, 2, 2]
    assert reference.inputs["limit"] == 3


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ({"x": np.ones(4, np.float32)}, "needs an input 'limit'"),
        ({"x": np.ones(5, np.float32), "limit": np.float32(1)}, r"'x' as float32\[4\], .* is float32\[5\]"),
        ({"x": np.ones(4), "limit": np.float32(1)}, r"'x' as float32\[4\], .* is float64\[4\]"),
        ({"x": np.ones(4, np.float32), "limit": np.float32(1), "z": np.ones(2)}, "'z' is none of them"),
    ],
)
def test_unsuitable_inputs_are_refused(inputs, text):
    program = export_module(BranchInLoopModule(), [torch.ones(4), torch.tensor(1.0)])
    with pytest.raises(loopdbg.InputError, match=text):
        run_torch_reference(program, inputs)


def test_failing_node_has_line_and_iteration():
    program = export_module(FailingWhileModule(), [torch.tensor([1, 2, 3])])
    with pytest.raises(
        loopdbg.ExecutionError, match=r"failed at 'index\w*' \(.*torch_modules.py:\d+\), iteration 3 of 'while_loop'"
    ):
        run_torch_reference(program, {"x": np.array([1, 2, 3])})


def test_non_program_is_refused(tmp_path):
    with pytest.raises(loopdbg.ModelError, match=r"nowhere.pt2: no such file"):
        open_program(str(tmp_path / "nowhere.pt2"))
    (tmp_path / "broken.pt2").write_bytes(b"no program")
    with pytest.raises(loopdbg.ModelError, match=r"broken.pt2: is no exported program that PyTorch .* can read"):
        open_program(str(tmp_path / "broken.pt2"))


def test_dtypes_that_numpy_lacks_are_converted():
    value = torch.tensor([1.5, -2.0], dtype=torch.bfloat16)
    array = as_array(value)
    assert array.dtype.name == "bfloat16"
    assert array.astype(np.float32).tolist() == [1.5, -2.0]
    assert torch.equal(as_tensor(array), value)


@pytest.mark.parametrize(("width", "threads"), [(8, 1), (1024, 2)])
def test_program_without_large_values_uses_one_thread(width, threads):
    def step(k, y):
        return k + 1, (y.unsqueeze(1) * y).sum(1)

    class Squares(torch.nn.Module):
        def forward(self, x):
            return while_loop(lambda k, y: k < 2, step, (torch.tensor(0), x.clone()))[1]

    program = export_module(Squares(), [torch.ones(width)])
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        with limit_threads(program.graph_module):
            assert torch.get_num_threads() == threads
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
