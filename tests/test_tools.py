"""The programs of the folder tools: what the matrix covers, and what it writes."""

from __future__ import annotations

import re
import sys
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
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
    assert {c.threads for c in found} == {1, 4, None}
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
    configuration = asdict(replace(matrix.CONFIGURATIONS["zen"], python="3.12"))
    record = {
        **configuration,
        **counted,
        "seconds": 90,
        "versions": {"numpy": "2.0.0"},
        "commit": "abc",
    }
    verdicts = tools["verdicts"].compared({"Haswell": {"a": 0.2}, "Zen": {"a": 0.2}})
    page = matrix.page({"zen": record, "verdicts": verdicts})
    assert re.search(r"Python 3.12, Zen, .* \| 1 \| 1 \| 1 \| 1.5 \| abc \|", page)
    assert "* zen: `tests.test_a::test_two`" in page
    assert "0 verdicts" in page
    assert page.count("not run") == len(matrix.CONFIGURATIONS) - 1


def test_failing_tests_are_run_again(tools, tmp_path, monkeypatch):
    matrix = tools["matrix"]
    failing = ["tests.test_a::test_two", "tests.test_a::test_one"]
    record = {"passed": 5, "failed": 2, "failing": failing, "commit": "abc"}

    def run(configuration, python, workers, tests):
        assert tests == failing  # there is no such file
        (tmp_path / "zen.xml").write_text(REPORT)

    monkeypatch.setattr(matrix, "BUILD", tmp_path)
    monkeypatch.setattr(matrix, "run", run)
    again = matrix.run_failed(matrix.CONFIGURATIONS["zen"], Path("python"), 1, record)
    assert (again["passed"], again["failing"]) == (6, ["tests.test_a::test_two"])
    assert again["commit"] == "abc"
    assert "again" in again
    assert matrix.address("tests.test_tools.TestIt::test_it[a.b]") == (
        "tests/test_tools.py::TestIt::test_it[a.b]"
    )


def test_a_verdict_that_changes_is_found(tools):
    first, second = {"a": 0.051, "b": 0.2, "c": 0.3}, {"a": 0.049, "b": 0.2, "c": 0.3001}
    found = tools["verdicts"].compared({"Haswell": first, "Zen": second})
    assert [case["case"] for case in found["changed"]] == ["a"]
    assert found["moved"].keys() == {"a", "c"}


TREE = {
    "__init__.py": "def __getattr__(name):\n    from mercer import learn\n    return learn\n",
    "a/__init__.py": "from mercer.a.x import X\n",
    "a/x.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from mercer.a import z\n"
    "class X: ...\ndef f():\n    from mercer.a import y\n    return y\n",
    "a/y.py": "from mercer.a.x import X\nfound = 1  # type: ignore\nfor part, kernel in []: pass\n",
    "a/z.py": "from mercer.a.y import X\nclass Z: ...\n",
    "htest/samples/x.py": "class X: ...\nimport mercer.htest.shared\n",
    "htest/goodness/g.py": "from mercer.htest.samples import x\ndef g(found): return found\n",
    "htest/shared.py": "",
}  # fmt: skip
PASSAGE = "".join(f"    step({i})\n" for i in range(6))


