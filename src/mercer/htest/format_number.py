"""Numbers as people write them, and words for effect sizes."""

from __future__ import annotations

from math import inf

# Upper limits of the words, on scales that do not depend on a kernel; docs/guide/effect_sizes.md explains them.
# Areas are those of normal samples at Cohen's d = 0.2, 0.5 and 0.8, Phi(d / sqrt(2)); shares the squares of
# Cohen's r = 0.1, 0.3 and 0.5 (Cohen 1988, sections 2.2 and 3.2).
AREAS = ((0.556, "very small"), (0.638, "small"), (0.714, "moderate"), (inf, "large"))
SHARES = ((0.01, "very weak"), (0.09, "weak"), (0.25, "moderate"), (inf, "strong"))
# For models that cannot be drawn from: the relative Stein discrepancy lies between 0 and 1 as a correlation does.
_DISCREPANCIES = ((0.1, "very small"), (0.3, "small"), (0.5, "moderate"), (inf, "large"))


def area_word(auc: float) -> str:
    """Word for the area under the ROC curve of a classifier that tells two samples apart.

    Examples
    --------
    >>> area_word(0.51), area_word(0.65), area_word(0.92)
    ('very small', 'moderate', 'large')
    """
    return _word(AREAS, auc)


def share_word(share: float) -> str:
    """Word for the share of the variation of one variable that another explains.

    Examples
    --------
    >>> share_word(0.02), share_word(0.64)
    ('weak', 'strong')
    """
    return _word(SHARES, share)


def discrepancy_word(relative: float) -> str:
    """Word for a relative Stein discrepancy."""
    return _word(_DISCREPANCIES, relative)


def _word(words: tuple[tuple[float, str], ...], value: float) -> str:
    return next((word for limit, word in words if value < limit), "unknown")


def figure(value: float, digits: int = 4) -> str:
    """`value` with so many digits; large numbers up to a billion are rounded, with commas.

    Examples
    --------
    >>> figure(0.012345), figure(68.1942), figure(26971.4), figure(-1234567.0), figure(6.02e23)
    ('0.01235', '68.19', '26,971', '-1,234,567', '6.02e+23')
    """
    shown_whole = 10**digits <= abs(value) < 1e9
    return f"{value:,.0f}" if shown_whole else f"{value:.{digits}g}"
