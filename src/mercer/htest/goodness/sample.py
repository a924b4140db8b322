"""A sample on its way into a goodness-of-fit test, with the Stein kernel of the model."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mercer.backend import astype, count, detached, double
from mercer.frames import Columns
from mercer.gram import Gram
from mercer.htest.goodness.models import Model
from mercer.kernels.base import Kernel, Points
from mercer.kernels.radial import RBF
from mercer.kernels.stein import Stein
from mercer.rkhs.points import bound_to, read
from mercer.rkhs.stein import median_imq


@dataclass(frozen=True)
class Sample:
    """n observations, in float64, and the kernel that compares them with the model."""

    kernel: Stein  # bound to columns
    points: Points
    columns: Columns | None

    def __len__(self) -> int:
        return count(self.points)

    @property
    def gram(self) -> Gram:
        """H_ij = k_p(x_i, x_j)."""
        return Gram(self.kernel, self.points)


def sample_of(model: Model, kernel: Kernel | None, x: Any, least: int) -> Sample:
    """Checked observations; None for a kernel: InverseMultiquadric at their median distance."""
    points, columns = read(RBF(1.0) if kernel is None else kernel, x, None, "x")
    points = detached(points)
    points = astype(points, double(points))
    if count(points) < least:
        raise ValueError(f"x needs at least {least} observations, got {count(points)}")
    model.fit_for(int(points.shape[1]))
    chosen = median_imq(points) if kernel is None else bound_to(kernel, columns)
    return Sample(Stein(chosen, model.score), points, columns)
