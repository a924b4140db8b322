"""The repository keeps its own promises: documents run, commands exist, files stay short."""

import doctest
import importlib
import json
import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

import mercer

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
DOCUMENTS = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
DOCUMENTS = [d for d in DOCUMENTS if not {"_build", "gallery"} & set(d.relative_to(ROOT).parts)]
PUBLIC_ROOMS = ("causal", "htest", "info", "kernels", "learn", "rkhs")
NEEDED = {
    "goodness.md": ["torch"],  # the score of a log-density
    "deploying.md": ["onnx", "skops"],
    "two_sample.md": ["torch"],  # networks
    "choosing_kernel.md": ["torch"],
    "alibi_detect.md": ["torch"],
}

each_document = pytest.mark.parametrize(
    "document", DOCUMENTS, ids=lambda d: d.relative_to(ROOT).as_posix()
)


def text(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def python(*arguments: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, check=False
    )


@pytest.fixture(scope="module")
def tracked() -> list[Path]:
    """What git has or would take: everything but what it ignores."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    try:
        listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("not a git checkout")
    return [ROOT / name for name in listed.stdout.split("\0") if name and (ROOT / name).is_file()]


# ---- documents ------------------------------------------------------------------------------


@each_document
def test_code_in_documents_runs(document, tmp_path, monkeypatch):
    """```python blocks run and ```pycon blocks show what they say, top to bottom in one namespace."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MPLBACKEND", "Agg")
    source = document.read_text(encoding="utf-8")
    for library in NEEDED.get(document.name, []):
        pytest.importorskip(library)
    module = ModuleType("__document__")  # where dataclasses look up their annotations
    monkeypatch.setitem(sys.modules, "__document__", module)
    names = module.__dict__
    for block in re.finditer(r"^```(python|pycon)\n(.*?)^```$", source, re.DOTALL | re.MULTILINE):
        line = source.count("\n", 0, block.start()) + 1
        if block[1] == "python":
            exec(compile("\n" * line + block[2], str(document), "exec"), names)
            continue
        flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
        runner = doctest.DocTestRunner(optionflags=flags)
        example = doctest.DocTestParser().get_doctest(
            block[2], names, document.name, str(document), line
        )
        report: list[str] = []
        runner.run(example, out=report.append, clear_globs=False)
        names.update(example.globs)
        assert not runner.failures, "".join(report)


@each_document
def test_links_in_documents_lead_somewhere(document):
    for target in re.findall(r"\]\(([^)\s#]+)[^)]*\)", document.read_text(encoding="utf-8")):
        if "://" not in target and "gallery/" not in target:
            assert (document.parent / target).exists(), target


def test_quick_start_has_fifteen_lines():
    code = re.search(r"^```python\n(.*?)^```$", text("README.md"), re.DOTALL | re.MULTILINE)
    assert code is not None
    assert len([line for line in code[1].splitlines() if line.strip()]) <= 15


def test_commands_of_the_readme_are_those_of_the_makefile():
    targets = set(re.findall(r"^([a-z]+):", text("Makefile"), re.MULTILINE))
    named = set(re.findall(r"^make ([a-z]+)", text("README.md"), re.MULTILINE))
    assert {"demo", "test"} <= named <= targets


def test_every_layer_is_in_the_architecture():
    contract = PROJECT["tool"]["importlinter"]["contracts"][0]
    layers = re.findall(r"\w+", " ".join(contract["layers"]))
    picture = text("docs/_static/layers.svg")
    page = text("docs/architecture.md")
    assert [layer for layer in layers if layer not in picture or layer not in page] == []


