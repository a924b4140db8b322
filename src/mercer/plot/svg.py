"""Figures as SVG text for HTML pages, or as files; reproducible, without a window."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mercer.plot.style import FAINT, INK, NEGATIVE, POSITIVE

_DPI = 72  # matplotlib's points per inch, so that one pixel of SVG is one point
_CSS_VARIABLES = {
    INK: "ink",
    FAINT: "faint",
    POSITIVE: "first",
    NEGATIVE: "second",
    "#666666": "soft",
    "#ffffff": "paper",
}
_RC_PARAMS = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.size": 14,
    "legend.fontsize": "medium",
    "axes.edgecolor": FAINT,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "legend.frameon": False,
    "text.color": INK,
    "xtick.color": INK,
    "ytick.color": INK,
}


def svg_figure(
    draw: Callable[[Any], object], *, name: str, alt: str, width: float = 440, height: float = 280
) -> str:
    """Draw on the Axes of a new figure and return one ``<svg>`` element for an HTML page.

    The page can set the colours with the CSS variables ``--ink``, ``--soft``, ``--faint``,
    ``--paper``, ``--first`` and ``--second``, so that the same SVG works in light and dark mode. The
    background is transparent, text stays text, and dollar signs are not parsed as mathematics.

    Parameters
    ----------
    draw : callable
        Function of a matplotlib Axes.
    name : str
        Prefix of the element ids; it must be unique on the page.
    alt : str
        Alternative text for those who cannot see the figure.
    width, height : float
        Size in pixels; the figure shrinks with the page.

    Returns
    -------
    str

    Examples
    --------
    >>> text = svg_figure(lambda ax: ax.plot([0, 1], [0, 1]), name="line", alt="a line going up")
    >>> text[:38]
    '<svg role="img" aria-label="a line goi'
    """
    buffer = io.StringIO()
    with _figure(width, height, **{"svg.hashsalt": name}) as figure:
        draw(figure.add_subplot())
        metadata = dict.fromkeys(("Date", "Creator", "Format", "Type"))  # none: reproducible bytes
        figure.savefig(buffer, format="svg", transparent=True, metadata=metadata)
    return _embedded(buffer.getvalue(), name, alt)


def _embedded(text: str, name: str, alt: str) -> str:
    """The <svg> element with prefixed ids, CSS variables for colours, and no fixed size."""
    from xml.sax.saxutils import quoteattr

    body = text[text.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>|<style\b.*?</style>", "", body, flags=re.DOTALL)
    body = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "", body)
    body = re.sub(r'\b(id="|url\(#|xlink:href="#)', rf"\g<1>{name}-", body)
    for colour, variable in _CSS_VARIABLES.items():
        body = body.replace(f": {colour}", f": var(--{variable}, {colour})")
    size = re.search(r'viewBox="[\d. ]+"', body)
    view = "" if size is None else size[0]
    opening = (
        f'<svg role="img" aria-label={quoteattr(" ".join(alt.split()))} {view} '
        'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
    )
    return re.sub(r"<svg\b.*?>", lambda _: opening, body, count=1, flags=re.DOTALL)


def save_figure(
    draw: Callable[[Any], object], path: Any, *, width: float = 640, height: float = 400
) -> None:
    """Draw on the Axes of a new figure and save it: PNG, SVG or PDF by the file extension.

    Parameters
    ----------
    draw : callable
        Function of a matplotlib Axes.
    path : str or Path
    width, height : float
        Size in pixels of a screen; a PNG has twice the resolution.
    """
    with _figure(width, height) as figure:
        draw(figure.add_subplot())
        figure.savefig(path, dpi=2 * _DPI)


@contextmanager
def _figure(width: float, height: float, **more: Any) -> Iterator[Any]:
    """A figure without a window, in the style of the reports."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("plots need matplotlib: pip install 'mercer[plot]'") from None

    parameters: Any = {**_RC_PARAMS, **more}
    with mpl.rc_context(parameters), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # the browser has the font
        yield Figure(figsize=(width / _DPI, height / _DPI), layout="constrained")
