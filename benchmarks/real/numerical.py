"""Solvers and simulations: the same step until convergence, or a fixed number of times."""

import numpy as np
import torch
from torch import Tensor, nn

from real.model_files import ExportedModule, real_model
from real.recurrent import GRUCell


class VectorField(nn.Module):
    """The derivative of the state of a neural differential equation."""

    def __init__(self, size: int = 64, hidden: int = 256) -> None:
        super().__init__()
        self.layers = nn.Sequential(nn.Linear(size, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh())
        self.out = nn.Linear(hidden, size)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.layers(x)) - 0.1 * x


def rk4_step(f: nn.Module, x: Tensor, h: float) -> Tensor:
    a = f(x)
    b = f(x + 0.5 * h * a)
    c = f(x + 0.5 * h * b)
    d = f(x + h * c)
    return x + (h / 6) * (a + 2 * b + 2 * c + d)


class RungeKutta(nn.Module):
    """RK4 with a fixed step, while_loop."""

    def __init__(self, steps: int = 100) -> None:
        super().__init__()
        self.field = VectorField()
        self.steps = steps

    def forward(self, x: Tensor) -> Tensor:
        from torch._higher_order_ops import while_loop

        return while_loop(
            lambda k, x: k < self.steps,
            lambda k, x: (k + 1, rk4_step(self.field, x, 0.02)),
            (torch.tensor(0), x.clone()),
        )[1]


@real_model("neural ODE of 64, MLP 256, RK4, 100 steps, while_loop")
def rk4_ode() -> ExportedModule:
    return ExportedModule(RungeKutta(), {"x": torch.randn(1, 64)}, ("y",), "dynamo")


class ScriptRungeKutta(nn.Module):
    """The same for a batch, from TorchScript, all states are outputs."""

    def __init__(self) -> None:
        super().__init__()
        self.field = VectorField(32, 128)

    def forward(self, x: Tensor, steps: Tensor) -> Tensor:
        states: list[Tensor] = []
        for _ in range(int(steps)):
            a = self.field(x)
            b = self.field(x + 0.01 * a)
            c = self.field(x + 0.01 * b)
            d = self.field(x + 0.02 * c)
            x = x + (0.02 / 6) * (a + 2 * b + 2 * c + d)
            states.append(x)
        return torch.stack(states, 1)


@real_model("neural ODE of 32, MLP 128, RK4, batch 16, 50 steps, scripted loop")
def rk4_script() -> ExportedModule:
    return ExportedModule(
        ScriptRungeKutta(), {"x": torch.randn(16, 32), "steps": torch.tensor(50)}, ("states",), "script"
    )


class ConjugateGradients(nn.Module):
    """Conjugate gradients until the residual is small."""

    def forward(self, matrix: Tensor, right: Tensor) -> tuple[Tensor, Tensor]:
        from torch._higher_order_ops import while_loop

        def condition(k: Tensor, x: Tensor, r: Tensor, p: Tensor, rr: Tensor) -> Tensor:
            return torch.logical_and(k < 200, rr > 1e-8)

        def body(k: Tensor, x: Tensor, r: Tensor, p: Tensor, rr: Tensor) -> tuple[Tensor, ...]:
            ap = torch.mv(matrix, p)
            alpha = rr / torch.dot(p, ap)
            x, r = x + alpha * p, r - alpha * ap
            new = torch.dot(r, r)
            return k + 1, x, r, r + (new / rr) * p, new

        start = (torch.tensor(0), torch.zeros_like(right), right.clone(), right.clone(), torch.dot(right, right))
        return while_loop(condition, body, start)[1], matrix.new_zeros(())


@real_model("conjugate gradients on 512x512 until it converges, while_loop", "none")
def conjugate_gradients() -> ExportedModule:
    basis = torch.linalg.qr(torch.randn(512, 512))[0]
    matrix = basis @ torch.diag(torch.linspace(1, 50, 512)) @ basis.t()
    return ExportedModule(
        ConjugateGradients(), {"matrix": (matrix + matrix.t()) / 2, "right": torch.randn(512)}, ("x", "zero"), "dynamo"
    )


