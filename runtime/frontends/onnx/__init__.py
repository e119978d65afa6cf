"""ONNX model files -> Graph."""
