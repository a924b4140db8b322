"""Count what makes the source hard to read, and compare every count with its limit.

    python tools/code_metrics.py                       # the table; exit status 1 if a limit is exceeded
    python tools/code_metrics.py --details knots       # and every occurrence, as file:line
    python tools/code_metrics.py --details all

The table names every metric. A walk is the number of source files that one call enters (`call_walks.py`).
"""

from __future__ import annotations

import argparse
import ast
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

from call_walks import WALK_LIMITS, traced_files
from import_graph import imports, knots, module_names

ROOT = Path(__file__).resolve().parents[1]
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
SIBLINGS = ("samples", "dependence", "goodness")
FILLER_WORDS = frozenset(
    re.findall(
        r"\w+",
        """asked both chosen done drawn few found given held here kept left looked made many moved much one ones
        own part rest some taken there thing things told turned wanted what whatever which whole""",
    )
)
FILE_LINES, FUNCTION_LINES, REPEATED_LINES = 400, 40, 6


@dataclass(frozen=True)
class Source:
    """A parsed source file; `path` is relative to the folder that holds the package."""

    path: str
    name: str
    text: str
    tree: ast.Module

    def at(self, line: int, text: str) -> str:
        """An occurrence as file:line with a description."""
        return f"{self.path}:{line}: {text}"


@dataclass(frozen=True)
class Metric:
    """A counted property of the source, its limit and where it occurs."""

    value: float
    limit: float
    occurrences: tuple[str, ...] = ()
    note: str = ""

    @property
    def passed(self) -> bool:
        return self.value <= self.limit


def read_sources(package: Path) -> list[Source]:
    """Parse all modules of a package."""
    return [
        Source(path.relative_to(package.parent).as_posix(), name, text, ast.parse(text))
        for path, name in module_names(package)
        for text in [path.read_text(encoding="utf-8")]
    ]


def _repeated(places: Iterable[tuple[str, str]], limit: int) -> Metric:
    """Names that occur in more than one place, from pairs of name and place."""
    where = defaultdict(list)
    for name, place in places:
        where[name].append(place)
    repeated = {name: places for name, places in sorted(where.items()) if len(places) > 1}
    lines = tuple(f"{place}: {name}" for name, places in repeated.items() for place in places)
    return Metric(len(repeated), limit, lines)


def repeated_file_names(sources: list[Source]) -> Metric:
    """File names used in more than one folder; `__init__.py` is not counted."""
    pairs = ((Path(s.path).name, f"{s.path}:1") for s in sources)
    return _repeated((pair for pair in pairs if pair[0] != "__init__.py"), limit=5)


def repeated_class_names(sources: list[Source]) -> Metric:
    """Names of classes that more than one module defines at its top level, such as a measure and a kernel."""
    classes = (
        {n.name: n.lineno for n in s.tree.body if isinstance(n, ast.ClassDef)} for s in sources
    )
    places = (
        (name, f"{s.path}:{line}")
        for s, defined in zip(sources, classes, strict=True)
        for name, line in defined.items()
    )
    return _repeated(places, limit=7)


def type_ignores(sources: list[Source]) -> Metric:
    """Comments that silence the type checker."""
    lines = (
        s.at(number, line.strip())
        for s in sources
        for number, line in enumerate(s.text.splitlines(), 1)
        if re.search(r"#\s*type:\s*ignore", line)
    )
    return _counted(lines, limit=15)


def function_level_imports(sources: list[Source]) -> Metric:
    """Imports of the package inside function bodies."""
    names = frozenset(s.name for s in sources)
    lines = {
        s.at(statement.line, f"imports {statement.target}"): (s.path, statement.line)
        for s in sources
        for statement in imports(s.tree, s.name, names)
        if statement.in_function
    }
    statements = len(set(lines.values()))  # one statement may import several modules
    return Metric(statements, 20, tuple(lines))