@pytest.fixture
def counted(tmp_path):
    """The metrics of a small package, to which a test may add files."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(ROOT / "tools"))
        import call_walks
        import code_metrics

        def count(files):
            for name, text in files.items():
                path = tmp_path / "mercer" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            sources = code_metrics.read_sources(tmp_path / "mercer")
            return {name: counter(sources) for name, counter in code_metrics.COUNTERS.items()}

        count.walks, count.tool = call_walks, code_metrics
        yield count
    for name in ("call_walks", "code_metrics", "import_graph"):
        del sys.modules[name]


def test_names_and_imports_are_counted(counted):
    metrics = counted(TREE)
    assert metrics["file-names"].occurrences == (
        "mercer/a/x.py:1: x.py", "mercer/htest/samples/x.py:1: x.py",
    )  # fmt: skip
    assert metrics["class-names"].occurrences == (
        "mercer/a/x.py:4: X", "mercer/htest/samples/x.py:1: X",
    )  # fmt: skip
    assert metrics["type-ignores"].occurrences == ("mercer/a/y.py:2: found = 1  # type: ignore",)
    assert metrics["function-imports"].occurrences == ("mercer/a/x.py:6: imports mercer.a.y",)
    assert metrics["sideways"].occurrences == (
        "mercer/htest/goodness/g.py:1: imports mercer.htest.samples.x",
    )
    # x and y import each other; z, imported for types only, and the package are outside the knot.
    assert metrics["knots"].occurrences == (
        "mercer.a.x (knot 1 of 2 modules) imports mercer.a.y",
        "mercer.a.y (knot 1 of 2 modules) imports mercer.a.x",
    )
    assert metrics["fillers"].value == pytest.approx(100 * 2 / 3)  # found, part; not kernel
    assert "50.00% of parameters" in metrics["fillers"].note  # name, found
    assert {name for name, metric in metrics.items() if not metric.passed} == {
        "sideways",
        "fillers",
    }


def test_a_name_taken_from_the_package_itself_ties_a_knot(counted):
    files = {"a/__init__.py": "from mercer.a.x import X\n", "a/x.py": "from mercer.a import X\n"}
    assert counted(files)["knots"].value == 1


def test_lengths_are_counted_without_docstrings(counted):
    lines = "    x = 1\n"
    files = {
        "short.py": f'def f():\n    """One\n    two."""\n{lines * 39}' + "#\n" * 358,
        "long.py": f"def f():\n{lines * 40}" + "#\n" * 360,
    }
    metrics = counted(files)
    assert metrics["long-files"].occurrences == ("mercer/long.py:1: 401 lines",)
    assert metrics["long-functions"].occurrences == ("mercer/long.py:1: f, 41 lines",)


def test_repeated_logic_is_one_passage_whatever_its_length(counted):
    files = {
        "one.py": f'def f():\n    """Here."""\n{PASSAGE}    step(6)\n    return 1\n',
        "two.py": f"class A:\n  def g(self):\n    # why\n{PASSAGE}\n    step(6)\n    return 2\n",
        "three.py": f"class A:\n  def __init__(self):\n{PASSAGE}",
        "four.py": "def other():\n" + PASSAGE.replace("step(5)", "step(50)"),
    }
    assert counted(files)["repeated-logic"].occurrences == ("mercer/one.py:3 = mercer/two.py:4",)


def test_repeated_logic_runs_over_short_methods(counted):
    methods = "".join(f'  def m{i}(self):\n    """{{}}"""\n    return {i}\n' for i in range(3))
    files = {f"{name}.py": f"class A:\n{methods}".replace("{}", name) for name in ("one", "two")}
    assert counted(files)["repeated-logic"].occurrences == ("mercer/one.py:2 = mercer/two.py:2",)


def test_a_walk_counts_the_files_whose_functions_run(counted, tmp_path):
    counted(
        {
            "one.py": "import two\ndef f(): return two.g()\n",
            "two.py": "def g(): return h()\ndef h(): return 1\n",
        }
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(tmp_path / "mercer"))
        import one  # pyright: ignore

        files, crossings = counted.walks.trace(one.f, tmp_path / "mercer")
    for name in ("one", "two"):
        del sys.modules[name]
    assert files == ["one.py", "two.py"]
    assert crossings == {"one.py -> two.py": 1}
    with pytest.raises(RuntimeError, match="entered no function"):
        counted.walks.trace(lambda: None, tmp_path / "mercer")


def test_the_metrics_fail_when_a_limit_is_exceeded(counted, tmp_path, capsys):
    arguments = ["--package", str(tmp_path / "mercer"), "--details", "sideways"]
    counted(
        {
            name: text
            for name, text in TREE.items()
            if not name.startswith(("a/y", "htest/goodness"))
        }
    )
    assert counted.tool.main(arguments) == 0
    counted(TREE)
    assert counted.tool.main(arguments) == 1
    assert "mercer/htest/goodness/g.py:1: imports" in capsys.readouterr().out


def test_a_record_sees_the_last_bit(monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tools"))
    from recorded import differences
    from recorded_values import quantities

    def recorded(last: float, **more: object) -> dict[str, str]:
        return dict(
            quantities({"p": 0.5, "values": np.array([1.0, 2.0, 3.0, 4.0, 5.0, last])} | more)
        )

    before = recorded(6.0)
    assert list(differences(before, recorded(6.0, note="A sentence."))) == []
    (line,) = differences(before, recorded(np.nextafter(6.0, 7.0)))
    assert line.startswith("different  values")
    (line,) = differences(before, recorded(6.0, q=1.0))
    assert line.startswith("new        q")
    (line,) = differences(recorded(6.0, q=1.0), before)
    assert line.startswith("missing    q")
