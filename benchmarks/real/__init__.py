"""Models as people export them: built once, then run by every runtime, with reference results of PyTorch or NumPy."""
