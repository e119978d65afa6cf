"""Export of models as TensorRT network-building code, which can be run there and opened here again."""