class KalmanFilter(nn.Module):
    """A Kalman filter of 8 states and 3 measurements, for a batch; the inverse by a fixed formula."""

    def __init__(self, states: int = 8, measured: int = 3) -> None:
        super().__init__()
        self.register_buffer("f", 0.9 * torch.eye(states) + 0.1 * torch.diag(torch.ones(states - 1), 1))
        self.register_buffer("h", torch.randn(measured, states) * 0.5)
        self.register_buffer("q", 0.01 * torch.eye(states))
        self.register_buffer("r", 0.1 * torch.eye(measured))

    def invert_3x3(self, s: Tensor) -> Tensor:
        """The inverse of 3x3 matrices by cofactors."""
        a, b, c = s[:, 0], s[:, 1], s[:, 2]
        rows = torch.stack([torch.linalg.cross(b, c), torch.linalg.cross(c, a), torch.linalg.cross(a, b)], 2)
        return rows / (a * rows[:, :, 0]).sum(1).view(-1, 1, 1)

    def forward(self, measurements: Tensor) -> Tensor:
        from torch._higher_order_ops.scan import scan

        batch, states = measurements.size(1), self.f.size(0)

        def combine(carry: tuple[Tensor, Tensor], z: Tensor) -> tuple[tuple[Tensor, Tensor], Tensor]:
            x, p = carry
            x = torch.matmul(x, self.f.t())
            p = torch.matmul(torch.matmul(self.f, p), self.f.t()) + self.q
            ph = torch.matmul(p, self.h.t())
            gain = torch.matmul(ph, self.invert_3x3(torch.matmul(self.h, ph) + self.r))
            x = x + torch.matmul(gain, (z - torch.matmul(x, self.h.t())).unsqueeze(2)).squeeze(2)
            p = p - torch.matmul(gain, ph.transpose(1, 2))
            p = 0.5 * (p + p.transpose(1, 2))
            return (x, p), x.clone()

        x = measurements.new_zeros(batch, states)
        p = torch.eye(states, dtype=measurements.dtype).repeat(batch, 1, 1)
        return scan(combine, (x, p), measurements, dim=0)[1]


@real_model("Kalman filter, 8 states, 3 measurements, batch 16, 100 steps, scan", "none")
def kalman() -> ExportedModule:
    return ExportedModule(KalmanFilter(), {"measurements": torch.randn(100, 16, 3)}, ("states",), "dynamo")


class Sinkhorn(nn.Module):
    """Optimal transport in logarithms, scripted loop."""

    def forward(self, cost: Tensor, steps: Tensor) -> Tensor:
        log = -cost / 0.1
        u = torch.zeros(cost.size(0), 1, dtype=cost.dtype)
        v = torch.zeros(1, cost.size(1), dtype=cost.dtype)
        for _ in range(int(steps)):
            u = -torch.logsumexp(log + v, 1, keepdim=True)
            v = -torch.logsumexp(log + u, 0, keepdim=True)
        return torch.exp(log + u + v)


@real_model("Sinkhorn on 200x200, 50 times, scripted loop", "fp16")
def sinkhorn() -> ExportedModule:
    return ExportedModule(Sinkhorn(), {"cost": torch.rand(200, 200), "steps": torch.tensor(50)}, ("plan",), "script")


class NBodySimulation(nn.Module):
    """Gravitation among 64 bodies, leapfrog, while_loop."""

    def forward(self, place: Tensor, speed: Tensor) -> tuple[Tensor, Tensor]:
        from torch._higher_order_ops import while_loop

        def acceleration(x: Tensor) -> Tensor:
            offsets = x.unsqueeze(0) - x.unsqueeze(1)
            square = (offsets * offsets).sum(-1, keepdim=True) + 0.05
            return (offsets / (square * torch.sqrt(square))).sum(1) / x.size(0)

        def body(k: Tensor, x: Tensor, v: Tensor, a: Tensor) -> tuple[Tensor, ...]:
            v = v + 0.005 * a
            x = x + 0.01 * v
            a = acceleration(x)
            return k + 1, x, v + 0.005 * a, a

        start = (torch.tensor(0), place.clone(), speed.clone(), acceleration(place))
        state = while_loop(lambda k, x, v, a: k < 60, body, start)
        return state[1], state[2]


@real_model("64 bodies under gravitation, leapfrog, 60 steps, while_loop", "none")
def bodies() -> ExportedModule:
    inputs = {"place": torch.randn(64, 3), "speed": torch.randn(64, 3) * 0.1}
    return ExportedModule(NBodySimulation(), inputs, ("place_last", "speed_last"), "dynamo")


