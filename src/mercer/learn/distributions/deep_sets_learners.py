"""Deep sets: networks of mean features of bags, as a regressor and a classifier."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from sklearn.base import ClassifierMixin, MultiOutputMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted

from mercer import validate
from mercer.backend import array_like, astype, double, namespace, to_numpy
from mercer.config import settings
from mercer.features.random_state import generator
from mercer.learn.kernel_learner import KernelPredictor, doubles, present
from mercer.networks.deep_sets import (
    Architecture,
    Layers,
    SetBatch,
    TrainingSets,
    learnt_set_network,
)
from mercer.networks.training import Schedule, need_torch
from mercer.rkhs import Bags
from mercer.rkhs.embeddings.as_bags import as_bags

_MIN_PARTS = 4  # of the bags, of which every network holds out one to stop its training
_POINTS_AT_ONCE = 4096  # of all bags of a step
_ROUNDING = 4 * float(np.finfo(np.float64).eps)  # relative; columns that vary by less are constant
_DRAWS = 1000  # points of each distribution that is known in closed form


@dataclass(frozen=True, eq=False)
class SetNetwork:
    """rho(mean of phi(x)), both of linear layers with rectified linear units between them."""

    points: Layers
    sets: Layers

    def outputs(self, values: np.ndarray, bags: Bags) -> np.ndarray:
        """Outputs (n, q) for bags whose points have these values."""
        for matrix, offset in self.points:
            values = np.maximum(values @ matrix + offset, 0.0)
        means = bags.means(values)
        for matrix, offset in self.sets[:-1]:
            means = np.maximum(means @ matrix + offset, 0.0)
        matrix, offset = self.sets[-1]
        return means @ matrix + offset


class DeepSets(KernelPredictor):
    """Base of the regressor and the classifier: f(bag) = rho(mean of phi(x) over the points x of the bag), averaged over several networks."""

    def __init__(
        self,
        *,
        layers: int = 3,
        width: int = 32,
        networks: int = 3,
        steps: int = 1500,
        points: int = 500,
        learning_rate: float = 3e-3,
        weight_decay: float = 1e-2,
        random_state: Any = None,
    ) -> None:
        self.layers = layers
        self.width = width
        self.networks = networks
        self.steps = steps
        self.points = points
        self.learning_rate = learning_rate
        self.weight_decay = weight_decay
        self.random_state = random_state

    @abstractmethod
    def _loss(self, outputs: Any, targets: Any) -> Any:
        """Mean loss of outputs and targets, which are tensors."""

    def _learn(self, X: Any, targets: np.ndarray, outputs: int) -> None:
        """Learn the networks on bags that were checked and targets (n, q), or classes (n,)."""
        rng = generator(self.random_state)
        bags = as_bags(X, draws=_DRAWS, rng=rng)
        self.n_features_in_ = int(bags.values.shape[1])
        sets = self._training_sets(bags, targets)
        schedule = Schedule(self.steps, self.learning_rate, self.weight_decay)
        batch = SetBatch(
            max(_POINTS_AT_ONCE // min(self.points, int(bags.sizes.max())), 1), self.points
        )
        number = min(max(self.networks, _MIN_PARTS), len(bags))
        parts = np.array_split(rng.permutation(len(bags)), number)[: self.networks]
        shape = Architecture(self.layers, self.width, outputs)
        learnt = [
            learnt_set_network(sets, np.sort(part), shape, self._loss, schedule, batch, rng)
            for part in parts
        ]
        self.networks_ = [SetNetwork(points, rho) for points, rho, _ in learnt]
        self.validation_loss_ = float(np.mean([loss for _, _, loss in learnt]))

    def _check_parameters(self) -> None:
        need_torch(type(self).__name__)
        for name in ("layers", "width", "networks", "steps", "points"):
            validate.whole(name, getattr(self, name))
        validate.positive("learning_rate", self.learning_rate)
        validate.non_negative("weight_decay", self.weight_decay)

    def _training_sets(self, bags: Bags, targets: np.ndarray) -> TrainingSets:
        if len(bags) < 2:
            raise ValueError(
                f"{type(self).__name__} needs bags to learn from and others to stop by, at least two, got "
                f"n_samples = {len(bags)}"
            )
        values: Any = astype(bags.values, double(bags.values))
        xp = namespace(values)
        self.center_ = to_numpy(xp.mean(values, axis=0))
        spread = to_numpy(xp.std(values, axis=0))
        low, high = (to_numpy(extreme(values, axis=0)) for extreme in (xp.min, xp.max))
        rounding = _ROUNDING * np.maximum(np.abs(low), np.abs(high))
        self.scale_ = np.where(
            high - low > rounding, spread, 1.0
        )  # constant columns keep their unit
        scaled = (values - array_like(self.center_, values)) / array_like(self.scale_, values)
        return TrainingSets(scaled, bags.offsets, bags.segments.shares, targets)

    def _outputs(self, X: Any) -> list[np.ndarray]:
        """Outputs of every network for new bags: (n, q) each."""
        check_is_fitted(self, "networks_")
        bags = as_bags(self._numbers(X, reset=False), draws=_DRAWS, rng=0)
        self._check_width(int(bags.values.shape[1]), reset=False)
        most = max(settings().memory // 8 // (32 * max(self.width, self.n_features_in_)), 1)
        blocks, first = [], 0
        while first < len(bags):  # as many bags as there is room for, one at least
            reach = int(np.searchsorted(bags.offsets, bags.offsets[first] + most, side="right"))
            last = max(reach - 1, first + 1)
            blocks.append(self._block(bags[first:last]))
            first = last
        return [np.concatenate(outputs) for outputs in zip(*blocks, strict=True)]

    def _block(self, bags: Bags) -> list[np.ndarray]:
        values = to_numpy(bags.values).astype(np.float64)
        values = (values - self.center_) / self.scale_
        return [network.outputs(values, bags) for network in self.networks_]


class DeepSetsRegressor(MultiOutputMixin, RegressorMixin, DeepSets):
    """Regression on bags by deep sets: y = rho(mean of phi(x) over the bag), phi and rho being networks (Zaheer et al. 2017).

    The order of the points of a bag makes no difference, and their number none but for its noise. Every x_i is a
    bag of points, which may have weights, a vector (a bag of one point), or a known distribution, of which
    points are drawn. Where the bags are few, `DistributionRegressor` is usually better: networks need hundreds.

    Several networks are learnt by AdamW on the squared error. Each holds out a part of the bags, a quarter or
    less, and stops where it predicts them best; predictions are averaged. Learning needs torch (``pip install
    'mercer[torch]'``) and runs on the device of the points; predictions do not need it.

    Parameters
    ----------
    layers : int
        Layers of phi, and of rho.
    width : int
        Units of each layer.
    networks : int
        Number of networks.
    steps : int
        Minibatches for each of them, at most.
    points : int
        Points that are drawn from a bag in a step; predictions use all of them.
    learning_rate, weight_decay : float
        Step size and shrinkage of AdamW.
    random_state : int, Generator, RandomState or None

    Attributes
    ----------
    networks_ : list
        Matrices of the networks.
    validation_loss_ : float
        Mean loss on the bags that were held out, of y in units of its standard deviation.
    n_features_in_ : int

    References
    ----------
    M. Zaheer, S. Kottur, S. Ravanbakhsh, B. Poczos, R. Salakhutdinov, A. Smola (2017). Deep sets. NeurIPS 30.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> spread = rng.uniform(0.5, 2.0, size=200)
    >>> bags = [rng.normal(0.0, s, size=(50, 1)) for s in spread]  # all have mean 0
    >>> model = DeepSetsRegressor(networks=1, steps=200, random_state=0).fit(bags[:150], spread[:150])
    >>> error = model.predict(bags[150:]) - spread[150:]
    >>> float(np.sqrt(np.mean(error**2))) < 0.25
    True
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from bags and targets (n,) or (n, q)."""
        self._check_parameters()
        x, y = self._both(X, y, y_numeric=True, multi_output=True)
        y = doubles(y)
        self._single = y.ndim == 1
        targets = y[:, None] if self._single else y
        self._y_mean, spread = targets.mean(axis=0), targets.std(axis=0)
        self._y_scale = np.where(spread > 0, spread, 1.0)
        self._learn(x, (targets - self._y_mean) / self._y_scale, targets.shape[1])
        return self

    def predict(self, X: Any) -> np.ndarray:
        """Predictions for bags: (n,) or (n, q)."""
        outputs = np.mean(self._outputs(X), axis=0)
        values = self._y_mean + self._y_scale * outputs
        return values[:, 0] if self._single else values

    def _loss(self, outputs: Any, targets: Any) -> Any:
        return ((outputs - targets) ** 2).mean()


class DeepSetsClassifier(ClassifierMixin, DeepSets):
    """Classification of bags by deep sets: the softmax of rho(mean of phi(x) over the bag) (Zaheer et al. 2017).

    Learnt on the cross-entropy; otherwise as `DeepSetsRegressor`, which explains the parameters. Probabilities are
    averaged over the networks.

    Parameters
    ----------
    layers, width, networks, steps, points, learning_rate, weight_decay, random_state
        As in `DeepSetsRegressor`.

    Attributes
    ----------
    classes_ : array
    networks_, validation_loss_, n_features_in_

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(0)
    >>> wide = rng.random(200) < 0.5
    >>> bags = [rng.normal(0.0, 1.6 if w else 1.0, size=(40, 2)) for w in wide]
    >>> model = DeepSetsClassifier(networks=1, steps=150, random_state=0).fit(bags[:150], wide[:150])
    >>> model.score(bags[150:], wide[150:]) > 0.9
    True
    """

    def fit(self, X: Any, y: Any) -> Self:
        """Learn from bags and labels (n,)."""
        self._check_parameters()
        x, y = self._both(X, present(y))
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"{type(self).__name__} needs labels of at least two classes, got one class, "
                f"{self.classes_.tolist()[0]!r}: add observations of another class"
            )
        self._learn(x, codes, len(self.classes_))
        return self

    def predict_proba(self, X: Any) -> np.ndarray:
        """Probabilities of the classes: (n, classes)."""
        shares = []
        for outputs in self._outputs(X):
            heights = np.exp(outputs - outputs.max(axis=1, keepdims=True))
            shares.append(heights / heights.sum(axis=1, keepdims=True))
        return np.mean(shares, axis=0)

    def predict(self, X: Any) -> np.ndarray:
        """The most probable class of each bag."""
        best = np.argmax(self.predict_proba(X), axis=1)
        return self.classes_[best]

    def _loss(self, outputs: Any, targets: Any) -> Any:
        likelihoods = outputs.log_softmax(dim=1).gather(1, targets[:, None])
        return -likelihoods.mean()
