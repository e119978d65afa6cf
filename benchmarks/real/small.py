"""Filters and simulations with few numbers, step by step over a long signal."""

import torch
from torch import Tensor, nn

from real.model_files import ExportedModule, real_model


def scan(step, carried: tuple[Tensor, ...], slices: tuple[Tensor, ...]):  # type: ignore[no-untyped-def]
    from torch._higher_order_ops.scan import scan as torch_scan

    return torch_scan(step, carried, slices, dim=0)


class Lorenz(nn.Module):
    """The Lorenz system by RK4 with a force; all states are outputs."""

    def slope(self, s: Tensor, force: Tensor) -> Tensor:
        x, y, z = s[0], s[1], s[2]
        return torch.stack((10.0 * (y - x), x * (14.0 - z) - y, x * y - 2.6666667 * z)) + force

    def forward(self, start: Tensor, forces: Tensor) -> Tensor:
        def step(carried: tuple[Tensor, ...], slices: tuple[Tensor, ...]) -> tuple[tuple[Tensor, ...], Tensor]:
            (s,), (force,) = carried, slices
            a = self.slope(s, force)
            b = self.slope(s + 0.005 * a, force)
            c = self.slope(s + 0.005 * b, force)
            d = self.slope(s + 0.01 * c, force)
            s = s + (0.01 / 6) * (a + 2 * b + 2 * c + d)
            return (s,), s.clone()

        return scan(step, (start,), (forces,))[1]


@real_model("Lorenz system by RK4, [3], 2000 steps, scan", "none")
def lorenz() -> ExportedModule:
    return ExportedModule(
        Lorenz(), {"start": torch.ones(3), "forces": 0.1 * torch.randn(2000, 3)}, ("states",), "dynamo"
    )


class AttitudeFilter(nn.Module):
    """The orientation of a body from its gyroscope: quaternions, normalized at each step."""

    def forward(self, rates: Tensor) -> Tensor:
        q = torch.tensor([1.0, 0.0, 0.0, 0.0])
        states: list[Tensor] = []
        for k in range(rates.size(0)):
            x, y, z = rates[k, 0], rates[k, 1], rates[k, 2]
            w, i, j, n = q[0], q[1], q[2], q[3]
            change = torch.stack(
                [-i * x - j * y - n * z, w * x + j * z - n * y, w * y - i * z + n * x, w * z + i * y - j * x]
            )
            q = q + 0.005 * change
            q = q / torch.sqrt((q * q).sum())
            states.append(q)
        return torch.stack(states)


@real_model("attitude from a gyroscope, quaternions, 1000 samples, scripted loop", "none")
def attitude() -> ExportedModule:
    return ExportedModule(AttitudeFilter(), {"rates": torch.randn(1000, 3)}, ("turned",), "script")


class BiquadCascade(nn.Module):
    """Second-order sections in series, as in audio: two channels, transposed direct form."""

    def __init__(self, sections: int = 4) -> None:
        super().__init__()
        self.register_buffer("b", torch.tensor([0.2, 0.3, 0.2]).repeat(sections, 1))
        self.register_buffer("a", torch.tensor([-0.5, 0.2]).repeat(sections, 1))
        self.sections = sections

    def forward(self, samples: Tensor) -> Tensor:
        def step(carried: tuple[Tensor, ...], slices: tuple[Tensor, ...]) -> tuple[tuple[Tensor, ...], Tensor]:
            (first_state, second_state), (x,) = carried, slices
            first, second = [], []
            for k in range(self.sections):
                y = self.b[k, 0] * x + first_state[k]
                first.append(self.b[k, 1] * x - self.a[k, 0] * y + second_state[k])
                second.append(self.b[k, 2] * x - self.a[k, 1] * y)
                x = y
            return (torch.stack(first), torch.stack(second)), x.clone()

        empty = samples.new_zeros(self.sections, samples.size(1))
        return scan(step, (empty, empty.clone()), (samples,))[1]


@real_model("four second-order sections, 2 channels, 4000 samples, scan", "none")
def biquads() -> ExportedModule:
    return ExportedModule(BiquadCascade(), {"samples": torch.randn(4000, 2)}, ("filtered",), "dynamo")


class ViterbiDecoder(nn.Module):
    """The best path through nine tags: scores and back pointers."""

    def __init__(self, tags: int = 9) -> None:
        super().__init__()
        self.register_buffer("moves", torch.randn(tags, tags))

    def forward(self, scores: Tensor) -> tuple[Tensor, Tensor]:
        def step(carried: tuple[Tensor, ...], slices: tuple[Tensor, ...]) -> tuple[tuple[Tensor, ...], Tensor]:
            (best,), (row,) = carried, slices
            ways = best.unsqueeze(1) + self.moves
            return (ways.amax(0) + row,), ways.argmax(0)

        (best,), pointers = scan(step, (scores[0].clone(),), (scores[1:],))
        return best, pointers


@real_model("Viterbi over nine tags, 1000 words, scan", "none")
def viterbi() -> ExportedModule:
    return ExportedModule(ViterbiDecoder(), {"scores": torch.randn(1000, 9)}, ("best", "came"), "dynamo")


class KalmanTracker(nn.Module):
    """A Kalman filter of one object: position and speed in the plane, from positions."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("f", torch.eye(4) + 0.1 * torch.diag(torch.ones(2), 2))
        self.register_buffer("h", torch.eye(2, 4))
        self.register_buffer("q", 0.01 * torch.eye(4))
        self.register_buffer("r", 0.1 * torch.eye(2))

    def forward(self, places: Tensor) -> Tensor:
        def step(carried: tuple[Tensor, ...], slices: tuple[Tensor, ...]) -> tuple[tuple[Tensor, ...], Tensor]:
            (x, p), (z,) = carried, slices
            x = self.f @ x
            p = self.f @ p @ self.f.t() + self.q
            ph = p @ self.h.t()
            s = self.h @ ph + self.r
            det = s[0, 0] * s[1, 1] - s[0, 1] * s[1, 0]
            inverse = torch.stack((s[1, 1], -s[0, 1], -s[1, 0], s[0, 0])).reshape(2, 2) / det
            gain = ph @ inverse
            x = x + gain @ (z - self.h @ x)
            return (x, p - gain @ ph.t()), x.clone()

        start = (places.new_zeros(4, 1), torch.eye(4))
        return scan(step, start, (places,))[1]


@real_model("Kalman filter of one object, 4 states, 1000 places, scan", "none")
def track() -> ExportedModule:
    return ExportedModule(KalmanTracker(), {"places": torch.randn(1000, 2, 1)}, ("states",), "dynamo")