class KMeans(nn.Module):
    """Lloyd's algorithm by one-hot products, scripted loop."""

    def forward(self, points: Tensor, centres: Tensor) -> tuple[Tensor, Tensor]:
        label = torch.zeros(points.size(0), dtype=torch.long)
        change = 1.0
        step = 0
        while change > 1e-4 and step < 30:
            distance = (
                (points * points).sum(1, keepdim=True)
                - 2 * torch.matmul(points, centres.t())
                + (centres * centres).sum(1).unsqueeze(0)
            )
            label = distance.argmin(1)
            members = (label.unsqueeze(1) == torch.arange(centres.size(0)).unsqueeze(0)).to(points.dtype)
            new = torch.matmul(members.t(), points) / members.sum(0).clamp(min=1.0).unsqueeze(1)
            change = float((new - centres).abs().max())
            centres = new
            step += 1
        return centres, label


@real_model("k-means: 4000 points of 32, 20 centres, until they stand still", "none")
def kmeans() -> ExportedModule:
    generator = np.random.default_rng(3)
    centres_ = generator.normal(size=(20, 32)) * 1.5
    points = torch.tensor(centres_[generator.integers(20, size=4000)] + generator.normal(size=(4000, 32))).float()
    return ExportedModule(
        KMeans(), {"points": points, "centres": points[:20].clone()}, ("centres_last", "label"), "script"
    )


class MembraneWaves(nn.Module):
    """A wave on a membrane: the Laplacian as a convolution, all energies are outputs, scan."""

    def __init__(self, steps: int = 100) -> None:
        super().__init__()
        kernel = torch.tensor([[0.05, 0.2, 0.05], [0.2, -1.0, 0.2], [0.05, 0.2, 0.05]])
        self.register_buffer("kernel", kernel.view(1, 1, 3, 3))
        self.steps = steps

    def forward(self, u: Tensor) -> tuple[Tensor, Tensor]:
        from torch._higher_order_ops.scan import scan

        def combine(carry: tuple[Tensor, Tensor], k: Tensor) -> tuple[tuple[Tensor, Tensor], Tensor]:
            current, previous = carry
            new = 2 * current - previous + 0.3 * torch.nn.functional.conv2d(current, self.kernel, padding=1)
            return (new, current.clone()), (new - current).square().sum() + k * 0

        (last, _), energy = scan(combine, (u.clone(), u.clone()), u.new_zeros(self.steps), dim=0)
        return last, energy


@real_model("waves on 64x64, Laplacian as a convolution, 100 steps, scan", "none")
def waves() -> ExportedModule:
    u = torch.zeros(1, 1, 64, 64)
    u[0, 0, 20:30, 25:40] = 1
    return ExportedModule(MembraneWaves(), {"u": u}, ("u_last", "energy"), "dynamo")


class ISTA(nn.Module):
    """Sparse coding by iterative shrinkage with momentum, scripted loop."""

    def __init__(self, atoms: int = 256, size: int = 100) -> None:
        super().__init__()
        dictionary = torch.nn.functional.normalize(torch.randn(size, atoms), dim=0)
        self.register_buffer("dictionary", dictionary)
        self.register_buffer("gram", dictionary.t() @ dictionary)
        self.step = 1.0 / float(torch.linalg.matrix_norm(self.gram, 2))

    def forward(self, signals: Tensor, steps: Tensor) -> Tensor:
        code = torch.matmul(signals, self.dictionary)
        target = code
        x = torch.zeros_like(code)
        y = x
        for k in range(int(steps)):
            gradient = torch.matmul(y, self.gram) - target
            z = y - self.step * gradient
            new = torch.sign(z) * torch.relu(z.abs() - 0.1 * self.step)
            y = new + (k / (k + 3.0)) * (new - x)
            x = new
        return x


@real_model("sparse coding of 32 signals, 256 atoms, FISTA, 80 steps, scripted loop")
def fista() -> ExportedModule:
    return ExportedModule(ISTA(), {"signals": torch.randn(32, 100), "steps": torch.tensor(80)}, ("code",), "script")


class GraphNetwork(nn.Module):
    """A graph network that passes messages along a fixed adjacency, repeatedly with the same weights."""

    def __init__(self, nodes: int = 200, width: int = 64) -> None:
        super().__init__()
        near = (torch.rand(nodes, nodes) < 0.1).float() + torch.eye(nodes)
        self.register_buffer("near", near / near.sum(1, keepdim=True))
        self.message, self.cell = nn.Linear(width, width), GRUCell(width, width)

    def forward(self, x: Tensor, steps: Tensor) -> Tensor:
        h = x
        for _ in range(int(steps)):
            h = self.cell(torch.matmul(self.near, torch.relu(self.message(h))), h)
        return h


@real_model("gated graph network, 200 nodes of 64, 12 rounds, scripted loop")
def graph_network() -> ExportedModule:
    return ExportedModule(GraphNetwork(), {"x": torch.randn(200, 64), "steps": torch.tensor(12)}, ("h",), "script")