def import_knots(sources: list[Source]) -> Metric:
    """Groups of modules that import each other; one, of the fluent methods of kernels, is allowed."""
    names = frozenset(s.name for s in sources)
    edges = {s.name: {e.target for e in imports(s.tree, s.name, names)} for s in sources}
    groups = knots(edges)
    lines = (
        f"{name} (knot {number} of {len(group)} modules) imports {', '.join(sorted(edges[name] & group))}"
        for number, group in enumerate(groups, 1)
        for name in sorted(group)
    )
    sizes = " + ".join(str(len(group)) for group in groups)
    return Metric(len(groups), 1, tuple(lines), f"modules: {sizes}" if groups else "")


def sideways_imports(sources: list[Source]) -> Metric:
    """Imports between the sibling packages of `htest`."""
    names = frozenset(s.name for s in sources)
    lines = (
        s.at(statement.line, f"imports {statement.target}")
        for s in sources
        for statement in imports(s.tree, s.name, names)
        if len({_sibling(s.name), _sibling(statement.target)} - {""}) == 2
    )
    return _counted(lines, limit=0)


def _sibling(module: str) -> str:
    """The package of `htest` that a module belongs to, or an empty string."""
    _, parent, name, *_ = [*module.split("."), "", ""]
    return name if parent == "htest" and name in SIBLINGS else ""


def filler_variables(sources: list[Source]) -> Metric:
    """Share of assigned names, in percent, that say nothing; parameters are in the note."""
    assigned = [
        (s, n.lineno, n.id)
        for s in sources
        for n in ast.walk(s.tree)
        if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)
    ]
    parameters = [n.arg for s in sources for n in ast.walk(s.tree) if isinstance(n, ast.arg)]
    fillers = sorted(
        (entry for entry in assigned if entry[2] in FILLER_WORDS), key=lambda e: (e[0].path, e[1])
    )
    words = Counter(name for _, _, name in fillers).most_common(5)
    frequent = ", ".join(f"{word} {count}" for word, count in words)
    note = (
        f"{len(fillers)} of {len(assigned)} names; {_percent(parameters):.2f}% of parameters"
        f" (not judged); {frequent}"
    )
    share = _percent([name for _, _, name in assigned])
    return Metric(share, 2.0, tuple(s.at(line, name) for s, line, name in fillers), note)


def _percent(names: list[str]) -> float:
    return 100.0 * sum(name in FILLER_WORDS for name in names) / max(len(names), 1)


def long_files(sources: list[Source]) -> Metric:
    """Files with more than 400 lines."""
    sizes = ((s, len(s.text.splitlines())) for s in sources)
    return _counted((s.at(1, f"{n} lines") for s, n in sizes if n > FILE_LINES), limit=0)


def long_functions(sources: list[Source]) -> Metric:
    """Functions with more than 40 lines from `def` to the end, without the docstring."""
    lines = (
        s.at(node.lineno, f"{node.name}, {size} lines")
        for s in sources
        for node in ast.walk(s.tree)
        if isinstance(node, FUNCTIONS) and (size := _length(node)) > FUNCTION_LINES
    )
    return _counted(lines, limit=0)


