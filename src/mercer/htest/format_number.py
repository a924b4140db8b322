"""Numbers as people write them."""

from __future__ import annotations


def figure(value: float, digits: int = 4) -> str:
    """So many digits; numbers up to a billion are whole and with commas, not powers of ten.

    Examples
    --------
    >>> figure(0.012345), figure(68.1942), figure(26971.4), figure(-1234567.0), figure(6.02e23)
    ('0.01235', '68.19', '26,971', '-1,234,567', '6.02e+23')
    """
    whole = 10**digits <= abs(value) < 1e9
    return f"{value:,.0f}" if whole else f"{value:.{digits}g}"
