"""Attention, rotary embeddings, and the key-value cache."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar

import numpy as np

from ....graph import TensorType, Value
from ..checked_attribute import CheckedAttribute, ownerless_check
from ..enums import AttentionIOForm, AttentionNormalizationOp, CausalMaskKind, KVCacheMode, LayerType
from ..layer import ILayer, ITensor, enum_argument, tensor_argument
from ..lowering_scope import LoweringScope
from ..network import INetworkDefinition, network_method
from ..removed_api import missing_api_error
from ..script_location import ArgumentError, caller_location
from .argument_checks import (
    bool_argument,
    checked_rank,
    enum_check,
    int_argument,
    require_dtype_kind,
    require_equal_dtypes,
    static_shape,
)


class IAttentionOutputLayer(ILayer):
    """The layer of an IAttention: inputs query, key, value, mask."""

    KIND: ClassVar[str] = "Attention"
    TYPE: ClassVar[LayerType] = LayerType.ATTENTION_OUTPUT
    EXTRA_INPUTS: ClassVar[int] = 1

    norm_op: AttentionNormalizationOp = AttentionNormalizationOp.SOFTMAX
    causal_kind: CausalMaskKind = CausalMaskKind.NONE

    def max_inputs(self) -> int:
        return 4

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        require_equal_dtypes(self, types[:3])
        require_dtype_kind(self, 0, types[0], "float")
        for k in range(3):
            checked_rank(self, k, types[k], 4, 4)
        query, key, value = (kind.shape for kind in types[:3])
        if query is None or key is None or value is None:
            return [TensorType(types[0].dtype)]
        pairs = [(query[0], key[0]), (query[0], value[0]), (query[3], key[3]), (key[1], value[1]), (key[2], value[2])]
        heads, shared = query[1], key[1]
        grouped = not (isinstance(heads, int) and isinstance(shared, int)) or (shared > 0 and not heads % shared)
        if any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs) or not grouped:
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
        operands = [*inputs, None][:4]
        softmax = self.norm_op is AttentionNormalizationOp.SOFTMAX
        return [
            scope.op(
                "Attention",
                *operands,
                domain="tensorrt",
                softmax=int(softmax),
                causal=int(self.causal_kind),
            )
        ]


def _causal_kind(causal: Any, label: str) -> CausalMaskKind:
    return CausalMaskKind.UPPER_LEFT if bool_argument(causal, label) else CausalMaskKind.NONE


def _is_causal(kind: CausalMaskKind) -> bool:
    return kind is not CausalMaskKind.NONE


class IAttention:
    """The result of add_attention: a proxy of the layer."""

    def __init__(self, layer: IAttentionOutputLayer) -> None:
        self._layer = layer
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

    @property
    def num_inputs(self) -> int:
        return self._layer.num_inputs

    @property
    def num_outputs(self) -> int:
        return 1

    def get_input(self, index: int) -> ITensor | None:
        return self._layer.get_input(index)

    def get_output(self, index: int) -> ITensor | None:
        return self._layer.get_output(index)

    def set_input(self, index: int, tensor: ITensor) -> bool:
        self._layer.set_input(index, tensor)
        return True


def _attention(
    network: INetworkDefinition, tensors: Sequence[ITensor], op: AttentionNormalizationOp, kind: CausalMaskKind
) -> IAttention:
    names = ("query", "key", "value")
    checked = [tensor_argument(network, t, f"add_attention: {name}") for t, name in zip(tensors, names, strict=True)]
    layer = IAttentionOutputLayer(network, checked)
    layer.norm_op = enum_argument(AttentionNormalizationOp, op, "add_attention: norm_op")
    layer.causal_kind = kind
    return IAttention(layer)


@network_method
def add_attention(
    network: INetworkDefinition,
    query: ITensor,
    key: ITensor,
    value: ITensor,
    norm_op: AttentionNormalizationOp,
    causal: bool,
) -> IAttention:
    """Attention over [batch, heads, length, size], not scaled."""
    kind = _causal_kind(causal, "add_attention: causal")
    return _attention(network, (query, key, value), norm_op, kind)


@network_method
def add_attention_v2(
    network: INetworkDefinition,
    query: ITensor,
    key: ITensor,
    value: ITensor,
    norm_op: AttentionNormalizationOp,
    causal_kind: CausalMaskKind,
) -> IAttention:
    """Attention with the corner of a causal mask."""
    kind = enum_argument(CausalMaskKind, causal_kind, "add_attention_v2: causal_kind")
    return _attention(network, (query, key, value), norm_op, kind)


class IRotaryEmbeddingLayer(ILayer):
    """Rotates pairs of elements by angles with given cosines and sines; input 3 has positions."""

    KIND: ClassVar[str] = "RotaryEmbedding"
    TYPE: ClassVar[LayerType] = LayerType.ROTARY_EMBEDDING
    EXTRA_INPUTS: ClassVar[int] = 1

    interleaved: bool = False
    rotary_embedding_dim: int = 0

    def max_inputs(self) -> int:
        return 4

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        require_equal_dtypes(self, types[:3])
        require_dtype_kind(self, 0, types[0], "float")
        checked_rank(self, 0, types[0], 4, 4)
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
        operands = [*inputs, None][:4]
        return [
            scope.op(
                "RotaryEmbedding",
                *operands,
                domain="tensorrt",
                interleaved=int(self.interleaved),
                rotary_embedding_dim=self.rotary_embedding_dim,
            )
        ]


@network_method
def add_rotary_embedding(
    network: INetworkDefinition,
    input: ITensor,
    cos_cache: ITensor,
    sin_cache: ITensor,
    interleaved: bool,
    rotary_embedding_dim: int,
) -> IRotaryEmbeddingLayer:
    """Rotate pairs of elements."""
    tensors = [
        tensor_argument(network, input, "add_rotary_embedding: input"),
        tensor_argument(network, cos_cache, "add_rotary_embedding: cos_cache"),
        tensor_argument(network, sin_cache, "add_rotary_embedding: sin_cache"),
    ]
    layer = IRotaryEmbeddingLayer(network, tensors)
    layer.interleaved = bool_argument(interleaved, "add_rotary_embedding: interleaved")
    layer.rotary_embedding_dim = int_argument(rotary_embedding_dim, "add_rotary_embedding: rotary_embedding_dim")
    return layer


class IKVCacheUpdateLayer(ILayer):
    """Writes an update into a cache along axis 2, at a separate index for each batch."""

    KIND: ClassVar[str] = "KVCacheUpdate"
    TYPE: ClassVar[LayerType] = LayerType.KV_CACHE_UPDATE

    cache_mode: KVCacheMode = KVCacheMode.LINEAR

    def infer(self, types: Sequence[TensorType]) -> Sequence[TensorType]:
        cache, update, indices = types
        require_equal_dtypes(self, [cache, update])
        checked_rank(self, 0, cache, 4, 4)
        checked_rank(self, 1, update, 4, 4)
        require_dtype_kind(self, 2, indices, "index")
        checked_rank(self, 2, indices, 1, 1)
        if cache.shape is not None and update.shape is not None:
            pairs = [(a, b) for k, (a, b) in enumerate(zip(cache.shape, update.shape, strict=True)) if k != 2]
            total, used = cache.shape[2], update.shape[2]
            fits = not any(isinstance(a, int) and isinstance(b, int) and a != b for a, b in pairs)
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

    def lower(self, scope: LoweringScope, inputs: Sequence[Value | None]) -> Sequence[Value]:
        return [scope.op("KVCacheUpdate", *inputs, domain="tensorrt")]


@network_method
def add_kv_cache_update(
    network: INetworkDefinition, cache: ITensor, update: ITensor, write_indices: ITensor, cache_mode: KVCacheMode
) -> IKVCacheUpdateLayer:
    """Write into a cache."""
    tensors = [
        tensor_argument(network, cache, "add_kv_cache_update: cache"),
        tensor_argument(network, update, "add_kv_cache_update: update"),
        tensor_argument(network, write_indices, "add_kv_cache_update: write_indices"),
    ]
    if not isinstance(cache_mode, KVCacheMode):
        raise ArgumentError(f"{caller_location()}: add_kv_cache_update: cache_mode must be trt.KVCacheMode.LINEAR")
    return IKVCacheUpdateLayer(network, tensors)
