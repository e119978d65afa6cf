"""Models as people export them: built once, then run by every runtime, with the results that PyTorch or NumPy gives."""
