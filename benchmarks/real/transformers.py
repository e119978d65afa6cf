"""Generative transformers: one token per iteration, with cached keys and values."""

import torch
from torch import Tensor, nn

from real.model_files import ExportedModule, real_model


class DecoderBlock(nn.Module):
    """One layer of a decoder, for one token whose keys and values are appended to the cache."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.size = width // heads
        self.norm1 = nn.LayerNorm(width)
        self.norm2 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def split(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = self.qkv(self.norm1(x)).chunk(3, -1)
        batch = x.size(0)
        return (
            q.view(batch, 1, self.heads, self.size).transpose(1, 2),
            k.view(batch, 1, self.heads, self.size).transpose(1, 2),
            v.view(batch, 1, self.heads, self.size).transpose(1, 2),
        )

    def finish(self, x: Tensor, context: Tensor) -> Tensor:
        x = x + self.out(context.transpose(1, 2).reshape(x.size(0), 1, -1))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))

    def forward(self, x: Tensor, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = self.split(x)
        keys = torch.cat([keys, k], 2)
        values = torch.cat([values, v], 2)
        scores = torch.matmul(q, keys.transpose(2, 3)) / self.size**0.5
        context = torch.matmul(torch.softmax(scores, -1), values)
        return self.finish(x, context), keys, values


class GrowingCacheDecoder(nn.Module):
    """Greedy generation with a cache that grows by a token in each iteration."""

    def __init__(self, words: int, width: int, layers: int, heads: int, longest: int = 256) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.places = nn.Embedding(longest, width)
        self.blocks = nn.ModuleList([DecoderBlock(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.shape = (2 * layers, 1, heads, 0, width // heads)

    def forward(self, first: Tensor, steps: Tensor) -> tuple[Tensor, Tensor]:
        layers, batch, heads, none, size = self.shape
        past = torch.zeros(layers, batch, heads, none, size, dtype=self.norm.weight.dtype)
        token = first
        tokens = first
        scores = torch.zeros(1, self.words.weight.size(0), dtype=self.norm.weight.dtype)
        for step in range(int(steps)):
            x = self.words(token) + self.places(torch.full([1, 1], step, dtype=torch.long))
            present: list[Tensor] = []
            k = 0
            for block in self.blocks:
                x, keys, values = block(x, past[k], past[k + 1])
                present.append(keys)
                present.append(values)
                k += 2
            past = torch.stack(present)
            scores = torch.matmul(self.norm(x)[:, 0], self.words.weight.t())
            token = scores.argmax(-1, keepdim=True)
            tokens = torch.cat([tokens, token], 1)
        return tokens, scores


@real_model("decoder, 12 layers, hidden 256, 8 heads, cache grows over 48 tokens")
def decoder_growing() -> ExportedModule:
    return ExportedModule(
        GrowingCacheDecoder(1000, 256, 12, 8),
        {"first": torch.tensor([[5]]), "steps": torch.tensor(48)},
        ("tokens", "scores"),
        "script",
    )


@real_model("decoder, 4 layers, hidden 128, 4 heads, cache grows over 100 tokens")
def decoder_small() -> ExportedModule:
    return ExportedModule(
        GrowingCacheDecoder(500, 128, 4, 4),
        {"first": torch.tensor([[7]]), "steps": torch.tensor(100)},
        ("tokens", "scores"),
        "script",
    )


class StaticCacheDecoder(nn.Module):
    """Greedy generation with keys and values written into full-length buffers, under while_loop."""

    def __init__(self, words: int, width: int, layers: int, heads: int, longest: int) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.places = nn.Embedding(longest, width)
        self.blocks = nn.ModuleList([DecoderBlock(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(width)
        self.heads, self.size, self.longest = heads, width // heads, longest

    def decode_step(self, step: Tensor, token: Tensor, cache: Tensor) -> tuple[Tensor, Tensor]:
        positions = torch.arange(self.longest)
        is_current = (positions == step).view(1, 1, -1, 1)
        mask = torch.where(positions <= step, 0.0, -1e4).to(cache.dtype)
        x = self.words(token) + self.places(step).view(1, 1, -1)
        updated = []
        for k, block in enumerate(self.blocks):
            q, key, value = block.split(x)
            keys = torch.where(is_current, key, cache[2 * k])
            values = torch.where(is_current, value, cache[2 * k + 1])
            context = nn.functional.scaled_dot_product_attention(q, keys, values, mask.view(1, 1, 1, -1))
            x = block.finish(x, context)
            updated += [keys, values]
        return torch.matmul(self.norm(x)[:, 0], self.words.weight.t()), torch.stack(updated)

    def forward(self, first: Tensor) -> tuple[Tensor, Tensor]:
        from torch._higher_order_ops import while_loop

        def condition(step: Tensor, token: Tensor, tokens: Tensor, cache: Tensor, scores: Tensor) -> Tensor:
            return step < self.longest

        def body(
            step: Tensor, token: Tensor, tokens: Tensor, cache: Tensor, scores: Tensor
        ) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
            scores, cache = self.decode_step(step, token, cache)
            token = scores.argmax(-1, keepdim=True)
            tokens = torch.where(torch.arange(self.longest).view(1, -1) == step, token, tokens)
            return step + 1, token, tokens, cache, scores

        weight = self.norm.weight
        cache = weight.new_zeros(2 * len(self.blocks), 1, self.heads, self.longest, self.size)
        tokens = torch.zeros(1, self.longest, dtype=torch.long)
        scores = weight.new_zeros(1, self.words.weight.size(0))
        state = while_loop(condition, body, (torch.tensor(0), first.clone(), tokens, cache, scores))
        return state[2], state[4]


@real_model("decoder, 12 layers, hidden 256, 8 heads, cache of 64 preallocated, while_loop")
def decoder_static() -> ExportedModule:
    return ExportedModule(
        StaticCacheDecoder(1000, 256, 12, 8, 64), {"first": torch.tensor([[5]])}, ("tokens", "scores"), "dynamo"
    )


class RMSNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        return self.weight * x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5)


class LlamaBlock(nn.Module):
    """RMS normalisation, rotary positions, grouped queries, SwiGLU."""

    def __init__(self, width: int, heads: int, groups: int) -> None:
        super().__init__()
        self.heads, self.groups, self.size = heads, groups, width // heads
        self.norm1, self.norm2 = RMSNorm(width), RMSNorm(width)
        self.q = nn.Linear(width, width, bias=False)
        self.k = nn.Linear(width, groups * self.size, bias=False)
        self.v = nn.Linear(width, groups * self.size, bias=False)
        self.o = nn.Linear(width, width, bias=False)
        self.gate = nn.Linear(width, 3 * width, bias=False)
        self.up = nn.Linear(width, 3 * width, bias=False)
        self.down = nn.Linear(3 * width, width, bias=False)

    def rotate(self, x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        a, b = x.chunk(2, -1)
        return x * cos + torch.cat([-b, a], -1) * sin

    def forward(
        self, x: Tensor, cos: Tensor, sin: Tensor, keys: Tensor, values: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        h = self.norm1(x)
        q = self.q(h).view(1, 1, self.heads, self.size).transpose(1, 2)
        k = self.k(h).view(1, 1, self.groups, self.size).transpose(1, 2)
        v = self.v(h).view(1, 1, self.groups, self.size).transpose(1, 2)
        keys = torch.cat([keys, self.rotate(k, cos, sin)], 2)
        values = torch.cat([values, v], 2)
        repeats = self.heads // self.groups
        k = keys.unsqueeze(2).expand(-1, -1, repeats, -1, -1).reshape(1, self.heads, -1, self.size)
        v = values.unsqueeze(2).expand(-1, -1, repeats, -1, -1).reshape(1, self.heads, -1, self.size)
        scores = torch.matmul(self.rotate(q, cos, sin), k.transpose(2, 3)) / self.size**0.5
        context = torch.matmul(torch.softmax(scores, -1), v)
        x = x + self.o(context.transpose(1, 2).reshape(1, 1, -1))
        h = self.norm2(x)
        return x + self.down(nn.functional.silu(self.gate(h)) * self.up(h)), keys, values


class Llama(nn.Module):
    """Greedy generation until the end token, at most ``steps`` steps; each layer has a separate cache."""

    def __init__(self, words: int = 2000, width: int = 256, heads: int = 8, groups: int = 2, steps: int = 40) -> None:
        super().__init__()
        self.words = nn.Embedding(words, width)
        self.a, self.b, self.c, self.d = (LlamaBlock(width, heads, groups) for _ in range(4))
        self.norm = RMSNorm(width)
        self.out = nn.Linear(width, words, bias=False)
        self.steps, self.size, self.groups = steps, width // heads, groups
        self.register_buffer("frequency", 10000.0 ** (-torch.arange(0, self.size, 2) / self.size))

    def forward(self, first: Tensor) -> tuple[Tensor, Tensor]:
        empty = torch.zeros(1, self.groups, 0, self.size, dtype=self.out.weight.dtype)
        ka, va, kb, vb, kc, vc, kd, vd = empty, empty, empty, empty, empty, empty, empty, empty
        token = first
        tokens = first
        scores = torch.zeros(1, self.out.weight.size(0), dtype=self.out.weight.dtype)
        step = 0
        running = True
        while running:
            angle = self.frequency * step
            angle = torch.cat([angle, angle]).view(1, 1, 1, -1)
            cos, sin = torch.cos(angle), torch.sin(angle)
            x = self.words(token)
            x, ka, va = self.a(x, cos, sin, ka, va)
            x, kb, vb = self.b(x, cos, sin, kb, vb)
            x, kc, vc = self.c(x, cos, sin, kc, vc)
            x, kd, vd = self.d(x, cos, sin, kd, vd)
            scores = self.out(self.norm(x))[:, 0]
            token = scores.argmax(-1, keepdim=True)
            tokens = torch.cat([tokens, token], 1)
            step += 1
            running = step < self.steps and bool(token[0, 0] != 1)
        return tokens, scores


@real_model("Llama: 4 layers, hidden 256, grouped queries, rotary, SwiGLU; until the end token, 40 at most")
def llama() -> ExportedModule:
    # onnx.reference dequantizes from opset 19 on: with 8 bits, the tokens are those of the file, not PyTorch's.
    return ExportedModule(Llama(), {"first": torch.tensor([[11]])}, ("tokens", "scores"), "script", opset=19)


class CrossBlock(nn.Module):
    """A decoder layer that also attends to the encoder's memory."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.block = DecoderBlock(width, heads)
        self.norm = nn.LayerNorm(width)
        self.q = nn.Linear(width, width)
        self.kv = nn.Linear(width, 2 * width)
        self.o = nn.Linear(width, width)

    def memory(self, x: Tensor) -> tuple[Tensor, Tensor]:
        k, v = self.kv(x).chunk(2, -1)
        return (
            k.view(1, -1, self.heads, self.size).transpose(1, 2),
            v.view(1, -1, self.heads, self.size).transpose(1, 2),
        )

    def forward(
        self, x: Tensor, keys: Tensor, values: Tensor, far_keys: Tensor, far_values: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        x, keys, values = self.block(x, keys, values)
        q = self.q(self.norm(x)).view(1, 1, self.heads, self.size).transpose(1, 2)
        scores = torch.matmul(q, far_keys.transpose(2, 3)) / self.size**0.5
        context = torch.matmul(torch.softmax(scores, -1), far_values)
        return x + self.o(context.transpose(1, 2).reshape(1, 1, -1)), keys, values


class EncoderLayer(nn.Module):
    """Self attention over a whole sentence."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        qkv = self.qkv(self.norm1(x)).view(1, -1, 3, self.heads, self.size)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        context = torch.matmul(torch.softmax(torch.matmul(q, k.transpose(2, 3)) / self.size**0.5, -1), v)
        x = x + self.out(context.transpose(1, 2).reshape(1, -1, self.heads * self.size))
        return x + self.down(torch.relu(self.up(self.norm2(x))))


class Translator(nn.Module):
    """Encoder once, then a decoder with cross attention, token by token until the end."""

    def __init__(self, words: int = 1000, width: int = 256, heads: int = 4, steps: int = 30) -> None:
        super().__init__()
        self.source, self.target = nn.Embedding(words, width), nn.Embedding(words, width)
        self.encoder = nn.Sequential(*(EncoderLayer(width, heads) for _ in range(3)))
        self.a, self.b, self.c = CrossBlock(width, heads), CrossBlock(width, heads), CrossBlock(width, heads)
        self.norm = nn.LayerNorm(width)
        self.out = nn.Linear(width, words)
        self.steps, self.heads, self.size = steps, heads, width // heads

    def forward(self, words: Tensor) -> tuple[Tensor, Tensor]:
        memory = self.encoder(self.source(words))
        fka, fva = self.a.memory(memory)
        fkb, fvb = self.b.memory(memory)
        fkc, fvc = self.c.memory(memory)
        empty = torch.zeros(1, self.heads, 0, self.size, dtype=memory.dtype)
        ka, va, kb, vb, kc, vc = empty, empty, empty, empty, empty, empty
        tokens = torch.zeros(1, 1, dtype=torch.long)
        scores = torch.zeros(1, self.out.weight.size(0), dtype=memory.dtype)
        step = 0
        running = True
        while running:
            x = self.target(tokens[:, -1:])
            x, ka, va = self.a(x, ka, va, fka, fva)
            x, kb, vb = self.b(x, kb, vb, fkb, fvb)
            x, kc, vc = self.c(x, kc, vc, fkc, fvc)
            scores = self.out(self.norm(x))[:, 0]
            token = scores.argmax(-1, keepdim=True)
            tokens = torch.cat([tokens, token], 1)
            step += 1
            running = step < self.steps and bool(token[0, 0] != 1)
        return tokens, scores


@real_model("encoder of 3 layers over 24 words, decoder of 3 with cross attention, hidden 256, 30 tokens")
def translator() -> ExportedModule:
    return ExportedModule(Translator(), {"words": torch.randint(1000, (1, 24))}, ("tokens", "scores"), "script")


class UniversalTransformer(nn.Module):
    """The same encoder layer repeatedly, until every position has halted or 12 times."""

    def __init__(self, width: int = 256, heads: int = 4, most: int = 12) -> None:
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(width, heads, 2 * width, 0.0, batch_first=True)
        self.halt = nn.Linear(width, 1)
        self.most = most

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        from torch._higher_order_ops import while_loop

        def condition(step: Tensor, x: Tensor, halted: Tensor) -> Tensor:
            return torch.logical_and(step < self.most, halted.min() < 0.999)

        def body(step: Tensor, x: Tensor, halted: Tensor) -> tuple[Tensor, Tensor, Tensor]:
            y = self.layer(x)
            p = torch.sigmoid(self.halt(y) - 2) * (1 - halted)
            return step + 1, p * y + (1 - p) * x, halted + p

        state = while_loop(condition, body, (torch.tensor(0), x.clone(), x.new_zeros(x.size(0), x.size(1), 1)))
        return state[1], state[2]


@real_model("universal transformer, hidden 256, 32 words, up to 12 times, while_loop")
def universal() -> ExportedModule:
    return ExportedModule(UniversalTransformer(), {"x": torch.randn(1, 32, 256)}, ("y", "halted"), "dynamo")


class LinearAttention(nn.Module):
    """Attention as a recurrence over a matrix state, under scan, as in RetNet."""

    def __init__(self, width: int = 128, heads: int = 4) -> None:
        super().__init__()
        self.heads, self.size = heads, width // heads
        self.qkvg = nn.Linear(width, 4 * width)
        self.out = nn.Linear(width, width)
        self.norm = nn.GroupNorm(heads, width)
        self.register_buffer("decay", 1 - 2.0 ** (-5 - torch.arange(heads)).view(heads, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        from torch._higher_order_ops.scan import scan

        q, k, v, g = self.qkvg(x).view(-1, 4, self.heads, self.size).unbind(1)

        def combine(s: Tensor, part: tuple[Tensor, Tensor, Tensor]) -> tuple[Tensor, Tensor]:
            q, k, v = part
            s = self.decay * s + k.unsqueeze(-1) * v.unsqueeze(-2)
            return s, torch.matmul(q.unsqueeze(-2), s).squeeze(-2)

        context = scan(combine, x.new_zeros(self.heads, self.size, self.size), (q, k, v), dim=0)[1]
        return self.out(nn.functional.silu(g).flatten(1) * self.norm(context.flatten(1)))


@real_model("retention: attention as a recurrence, hidden 128, 4 heads, scan of 128")
def retention() -> ExportedModule:
    return ExportedModule(LinearAttention(), {"x": torch.randn(128, 128)}, ("y",), "dynamo")
