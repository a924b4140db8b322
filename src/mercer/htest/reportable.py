"""Results that can be written as an HTML report."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any, ClassVar


class Reportable:
    """A result with a report: a function of `mercer.report` that makes one HTML page of it."""

    _report: ClassVar[str]  # name of the function of `mercer.report`

    def report(self, path: str | Path, **options: Any) -> Path:
        """Write an HTML page that works offline, and return its path (needs the extra `report`).

        The options are those of the function of `mercer.report` for this kind of result: `two_sample_report`,
        `independence_report`, `goodness_report`, `pairwise_report`, `power_report`, `drift_report` or
        `graph_report`.
        """
        write = getattr(importlib.import_module("mercer.report"), self._report)
        target = Path(path)
        target.write_text(write(self, **{**self._report_defaults(), **options}), encoding="utf-8")
        return target

    def _report_defaults(self) -> dict[str, Any]:
        """Options of the report that the result knows."""
        return {}
