"""Causal questions: cause or effect, and causal graphs, from observations."""

from mercer.causal.direction import DirectionMethod, DirectionResult
from mercer.causal.direction_methods import AdditiveNoise, RegressionError
from mercer.causal.graph_result import CausalGraph, GraphEdge
from mercer.causal.orientation import d_separated, pattern_of
from mercer.causal.pc import PC
from mercer.causal.randomized_causation import RandomizedCausation
from mercer.causal.resit import RESIT
from mercer.causal.score_classifier import ScoreClassifier, causal_direction

__all__ = [
    "PC",
    "RESIT",
    "AdditiveNoise",
    "CausalGraph",
    "DirectionMethod",
    "DirectionResult",
    "GraphEdge",
    "RandomizedCausation",
    "RegressionError",
    "ScoreClassifier",
    "causal_direction",
    "d_separated",
    "pattern_of",
]


def __dir__() -> list[str]:
    return __all__
