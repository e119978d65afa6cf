"""Decoders of speech and text: transducers, beams, attention, CTC, hidden Markov models."""

import torch
from torch import Tensor, nn
from torch.nn import functional

from real.model_files import ExportedModule, real_model
from real.recurrent import GRUCell


class RnnTransducer(nn.Module):
    """RNN-T, greedy: at each frame the symbols that the joint network emits before a blank."""

    def __init__(self, mels: int = 80, hidden: int = 192, symbols: int = 48, most: int = 3) -> None:
        super().__init__()
        self.encoder = nn.LSTM(mels, hidden, 1)
        self.embedding = nn.Embedding(symbols, hidden)
        self.predictor = nn.LSTMCell(hidden, hidden)
        self.joint_e, self.joint_p = nn.Linear(hidden, 256), nn.Linear(hidden, 256)
        self.out = nn.Linear(256, symbols)
        self.hidden, self.most = hidden, most
        self.out.bias.data[0] = 0.1

    def forward(self, frames: Tensor) -> tuple[Tensor, Tensor]:
        encoded = self.joint_e(self.encoder(frames)[0])
        h = torch.zeros(1, self.hidden, dtype=frames.dtype)
        c = torch.zeros(1, self.hidden, dtype=frames.dtype)
        h, c = self.predictor(self.embedding(torch.zeros(1, dtype=torch.long)), (h, c))
        tokens = torch.zeros(1, dtype=torch.long)
        total = torch.zeros(1, dtype=frames.dtype)
        for t in range(encoded.size(0)):
            more = True
            emitted = 0
            while more:
                scores = torch.log_softmax(self.out(torch.tanh(encoded[t] + self.joint_p(h))), 1)
                best, token = scores.max(1)
                total = total + best
                more = bool(token[0] != 0) and emitted < self.most
                if more:
                    h, c = self.predictor(self.embedding(token), (h, c))
                    tokens = torch.cat([tokens, token])
                emitted += 1
        return tokens, total


@real_model("RNN-T, greedy: LSTM 192 over 60 frames, up to 3 symbols each, loops in loops")
def transducer() -> ExportedModule:
    return ExportedModule(
        RnnTransducer(), {"frames": torch.randn(60, 1, 80)}, ("tokens", "total"), "script", {"frames": {0: "time"}}
    )


class BeamSearch(nn.Module):
    """Beam search over a GRU decoder: all beams at once, the best sequences so far are copied."""

    def __init__(self, words: int = 500, hidden: int = 192, beams: int = 5, steps: int = 30) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, hidden)
        self.cell = GRUCell(hidden, hidden)
        self.out = nn.Linear(hidden, words)
        self.beams, self.steps, self.words = beams, steps, words
        # A trained model is confident; otherwise every rounding would change its output.
        self.out.weight.data.mul_(20)

    def forward(self, state: Tensor, steps: Tensor) -> tuple[Tensor, Tensor]:
        h = state.repeat(self.beams, 1)
        scores = torch.full([self.beams], -1e4, dtype=state.dtype)
        scores[0] = 0.0
        tokens = torch.zeros(self.beams, 1, dtype=torch.long)
        for _ in range(int(steps)):
            h = self.cell(self.embedding(tokens[:, -1]), h)
            log = torch.log_softmax(self.out(h), 1) + scores.unsqueeze(1)
            scores, best = torch.topk(log.view(-1), self.beams)
            beam = torch.div(best, self.words, rounding_mode="floor")
            h = h[beam]
            tokens = torch.cat([tokens[beam], (best % self.words).unsqueeze(1)], 1)
        return tokens, scores


@real_model("beam search: GRU 192, 5 beams, 30 words, sequences that grow")
def beam_search() -> ExportedModule:
    return ExportedModule(
        BeamSearch(), {"state": torch.randn(1, 192), "steps": torch.tensor(30)}, ("tokens", "scores"), "script"
    )


