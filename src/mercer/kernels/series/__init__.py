"""Kernels on series, on models of series, and the containers that hold them."""
