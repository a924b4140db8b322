"""Expected kernel of observations together with the hidden variables that a model infers for them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mercer import linalg, validate
from mercer.backend import Array, to_numpy
from mercer.errors import NoRule
from mercer.gram.bag_sums import Segments
from mercer.kernels.base import Kernel, Points
from mercer.kernels.compose import Tensor
from mercer.kernels.dot import Linear
from mercer.rkhs.embeddings.as_bags import are_known, as_bags
from mercer.rkhs.embeddings.batch import AtomBlock, DistributionBatch
from mercer.rkhs.embeddings.meanmap import MeanMap

_ROUNDING = 1e-6  # of the sums of probabilities


@dataclass(frozen=True)
class LatentMeanMap(Kernel):
    """Latent mean map kernel: the expected kernel of observations x with hidden states h, given the observations.

    K(X, Y) = 1 / (T S) sum_ts k(x_t, y_s) sum_hh' p(h | x_t) l(h, h') p(h' | y_s): the mean map of the pairs (x_t, h_t)
    with the kernel k(x, y) l(h, h'), averaged over the states that the model infers. Two observations count as alike
    only as far as they are likely to come from the same state. Points are bags or sequences; in a sequence the
    probabilities may depend on all observations, as those of a hidden Markov model do.

    Parameters
    ----------
    kernel : Kernel
        k, of vectors.
    model : object with ``predict_proba``
        Fitted: maps a sample (T, d) to probabilities (T, m) of the hidden states, such as scikit-learn's
        `GaussianMixture` or a hidden Markov model of hmmlearn.
    states : array (m, m) or None
        The matrix l of similarities of states, positive semi-definite. None: 1 for equal states, else 0.

    References
    ----------
    N. A. Mehta, A. G. Gray (2010). Generative and latent mean map kernels. arXiv:1005.0188.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.mixture import GaussianMixture
    >>> from mercer.kernels import RBF
    >>> rng = np.random.default_rng(0)
    >>> bags = [rng.normal(centre, 1.0, size=(50, 1)) for centre in (-3.0, -3.0, 3.0)]
    >>> model = GaussianMixture(2, random_state=0).fit(np.concatenate(bags))
    >>> k = LatentMeanMap(RBF(3.0), model)(bags)
    >>> bool(k[0, 1] > 100 * k[0, 2])
    True
    """

    kernel: Kernel
    model: Any
    states: Any = None

    expensive = True  # an entry is a double sum

    def __post_init__(self) -> None:
        validate.instance("kernel", self.kernel, Kernel, "a kernel, such as RBF(1.0)")
        if not callable(getattr(self.model, "predict_proba", None)):
            raise TypeError(
                "model must have a method predict_proba that gives probabilities of hidden states, "
                f"got {validate.shown(self.model)}"
            )
        if self.states is not None:
            object.__setattr__(self, "states", _similarities(self.states))

    def accept(self, x: Any, name: str = "x") -> Points:
        if isinstance(x, DistributionBatch):
            return x
        if np.any(are_known(x)):
            raise NoRule(
                f"no latent mean map of distributions without points in {name}: draw from each first, "
                "such as p.sample(100, rng=0)"
            )
        bags = as_bags(x, draws=1, rng=0, name=name)
        points = to_numpy(bags.values).astype(np.float64)
        ends = zip(bags.offsets[:-1], bags.offsets[1:], strict=True)
        states = np.concatenate([self._inferred(points[a:b]) for a, b in ends])
        joint = self._joint.kernel.accept((points, states), name)
        n = len(bags)
        block = AtomBlock(joint, np.arange(n), Segments(bags.offsets, bags.weights))
        return DistributionBatch(n, (block,))

    def pairwise(self, x: Any, y: Any, /) -> Array:
        return self._joint.pairwise(x, y)

    def paired(self, x: Any, y: Any, /) -> Array:
        return self._joint.paired(x, y)

    @property
    def _joint(self) -> MeanMap:
        """Mean map of pairs of an observation and features of its hidden state."""
        return MeanMap(Tensor(self.kernel, Linear()))

    def _inferred(self, points: np.ndarray) -> np.ndarray:
        """Features of the inferred states whose inner products are sum_hh' p(h) l(h, h') p(h'): (T, m)."""
        probabilities = np.asarray(self.model.predict_proba(points), dtype=np.float64)
        if probabilities.ndim != 2 or len(probabilities) != len(points):
            raise ValueError(
                f"predict_proba of the model must give probabilities ({len(points)}, states), one row for each "
                f"point, got shape {probabilities.shape}"
            )
        if np.any(probabilities < 0) or np.any(np.abs(probabilities.sum(axis=1) - 1) > _ROUNDING):
            raise ValueError(
                "predict_proba of the model must give probabilities that add up to one"
            )
        if self.states is None:
            return probabilities
        if len(self.states) != probabilities.shape[1]:
            raise ValueError(
                f"states must be a matrix of the {probabilities.shape[1]} states of the model, got "
                f"{len(self.states)} rows"
            )
        values, vectors = linalg.eigh(np.array(self.states, dtype=np.float64))
        return probabilities @ (vectors * np.sqrt(np.maximum(values, 0.0)))


def _similarities(states: Any) -> tuple[tuple[float, ...], ...]:
    """Checked similarities of states: a symmetric positive semi-definite matrix (m, m)."""
    matrix = np.array(
        to_numpy(validate.finite(validate.real(states, "states"), "states")), dtype=np.float64
    )
    if matrix.ndim != 2 or matrix.shape[0] != matrix.shape[1] or not np.allclose(matrix, matrix.T):
        raise ValueError(f"states must be a symmetric matrix, got shape {matrix.shape}")
    if linalg.eigvalsh(matrix)[0] < -_ROUNDING * np.max(np.abs(matrix)):
        raise ValueError("states must be positive semi-definite, but has negative eigenvalues")
    return tuple(map(tuple, matrix.tolist()))
