"""Names of kernels as statisticians know them."""

from __future__ import annotations

import re

_NAMES = {
    "RBF": "Gaussian",
    "InverseMultiquadric": "inverse multiquadric",
    "Matern": "Matérn",
    "RationalQuadratic": "rational quadratic",
    "Delta": "equality of categories",
    "Linear": "linear",
    "Polynomial": "polynomial",
    "Laplace": "Laplace",
    "Exponential": "exponential",
    "Cauchy": "Cauchy",
    "Energy": "energy distance",
}


def kernels_in_words(text: str) -> str:
    """A sentence with the kernels in it by the names of the field.

    Examples
    --------
    >>> kernels_in_words("the strongest is RBF(bandwidth=1.2)")
    'the strongest is Gaussian (bandwidth 1.2)'
    """
    names = "|".join(_NAMES)
    return re.sub(rf"\b({names})\(([^()]*)\)", _with_parameters, text)


def _with_parameters(match: re.Match[str]) -> str:
    """`Name(a=1, b=2)` as "name (a 1, b 2)"."""
    name = _NAMES[match[1]]
    return f"{name} ({match[2].replace('=', ' ')})" if match[2] else name
