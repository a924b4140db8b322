"""A figure as SVG text for a page: light, without a window, the same bytes for the same drawing."""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from mercer.plot.style import FAINT, INK, NEGATIVE, POSITIVE

_SCREEN = 72  # points per inch, which SVG takes for pixels
_COLOURS = {
    INK: "ink",
    FAINT: "faint",
    POSITIVE: "first",
    NEGATIVE: "second",
    "#666666": "soft",
    "#ffffff": "paper",
}
_LOOKS = {
    "svg.fonttype": "none",
    "text.parse_math": False,
    "font.family": "sans-serif",
    "font.size": 11,
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
    draw: Callable[[Any], object], *, name: str, alt: str, width: float = 640, height: float = 320
) -> str:
    """What `draw` draws on the Axes of a new figure, as one ``<svg>`` element for an HTML page.

    The page may set the colours by its CSS variables ``--ink``, ``--soft``, ``--faint``,
    ``--paper``, ``--first`` and ``--second``, so that one drawing serves light and dark; the
    background is the page's. Words stay words, and a dollar sign in them is a dollar sign.

    Parameters
    ----------
    draw : callable
        Takes a matplotlib Axes.
    name : str
        A word that makes the ids of this drawing different from those of others on the page.
    alt : str
        What the picture shows, for those who cannot see it.
    width, height : float
        In pixels; the picture shrinks with the page.

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
        nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
        figure.savefig(buffer, format="svg", transparent=True, metadata=nothing)
    return _embedded(buffer.getvalue(), name, alt)


def _embedded(text: str, name: str, alt: str) -> str:
    """The element alone: its ids the page's own, its colours and its size left to the page."""
    from xml.sax.saxutils import quoteattr

    body = text[text.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>|<style\b.*?</style>", "", body, flags=re.DOTALL)
    body = re.sub(r"[\x00-\x08\x0b-\x1f\x7f]", "", body)
    body = re.sub(r'\b(id="|url\(#|xlink:href="#)', rf"\g<1>{name}-", body)
    for colour, variable in _COLOURS.items():
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
    """What `draw` draws on the Axes of a new figure, as a file: PNG, SVG or PDF by its name.

    Parameters
    ----------
    draw : callable
        Takes a matplotlib Axes.
    path : str or Path
    width, height : float
        In pixels of a screen; a PNG has two for each.
    """
    with _figure(width, height) as figure:
        draw(figure.add_subplot())
        figure.savefig(path, dpi=2 * _SCREEN)


@contextmanager
def _figure(width: float, height: float, **more: Any) -> Iterator[Any]:
    """A figure without a window, in the looks of mercer's pages."""
    try:
        import matplotlib as mpl
        from matplotlib.figure import Figure
    except ImportError:
        raise ImportError("pictures need matplotlib: pip install 'mercer[plot]'") from None

    looks: Any = {**_LOOKS, **more}
    with mpl.rc_context(looks), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing")  # the reader's fonts have it
        yield Figure(figsize=(width / _SCREEN, height / _SCREEN), layout="constrained")
