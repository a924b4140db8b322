"""Kernels on persistence diagrams."""