def test_the_architecture_names_the_rooms_there_are():
    """Every row of the table is a package with the folders it names, and no folder goes unnamed."""
    page, source = text("docs/architecture.md"), ROOT / "src/mercer"
    named = {source}
    layers = page.split("## Layers")[1].split("\n## ")[0]
    for line in re.findall(r"^\| `.*$", layers, re.MULTILINE):
        packages, what = line.strip("| ").split(" | ", 1)
        for package in re.findall(r"`(\w+)`", packages):
            there = package == "mercer" or bool(list(source.glob(f"{package}*")))
            assert there is not ("(planned)" in what), package
            named |= {source / package}
            named |= {source / package / room for room in re.findall(r"`(\w+)/`", what)}
    inner = {source / "htest/sums": source / "htest/dependence/sums"}  # a room in a room
    named = {inner.get(folder, folder) for folder in named}
    folders = {p for p in source.rglob("*") if p.is_dir() and p.name != "__pycache__"}
    assert folders - named == set()
    rooms = {folder for folder in named if folder.parent != source}
    assert [folder for folder in rooms if not folder.is_dir()] == []


def test_the_architecture_names_files_there_are():
    page = text("docs/architecture.md")
    paths = re.findall(r"`((?:\w+/)+\w+\.py)`", page)
    assert len(paths) > 10
    places = (ROOT, ROOT / "src/mercer")
    assert [path for path in paths if not any((p / path).exists() for p in places)] == []


def test_every_public_package_is_in_the_reference():
    page = text("docs/api/index.md")
    packages = (p for p in (ROOT / "src/mercer").iterdir() if (p / "__init__.py").is_file())
    names = {p.name for p in packages} - {
        "cli",
        "networks",
    }  # a command, and a room without public names
    assert [name for name in sorted(names) if f"mercer.{name}" not in page] == []


def test_every_public_name_is_in_the_reference(monkeypatch):
    """The groups of the reference have each name of each package once, and the index lists them."""
    monkeypatch.syspath_prepend(str(ROOT / "docs"))
    reference = importlib.import_module("reference_groups")
    for package in reference.PACKAGES:
        names = [name for _, group in reference.groups(package) for name in group]
        assert sorted(names) == sorted(importlib.import_module(f"mercer.{package}").__all__)
        assert [name for name in names if name.startswith("_")] == []
        assert all(group for _, group in reference.groups(package))
    assert reference.groups("htest")[0][1][0] == "two_sample"
    assert "`two_sample <mercer.htest.two_sample>`" in "".join(reference.listing())
    page = text("docs/api/index.md")
    own = (name.partition(".")[2] for name in reference.missing(set()) if name.count(".") == 1)
    assert [name for name in own if not re.search(rf"^   {name}$", page, re.MULTILINE)] == []


def test_every_hook_of_the_site_is_connected():
    """Functions of docs/conf.py that take the application are called by Sphinx, or by nobody."""
    source = text("docs/conf.py")
    hooks = set(re.findall(r"^def (\w+)\(app,", source, re.MULTILINE))
    connected = set(re.findall(r"app\.connect\(\s*\"[\w-]+\", (\w+)", source))
    assert len(hooks) > 5
    assert hooks - connected == set()


def test_tests_that_the_pages_recommend_exist():
    """What the picture calls and what the tables of the questions name, apart from their own results."""
    calls = re.findall(r"(\w+)\(", text("docs/_static/which_test.svg"))
    tables = re.findall(r"^\| .*\|$", text("docs/questions/which_test.md"), re.MULTILINE)
    named = re.findall(r"`([A-Z]\w+|[a-z]+_\w+)", " ".join(tables))
    assert len(calls) > 8
    assert len(named) > 30
    rooms = (mercer, *(importlib.import_module(f"mercer.{room}") for room in PUBLIC_ROOMS))
    assert [name for name in calls + named if not any(hasattr(room, name) for room in rooms)] == []


# ---- the project's own files ----------------------------------------------------------------

with_workflows = pytest.mark.skipif(
    not (ROOT / ".github").is_dir(), reason="source distributions have no workflows"
)


@with_workflows
def test_ci_runs_make_test():
    assert text(".ci/run").rstrip().endswith("\nexec make test")
    assert os.name == "nt" or os.access(ROOT / ".ci/run", os.X_OK)


