"""The states of recurrent layers, step by step: layers that are one operator, and called modules."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch

from .program_track import ProgramTrack
from .reference import Key
from .torch_tensors import ValueStore

#: Operators of recurrent layers -> a function that runs a part of them, and the names of their states.
RECURRENT_OPERATORS: dict[str, tuple[Callable[..., Any], tuple[str, ...]]] = {
    "aten.lstm.input": (torch.lstm, ("h", "c")),
    "aten.gru.input": (torch.gru, ("h",)),
    "aten.rnn_tanh.input": (torch.rnn_tanh, ("h",)),
    "aten.rnn_relu.input": (torch.rnn_relu, ("h",)),
}


def record_states(
    store: ValueStore, tracks: list[ProgramTrack], base: ProgramTrack, key: Key, operator: str, arguments: Sequence[Any]
) -> None:
    """Record the states of each layer and direction after each step, as tracks of a separate loop, in execution order:
    a reversed direction begins at the last element of the sequence."""
    run, names = RECURRENT_OPERATORS[operator]
    for label, step, states in run_recurrent_steps(run, *arguments):
        loop = f"{base.loop}/{base.node}/{label}" if base.loop else f"{base.node}/{label}"
        for name, state in zip(names, states, strict=True):
            track = next((item for item in tracks if item.loop == loop and item.name.endswith(f"/{name}")), None)
            if track is None:
                track = replace(
                    base,
                    name=f"{base.name}/{label}/{name}",
                    values={},
                    loop=loop,
                    role="result",
                    optional=True,
                    position=names.index(name),
                )
                tracks.append(track)
            store.add(track.values, (*key, step), state, f"step {step} of '{track.name}'")


def run_recurrent_steps(
    run: Callable[..., Any], x: Any, states: Any, weights: Any, biases: bool, layers: int, *rest: Any
) -> Iterator[tuple[str, int, tuple[Any, ...]]]:
    """Yield (layer and direction, step, states after it) of a layer's operator. ``rest``: dropout, training,
    bidirectional, batch first, as in its schema."""
    _, _, bidirectional, batch_first = rest
    initial = list(states) if isinstance(states, list | tuple) else [states]
    rows = list((x.transpose(0, 1) if batch_first else x).unbind(0))
    directions = 2 if bidirectional else 1
    group = len(weights) // (layers * directions)
    for layer in range(layers):
        outputs: list[list[Any]] = []
        for d in range(directions):
            k = layer * directions + d
            weights_k = list(weights[k * group : (k + 1) * group])
            states_k = tuple(state[k : k + 1] for state in initial)
            rows_out = []
            for number, row in enumerate(reversed(rows) if d else rows):
                states_k = _run_one_step(run, row, states_k, weights_k, biases)
                yield f"l{layer}{'_reverse' if d else ''}", number, tuple(state[0] for state in states_k)
                rows_out.append(states_k[0][0])
            outputs.append(rows_out[::-1] if d else rows_out)
        rows = [torch.cat(parts, -1) for parts in zip(*outputs, strict=True)]


def _run_one_step(run: Callable[..., Any], row: Any, states: tuple[Any, ...], weights: list[Any], biases: bool) -> Any:
    initial = states if len(states) > 1 else states[0]
    return tuple(run(row.unsqueeze(0), initial, weights, biases, 1, 0.0, False, False, False)[1:])


class RecurrentHooks:
    """Hooks on the recurrent modules of a model, which record each call of a cell and each step of a layer while the
    model runs in Python."""

    def __init__(self, module: Any, store: ValueStore) -> None:
        self.values = store
        self.tracks: list[ProgramTrack] = []
        self._call_counts: dict[str, int] = {}
        self._hooks = []
        for name, child in module.named_modules():
            if isinstance(child, _CELL_TYPES | torch.nn.RNNBase):
                self._hooks.append(child.register_forward_hook(self._make_hook(name), with_kwargs=True))

    def close(self) -> None:
        """Remove the hooks. A layer that was called once has no call iterations."""
        for hook in self._hooks:
            hook.remove()
        for track in self.tracks:
            if all(len(key) > 1 for key in track.values) and {key[0] for key in track.values} == {0}:
                steps = {key[1:]: value for key, value in track.values.items()}
                track.values.clear()
                track.values.update(steps)

    def _make_hook(self, name: str) -> Callable[..., None]:
        def hook(module: Any, arguments: Any, keywords: Any, result: Any) -> None:
            number = self._call_counts.get(name, 0)
            self._call_counts[name] = number + 1
            if isinstance(module, _CELL_TYPES):
                self._record_cell_states(name, number, result)
            else:
                self._record_layer_states(name, number, module, *arguments, **keywords)

        return hook

    def _record_cell_states(self, name: str, number: int, result: Any) -> None:
        states = result if isinstance(result, tuple) else (result,)
        for k, (label, state) in enumerate(zip(("h", "c"), states, strict=False)):
            self._record_state(f"{name}/{label}", name, (number,), state, k)

    def _record_layer_states(self, name: str, number: int, module: Any, x: Any, hx: Any = None) -> None:
        if isinstance(x, torch.nn.utils.rnn.PackedSequence) or x.dim() != 3:
            return
        operator = f"aten.{module.mode.lower()}.input"
        run, names = RECURRENT_OPERATORS[operator]
        states = hx if hx is not None else _zero_states(module, x)
        rest = (0.0, False, module.bidirectional, module.batch_first)
        steps = run_recurrent_steps(run, x, states, module._flat_weights, module.bias, module.num_layers, *rest)
        for label, step, states_after in steps:
            for k, state in enumerate(states_after):
                self._record_state(f"{name}/{label}/{names[k]}", f"{name}/{label}", (number, step), state, k)

    def _record_state(self, name: str, loop: str, key: Key, value: Any, position: int) -> None:
        track = next((item for item in self.tracks if item.name == name), None)
        if track is None:
            track = ProgramTrack(name, {}, loop, node=name, role="result", optional=True, position=position)
            self.tracks.append(track)
        self.values.add(track.values, key, value, f"{key} of '{name}'")


_CELL_TYPES = torch.nn.LSTMCell | torch.nn.GRUCell | torch.nn.RNNCell


def _zero_states(module: Any, x: Any) -> Any:
    count = module.num_layers * (2 if module.bidirectional else 1)
    batch = x.size(0) if module.batch_first else x.size(1)
    sizes = [module.proj_size or module.hidden_size, module.hidden_size][: 2 if module.mode == "LSTM" else 1]
    states = tuple(x.new_zeros(count, batch, size) for size in sizes)
    return states if len(states) > 1 else states[0]


def has_recurrent_cells(module: Any) -> bool:
    """Whether a module has recurrent cells, which the surrounding code calls in a loop."""
    return any(isinstance(child, _CELL_TYPES) for child in module.modules())
