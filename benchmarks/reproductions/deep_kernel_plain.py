"""The test of Liu et al. 2020 written down from the paper in plain torch: algorithm 1, one split, permutations.

No library of the authors is used. What the paper leaves open is as in its experiments on blobs: three hidden layers
of 50 softplus units, Adam at 5e-4, a thousand steps, small random eps, bandwidths from a small start.
"""

from __future__ import annotations

from typing import Any

import numpy as np

STEPS, BATCH, RATE, PERMUTATIONS = 1000, 256, 5e-4, 199


def plain_deep_test(x: np.ndarray, y: np.ndarray, seed: int) -> float:
    """The p-value of the second halves, by a kernel learnt on the first."""
    import torch
    from torch import nn

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    d, n = x.shape[1], len(x) // 2
    layers: list[Any] = [nn.Linear(d, 50), nn.Softplus()]
    for _ in range(2):
        layers += [nn.Linear(50, 50), nn.Softplus()]
    net = nn.Sequential(*layers, nn.Linear(50, 50))
    logit = torch.tensor(
        float(np.log(np.random.default_rng(seed).random() * 1e-10)), requires_grad=True
    )
    base = torch.tensor((2.0 * d) ** 0.5, requires_grad=True)
    bandwidth = torch.tensor(0.1**0.5, requires_grad=True)
    optimizer = torch.optim.Adam([*net.parameters(), logit, base, bandwidth], lr=RATE)

    def kernel(u: Any, v: Any) -> Any:
        eps = torch.sigmoid(logit)
        deep = torch.exp(-(torch.cdist(net(u), net(v)) ** 2) / bandwidth**2)
        return ((1 - eps) * deep + eps) * torch.exp(-(torch.cdist(u, v) ** 2) / base**2)

    tensors = [torch.tensor(s, dtype=torch.float32) for s in (x, y)]
    for _ in range(STEPS):
        size = min(BATCH, n)
        a, b = (t[:n][torch.randperm(n)[:size]] for t in tensors)
        cross = kernel(a, b)
        h = kernel(a, a) + kernel(b, b) - cross - cross.T
        mmd2 = (h.sum() - h.trace()) / (size * (size - 1))
        variance = 4 * (h.sum(dim=1) ** 2).sum() / size**3 - 4 * h.sum() ** 2 / size**4
        loss = -mmd2 / torch.sqrt(torch.clamp(variance, min=0.0) + 1e-8)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    with torch.no_grad():
        pooled = torch.cat([t[n:] for t in tensors])
        gram = kernel(pooled, pooled).numpy().astype(np.float64)
    return _permuted(gram, len(x) - n, seed)


def _permuted(gram: np.ndarray, n: int, seed: int) -> float:
    """Share of permutations whose MMD_u^2 is at least the observed one."""
    np.fill_diagonal(gram, 0.0)
    rng, m = np.random.default_rng(seed), len(gram) - n
    orders = [np.arange(n + m), *(rng.permutation(n + m) for _ in range(PERMUTATIONS))]
    values = []
    for order in orders:
        first = np.zeros(n + m)
        first[order[:n]] = 1.0
        second = 1 - first
        across = first @ gram @ second
        within = first @ gram @ first / (n * (n - 1)) + second @ gram @ second / (m * (m - 1))
        values.append(within - 2 * across / (n * m))
    draws = np.array(values[1:])
    return float((1 + np.count_nonzero(draws >= values[0])) / (1 + len(draws)))
