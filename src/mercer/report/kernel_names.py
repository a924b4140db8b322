"""Names of kernels as statisticians know them."""

from __future__ import annotations

import re

from mercer import kernels

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
_CLASSES = {name for name in kernels.__all__ if isinstance(getattr(kernels, name), type)}
_CALL = re.compile(rf"\b({'|'.join(sorted(_CLASSES))})\(([^()]*)\)")  # without another one inside
_OPEN, _CLOSE = "\x02", "\x03"  # parentheses of what is in words already


def kernels_in_words(text: str) -> str:
    """A sentence with the kernels in it by the names of the field.

    Examples
    --------
    >>> kernels_in_words("the strongest is RBF(bandwidth=1.2)")
    'the strongest is Gaussian (bandwidth 1.2)'
    >>> kernels_in_words("Composed(outer=RBF(bandwidth=0.9), inner=Normalized(kernel=Spectrum(length=3, binary=False)))")
    'Gaussian (bandwidth 0.9) of distances by Spectrum (length 3), normalised'
    """
    before = None
    while before != text:
        before, text = text, _CALL.sub(_in_words, text)
    return text.replace(_OPEN, "(").replace(_CLOSE, ")")


def _in_words(match: re.Match[str]) -> str:
    """`Name(a=1, b=True, c=False)` as "name (a 1, b)"; wrappers by what they do to the kernel inside."""
    name, inside = match.groups()
    if name == "Normalized" and inside.startswith("kernel="):
        return f"{inside.removeprefix('kernel=')}, normalised"
    parts = re.fullmatch(r"outer=(.*), inner=(.*)", inside)
    if name == "Composed" and parts is not None:
        return f"{parts[1]} of distances by {parts[2]}"
    words = [word for word in inside.split(", ") if word and not word.endswith(("=False", "=None"))]
    settings = ", ".join(
        re.sub(r"=True$", "", word).replace("_", " ").replace("=", " ") for word in words
    )
    called = _NAMES.get(name, name)
    return f"{called} {_OPEN}{settings}{_CLOSE}" if settings else called
