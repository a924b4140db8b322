"""Gram matrices on NVIDIA GPUs: one fused Triton kernel computes, uses and discards each tile.

Nothing here is imported before a tensor on a GPU arrives. `plan(kernel, x, y)` translates a kernel into
Triton code; where that is not possible it returns None, and torch computes the tiles of `LazyMatrix`.
"""

from mercer.gram.cuda import (
    device_correlation,
    fused_family,
    fused_matrix,
    permuted_products,
    pivoted_cholesky,
    weight_columns,
)
from mercer.gram.device_engine import DeviceEngine

ENGINE = DeviceEngine(
    fused_matrix=fused_matrix.fused_matrix,
    fused_family=fused_family.fused_family,
    permuted_columns=weight_columns.device_columns,
    sign_columns=weight_columns.device_signs,
    uploaded_columns=weight_columns.uploaded_columns,
    code_bytes=weight_columns.code_bytes,
    circular_correlations=device_correlation.circular_correlations,
    squared_correlations=device_correlation.squared_correlations,
    shifted_sums=permuted_products.shifted_sums,
    tensor_norms=permuted_products.tensor_norms,
    pivoted_cholesky=pivoted_cholesky.pivoted_cholesky,
)
