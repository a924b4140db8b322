"""Kernels on trees."""
