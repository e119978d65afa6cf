"""Detection: non-maximum suppression, tracking, proposal refinement."""

import torch
from torch import Tensor, nn

from real.model_files import ExportedModule, real_model
from real.recurrent import GRUCell


def boxes(count: int, seed: int) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    corner = torch.rand(count, 2, generator=generator) * 200
    return torch.cat([corner, corner + 10 + torch.rand(count, 2, generator=generator) * 60], 1)


def overlap(a: Tensor, b: Tensor) -> Tensor:
    """Intersection over union of every pair."""
    low = torch.maximum(a[:, None, :2], b[None, :, :2])
    high = torch.minimum(a[:, None, 2:], b[None, :, 2:])
    common = (high - low).clamp(min=0.0).prod(2)
    area_a, area_b = (a[:, 2:] - a[:, :2]).prod(1), (b[:, 2:] - b[:, :2]).prod(1)
    return common / (area_a[:, None] + area_b[None, :] - common)


class ShrinkingNms(nn.Module):
    """Non-maximum suppression in its direct form: take the best, keep boxes without overlap, until none is left."""

    def forward(self, boxes: Tensor, scores: Tensor) -> Tensor:
        order = torch.argsort(scores, descending=True)
        chosen = torch.zeros(0, dtype=torch.long)
        while order.size(0) > 0:
            best = order[:1]
            chosen = torch.cat([chosen, best])
            rest = order[1:]
            a, b = boxes[best], boxes[rest]
            low = torch.max(a[:, :2], b[:, :2])
            high = torch.min(a[:, 2:], b[:, 2:])
            size = torch.clamp(high - low, min=0.0)
            common = size[:, 0] * size[:, 1]
            area_a = (a[:, 2] - a[:, 0]) * (a[:, 3] - a[:, 1])
            area_b = (b[:, 2] - b[:, 0]) * (b[:, 3] - b[:, 1])
            order = rest[common / (area_a + area_b - common) <= 0.5]
        return chosen


@real_model("NMS of 300 boxes, what is left shrinks in each iteration, scripted loop", "none")
def nms_shrinking() -> ExportedModule:
    inputs = {"boxes": boxes(300, 1), "scores": torch.rand(300)}
    return ExportedModule(ShrinkingNms(), inputs, ("kept",), "script", {"boxes": {0: "n"}, "scores": {0: "n"}})