class StaticBeamSearch(BeamSearch):
    """The same with a matrix of the full length, under while_loop."""

    def forward(self, state: Tensor) -> tuple[Tensor, Tensor]:
        from torch._higher_order_ops import while_loop

        def more(step: Tensor, h: Tensor, scores: Tensor, tokens: Tensor, last: Tensor) -> Tensor:
            return torch.logical_and(step < self.steps, (last != 1).any())

        def body(
            step: Tensor, h: Tensor, scores: Tensor, tokens: Tensor, last: Tensor
        ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
            h = self.cell(self.embedding(last), h)
            log = torch.log_softmax(self.out(h), 1) + scores.unsqueeze(1)
            scores, best = torch.topk(log.flatten(), self.beams)
            beam = torch.div(best, self.words, rounding_mode="floor")
            last = best % self.words
            tokens = torch.where(torch.arange(self.steps) == step, last.unsqueeze(1), tokens[beam])
            return step + 1, h[beam], scores, tokens, last

        h = state.repeat(self.beams, 1)
        scores = torch.full((self.beams,), -1e4, dtype=state.dtype)
        scores = torch.where(torch.arange(self.beams) == 0, torch.zeros_like(scores), scores)
        tokens = torch.zeros(self.beams, self.steps, dtype=torch.long)
        last = torch.zeros(self.beams, dtype=torch.long)
        state = while_loop(more, body, (torch.tensor(0), h, scores, tokens, last))
        return state[3], state[2]


@real_model("beam search: GRU 192, 8 beams, 40 words, fixed length, while_loop")
def beam_static() -> ExportedModule:
    return ExportedModule(
        StaticBeamSearch(beams=8, steps=40), {"state": torch.randn(1, 192)}, ("tokens", "scores"), "dynamo"
    )


class Seq2Seq(nn.Module):
    """Bahdanau 2014: a bidirectional GRU reads, a GRU with additive attention writes until the end token."""

    def __init__(self, words: int = 1000, width: int = 128, hidden: int = 192, steps: int = 40) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(words, width), nn.Embedding(words, width)
        self.encoder = nn.GRU(width, hidden, 1, bidirectional=True, batch_first=True)
        self.key, self.query = nn.Linear(2 * hidden, 128), nn.Linear(hidden, 128, bias=False)
        self.energy = nn.Linear(128, 1, bias=False)
        self.cell = GRUCell(width + 2 * hidden, hidden)
        self.out = nn.Linear(hidden, words)
        self.hidden, self.steps = hidden, steps

    def forward(self, words: Tensor) -> tuple[Tensor, Tensor]:
        memory = self.encoder(self.source(words))[0]
        keys = self.key(memory)
        h = torch.zeros(1, self.hidden, dtype=memory.dtype)
        token = torch.zeros(1, dtype=torch.long)
        tokens = torch.zeros(0, dtype=torch.long)
        attention: list[Tensor] = []
        step = 0
        running = True
        while running:
            energy = self.energy(torch.tanh(keys + self.query(h).unsqueeze(1)))
            weights = torch.softmax(energy, 1)
            context = torch.bmm(weights.transpose(1, 2), memory).squeeze(1)
            h = self.cell(torch.cat([self.target(token), context], 1), h)
            token = self.out(h).argmax(1)
            tokens = torch.cat([tokens, token])
            attention.append(weights.squeeze(2))
            step += 1
            running = step < self.steps and bool(token[0] != 1)
        return tokens, torch.cat(attention)


@real_model("seq2seq with additive attention: BiGRU 192 over 20 words, GRU writes up to 40")
def seq2seq() -> ExportedModule:
    return ExportedModule(Seq2Seq(), {"words": torch.randint(1000, (1, 20))}, ("tokens", "looked"), "script")


class Mamba(nn.Module):
    """A Mamba block: convolution, selection, and the scan of a state for each channel."""

    def __init__(self, width: int = 128, state: int = 16, rank: int = 8) -> None:
        super().__init__()
        inner = 2 * width
        self.norm = nn.LayerNorm(width)
        self.inward = nn.Linear(width, 2 * inner, bias=False)
        self.conv = nn.Conv1d(inner, inner, 4, padding=3, groups=inner)
        self.select = nn.Linear(inner, rank + 2 * state, bias=False)
        self.step = nn.Linear(rank, inner)
        self.log_a = nn.Parameter(torch.log(torch.arange(1, state + 1).float()).repeat(inner, 1))
        self.skip = nn.Parameter(torch.ones(inner))
        self.outward = nn.Linear(inner, width, bias=False)
        self.rank, self.state = rank, state

    def parts(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
        u, z = self.inward(self.norm(x)).chunk(2, -1)
        u = functional.silu(self.conv(u.transpose(1, 2))[:, :, : x.size(1)].transpose(1, 2))
        delta, b, c = torch.split(self.select(u), [self.rank, self.state, self.state], -1)
        return u, z, functional.softplus(self.step(delta)), b, c


class MambaScript(Mamba):
    def forward(self, x: Tensor) -> Tensor:
        u, z, delta, b, c = self.parts(x)
        a = -torch.exp(self.log_a)
        h = torch.zeros(x.size(0), a.size(0), a.size(1), dtype=x.dtype)
        outputs: list[Tensor] = []
        for t in range(x.size(1)):
            d = delta[:, t].unsqueeze(-1)
            h = torch.exp(d * a) * h + d * b[:, t].unsqueeze(1) * u[:, t].unsqueeze(-1)
            outputs.append((h * c[:, t].unsqueeze(1)).sum(-1))
        y = torch.stack(outputs, 1) + u * self.skip
        return x + self.outward(y * functional.silu(z))


class MambaScan(Mamba):
    def forward(self, x: Tensor) -> Tensor:
        from torch._higher_order_ops.scan import scan

        u, z, delta, b, c = self.parts(x)
        a = -torch.exp(self.log_a)

        def combine(h: Tensor, part: tuple[Tensor, Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor]:
            u, delta, b, c = part
            d = delta.unsqueeze(-1)
            h = torch.exp(d * a) * h + d * b.unsqueeze(1) * u.unsqueeze(-1)
            return h, (h * c.unsqueeze(1)).sum(-1)

        zeros = x.new_zeros(x.size(0), a.size(0), a.size(1))
        parts = tuple(part.transpose(0, 1) for part in (u, delta, b, c))
        y = scan(combine, zeros, parts, dim=0)[1].transpose(0, 1) + u * self.skip
        return x + self.outward(y * functional.silu(z))


@real_model("Mamba block, width 128, state 16, 100 steps, scripted loop")
def mamba() -> ExportedModule:
    return ExportedModule(MambaScript(), {"x": torch.randn(1, 100, 128)}, ("y",), "script", {"x": {1: "time"}})


@real_model("Mamba block, width 128, state 16, 100 steps, scan")
def mamba_scan() -> ExportedModule:
    return ExportedModule(MambaScan(), {"x": torch.randn(1, 100, 128)}, ("y",), "dynamo")


class GreedyCtc(nn.Module):
    """Greedy CTC: a class for each frame, then repeats and blanks are removed one by one."""

    def __init__(self, mels: int = 40, hidden: int = 128, classes: int = 30) -> None:
        super().__init__()
        self.gru = nn.GRU(mels, hidden, 1, batch_first=True)
        self.out = nn.Linear(hidden, classes)
        self.out.bias.data[0] = 0.3

    def forward(self, frames: Tensor) -> tuple[Tensor, Tensor]:
        scores = torch.log_softmax(self.out(self.gru(frames)[0])[0], 1)
        best, path = scores.max(1)
        last = torch.zeros(1, dtype=torch.long)
        text = torch.zeros(0, dtype=torch.long)
        for t in range(path.size(0)):
            symbol = path[t : t + 1]
            if bool(symbol[0] != last[0]) and bool(symbol[0] != 0):
                text = torch.cat([text, symbol])
            last = symbol
        return text, best.sum()


@real_model("CTC, greedy: GRU 128 over 200 frames, text that grows in an If")
def ctc_greedy() -> ExportedModule:
    return ExportedModule(
        GreedyCtc(), {"frames": torch.randn(1, 200, 40) * 3}, ("text", "score"), "script", {"frames": {1: "time"}}
    )


class ViterbiCrf(nn.Module):
    """Viterbi over a conditional random field: scores forward, the path backward."""

    def __init__(self, words: int = 1000, hidden: int = 96, tags: int = 20) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, 64)
        self.lstm = nn.LSTM(64, hidden, 1, bidirectional=True, batch_first=True)
        self.out = nn.Linear(2 * hidden, tags)
        self.transitions = nn.Parameter(torch.randn(tags, tags))

    def forward(self, words: Tensor) -> tuple[Tensor, Tensor]:
        emissions = self.out(self.lstm(self.embedding(words))[0])[0]
        score = emissions[0]
        pointers: list[Tensor] = []
        for t in range(1, emissions.size(0)):
            best, pointer = (score.unsqueeze(1) + self.transitions).max(0)
            score = best + emissions[t]
            pointers.append(pointer)
        back = torch.stack(pointers)
        total, tag = score.max(0)
        path = tag.view(1)
        for t in range(back.size(0)):
            tag = back[back.size(0) - 1 - t][tag]
            path = torch.cat([tag.view(1), path])
        return path, total


@real_model("CRF tagger: BiLSTM 96 over 150 words, Viterbi forward and backward, 20 tags", "int8")
def crf() -> ExportedModule:
    return ExportedModule(
        ViterbiCrf(), {"words": torch.randint(1000, (1, 150))}, ("path", "total"), "script", {"words": {1: "time"}}
    )


class Tacotron(nn.Module):
    """Mel frames from text: prenet, location-sensitive attention, 2 LSTM cells, a stop token."""

    def __init__(self, characters: int = 40, hidden: int = 256, mels: int = 80, most: int = 40) -> None:
        super().__init__()
        self.embedding = nn.Embedding(characters, 128)
        self.encoder = nn.LSTM(128, 64, 1, bidirectional=True, batch_first=True)
        self.prenet = nn.Sequential(nn.Linear(mels, 128), nn.ReLU(), nn.Linear(128, 128), nn.ReLU())
        self.cell1, self.cell2 = nn.LSTMCell(256, hidden), nn.LSTMCell(hidden + 128, hidden)
        self.query, self.key = nn.Linear(hidden, 64, bias=False), nn.Linear(128, 64)
        self.place = nn.Conv1d(1, 16, 15, padding=7, bias=False)
        self.place_out, self.energy = nn.Linear(16, 64, bias=False), nn.Linear(64, 1)
        self.mel, self.stop = nn.Linear(hidden + 128, mels), nn.Linear(hidden + 128, 1)
        self.hidden, self.mels, self.most = hidden, mels, most

    def forward(self, text: Tensor) -> tuple[Tensor, Tensor]:
        memory = self.encoder(self.embedding(text))[0]
        keys = self.key(memory)
        h1 = torch.zeros(1, self.hidden, dtype=memory.dtype)
        c1, h2, c2 = h1, h1, h1
        frame = torch.zeros(1, self.mels, dtype=memory.dtype)
        context = torch.zeros(1, 128, dtype=memory.dtype)
        total = torch.zeros(1, memory.size(1), dtype=memory.dtype)
        frames: list[Tensor] = []
        step = 0
        running = True
        while running:
            h1, c1 = self.cell1(torch.cat([self.prenet(frame), context], 1), (h1, c1))
            location = self.place_out(self.place(total.unsqueeze(1)).transpose(1, 2))
            energy = self.energy(torch.tanh(self.query(h1).unsqueeze(1) + keys + location))
            weights = torch.softmax(energy.squeeze(2), 1)
            total = total + weights
            context = torch.bmm(weights.unsqueeze(1), memory).squeeze(1)
            h2, c2 = self.cell2(torch.cat([h1, context], 1), (h2, c2))
            features = torch.cat([h2, context], 1)
            frame = self.mel(features)
            frames.append(frame)
            step += 1
            running = step < self.most and bool(torch.sigmoid(self.stop(features))[0, 0] < 0.9)
        return torch.cat(frames), total


@real_model("Tacotron decoder: prenet, location-sensitive attention over 30 characters, 2 LSTM cells 256, 40 frames")
def tacotron() -> ExportedModule:
    return ExportedModule(Tacotron(), {"text": torch.randint(40, (1, 30))}, ("frames", "looked"), "script")


class WaveNet(nn.Module):
    """Sample by sample: dilated convolutions over a window of the samples so far."""

    def __init__(self, channels: int = 32, layers: int = 6) -> None:
        super().__init__()
        self.first = nn.Conv1d(1, channels, 1)
        self.dilated = nn.ModuleList([nn.Conv1d(channels, 2 * channels, 2, dilation=2**k) for k in range(layers)])
        self.mixed = nn.ModuleList([nn.Conv1d(channels, channels, 1) for _ in range(layers)])
        self.last = nn.Conv1d(channels, 1, 1)

    def forward(self, start: Tensor, steps: Tensor) -> Tensor:
        window = start
        samples: list[Tensor] = []
        for _ in range(int(steps)):
            x = self.first(window)
            for dilated, mixed in zip(self.dilated, self.mixed):  # noqa: B905 - not in TorchScript
                a, b = dilated(x).chunk(2, 1)
                y = mixed(torch.tanh(a) * torch.sigmoid(b))
                x = x[:, :, x.size(2) - y.size(2) :] + y
            sample = torch.tanh(self.last(x[:, :, -1:]))
            window = torch.cat([window[:, :, 1:], sample], 2)
            samples.append(sample.view(1))
        return torch.cat(samples)


@real_model("WaveNet: 6 dilated convolutions of 32 channels, 100 samples")
def wavenet() -> ExportedModule:
    return ExportedModule(
        WaveNet(), {"start": torch.randn(1, 1, 64), "steps": torch.tensor(100)}, ("samples",), "script"
    )


class HiddenMarkovModel(nn.Module):
    """The forward algorithm of a hidden Markov model in logarithms, under scan."""

    def __init__(self, states: int = 64) -> None:
        super().__init__()
        self.transitions = nn.Parameter(torch.log_softmax(torch.randn(states, states), 1))

    def forward(self, emissions: Tensor) -> tuple[Tensor, Tensor]:
        from torch._higher_order_ops.scan import scan

        def combine(alpha: Tensor, emission: Tensor) -> tuple[Tensor, Tensor]:
            alpha = torch.logsumexp(alpha.unsqueeze(-1) + self.transitions, -2) + emission
            return alpha, alpha.clone()

        alpha, alphas = scan(combine, emissions[0], emissions[1:], dim=0)
        return torch.logsumexp(alpha, -1), alphas


@real_model("hidden Markov model, 64 states, 150 steps, batch 4, scan", "fp16")
def hmm() -> ExportedModule:
    emissions = torch.log_softmax(torch.randn(150, 4, 64), -1)
    return ExportedModule(HiddenMarkovModel(), {"emissions": emissions}, ("score", "alphas"), "dynamo")
