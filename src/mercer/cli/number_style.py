"""How the numbers of a text column are written: thousands, decimal commas, currencies, per cent, booleans."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from mercer.cli.exits import Refused
from mercer.cli.table import TIMES, quoted, short

MISSING_WORDS = frozenset({"", "NA", "N/A", "n/a", "NaN", "nan", "#N/A", "<NA>", "null", "NULL"})
_CURRENCY = "$€£¥"
_TRUTH = {"true": "1", "false": "0"}
_NUMERIC_SHARE = 0.9  # of the words of a column, which are then written in this style
_MIN_LEVELS = 20  # fewer different labels that look like numbers may be codes, such as 1-2 and 3-4
_MIN_DISTINCT_SHARE = 0.1  # of the rows, likewise
_DATE = re.compile(r"\d{4}([-/.])\d{1,2}\1\d{1,2}([T ].*)?|\d{1,2}([-/.])\d{1,2}\3\d{2,4}( .*)?")
_WITH_UNIT = re.compile(r"[+-]?\d[\d.,]*\s*[A-Za-z°µ]{1,4}")
_LIKE_NUMBER = re.compile(rf"[^A-Za-z]*\d[^A-Za-z]*|{_WITH_UNIT.pattern}")
_ENGLISH = re.compile(r"[+-]?\d{1,3}(,\d{3})+(\.\d*)?|[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?")
_EUROPEAN = re.compile(r"[+-]?\d{1,3}(\.\d{3})+(,\d*)?|[+-]?(\d+(,\d*)?|,\d+)([eE][+-]?\d+)?")
_SPACED = re.compile(r"[+-]?\d{1,3}([ '\u00a0\u202f]\d{3})+([.,]\d*)?")


@dataclass(frozen=True)
class TextFormat:
    """Options of text files; None: recognised by their content."""

    separator: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    encoding: str | None = None
    missing: frozenset[str] = MISSING_WORDS

    @property
    def given_words(self) -> frozenset[str]:
        """Words and numbers for missing values that the user named."""
        return self.missing - MISSING_WORDS


@dataclass(frozen=True)
class NumberStyle:
    """Decimal sign and separator of thousands, and whether values carry a currency or a per cent sign."""

    decimal: str = "."
    thousands: str = ""
    signs: bool = False
    truth: bool = False

    def plain(self, cell: str) -> str:
        """The cell as Python writes numbers; other cells are not numbers afterwards either."""
        if self.truth:
            return _TRUTH.get(cell.strip().lower(), cell)
        core = _core(cell) if self.signs else cell.strip()
        if self.decimal == "," and "," not in core and re.search(r"\d\.\d", core):
            return (
                core.replace(".", "")
                if self.thousands == "." and _EUROPEAN.fullmatch(core)
                else core
            )
        if any(mark in core for mark in self.thousands):
            if not _grouped(self.thousands, self.decimal).fullmatch(core):
                return cell  # 12,5 is not 125
            for mark in self.thousands:
                core = core.replace(mark, "")
        return core.replace(",", ".") if self.decimal == "," else core


@cache
def _grouped(marks: str, decimal: str) -> re.Pattern[str]:
    """Numbers whose separators stand before three digits, or before two in the Indian way (1,00,000)."""
    mark = f"[{re.escape(marks)}]"
    return re.compile(rf"[+-]?\d{{1,3}}({mark}\d{{2,3}})*{mark}\d{{3}}({re.escape(decimal)}\d*)?")


def number_style(
    words: Iterable[str], form: TextFormat, comma: bool, place: str
) -> NumberStyle | None:
    """The style in which nearly all words of a column are numbers; None where they are not numbers.

    `comma`: where both are possible, a comma is a decimal sign. Refused where a column of numbers could be
    read in two ways, or where some values are shares and others per cent.
    """
    cells = [word.strip() for word in words if word.strip() not in form.missing]
    if cells and all(cell.lower() in _TRUTH for cell in cells):
        return NumberStyle(truth=True)
    cores = [_core(cell) for cell in cells]
    signs = cores != cells
    percent = sum(cell.endswith("%") for cell in cells)
    if form.decimal or form.thousands:
        marks = form.thousands or ""
        return NumberStyle(form.decimal or ".", marks, signs)
    style = _by_marks(cores, comma, place)
    if style is not None and 0 < percent < _NUMERIC_SHARE * len(cells):
        raise Refused(
            f"{place}: {percent:,} of {len(cells):,} values have a per cent sign and the others have none: write "
            "them alike, or treat the column as labels with --categories"
        )
    return None if style is None else NumberStyle(style.decimal, style.thousands, signs)


def refuse_numbers_as_labels(levels: Iterable[str], rows: int, place: str) -> None:
    """Refuse a column of dates, or of what looks like numbers, that would become labels in silence."""
    known = list(levels)
    if known and _share(known, _DATE) >= _NUMERIC_SHARE:
        raise Refused(
            f"{place}: dates, such as {short(known[0])!r}: {TIMES}, leave it out "
            "with --exclude, convert the dates to numbers (days), or treat them as labels with --categories"
        )
    many = len(known) > max(_MIN_LEVELS, _MIN_DISTINCT_SHARE * rows)
    if not many or _share(known, _LIKE_NUMBER) < _NUMERIC_SHARE:
        return
    words = [word for word in known if not _ENGLISH.fullmatch(word.strip())]
    numbers = len(known) - len(words)
    if words and numbers > len(words):
        raise Refused(
            f"{place}: {quoted(words, 3)} among {numbers:,} different numbers: if that stands for missing values, say so with "
            f"--na {shlex.quote(words[0])}; else fix it, or treat the column as labels with --categories"
        )
    units = _share(known, _WITH_UNIT) >= _NUMERIC_SHARE
    written = "say how they are written (--decimal, --thousands, --na)"
    remedy = "write the numbers without their unit" if units else written
    raise Refused(
        f"{place}: {len(known):,} different values that look like numbers but are none, such as "
        f"{quoted(known, 3)}: {remedy}, leave the column out with --exclude, or treat it as labels with --categories"
    )


def _by_marks(cores: list[str], comma: bool, place: str) -> NumberStyle | None:
    """The style by decimal signs and separators of thousands."""
    if not cores:
        return None
    english, european = _share(cores, _ENGLISH), _share(cores, _EUROPEAN)
    spaced = [core for core in cores if _SPACED.fullmatch(core)]
    if spaced and _share(cores, _SPACED, _ENGLISH, _EUROPEAN) >= _NUMERIC_SHARE:
        decimal = "," if any("," in core for core in cores) else "."
        return NumberStyle(decimal, " '\u00a0\u202f")
    if max(english, european) < _NUMERIC_SHARE:
        return None
    with_comma = [core for core in cores if "," in core]
    if english == european and with_comma and not comma:
        raise Refused(
            f"{place}: {short(with_comma[0])!r} can be read in two ways: give --thousands , or --decimal ,"
        )
    if english > european or (english == european and not with_comma):
        return NumberStyle(thousands=",")
    return NumberStyle(",", ".")


def _core(cell: str) -> str:
    """The cell without currency, per cent sign, and parentheses of negative amounts."""
    core = cell.strip()
    negative = (
        core.startswith("(")
        and core.endswith(")")
        and any(c in core for c in _CURRENCY + "0123456789")
    )
    core = core.strip("()") if negative else core
    sign = core[:1] if core[:1] in ("+", "-") else ""
    core = core.removeprefix(sign).strip().strip(_CURRENCY).strip().removesuffix("%").strip()
    core = core if not sign else sign + core
    return f"-{core}" if negative else core


def _share(words: list[str], *patterns: re.Pattern[str]) -> float:
    """Share of the words that match one of the patterns."""
    return sum(any(p.fullmatch(word) for p in patterns) for word in words) / len(words)


def numbers_among(words: Iterable[str]) -> list[float]:
    """The words that are numbers."""
    return [float(word) for word in words if is_number(word)]


def is_number(cell: str, comma: bool = False) -> bool:
    """Whether Python reads the cell as a number, with a decimal comma if `comma`."""
    if "_" in cell:
        return False
    try:
        float(cell.replace(",", ".") if comma else cell)
    except ValueError:
        return False
    return True