@with_workflows
def test_torch_is_pinned_to_one_version():
    files = (
        "Makefile",
        "tools/matrix.py",
        ".github/workflows/ci.yml",
        ".github/workflows/slow.yml",
    )
    found = {f: set(re.findall(r"torch==([\d.]+)", text(f))) for f in files}
    assert len(set().union(*found.values())) == 1
    assert all(found.values())


@with_workflows
def test_workflows_run_what_the_matrix_has():
    """Every configuration of tools/matrix.py but those that need the processor of the runner."""
    named = re.search(r"name: \[([\w, ]+)\]", text(".github/workflows/slow.yml"))
    assert named is not None
    listed = python("tools/matrix.py", "haswell", "--list")
    assert listed.returncode == 0, listed.stderr
    configurations = set(re.findall(r'Configuration\("(\w+)"', text("tools/matrix.py")))
    assert set(named[1].split(", ")) == configurations - {"skylakex"}


def test_version_and_licence_are_the_same_everywhere():
    citation = dict(re.findall(r"^(\w+): (.+)$", text("CITATION.cff"), re.MULTILINE))
    assert citation["version"] == mercer.__version__
    assert citation["license"] == PROJECT["project"]["license"] == "BSD-3-Clause"
    assert text("LICENSE").startswith("BSD 3-Clause License")


def test_the_extra_all_has_everything_optional():
    """All that a user can ask for; the others are tools of developers."""
    extras = PROJECT["project"]["optional-dependencies"]
    named = re.fullmatch(r"mercer\[([\w,]+)\]", extras["all"][0])
    assert named is not None
    tools = {"all", "bench", "dev", "docs", "peers", "test"}
    inside = {"plot"}  # which report brings
    assert set(named[1].split(",")) | inside == set(extras) - tools
    rows = re.findall(r"^\| (`.*?`) \|", text("docs/install.md"), re.MULTILINE)
    assert set(extras) - tools | {"all"} <= set(re.findall(r"\w+", " ".join(rows)))


def test_the_extra_docs_has_what_examples_import():
    """`make docs` runs the examples in an environment of its own."""
    extras = PROJECT["project"]["optional-dependencies"]
    named = re.fullmatch(r"mercer\[([\w,]+)\]", extras["docs"][0])
    assert named is not None
    wanted = [*PROJECT["project"]["dependencies"]]
    for extra in named[1].split(","):
        wanted += extras[extra]
    installed = {re.split(r"[<>=\[]", one)[0].lower() for one in wanted} | {"mercer"}
    names = {"sklearn": "scikit-learn", "PIL": "pillow", "ot": "pot"}
    for example in ROOT.glob("examples/**/*.py"):
        source = example.read_text("utf-8")
        modules = re.findall(
            r"^\s*(?:import (?=\w+(?: as \w+)?$)|from (?=[\w.]+ import))(\w+)", source, re.MULTILINE
        )
        outside = {names.get(m, m) for m in modules} - set(sys.stdlib_module_names) - installed
        assert outside == set(), example.name


def test_an_installation_has_what_the_readme_uses():
    project = PROJECT["project"]
    base = project["dependencies"]
    used = [
        one
        for extra in ("learn", "plot", "report")
        for one in project["optional-dependencies"][extra]
    ]
    assert [one for one in used if not one.startswith("mercer") and one not in base] == []


def test_the_index_of_results_lists_every_page():
    folder = ROOT / "benchmarks/results"
    linked = set(re.findall(r"\]\((\w+\.md)\)", (folder / "README.md").read_text(encoding="utf-8")))
    pages = {p.name for p in folder.glob("*.md")} - {"README.md"}
    assert pages - linked == set()
    elsewhere = {"matrix.md", "scoreboard_avx2.md", "scoreboard_avx512.md"}  # by other processors
    assert linked - pages <= elsewhere


