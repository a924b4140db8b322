"""Imports between the modules of a package, read from the source, and the cycles among them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Import:
    """An import of the module `target`; `in_function` if it runs only when a function is called."""

    target: str
    line: int
    in_function: bool


def module_names(package: Path) -> Iterator[tuple[Path, str]]:
    """Files of a package with the dotted names of their modules; a package has the name of its folder."""
    for path in sorted(package.rglob("*.py")):
        parts = path.relative_to(package.parent).with_suffix("").parts
        yield path, ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def imports(tree: ast.Module, module: str, names: frozenset[str]) -> list[Import]:
    """All imports of modules in `names`, but for type checking and for a module's lazy `__getattr__`.

    `from package.module import x` leads to `package.module`, and `from package import module` to
    `package.module` as well; only a name that is no module leads to the package itself.
    """
    edges = set()
    for node, in_function in _statements(tree.body, in_function=False):
        if isinstance(node, ast.Import):
            targets = {alias.name for alias in node.names}
        else:
            parent = node.module or ""
            paths = {f"{parent}.{alias.name}" for alias in node.names}
            targets = {path if path in names else parent for path in paths}
        edges |= {Import(t, node.lineno, in_function) for t in (targets & names) - {module}}
    return sorted(edges, key=lambda i: (i.line, i.target))


def _statements(
    nodes: list[ast.stmt], in_function: bool
) -> Iterator[tuple[ast.Import | ast.ImportFrom, bool]]:
    """Import statements in order, each with whether it is inside a function."""
    for node in nodes:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            yield node, in_function
        elif isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
            yield from _statements(node.orelse, in_function)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            if in_function or node.name != "__getattr__":
                yield from _statements(node.body, in_function=True)
        else:
            for block in _blocks(node):
                yield from _statements(block, in_function)


def _blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """Blocks of a compound statement: of `if`, `for`, `while`, `with`, `try`, `match` and `class`."""
    for field in ("body", "orelse", "finalbody"):
        yield getattr(node, field, [])
    for clause in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield clause.body


def knots(edges: dict[str, set[str]]) -> list[set[str]]:
    """Strongly connected components with more than one module, largest first."""
    reached = {name: _reachable(name, edges) for name in edges}
    groups = {
        frozenset(other for other in reached[name] if name in reached[other]) for name in edges
    }
    return sorted((set(g) for g in groups if len(g) > 1), key=lambda g: (-len(g), min(g)))


def _reachable(start: str, edges: dict[str, set[str]]) -> set[str]:
    """Modules that `start` leads to, itself only when it lies on a cycle."""
    reached: set[str] = set()
    waiting = [start]
    while waiting:
        new = edges[waiting.pop()] - reached
        reached |= new
        waiting += new
    return reached
