"""K @ v by KeOps, in a process of its own: prints how many pairs a second, and the relative error.

python -m benchmarks.gpu.keops
"""

from __future__ import annotations

import faulthandler
import json

import torch

from benchmarks.gpu.tools import normal, seconds

_N = 200_000


def main() -> None:
    faulthandler.enable()
    from pykeops.torch import LazyTensor

    x, v = normal(_N, 10), normal(_N, 1)
    a, b = LazyTensor(x[:, None, :]), LazyTensor(x[None, :, :])
    k = (-((a - b) ** 2).sum(-1) / 18).exp()
    t = seconds(lambda: k @ v, 2)
    wide = x.double()
    r2 = torch.cdist(wide[:1000], wide, compute_mode="donot_use_mm_for_euclid_dist") ** 2
    exact = torch.exp(-r2 / 18) @ v.double()
    error = float(((k @ v)[:1000].double() - exact).norm() / exact.norm())
    print(json.dumps([_N**2 / t, error]))


if __name__ == "__main__":
    main()
