"""The scale of the kernel generalized variance: with linear kernels it is the information of Gaussian variables."""

from __future__ import annotations

import numpy as np
from numpy.testing import assert_allclose

from mercer.kernels import Linear
from mercer.rkhs import kernel_generalized_variance


def test_linear_kernels_give_the_information_of_gaussian_variables():
    """-1/2 log(det C / (det C_x det C_y)) of the sample covariance (Bach and Jordan 2002), as the ridge vanishes."""
    rng = np.random.default_rng(0)
    z = rng.standard_normal((120, 5)) @ rng.standard_normal((5, 5)) + 3.0
    x, y = z[:, :2], z[:, 2:]
    log_det = [np.linalg.slogdet(np.cov(v.T))[1] for v in (x, y, z)]
    expected = (log_det[0] + log_det[1] - log_det[2]) / 2
    errors = [
        abs(kernel_generalized_variance(Linear(), Linear(), x, y, ridge=ridge) - expected)
        for ridge in (1e-3, 1e-4, 1e-5)
    ]
    # The correlations shrink in proportion to the ridge.
    assert errors[0] > 5 * errors[1] > 25 * errors[2]
    assert_allclose(errors[2], 0.0, atol=1e-3 * expected)
