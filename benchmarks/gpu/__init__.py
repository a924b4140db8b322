"""What runs on an NVIDIA GPU, checked and timed in one go: `python -m benchmarks.gpu`."""
