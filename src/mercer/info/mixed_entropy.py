"""Entropy of observations with categories and numbers, by the chain rule."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from mercer.info.estimator import Estimator, ShannonIntegral
from mercer.info.information_measures import Integrals, Shannon
from mercer.info.knn import KNN
from mercer.info.plug_in import PlugIn
from mercer.info.sample import Sample


@dataclass(frozen=True)
class CategoriesAndNumbers(Estimator):
    """Shannon's entropy H(C) + sum_c P(C = c) h(X | C = c) of categories C and numbers X.

    Every category must occur more often than the number of neighbours that the estimator of the numbers uses.

    Examples
    --------
    >>> import numpy as np, pandas as pd
    >>> from mercer.info import entropy
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"kind": ["a", "b"] * 1000, "size": rng.uniform(size=2000)})
    >>> round(entropy(frame), 1)  # log 2 for the kind, 0 for the size
    0.7
    """

    categories: PlugIn = field(default=PlugIn())
    numbers: Estimator = field(default=KNN())

    def integrals(self, x: Sample, y: Sample | None = None) -> Integrals:
        if y is not None:
            raise ValueError(
                "x and y have categories and numbers, of which no divergence is estimated: use "
                "PlugIn() for the categories and KNN() for the numbers, in two calls"
            )
        flags = np.array(x.categorical)
        kinds = Sample(x.values[:, flags], (True,) * int(flags.sum()), x.name, x.weights)
        sizes = Sample(x.values[:, ~flags], (False,) * int((~flags).sum()), x.name, x.weights)
        total = Shannon().entropy(self.categories.integrals(kinds))
        codes = kinds.codes()
        for code in range(codes.max() + 1):
            rows = np.flatnonzero(codes == code)
            within = self.numbers.integrals(sizes.take(rows))
            total += len(rows) / len(x) * Shannon().entropy(within)
        return ShannonIntegral(self, total)
