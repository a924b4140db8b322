"""The programs of the folder tools: what the matrix covers, and what it writes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def tools():
    """The modules `matrix`, `processors` and `verdicts`, which import each other by name."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tools"))
        import matrix
        import processors
        import verdicts

        yield {"matrix": matrix, "processors": processors, "verdicts": verdicts}
    for name in ("matrix", "processors", "verdicts"):
        del sys.modules[name]


def test_the_matrix_has_every_level_of_every_factor(tools):
    found = tools["matrix"].CONFIGURATIONS.values()
    assert {c.processor for c in found} == set(tools["processors"].PROCESSORS)
    assert {c.threads for c in found} == {1, 4}
    assert {c.python for c in found} == {"3.11", "3.12", "3.13", "3.14"}
    for flag in ("torch", "numba", "oldest", "busy"):
        assert {getattr(c, flag) for c in found} == {True, False}, flag
    assert any(c.order is not None for c in found)


def test_lower_bounds_are_those_of_the_project(tools):
    pinned = dict(line.split("==") for line in tools["matrix"].lower_bounds())
    assert {"numpy", "scipy", "scikit-learn", "numba", "narwhals"} <= pinned.keys()
    assert pinned["numpy"] == "2.0"


def test_a_processor_lacks_what_came_after_it(tools):
    dispatched = ["SSE42", "AVX2", "FMA3", "X86_V3", "X86_V4", "AVX512F", "AVX512_SPR"]
    off = {
        name: processor.environment(dispatched)["NPY_DISABLE_CPU_FEATURES"].split()
        for name, processor in tools["processors"].PROCESSORS.items()
    }
    assert off["SkylakeX"] == []
    assert off["Haswell"] == off["Zen"] == ["X86_V4", "AVX512F", "AVX512_SPR"]
    assert off["Sandybridge"] == dispatched[1:]


REPORT = """<testsuites><testsuite><testcase classname="tests.test_a" name="test_one"/>
<testcase classname="tests.test_a" name="test_two"><failure/></testcase>
<testcase classname="tests.test_a" name="test_three"><skipped/></testcase></testsuite></testsuites>"""


def test_the_page_names_what_failed(tools, tmp_path):
    report = tmp_path / "report.xml"
    report.write_text(REPORT)
    matrix = tools["matrix"]
    counted = matrix.counted(report)
    assert counted == {
        "passed": 1, "failed": 1, "skipped": 1, "failing": ["tests.test_a::test_two"],
    }  # fmt: skip
    record = {**counted, "seconds": 90, "versions": {"numpy": "2.0.0"}, "commit": "abc"}
    verdicts = tools["verdicts"].compared({"Haswell": {"a": 0.2}, "Zen": {"a": 0.2}})
    page = matrix.page({"zen": record, "verdicts": verdicts})
    assert "| 1 | 1 | 1 | 1.5 | abc |" in page
    assert "* zen: `tests.test_a::test_two`" in page
    assert "0 verdicts" in page
    assert page.count("not run") == len(matrix.CONFIGURATIONS) - 1


def test_a_verdict_that_changes_is_found(tools):
    first, second = {"a": 0.051, "b": 0.2, "c": 0.3}, {"a": 0.049, "b": 0.2, "c": 0.3001}
    found = tools["verdicts"].compared({"Haswell": first, "Zen": second})
    assert [case["case"] for case in found["changed"]] == ["a"]
    assert found["moved"].keys() == {"a", "c"}
