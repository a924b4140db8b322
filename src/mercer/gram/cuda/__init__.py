"""Gram matrices on NVIDIA GPUs: tiles are made, used and forgotten inside one fused kernel.

Nothing here is imported before a CUDA tensor arrives. `plan(kernel, x, y)` turns a kernel into Triton
code, or says None where it cannot, and the tiled torch path of `LazyMatrix` serves.
"""
