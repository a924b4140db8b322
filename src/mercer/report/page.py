"""A template and what is put into it: every string is escaped, and the page stays small."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import mercer
from mercer.htest.hypothesis_test import Result

LARGEST = 1_000_000  # bytes of a page
_CELL = 120  # letters of a value that is shown


def page_about(
    result: Result,
    template: str,
    values: Mapping[str, Any],
    *,
    level: float,
    notes: Sequence[str],
) -> str:
    """The page about the result of a test: what is its own in `values`, beside what every page has."""
    rejected = result.rejects(level)
    page = rendered(
        template,
        {
            "result": result,
            "level": level,
            "rejected": rejected,
            "own_verdict": result.test.verdict(rejected),
            "notes": [*notes, *result.notes],
            "version": mercer.__version__,
            **values,
        },
    )
    if len(page.encode()) > LARGEST:
        raise ValueError(f"the page is larger than {LARGEST:,} bytes: please report this")
    return page


def rendered(template: str, values: Mapping[str, Any]) -> str:
    """The page; values are escaped unless they are pictures made by `mercer.plot`."""
    try:
        from jinja2 import Environment, PackageLoader, StrictUndefined
    except ImportError:
        raise ImportError("reports need jinja2: pip install 'mercer[report]'") from None

    environment = Environment(
        loader=PackageLoader("mercer.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["brief"] = brief
    return environment.get_template(template).render(values)


def picture(text: str) -> Any:
    """SVG of `mercer.plot.svg.svg_figure`, which has escaped what came from the data."""
    from markupsafe import Markup

    return Markup(text)


def brief(value: object, most: int = _CELL) -> str:
    """A value as text: numbers with five digits, long texts cut."""
    text = f"{value:.5g}" if isinstance(value, float) else str(value)
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"
