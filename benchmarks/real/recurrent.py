"""Recurrent layers, as modules of PyTorch and as loops around cells."""

import torch
from torch import Tensor, nn

from real.model_files import ExportedModule, real_model


class GRUCell(nn.Module):
    """A GRU cell from its equations, since TorchScript's exporter does not support nn.GRUCell."""

    def __init__(self, inputs: int, hidden: int) -> None:
        super().__init__()
        self.ih, self.hh = nn.Linear(inputs, 3 * hidden), nn.Linear(hidden, 3 * hidden)

    def forward(self, x: Tensor, h: Tensor) -> Tensor:
        xr, xz, xn = self.ih(x).chunk(3, 1)
        hr, hz, hn = self.hh(h).chunk(3, 1)
        z = torch.sigmoid(xz + hz)
        n = torch.tanh(xn + torch.sigmoid(xr + hr) * hn)
        return n + z * (h - n)


class BiLstmTagger(nn.Module):
    """Embedding, bidirectional LSTM, a class for every word."""

    def __init__(self, words: int = 5000, width: int = 128, hidden: int = 128, layers: int = 2, tags: int = 17) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.lstm = nn.LSTM(width, hidden, layers, bidirectional=True, batch_first=True)
        self.out = nn.Linear(2 * hidden, tags)

    def forward(self, words: Tensor) -> Tensor:
        return self.out(self.lstm(self.embedding(words))[0])


@real_model("embedding, 2 bidirectional LSTM 128, a tag for each of 40 words")
def bilstm_tagger() -> ExportedModule:
    return ExportedModule(BiLstmTagger(), {"words": torch.randint(5000, (1, 40))}, ("tags",), "dynamo")


@real_model("the same from TorchScript, batch 8, 60 words")
def bilstm_tagger_script() -> ExportedModule:
    return ExportedModule(BiLstmTagger(), {"words": torch.randint(5000, (8, 60))}, ("tags",), "script")


class LstmLanguageModel(nn.Module):
    """A language model of stacked LSTM layers."""

    def __init__(self, words: int = 2000, hidden: int = 512, layers: int = 2) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, hidden)
        self.lstm = nn.LSTM(hidden, hidden, layers)
        self.out = nn.Linear(hidden, words)

    def forward(self, words: Tensor) -> Tensor:
        return self.out(self.lstm(self.embedding(words))[0])


@real_model("language model, 2 LSTM 512, 100 words")
def lstm_language() -> ExportedModule:
    return ExportedModule(LstmLanguageModel(), {"words": torch.randint(2000, (100, 1))}, ("scores",), "dynamo")


class GruSpeechModel(nn.Module):
    """A stack of GRU layers over frames of a spectrogram."""

    def __init__(self, mels: int = 80, hidden: int = 256, layers: int = 3, classes: int = 40) -> None:
        super().__init__()
        self.gru = nn.GRU(mels, hidden, layers, batch_first=True)
        self.out = nn.Linear(hidden, classes)

    def forward(self, frames: Tensor) -> Tensor:
        return torch.log_softmax(self.out(self.gru(frames)[0]), -1)


@real_model("3 GRU 256 over 150 frames of 80 mels, batch 4")
def gru_speech() -> ExportedModule:
    return ExportedModule(GruSpeechModel(), {"frames": torch.randn(4, 150, 80)}, ("classes",), "dynamo")


@real_model("the same from TorchScript, batch 1, 200 frames")
def gru_speech_script() -> ExportedModule:
    return ExportedModule(GruSpeechModel(), {"frames": torch.randn(1, 200, 80)}, ("classes",), "script")


class RnnClassifier(nn.Module):
    """A plain recurrent network over a signal, its last state classified."""

    def __init__(self, channels: int = 9, hidden: int = 128, classes: int = 6) -> None:
        super().__init__()
        self.rnn = nn.RNN(channels, hidden, 2, batch_first=True)
        self.out = nn.Linear(hidden, classes)

    def forward(self, signal: Tensor) -> Tensor:
        return self.out(self.rnn(signal)[0][:, -1])


@real_model("2 RNN 128 over 128 samples of 9 channels, batch 16")
def rnn_sensor() -> ExportedModule:
    return ExportedModule(RnnClassifier(), {"signal": torch.randn(16, 128, 9)}, ("classes",), "script")


class LstmCellLoop(nn.Module):
    """nn.LSTMCell in a for loop."""

    def __init__(self, width: int = 128, hidden: int = 256, classes: int = 50) -> None:
        super().__init__()
        self.hidden = hidden
        self.cell = nn.LSTMCell(width, hidden)
        self.out = nn.Linear(hidden, classes)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.zeros(x.size(1), self.hidden, dtype=x.dtype)
        c = torch.zeros(x.size(1), self.hidden, dtype=x.dtype)
        outputs: list[Tensor] = []
        for step in range(x.size(0)):
            h, c = self.cell(x[step], (h, c))
            outputs.append(self.out(h))
        return torch.stack(outputs)