def test_source_files_stay_short():
    folders = ("src", "tests", "benchmarks", "examples", "tools")
    files = [p for folder in folders for p in ROOT.glob(f"{folder}/**/*.py")]
    sizes = {
        p.relative_to(ROOT).as_posix(): len(p.read_text(encoding="utf-8").splitlines())
        for p in files
    }
    assert len(sizes) == len(files) > 600  # every file counts, also those that share a name
    assert {name: n for name, n in sizes.items() if n > 400} == {}


def test_no_file_names_a_machine_or_a_registry(tracked):
    homes = ["/" + folder + "/" for folder in ("work", "root", "home", "Users")]
    hosts = [
        "pypi" + ".org",
        "python" + "hosted",
        "npm" + "js",
        "deb." + "debian",
        "ana" + "conda.org",
    ]
    pattern = re.compile(
        "|".join(rf"(?<![\w.]){re.escape(h)}\w" for h in homes) + "|" + "|".join(hosts)
    )
    found = {}
    for path in tracked:
        try:
            match = pattern.search(path.read_text(encoding="utf-8"))
        except UnicodeDecodeError:
            continue  # a picture or an array
        if match:
            found[path.relative_to(ROOT).as_posix()] = match[0]
    assert found == {}


def test_no_lock_file_and_nothing_large_is_kept(tracked):
    assert [p.name for p in tracked if p.suffix == ".lock" or p.stat().st_size > 1_000_000] == []


# ---- the package at the door ----------------------------------------------------------------


@pytest.mark.parametrize(
    "statement",
    [
        "import mercer",
        "import mercer.kernels, mercer.gram, mercer.rkhs",
        "import mercer, numpy; mercer.kernels.RBF(1.0)(numpy.zeros((3, 2)))",
    ],
)
def test_import_is_light(statement):
    heavy = ["scipy", "sklearn", "torch", "matplotlib", "pandas", "polars", "numba", "dask"]
    heavy += ["typer", "rich"]
    code = f"import sys; {statement}; print(sorted(set(sys.modules) & set({heavy})))"
    done = python("-W", "error", "-c", code)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "[]"


def test_every_public_name_is_there():
    assert [name for name in mercer.__all__ if not hasattr(mercer, name)] == []


def test_types_are_shipped():
    assert (ROOT / "src/mercer/py.typed").is_file()


def test_example_draws_the_figure_of_the_readme(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.setenv("MPLBACKEND", "Agg")
    done = python("examples/plot_witness.py", str(tmp_path / "witness.png"))
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "witness.png").read_bytes().startswith(b"\x89PNG")


def test_command_tells_its_version():
    done = python("-m", "mercer", "--version")
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == f"mercer {mercer.__version__}"


def test_doctor_finds_nothing_wrong():
    done = CliRunner().invoke(mercer.cli.app, ["doctor", "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.output)
    assert told["versions"]["mercer"] == mercer.__version__
    assert all(check["passed"] for check in told["checks"])


def test_doctor_names_every_optional_package():
    """Each package of an extra for users, and the extra that installs it."""
    from mercer.cli.doctor import _OPTIONAL

    extras = PROJECT["project"]["optional-dependencies"]
    listed = {*re.findall(r"\w+", extras["all"][0]), "plot"} - {"mercer"}
    needed = {
        (re.match(r"[\w-]+", package)[0].lower(), extra)
        for extra in listed
        for package in extras[extra]
        if not package.startswith("mercer[")
    }
    assert {(package.lower(), extra) for package, (_, extra) in _OPTIONAL.items()} == needed


def test_doctor_tells_what_is_wrong(monkeypatch):
    monkeypatch.setattr("mercer.gram.Gram.quad", lambda gram, w: 0 * w[0])
    done = CliRunner().invoke(mercer.cli.app, ["doctor"])
    assert done.exit_code == 1
    assert "FAILED" in done.output
    assert "quad = naive sum" in done.output
