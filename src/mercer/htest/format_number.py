"""Numbers as people write them, and words for effect sizes."""

from __future__ import annotations

from math import inf

# Upper limits of the words. Standardized distances as Cohen's d, correlations as Cohen's r (Cohen
# 1988, sections 2.2 and 3.2); the relative Stein discrepancy lies between 0 and 1 as a correlation does.
_DISTANCES = ((0.2, "very small"), (0.5, "small"), (0.8, "moderate"), (inf, "large"))
_CORRELATIONS = ((0.1, "very weak"), (0.3, "weak"), (0.5, "moderate"), (inf, "strong"))
_DISCREPANCIES = ((0.1, "very small"), (0.3, "small"), (0.5, "moderate"), (inf, "large"))


def distance_word(standardized: float) -> str:
    """Word for the standardized distance of two samples.

    Examples
    --------
    >>> distance_word(0.1), distance_word(0.6)
    ('very small', 'moderate')
    """
    return _word(_DISTANCES, standardized)


def correlation_word(correlation: float) -> str:
    """Word for a kernel correlation."""
    return _word(_CORRELATIONS, correlation)


def discrepancy_word(relative: float) -> str:
    """Word for a relative Stein discrepancy."""
    return _word(_DISCREPANCIES, relative)


def _word(words: tuple[tuple[float, str], ...], value: float) -> str:
    return next(word for limit, word in words if value < limit)


def figure(value: float, digits: int = 4) -> str:
    """`value` with so many digits; large numbers up to a billion are rounded, with commas.

    Examples
    --------
    >>> figure(0.012345), figure(68.1942), figure(26971.4), figure(-1234567.0), figure(6.02e23)
    ('0.01235', '68.19', '26,971', '-1,234,567', '6.02e+23')
    """
    shown_whole = 10**digits <= abs(value) < 1e9
    return f"{value:,.0f}" if shown_whole else f"{value:.{digits}g}"
