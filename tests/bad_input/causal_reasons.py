"""Why some of what is public in `mercer.causal` needs no door."""

from __future__ import annotations

_NUMBERS = "takes numbers and tests; tests/causal tries others"
_MADE = "made by the library, from what a door has checked"
_CHECKED = "what causal_direction calls"
_METHODS = ("AdditiveNoise", "RandomizedCausation", "RegressionError", "ScoreClassifier")

CAUSAL_REASONS = {
    **{f"mercer.causal.{name}": _NUMBERS for name in _METHODS},
    **{f"mercer.causal.{name}.judge": _CHECKED for name in _METHODS},
    "mercer.causal.CausalGraph": _MADE,
    "mercer.causal.CausalGraph.plot": "takes Axes",
    "mercer.causal.DirectionResult": _MADE,
    "mercer.causal.GraphEdge": _MADE,
    "mercer.causal.PC.of_oracle": "takes a function; tests/causal tries it",
    "mercer.causal.d_separated": "takes a matrix of a graph; tests/causal tries it",
    "mercer.causal.pattern_of": "takes a matrix of a graph; tests/causal tries it",
}
