"""Deep kernels as functions of tensors: [(1 - eps) kappa(phi(x), phi(y)) + eps] q(x, y) (Liu et al. 2020, equation 1)."""

from __future__ import annotations

from math import exp, log
from typing import Any, NamedTuple

RIDGE = 1e-8  # added to the variance (Liu et al. 2020, section 4), for kernels of values up to 1
_HIDDEN_LAYERS, _MIN_WIDTH, _MAX_WIDTH = 3, 30, 256


class PointBatch(NamedTuple):
    """A batch of points: what the network sees, and what q sees, in units of the scale of the sample."""

    raw: Any  # (n, d)
    scaled: Any  # (n, d)


class Numbers(NamedTuple):
    """Bandwidth of kappa on features, that of q on scaled rows, and eps."""

    bandwidth: float
    base_bandwidth: float
    eps: float


def vector_network(width: int) -> Any:
    """The default network: three hidden layers of rectified linear units, and as many linear features."""
    import torch

    hidden = min(max(3 * width, _MIN_WIDTH), _MAX_WIDTH)
    layers: list[Any] = []
    for columns in (width, *[hidden] * (_HIDDEN_LAYERS - 1)):
        layers += [torch.nn.Linear(columns, hidden), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers, torch.nn.Linear(hidden, hidden))


class DeepKernel:
    """Gaussian kappa and q; the network, the bandwidths and eps have gradients.

    `module` holds all that is learnt: the network, and the logarithms of the bandwidths with the logit of eps.
    """

    def __init__(self, network: Any, like: Any) -> None:
        import torch

        self.module: Any = torch.nn.Module()
        self.module.network = network
        zeros = torch.zeros(3, dtype=like.dtype, device=like.device)
        self.module.numbers = torch.nn.Parameter(zeros)

    @property
    def numbers(self) -> Numbers:
        """Bandwidths and eps as they are now."""
        bandwidth, base, logit = self.module.numbers.tolist()
        return Numbers(exp(bandwidth), exp(base), 1 / (1 + exp(-logit)))

    def set_numbers(self, numbers: Numbers) -> None:
        """Replace bandwidths and eps."""
        import torch

        bandwidth, base, eps = numbers
        values = [log(bandwidth), log(base), log(eps / (1 - eps))]
        with torch.no_grad():
            self.module.numbers.copy_(torch.tensor(values, dtype=torch.float64))

    def features(self, rows: PointBatch) -> Any:
        """What the network makes of the rows: (n, p)."""
        return self.module.network(rows.raw).reshape(len(rows.raw), -1)

    def contrasts(self, x: PointBatch, y: PointBatch) -> Any:
        """H_ij = k(x_i, x_j) + k(y_i, y_j) - k(x_i, y_j) - k(x_j, y_i) of samples of equal size: (n, n)."""
        a, b = self.features(x), self.features(y)
        across = self._matrix(a, x.scaled, b, y.scaled)
        within = self._matrix(a, x.scaled, a, x.scaled) + self._matrix(b, y.scaled, b, y.scaled)
        return within - across - across.T

    def _matrix(self, a: Any, x: Any, b: Any, y: Any) -> Any:
        """Kernel values for features a, b and scaled rows x, y."""
        bandwidth, base, logit = self.module.numbers
        eps = logit.sigmoid()
        deep = (-squared_distances(a, b) / (2 * (2 * bandwidth).exp())).exp()
        plain = (-squared_distances(x, y) / (2 * (2 * base).exp())).exp()
        return ((1 - eps) * deep + eps) * plain


def estimated_power(h: Any, ridge: float = RIDGE) -> Any:
    """J = MMD_u^2 / sigma, by which the power grows, from the contrasts H_ij of two samples of equal size.

    MMD_u^2 is the mean of H_ij over i != j, and sigma^2 = 4 mean_i (mean_j H_ij - mean H)^2 + ridge (Liu et al.
    2020, equations 4 and 5). Written as the variance of row means it cannot be negative, as unbiased estimates can, and small ones are
    not lost to rounding. It is the variance under the alternative hypothesis: where the samples do not differ it vanishes faster
    than MMD_u^2 does, and J is large by chance.
    """
    rows = h.mean(dim=1)
    return _mean_of_pairs(h) / (4 * ((rows - rows.mean()) ** 2).mean() + ridge).sqrt()


def standardized(h: Any) -> Any:
    """MMD_u^2 in standard deviations that it has where the samples do not differ: sqrt(2 mean H_ij^2 / (n (n - 1)))."""
    n = len(h)
    deviation = (2 * _mean_of_pairs(h**2) / (n * (n - 1))).sqrt()
    return _mean_of_pairs(h) / deviation


def _mean_of_pairs(h: Any) -> Any:
    """Mean over i != j."""
    n = len(h)
    return (h.sum() - h.trace()) / (n * (n - 1))


def squared_distances(a: Any, b: Any) -> Any:
    """Squared distances of the rows of two tensors, by one product; never negative."""
    center = b.mean(dim=0).detach()
    a, b = a - center, b - center
    squares = (a**2).sum(dim=1)[:, None] + (b**2).sum(dim=1) - 2 * a @ b.T
    return squares.clamp_min(0.0)
