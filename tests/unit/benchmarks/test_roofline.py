"""What ``benchmarks/roofline.py`` says that recurrent operators have to do."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).resolve().parents[3] / "benchmarks"))

import recurrent_sizes
from roofline import MachineLimits, recurrent_work
from roofline_int8 import layers

GIB = 2**30


def test_a_layer_reads_the_weights_of_its_state_in_each_step():
    work = recurrent_work(recurrent_sizes.model("LSTM", 64, 8, 100, 1))
    assert (work.bytes_read_per_step, work.steps) == ([4 * 4 * 64 * 64], [100])
    # Both products of 256 rows: an addition and a multiplication for each weight, batch and step.
    assert work.flops == 2 * (2 * 256 * 64) * 8 * 100


def test_both_directions_count():
    item, both = (recurrent_work(recurrent_sizes.model("GRU", 64, 1, 10, directions)) for directions in (1, 2))
    assert both.bytes_read_per_step == item.bytes_read_per_step * 2
    assert both.steps == item.steps * 2
    assert both.flops == 2 * item.flops


def test_weights_come_from_the_least_that_holds_them():
    machine = MachineLimits({128: 8.0 * GIB, 512: 4.0 * GIB, 2048: 2.0 * GIB, 8192: GIB, 65536: GIB / 2}, 1e9)
    assert [machine.read_bandwidth(n * 1024) for n in (64, 128, 129, 100_000)] == [8 * GIB, 8 * GIB, 4 * GIB, GIB / 2]
    work = recurrent_work(recurrent_sizes.model("RNN", 64, 1, 10, 1))
    reading, computing = work.min_seconds(machine)
    assert reading == pytest.approx(10 * 4 * 64 * 64 / (8 * GIB))
    assert computing == pytest.approx(work.flops / 1e9)


def test_unknown_sizes_are_reported():
    model = recurrent_sizes.model("RNN", 64, 1, 10, 1)
    model.graph.input[0].type.tensor_type.shape.dim[0].dim_param = "steps"
    with pytest.raises(ValueError, match="the shapes of X, W, R are not known"):
        recurrent_work(model)


def test_layers_of_an_ir_are_found_by_their_shapes(tmp_path: Path) -> None:
    dims = [[1, 9, 32], [1, 2, 16], [1, 2, 16], [1], [2, 64, 32], [2, 64, 16], [2, 64]]
    ports = "".join(f"<port>{''.join(f'<dim>{n}</dim>' for n in shape)}</port>" for shape in dims)
    path = tmp_path / "int8.xml"
    path.write_text(f"<net><layers><layer type='LSTMSequence' name='l'><input>{ports}</input></layer></layers></net>")
    assert layers(path) == [(dims[0], dims[4], dims[5])]
    path.write_text(path.read_text().replace("<dim>9</dim>", "<dim>-1</dim>"))
    with pytest.raises(ValueError, match="the shapes of l are not known"):
        layers(path)
