"""Attention, rotary embeddings, and the key-value cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ....graph import TensorType, Value
from ..checked_attribute import CheckedAttribute, ownerless_check
from ..enums import AttentionIOForm, AttentionNormalizationOp, CausalMaskKind, KVCacheMode, LayerType
from ..layer import ILayer, ITensor, NetworkBase
from ..lowering_scope import LoweringScope
from ..removed_api import missing_api_error
from ..script_location import argument_error
from .argument_checks import (
    bool_argument,
    checked_rank,
    enum_check,
    require_dtype_kind,
    same_types_check,
    sizes_differ,
    static_shape,
    type_and_rank_check,
)
from .network_methods import Parameter, network_method


class IAttentionOutputLayer(ILayer, type=LayerType.ATTENTION_OUTPUT, kind="Attention"):
    """The layer of an IAttention: inputs query, key, value, mask."""

    MAX_INPUTS = 4
    CHECKS = (
        same_types_check(0, 1, 2),
        type_and_rank_check(0, "float", 4, 4),
        type_and_rank_check(1, "", 4, 4),
        type_and_rank_check(2, "", 4, 4),
    )

    norm_op: AttentionNormalizationOp = AttentionNormalizationOp.SOFTMAX
    causal_kind: CausalMaskKind = CausalMaskKind.NONE

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        query, key, value = (kind.shape for kind in types[:3])
        if query is None or key is None or value is None:
            return [TensorType(types[0].dtype)]
        pairs = [(query[0], key[0]), (query[0], value[0]), (query[3], key[3]), (key[1], value[1]), (key[2], value[2])]
        heads, shared = query[1], key[1]
        grouped = not (isinstance(heads, int) and isinstance(shared, int)) or (shared > 0 and not heads % shared)
        if any(sizes_differ(a, b) for a, b in pairs) or not grouped:
            raise self.error(
                f"query {types[0].shape_text()}, key {types[1].shape_text()} and value {types[2].shape_text()} do not"
                " fit: they are [batch, heads, length, size]"
            )
        if len(types) > 3 and self.get_input(3) is not None:
            checked_rank(self, 3, types[3], 4, 4)
            if types[3].dtype is not None and types[3].dtype not in (np.bool_, types[0].dtype):
                raise self.error(
                    f"its mask, {self.required_input(3)}, is {types[3].dtype.name}: it may be bool, or as the query"
                )
        return [TensorType(types[0].dtype, (*query[:3], value[3]))]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        attributes = {"softmax": int(self.norm_op is AttentionNormalizationOp.SOFTMAX), "causal": int(self.causal_kind)}
        return [scope.op("Attention", *[*inputs, None][:4], domain="tensorrt", **attributes)]


def _causal_kind(causal: Any, label: str) -> CausalMaskKind:
    return CausalMaskKind.UPPER_LEFT if bool_argument(causal, label) else CausalMaskKind.NONE


#: Errors of add_attention_v2 name these parameters as those of add_attention.
_ATTENTION_PARAMETERS: dict[str, Any] = {
    name: Parameter(kind, label=f"add_attention: {name}")
    for name, kind in {**dict.fromkeys(("query", "key", "value"), ITensor), "norm_op": AttentionNormalizationOp}.items()
}


@network_method(
    "add_attention",
    "Attention over [batch, heads, length, size], not scaled.",
    **_ATTENTION_PARAMETERS,
    causal=Parameter(bool, check=_causal_kind, attribute="causal_kind"),
)
@network_method(
    "add_attention_v2",
    "Attention with the corner of a causal mask.",
    **_ATTENTION_PARAMETERS,
    causal_kind=CausalMaskKind,
)
class IAttention:
    """The result of add_attention: a proxy of the layer."""

    def __init__(self, network: NetworkBase, inputs: Sequence[ITensor], **attributes: Any) -> None:
        self._layer = IAttentionOutputLayer(network, inputs, **attributes)
        self.decomposable = False
        self.metadata = ""
        self.query_form = self.key_value_form = AttentionIOForm.PADDED_BHND
        self.num_ranks = 1

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise missing_api_error("IAttention", name, dir(self))

    name = CheckedAttribute[str]("name", of="_layer")
    norm_op = CheckedAttribute[AttentionNormalizationOp]("norm_op", enum_check(AttentionNormalizationOp), of="_layer")
    causal_kind = CheckedAttribute[CausalMaskKind]("causal_kind", enum_check(CausalMaskKind), of="_layer")
    causal = CheckedAttribute[bool](
        "causal_kind", ownerless_check(_causal_kind), lambda kind: kind is not CausalMaskKind.NONE, of="_layer"
    )

    @property
    def mask(self) -> ITensor | None:
        return self._layer.get_input(3)

    @mask.setter
    def mask(self, mask: ITensor) -> None:
        self._layer.set_input(3, mask)

    num_inputs = property(lambda self: self._layer.num_inputs)
    num_outputs = property(lambda self: 1)

    def get_input(self, index: int) -> ITensor | None:
        return self._layer.get_input(index)

    def get_output(self, index: int) -> ITensor | None:
        return self._layer.get_output(index)

    def set_input(self, index: int, tensor: ITensor) -> bool:
        self._layer.set_input(index, tensor)
        return True


@network_method(
    "add_rotary_embedding",
    "Rotate pairs of elements.",
    "input",
    "cos_cache",
    "sin_cache",
    interleaved=bool,
    rotary_embedding_dim=int,
)
class IRotaryEmbeddingLayer(ILayer, type=LayerType.ROTARY_EMBEDDING):
    """Rotates pairs of elements by angles with given cosines and sines; input 3 has positions."""

    MAX_INPUTS = 4
    CHECKS = (same_types_check(0, 1, 2), type_and_rank_check(0, "float", 4, 4))

    interleaved: bool = False
    rotary_embedding_dim: int = 0

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        expected_rank = 3 if self.get_input(3) is None else 2
        for k in (1, 2):
            checked_rank(self, k, types[k], expected_rank, expected_rank)
        if self.get_input(3) is not None:
            require_dtype_kind(self, 3, types[3], "index")
            checked_rank(self, 3, types[3], 2, 2)
        size = None if types[0].shape is None else types[0].shape[3]
        rotated = self.rotary_embedding_dim or size
        if isinstance(size, int) and isinstance(rotated, int) and (rotated > size or rotated % 2 or rotated < 0):
            raise self.error(f"it turns {rotated} of {size} elements; that has to be an even number, and not more")
        return [types[0]]

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        attributes = {"interleaved": int(self.interleaved), "rotary_embedding_dim": self.rotary_embedding_dim}
        return [scope.op("RotaryEmbedding", *[*inputs, None][:4], domain="tensorrt", **attributes)]


def _check_cache_mode(cache_mode: Any, label: str) -> KVCacheMode:
    if not isinstance(cache_mode, KVCacheMode):
        raise argument_error(f"{label} must be trt.KVCacheMode.LINEAR")
    return cache_mode


@network_method(
    "add_kv_cache_update",
    "Write into a cache.",
    "cache",
    "update",
    "write_indices",
    cache_mode=Parameter(KVCacheMode, check=_check_cache_mode),
)
class IKVCacheUpdateLayer(ILayer, type=LayerType.KV_CACHE_UPDATE, operator="KVCacheUpdate", domain="tensorrt"):
    """Writes an update into a cache along axis 2, at a separate index for each batch."""

    CHECKS = (
        same_types_check(0, 1),
        type_and_rank_check(0, "", 4, 4),
        type_and_rank_check(1, "", 4, 4),
        type_and_rank_check(2, "index", 1, 1),
    )

    cache_mode: KVCacheMode = KVCacheMode.LINEAR

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        cache, update, indices = types
        if cache.shape is not None and update.shape is not None:
            pairs = [(a, b) for k, (a, b) in enumerate(zip(cache.shape, update.shape, strict=True)) if k != 2]
            total, used = cache.shape[2], update.shape[2]
            fits = not any(sizes_differ(a, b) for a, b in pairs)
            if not fits or (isinstance(total, int) and isinstance(used, int) and used > total):
                raise self.error(
                    f"an update {update.shape_text()} does not fit a cache {cache.shape_text()}: only axis 2 may be"
                    " shorter"
                )
            count = static_shape(indices.shape)
            if count is not None and isinstance(cache.shape[0], int) and count[0] != cache.shape[0]:
                raise self.error(
                    f"it has {count[0]} indices, {self.required_input(2)}, for a batch of {cache.shape[0]}"
                )
        return [cache]
