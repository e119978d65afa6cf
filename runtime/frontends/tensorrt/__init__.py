"""The TensorRT front end: a mock of the network-definition API; the script that builds a network is the model."""
