"""Known properties of kernels on persistence diagrams."""

from __future__ import annotations

from mercer.kernels.diagrams.diagram_kernels import (
    PersistenceFisher,
    PersistenceScaleSpace,
    PersistenceSlicedWasserstein,
    PersistenceWeightedGaussian,
)
from mercer.kernels.theory import Facts, facts_rule

# Inner products of functions made from the diagrams, which add up over points.
for _kind in (PersistenceScaleSpace, PersistenceWeightedGaussian):
    facts_rule(_kind)(
        lambda kernel: Facts(bounded=False, positive_definite=True, domain=kernel.domain)
    )
# An L1 distance of signed counts is conditionally negative definite (Carriere et al. 2017, theorem 3.2).
facts_rule(PersistenceSlicedWasserstein)(
    lambda kernel: Facts(bounded=True, positive_definite=True, domain=kernel.domain)
)
facts_rule(PersistenceFisher)(
    lambda kernel: Facts(bounded=True, positive_definite=False, domain=kernel.domain)
)
