"""TensorRT: the network-definition API, so that the code that builds a network is the model."""