@real_model("nn.LSTMCell 256 in a scripted loop of 80 steps, outputs in a list")
def lstm_cell_loop() -> ExportedModule:
    return ExportedModule(LstmCellLoop(), {"x": torch.randn(80, 1, 128)}, ("y",), "script", {"x": {0: "time"}})


class NormLSTM(nn.Module):
    """LSTM with layer normalisation, as in PyTorch's custom_lstms example."""

    def __init__(self, width: int = 128, hidden: int = 192) -> None:
        super().__init__()
        self.hidden = hidden
        self.ih = nn.Linear(width, 4 * hidden, bias=False)
        self.hh = nn.Linear(hidden, 4 * hidden, bias=False)
        self.norm_i = nn.LayerNorm(4 * hidden)
        self.norm_h = nn.LayerNorm(4 * hidden)
        self.norm_c = nn.LayerNorm(hidden)
        self.norm_h.weight.data.fill_(0.2)  # far from chaos, as after training

    def step(self, h: Tensor, c: Tensor, x: Tensor) -> tuple[Tensor, Tensor]:
        gates = self.norm_i(self.ih(x)) + self.norm_h(self.hh(h))
        i, f, g, o = gates.chunk(4, 1)
        c = self.norm_c(torch.sigmoid(f) * c + torch.sigmoid(i) * torch.tanh(g))
        return torch.sigmoid(o) * torch.tanh(c), c


class ScriptNormLSTM(NormLSTM):
    def forward(self, x: Tensor) -> Tensor:
        h = torch.zeros(x.size(1), self.hidden, dtype=x.dtype)
        c = torch.zeros(x.size(1), self.hidden, dtype=x.dtype)
        outputs: list[Tensor] = []
        for step in range(x.size(0)):
            h, c = self.step(h, c, x[step])
            outputs += [h]
        return torch.stack(outputs)


class ScanNormLSTM(NormLSTM):
    def forward(self, x: Tensor) -> Tensor:
        from torch._higher_order_ops.scan import scan

        def combine(carry: tuple[Tensor, Tensor], part: Tensor) -> tuple[tuple[Tensor, Tensor], Tensor]:
            h, c = self.step(carry[0], carry[1], part)
            return (h, c), h.clone()

        zeros = x.new_zeros(x.size(1), self.hidden)
        return scan(combine, (zeros, zeros.clone()), x, dim=0)[1]


@real_model("LSTM 192 with layer normalisation, scripted loop of 60 steps, batch 4")
def norm_lstm_script() -> ExportedModule:
    return ExportedModule(ScriptNormLSTM(), {"x": torch.randn(60, 4, 128)}, ("y",), "script", {"x": {0: "time"}})


@real_model("LSTM 192 with layer normalisation, scan of 100 steps")
def norm_lstm_scan() -> ExportedModule:
    return ExportedModule(ScanNormLSTM(), {"x": torch.randn(100, 1, 128)}, ("y",), "dynamo")


class GruCellScan(nn.Module):
    """nn.GRUCell under scan."""

    def __init__(self, width: int = 64, hidden: int = 128) -> None:
        super().__init__()
        self.hidden = hidden
        self.cell = nn.GRUCell(width, hidden)
        self.out = nn.Linear(hidden, 32)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        from torch._higher_order_ops.scan import scan

        def combine(h: Tensor, part: Tensor) -> tuple[Tensor, Tensor]:
            h = self.cell(part, h)
            return h, self.out(h)

        return scan(combine, x.new_zeros(x.size(1), self.hidden), x, dim=0)


@real_model("nn.GRUCell 128 under scan, 200 steps, batch 2")
def gru_cell_scan() -> ExportedModule:
    return ExportedModule(GruCellScan(), {"x": torch.randn(200, 2, 64)}, ("h", "y"), "dynamo")


class SimpleRecurrentUnits(nn.Module):
    """Simple recurrent units: all products are outside of the loop."""

    def __init__(self, width: int = 256, layers: int = 2) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, 3 * width) for _ in range(layers)])

    def forward(self, x: Tensor) -> Tensor:
        for layer in self.layers:
            u, f, r = layer(x).chunk(3, -1)
            f, r = torch.sigmoid(f), torch.sigmoid(r)
            c = torch.zeros_like(x[0])
            outputs: list[Tensor] = []
            for step in range(x.size(0)):
                c = f[step] * c + (1 - f[step]) * u[step]
                outputs.append(r[step] * torch.tanh(c) + (1 - r[step]) * x[step])
            x = torch.stack(outputs)
        return x


@real_model("2 layers of simple recurrent units 256, 100 steps, batch 8")
def sru() -> ExportedModule:
    return ExportedModule(SimpleRecurrentUnits(), {"x": torch.randn(100, 8, 256)}, ("y",), "script", {"x": {0: "time"}})