class MaskedNms(nn.Module):
    """Greedy suppression with a mask of fixed size, while_loop."""

    def forward(self, boxes: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
        from torch._higher_order_ops import while_loop

        overlaps = overlap(boxes, boxes)
        count = torch.arange(100)

        def condition(k: Tensor, left: Tensor, chosen: Tensor) -> Tensor:
            return torch.logical_and(k < 100, left.max() > 0.05)

        def body(k: Tensor, left: Tensor, chosen: Tensor) -> tuple[Tensor, ...]:
            best = left.argmax()
            dropped = torch.index_select(overlaps, 0, best.view(1)).squeeze(0) > 0.5
            left = torch.where(dropped, torch.zeros_like(left), left)
            return k + 1, left, torch.where(count == k, best, chosen)

        k, _, chosen = while_loop(condition, body, (torch.tensor(0), scores.clone(), torch.full((100,), -1)))
        return chosen, k


@real_model("NMS of 500 boxes with a mask, up to 100, while_loop", "none")
def nms_masked() -> ExportedModule:
    return ExportedModule(MaskedNms(), {"boxes": boxes(500, 2), "scores": torch.rand(500)}, ("kept", "count"), "dynamo")


class SoftNms(nn.Module):
    """Soft-NMS: overlapping boxes lose score, Gaussian, scripted loop."""

    def forward(self, boxes: Tensor, scores: Tensor, steps: Tensor) -> tuple[Tensor, Tensor]:
        chosen: list[Tensor] = []
        marks: list[Tensor] = []
        area = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
        for _ in range(int(steps)):
            best = scores.argmax()
            box = boxes[best]
            chosen.append(best)
            marks.append(scores[best])
            size = (torch.minimum(box[2:], boxes[:, 2:]) - torch.maximum(box[:2], boxes[:, :2])).clamp(min=0.0)
            common = size[:, 0] * size[:, 1]
            overlaps = common / (area[best] + area - common)
            scores = scores * torch.exp(-overlaps * overlaps / 0.5)
            scores = torch.where(torch.arange(scores.size(0)) == best, torch.zeros_like(scores), scores)
        return torch.stack(chosen), torch.stack(marks)


@real_model("soft-NMS of 200 boxes, 50 rounds, scripted loop", "none")
def nms_soft() -> ExportedModule:
    return ExportedModule(
        SoftNms(),
        {"boxes": boxes(200, 3), "scores": torch.rand(200), "steps": torch.tensor(50)},
        ("kept", "scores_kept"),
        "script",
    )


class Tracker(nn.Module):
    """Boxes of each frame are matched with tracks by overlap, and tracks follow them; scan."""

    def forward(self, frames: Tensor, first: Tensor) -> tuple[Tensor, Tensor]:
        from torch._higher_order_ops.scan import scan

        def combine(carry: tuple[Tensor, Tensor], seen: Tensor) -> tuple[tuple[Tensor, Tensor], Tensor]:
            tracks, speed = carry
            ahead = tracks + speed
            best, match = overlap(ahead, seen).max(1)
            matched = (best > 0.2).unsqueeze(1)
            new = torch.where(matched, 0.3 * ahead + 0.7 * seen[match], ahead)
            return (new, 0.5 * speed + 0.5 * (new - tracks)), match.clone()

        (tracks, _), matches = scan(combine, (first.clone(), torch.zeros_like(first)), frames, dim=0)
        return tracks, matches


@real_model("tracker: 64 tracks, 80 frames of 100 boxes, scan", "none")
def tracker() -> ExportedModule:
    start = boxes(100, 4)
    frames = torch.stack([start + 1.5 * t + torch.randn(100, 4) for t in range(80)])
    return ExportedModule(Tracker(), {"frames": frames, "first": start[:64].clone()}, ("tracks", "matches"), "dynamo")


class BoxRefinement(nn.Module):
    """Queries attend to features of an image and correct their boxes, 6 layers with shared weights, as in DETR."""

    def __init__(self, width: int = 128, queries: int = 50, heads: int = 4) -> None:
        super().__init__()
        self.query = nn.Parameter(torch.randn(1, queries, width))
        self.self_attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.cross_attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.norms = nn.ModuleList([nn.LayerNorm(width) for _ in range(3)])
        self.box = nn.Linear(width, 4)

    def forward(self, features: Tensor) -> Tensor:
        from torch._higher_order_ops import while_loop

        def body(k: Tensor, q: Tensor, box: Tensor) -> tuple[Tensor, ...]:
            q = self.norms[0](q + self.self_attention(q, q, q, need_weights=False)[0])
            q = self.norms[1](q + self.cross_attention(q, features, features, need_weights=False)[0])
            q = self.norms[2](q + self.down(torch.relu(self.up(q))))
            return k + 1, q, box + 0.1 * self.box(q)

        boxes = features.new_zeros(1, self.query.size(1), 4)
        state = while_loop(lambda k, q, box: k < 6, body, (torch.tensor(0), self.query.clone(), boxes))
        return torch.sigmoid(state[2])


@real_model("DETR-like refinement: 50 queries over 100 places, width 128, 6 rounds, while_loop")
def refine() -> ExportedModule:
    return ExportedModule(BoxRefinement(), {"features": torch.randn(1, 100, 128)}, ("boxes",), "dynamo")


class SlotAttention(nn.Module):
    """Slot attention: 7 slots compete for positions, rounds of a GRU cell, scripted loop."""

    def __init__(self, width: int = 64) -> None:
        super().__init__()
        self.slots = nn.Parameter(torch.randn(1, 7, width))
        self.norm_x, self.norm_s, self.norm_m = nn.LayerNorm(width), nn.LayerNorm(width), nn.LayerNorm(width)
        self.q, self.k, self.v = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.cell = GRUCell(width, width)
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def forward(self, x: Tensor, steps: Tensor) -> Tensor:
        x = self.norm_x(x)
        k, v = self.k(x), self.v(x)
        slots = self.slots
        for _ in range(int(steps)):
            q = self.q(self.norm_s(slots)) * 0.125
            weights = torch.softmax(torch.matmul(k, q.transpose(1, 2)), 2) + 1e-6
            weights = weights / weights.sum(1, keepdim=True)
            seen = torch.matmul(weights.transpose(1, 2), v)
            slots = self.cell(seen.flatten(0, 1), slots.flatten(0, 1)).view(1, 7, -1)
            slots = slots + self.down(torch.relu(self.up(self.norm_m(slots))))
        return slots


@real_model("slot attention: 7 slots, 1024 places of 64, 10 rounds, scripted loop")
def slots() -> ExportedModule:
    return ExportedModule(
        SlotAttention(), {"x": torch.randn(1, 1024, 64), "steps": torch.tensor(10)}, ("slots",), "script"
    )
