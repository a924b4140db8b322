"""Rendering of report pages from templates: all strings are escaped, and the page size is limited."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import isnan
from typing import Any

import mercer
from mercer.htest.result import Result
from mercer.report.kernel_names import kernels_in_words

MAX_PAGE_BYTES = 1_000_000  # small enough to send by mail and to open on a telephone
_JOINTS = re.compile(r"(?<=\w)([_/-])(?=\w)")
_MAX_CELL_CHARACTERS = 120  # a longer value makes a table cell unreadable


def page_about(
    result: Result,
    template: str,
    values: Mapping[str, Any],
    *,
    level: float,
    notes: Sequence[str],
) -> str:
    """Render the report of a test result: `values` of its kind, plus what all reports show."""
    rejected = result.rejects(level)
    return checked_page(
        template,
        {
            "result": result,
            "level": level,
            "rejected": rejected,
            "comparison": compared_with_level(result.pvalue, level),
            "test_verdict": _sentence(result.test.verdict(rejected)),
            **values,
        },
        notes=[*notes, *result.notes],
    )


def _sentence(text: str | None) -> str | None:
    """The text with a capital letter; None stays None."""
    return text and text[0].upper() + text[1:]


def checked_page(template: str, values: Mapping[str, Any], *, notes: Sequence[str]) -> str:
    """Render a report whose size is limited; notes that start with "Caution:" stand below the verdict."""
    every = [*dict.fromkeys(notes)]
    cautions = [note for note in every if note.startswith("Caution:")]
    page = rendered(
        template,
        {
            "cautions": [note.removeprefix("Caution: ") for note in cautions],
            "notes": [note for note in every if note not in cautions],
            "version": mercer.__version__,
            **values,
        },
    )
    if len(page.encode()) > MAX_PAGE_BYTES:
        raise ValueError(
            f"the report is larger than {MAX_PAGE_BYTES:,} bytes, which is a bug in mercer: "
            "please report it"
        )
    return page


def rendered(template: str, values: Mapping[str, Any]) -> str:
    """Render a template; all values are escaped except SVG marked by `safe_svg`."""
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
    environment.filters["breakable"] = breakable
    environment.filters["brief"] = brief
    environment.filters["kernels_in_words"] = kernels_in_words
    environment.filters["told_apart"] = told_apart
    return environment.get_template(template).render(values)


def safe_svg(text: str) -> Any:
    """Mark SVG made by `mercer.plot.svg.svg_figure`, which escapes strings from the data, as safe."""
    from markupsafe import Markup

    return Markup(text)


def brief(value: object, most: int = _MAX_CELL_CHARACTERS) -> str:
    """Format a value as one line of text: numbers with five digits, long texts truncated."""
    text = f"{value:.5g}" if isinstance(value, float) else str(value)
    text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return text if len(text) <= most else f"{text[: most - 1]}…"


def breakable(name: str) -> Any:
    """A name that breaks after _ - or /, and not within its words, where a column is narrow."""
    from markupsafe import Markup, escape

    return Markup(_JOINTS.sub(r"\1<wbr>", str(escape(name))))


def told_apart(auc: float) -> str:
    """Format an area under the curve as per cent: 50% where it is below, which is chance, as its interval begins there."""
    return "too few rows" if isnan(auc) else f"{max(auc, 0.5):.0%}"


def compared_with_level(pvalue: float, level: float) -> str:
    """Compare a p-value with the significance level: "below the 0.05 level"."""
    relation = "below" if pvalue < level else "above" if pvalue > level else "equal to"
    return f"{relation} the {level:g} level"