def _length(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    first = function.body[0]
    documented = ast.get_docstring(function, clean=False) is not None
    return len(_lines(function)) - (len(_lines(first)) if documented else 0)


def repeated_logic(sources: list[Source]) -> Metric:
    """Passages of six or more equal lines in functions; they may run over several short ones."""
    numbered = [_logic_lines(s) for s in sources]
    windows = defaultdict(list)
    for file, lines in enumerate(numbered):
        for start in range(len(lines) - REPEATED_LINES + 1):
            window = tuple(text for _, text in lines[start : start + REPEATED_LINES])
            windows[window].append((file, start))
    repeated = {tuple(places) for places in windows.values() if len(places) > 1}
    # A window that only continues another one belongs to the same passage.
    passages = [p for p in sorted(repeated) if tuple((f, i - 1) for f, i in p) not in repeated]
    lines = (
        " = ".join(f"{sources[f].path}:{numbered[f][i][0]}" for f, i in places)
        for places in passages
    )
    return _counted(lines, limit=0)


def _logic_lines(source: Source) -> list[tuple[int, str]]:
    """Numbered lines of all functions and methods, stripped, with one line for each signature.

    Docstrings, comments, imports, constructors and what stands outside functions are left out.
    """
    counted: set[int] = set()
    skipped: set[int] = set()
    for node in ast.walk(source.tree):
        if isinstance(node, FUNCTIONS):
            counted.update(_lines(node), (d.lineno for d in node.decorator_list))
            skipped.update(range(node.lineno + 1, node.body[0].lineno))
            if node.name in ("__init__", "__new__"):
                skipped.update(_lines(node))
        elif isinstance(node, (ast.Import, ast.ImportFrom)) or _is_string(node):
            skipped.update(_lines(node))
    text = source.text.splitlines()
    stripped = ((n, text[n - 1].strip()) for n in sorted(counted - skipped))
    return [(n, line) for n, line in stripped if line and not line.startswith("#")]


def _lines(node: ast.stmt | ast.expr) -> range:
    return range(node.lineno, (node.end_lineno or node.lineno) + 1)


def _is_string(node: ast.AST) -> TypeGuard[ast.Expr]:
    """Whether a statement is a bare string, such as a docstring."""
    return isinstance(node, ast.Expr) and isinstance(getattr(node.value, "value", None), str)


def _counted(lines: Iterable[str], limit: int) -> Metric:
    occurrences = tuple(lines)
    return Metric(len(occurrences), limit, occurrences)


COUNTERS: dict[str, Callable[[list[Source]], Metric]] = {
    "file-names": repeated_file_names,
    "class-names": repeated_class_names,
    "type-ignores": type_ignores,
    "function-imports": function_level_imports,
    "knots": import_knots,
    "sideways": sideways_imports,
    "fillers": filler_variables,
    "long-files": long_files,
    "long-functions": long_functions,
    "repeated-logic": repeated_logic,
}


def walk_metrics(package: Path) -> dict[str, Metric]:
    """Number of files that each traced call enters, and of pairs of files with a call between them."""
    metrics = {}
    for name, limit in WALK_LIMITS.items():
        files, crossings = traced_files(name, package)
        lines = (*files, *(f"{pair}: {count} calls" for pair, count in crossings.items()))
        metrics[f"walk-{name}"] = Metric(len(files), limit, lines, f"{len(crossings)} crossings")
    return metrics


def table(metrics: dict[str, Metric]) -> list[str]:
    """Lines with value, limit and verdict of every metric."""
    lines = [f"{'metric':<28}{'value':>8}{'limit':>8}  verdict"]
    for name, metric in metrics.items():
        verdict = "pass" if metric.passed else "FAIL"
        note = f"  ({metric.note})" if metric.note else ""
        value = f"{metric.value:.2f}" if isinstance(metric.value, float) else str(metric.value)
        lines.append(f"{name:<28}{value:>8}{metric.limit:>8}  {verdict}{note}")
    return lines


def main(arguments: list[str] | None = None) -> int:
    """Print the table and the details asked for; 1 if a limit is exceeded."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", type=Path, default=ROOT / "src" / "mercer", help="its folder")
    parser.add_argument("--walks", action="store_true", help="trace the five calls, too (minutes)")
    parser.add_argument(
        "--details", action="append", default=[], metavar="NAME",
        help="list the occurrences of a metric, of all that begin with NAME, or of `all`",
    )  # fmt: skip
    options = parser.parse_args(arguments)
    sources = read_sources(options.package)
    metrics = {name: count(sources) for name, count in COUNTERS.items()}
    if options.walks:
        metrics |= walk_metrics(options.package)
    print("\n".join(table(metrics)))
    for name, metric in metrics.items():
        if any(prefix == "all" or name.startswith(prefix) for prefix in options.details):
            print(f"\n{name}", *metric.occurrences, sep="\n  ")
    return int(not all(metric.passed for metric in metrics.values()))


if __name__ == "__main__":
    raise SystemExit(main())
