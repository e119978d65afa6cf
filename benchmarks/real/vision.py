"""Loops around convolutions: recurrent feature maps, text in images, captions, refinement."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from real.model_files import ExportedModule, real_model


class CRNN(nn.Module):
    """Shi, Bai, Yao 2015: 7 convolutions make columns of features, 2 bidirectional LSTM read them, CTC classes."""

    def __init__(self, classes: int = 37, hidden: int = 128) -> None:
        super().__init__()
        sizes = [1, 32, 64, 128, 128, 256, 256, 256]
        layers: list[nn.Module] = []
        for k in range(7):
            size, padding = (2, 0) if k == 6 else (3, 1)
            layers.append(nn.Conv2d(sizes[k], sizes[k + 1], size, 1, padding))
            if k in (2, 4, 6):
                layers.append(nn.BatchNorm2d(sizes[k + 1]))
            layers.append(nn.ReLU())
            if k in (0, 1):
                layers.append(nn.MaxPool2d(2, 2))
            if k in (3, 5):
                layers.append(nn.MaxPool2d((2, 2), (2, 1), (0, 1)))
        self.convolutions = nn.Sequential(*layers)
        self.lstm = nn.LSTM(256, hidden, 2, bidirectional=True)
        self.out = nn.Linear(2 * hidden, classes)

    def forward(self, image: Tensor) -> Tensor:
        columns = self.convolutions(image).squeeze(2).permute(2, 0, 1)
        return torch.log_softmax(self.out(self.lstm(columns)[0]), 2)


@real_model("CRNN: 7 convolutions over 32x100, 2 bidirectional LSTM 128, CTC")
def crnn() -> ExportedModule:
    return ExportedModule(CRNN(), {"image": torch.randn(1, 1, 32, 100)}, ("classes",), "dynamo")


@real_model("CRNN from TorchScript, a line of text 32x320")
def crnn_line() -> ExportedModule:
    return ExportedModule(CRNN(), {"image": torch.randn(1, 1, 32, 320)}, ("classes",), "script")


class ConvGRUCell(nn.Module):
    def __init__(self, inputs: int, hidden: int, kernel: int = 3) -> None:
        super().__init__()
        self.gates = nn.Conv2d(inputs + hidden, 2 * hidden, kernel, padding=kernel // 2)
        self.candidate = nn.Conv2d(inputs + hidden, hidden, kernel, padding=kernel // 2)

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        z, r = torch.sigmoid(self.gates(torch.cat([x, h], 1))).chunk(2, 1)
        return (1 - z) * h + z * torch.tanh(self.candidate(torch.cat([x, r * h], 1)))


class ConvGRU(nn.Module):
    """Frames of a video one after the other."""

    def __init__(self, inputs: int = 8, hidden: int = 16) -> None:
        super().__init__()
        self.hidden = hidden
        self.cell = ConvGRUCell(inputs, hidden)
        self.out = nn.Conv2d(hidden, 1, 1)

    def forward(self, frames: Tensor) -> Tensor:
        h = torch.zeros(frames.size(1), self.hidden, frames.size(3), frames.size(4), dtype=frames.dtype)
        outputs: list[Tensor] = []
        for step in range(frames.size(0)):
            h = self.cell(frames[step], h)
            outputs.append(self.out(h))
        return torch.stack(outputs)


@real_model("conv-GRU of 16 channels, 20 frames of 32x32, scripted loop")
def conv_gru() -> ExportedModule:
    return ExportedModule(
        ConvGRU(), {"frames": torch.randn(20, 1, 8, 32, 32)}, ("maps",), "script", {"frames": {0: "time"}}
    )


class ConvLSTM(nn.Module):
    """Shi et al. 2015, under scan."""

    def __init__(self, inputs: int = 4, hidden: int = 24) -> None:
        super().__init__()
        self.hidden = hidden
        self.gates = nn.Conv2d(inputs + hidden, 4 * hidden, 3, padding=1)

    def forward(self, frames: Tensor) -> tuple[Tensor, Tensor]:
        from torch._higher_order_ops.scan import scan

        def combine(carry: tuple[Tensor, Tensor], x: Tensor) -> tuple[tuple[Tensor, Tensor], Tensor]:
            h, c = carry
            i, f, o, g = self.gates(torch.cat([x, h], 1)).chunk(4, 1)
            c = torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g)
            h = torch.sigmoid(o) * torch.tanh(c)
            return (h, c), h.mean((2, 3))

        zeros = frames.new_zeros(frames.size(1), self.hidden, frames.size(3), frames.size(4))
        (h, _), means = scan(combine, (zeros, zeros.clone()), frames, dim=0)
        return h, means


@real_model("conv-LSTM of 24 channels, 12 radar images of 40x40, scan")
def conv_lstm() -> ExportedModule:
    return ExportedModule(ConvLSTM(), {"frames": torch.randn(12, 1, 4, 40, 40)}, ("h", "means"), "dynamo")


class ImageCaptioner(nn.Module):
    """Show, attend and tell: convolutions process the image, an LSTM attends to positions in it and writes."""

    def __init__(self, words: int = 1000, width: int = 128, hidden: int = 256) -> None:
        super().__init__()
        self.eyes = nn.Sequential(
            nn.Conv2d(3, 32, 3, 2, 1),
            nn.BatchNorm2d(32),
            nn.ReLU(),
            nn.Conv2d(32, 64, 3, 2, 1),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.Conv2d(64, 128, 3, 2, 1),
            nn.ReLU(),
            nn.AvgPool2d(2),
        )
        self.words = nn.Embedding(words, width)
        self.cell = nn.LSTMCell(width + 128, hidden)
        self.key, self.query, self.energy = nn.Linear(128, 128), nn.Linear(hidden, 128), nn.Linear(128, 1)
        self.out = nn.Linear(hidden, words)
        self.hidden = hidden

    def forward(self, image: Tensor, steps: Tensor) -> tuple[Tensor, Tensor]:
        places = self.eyes(image).flatten(2).transpose(1, 2)
        keys = self.key(places)
        h = torch.zeros(1, self.hidden, dtype=image.dtype)
        c = torch.zeros(1, self.hidden, dtype=image.dtype)
        token = torch.zeros(1, dtype=torch.long)
        tokens: list[Tensor] = []
        attention: list[Tensor] = []
        for _ in range(int(steps)):
            weights = torch.softmax(self.energy(torch.tanh(keys + self.query(h).unsqueeze(1))), 1)
            context = (weights * places).sum(1)
            h, c = self.cell(torch.cat([self.words(token), context], 1), (h, c))
            token = self.out(h).argmax(1)
            tokens.append(token)
            attention.append(weights.squeeze(2))
        return torch.stack(tokens), torch.stack(attention)


@real_model("show, attend and tell: 3 convolutions over 96x96, LSTM 256 with attention, 20 words")
def caption() -> ExportedModule:
    return ExportedModule(
        ImageCaptioner(),
        {"image": torch.randn(1, 3, 96, 96), "steps": torch.tensor(20)},
        ("tokens", "looked"),
        "script",
    )


class OpticalFlow(nn.Module):
    """Optical flow by refinement as in RAFT: look up a correlation volume, a conv-GRU, a correction; 8 times."""

    def __init__(self, channels: int = 32, hidden: int = 32) -> None:
        super().__init__()
        self.first = nn.Conv2d(3, channels, 7, 2, 3)
        self.norm = nn.InstanceNorm2d(channels)
        self.second = nn.Conv2d(channels, channels, 3, 2, 1)
        self.context = nn.Conv2d(channels, hidden, 3, padding=1)
        self.cell = ConvGRUCell(9 + 2, hidden)
        self.head = nn.Sequential(nn.Conv2d(hidden, 32, 3, padding=1), nn.ReLU(), nn.Conv2d(32, 2, 3, padding=1))

    def features(self, image: Tensor) -> Tensor:
        return self.second(torch.relu(self.norm(self.first(image))))

    def forward(self, first: Tensor, second: Tensor, steps: Tensor) -> Tensor:
        a, b = self.features(first), self.features(second)
        height, width = 16, 16
        volume = torch.einsum("bcij,bckl->ijkl", [a, b]).reshape(height * width, 1, height, width) / 32.0**0.5
        coords = torch.arange(width, dtype=a.dtype)
        grid_points = torch.stack([coords.view(1, -1).expand(height, -1), coords.view(-1, 1).expand(-1, width)], -1)
        base = grid_points.reshape(height * width, 1, 1, 2)
        offsets = grid_points[:3, :3].unsqueeze(0) - 1
        flow = torch.zeros(1, 2, height, width, dtype=a.dtype)
        h = torch.tanh(self.context(a))
        for _ in range(int(steps)):
            centre = base + flow.permute(0, 2, 3, 1).reshape(height * width, 1, 1, 2)
            grid = (centre + offsets) * (2.0 / (width - 1)) - 1
            samples = functional.grid_sample(volume, grid, "bilinear", "zeros", True)
            samples = samples.reshape(1, height, width, 9).permute(0, 3, 1, 2)
            h = self.cell(torch.cat([samples, flow], 1), h)
            flow = flow + self.head(h)
        return flow


@real_model("optical flow by refinement, 64x64: GridSample, conv-GRU, 8 times, scripted loop")
def flow() -> ExportedModule:
    images = {"first": torch.randn(1, 3, 64, 64), "second": torch.randn(1, 3, 64, 64), "steps": torch.tensor(8)}
    return ExportedModule(OpticalFlow(), images, ("flow",), "script")


class DeepEquilibrium(nn.Module):
    """A deep equilibrium layer: the same block until convergence."""

    def __init__(self, channels: int = 32, groups: int = 4) -> None:
        super().__init__()
        self.inject = nn.Conv2d(3, channels, 3, padding=1)
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.norm1, self.norm2 = nn.GroupNorm(groups, channels), nn.GroupNorm(groups, channels)
        for conv in (self.conv1, self.conv2):
            conv.weight.data.mul_(0.2)
        self.out = nn.Linear(channels, 10)

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        from torch._higher_order_ops import while_loop

        x = self.inject(image)

        def condition(step: Tensor, z: Tensor, moved: Tensor) -> Tensor:
            return torch.logical_and(step < 30, moved > 1e-3)

        def body(step: Tensor, z: Tensor, moved: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            y = self.norm1(torch.relu(self.conv1(z)))
            y = self.norm2(torch.relu(0.5 * z + 0.1 * self.conv2(y) + x))
            y = 0.5 * z + 0.5 * y
            return step + 1, y, (y - z).norm() / (y.norm() + 1e-5)

        step, z, _ = while_loop(condition, body, (torch.tensor(0), torch.zeros_like(x), x.new_ones(())))
        return self.out(z.mean((2, 3))), step


@real_model("deep equilibrium layer of 32 channels at 24x24, until it converges, while_loop", "int8")
def equilibrium() -> ExportedModule:
    return ExportedModule(DeepEquilibrium(), {"image": torch.randn(1, 3, 24, 24)}, ("classes", "steps"), "dynamo")


class DiffusionUNet(nn.Module):
    """A small U-Net with a time embedding: depthwise and plain convolutions, group norms, attention in the middle."""

    def __init__(self, channels: int = 32) -> None:
        super().__init__()
        self.time = nn.Sequential(nn.Linear(32, 64), nn.SiLU(), nn.Linear(64, 2 * channels))
        self.first = nn.Conv2d(3, channels, 3, padding=1)
        self.down = nn.Conv2d(channels, 2 * channels, 3, 2, 1)
        self.depth = nn.Conv2d(2 * channels, 2 * channels, 3, padding=1, groups=2 * channels)
        self.point = nn.Conv2d(2 * channels, 2 * channels, 1)
        self.norm, self.norm2 = nn.GroupNorm(8, 2 * channels), nn.GroupNorm(8, 2 * channels)
        self.qkv, self.proj = nn.Conv2d(2 * channels, 6 * channels, 1), nn.Conv2d(2 * channels, 2 * channels, 1)
        self.up = nn.ConvTranspose2d(2 * channels, channels, 2, 2)
        self.last = nn.Conv2d(2 * channels, 3, 3, padding=1)
        self.register_buffer("frequency", torch.exp(-torch.arange(16) * 0.5))

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        angle = time * self.frequency
        embedded = self.time(torch.cat([torch.sin(angle), torch.cos(angle)]).unsqueeze(0))
        a = functional.silu(self.first(x))
        b = self.down(a) + embedded[:, :, None, None]
        b = b + self.point(functional.silu(self.norm(self.depth(b))))
        batch, channels, height, width = b.shape
        q, k, v = self.qkv(self.norm2(b)).reshape(batch, 3, channels, height * width).unbind(1)
        weights = torch.softmax(torch.matmul(q.transpose(1, 2), k) / channels**0.5, -1)
        context = torch.matmul(v, weights.transpose(1, 2)).reshape(batch, channels, height, width)
        b = b + self.proj(context)
        return self.last(torch.cat([a, functional.silu(self.up(b))], 1))


class DdimSampler(nn.Module):
    """DDIM: from a noisy image to a clean one in ``steps`` steps."""

    def __init__(self, steps: int = 20) -> None:
        super().__init__()
        self.denoiser = DiffusionUNet()
        alphas = torch.cumprod(1 - torch.linspace(1e-4, 0.02, 1000), 0)
        places = torch.linspace(400, 0, steps).long()
        self.register_buffer("places", places)
        self.register_buffer("alphas", alphas[places])
        self.register_buffer("later", torch.cat([alphas[places][1:], torch.ones(1)]))
        self.steps = steps

    def step(self, index: Tensor, x: Tensor) -> Tensor:
        index = index.view(1)
        time = self.places.index_select(0, index).to(x.dtype)
        a, later = self.alphas.index_select(0, index), self.later.index_select(0, index)
        noise = self.denoiser(x, time)
        clean = torch.clamp((x - torch.sqrt(1 - a) * noise) / torch.sqrt(a), -1, 1)
        return torch.sqrt(later) * clean + torch.sqrt(1 - later) * noise

    def forward(self, noise: Tensor) -> Tensor:
        from torch._higher_order_ops import while_loop

        return while_loop(
            lambda index, x: index < self.steps,
            lambda index, x: (index + 1, self.step(index, x)),
            (torch.tensor(0), noise.clone()),
        )[1]


@real_model("DDIM sampler, small U-Net with attention, 32x32, 20 steps, while_loop")
def diffusion() -> ExportedModule:
    return ExportedModule(DdimSampler(), {"noise": torch.randn(1, 3, 32, 32)}, ("image",), "dynamo")


class ScriptSampler(DdimSampler):
    def forward(self, noise: Tensor, steps: Tensor) -> Tensor:
        x = noise
        for index in range(int(steps)):
            x = self.step(torch.tensor(index), x)
        return x


@real_model("DDIM sampler from TorchScript, batch 2 of 16x16, 30 steps")
def diffusion_script() -> ExportedModule:
    return ExportedModule(
        ScriptSampler(30), {"noise": torch.randn(2, 3, 16, 16), "steps": torch.tensor(30)}, ("image",), "script"
    )
