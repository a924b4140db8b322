"""Blocks ```python needs=what: they run where that is, a GPU, a cluster, data or another library."""

import os
import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mercer
from mercer.kernels import RBF
from tests.support import peer_libraries

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", *sorted(ROOT.glob("docs/**/*.md"))]
BLOCK = re.compile(r"^```python needs=(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)


def blocks() -> list[Any]:
    """The code of each page for each need, on the lines that it has there."""
    found: dict[tuple[Path, str], str] = {}
    for page in PAGES:
        if {"_build", "gallery"} & set(page.relative_to(ROOT).parts):
            continue
        source = page.read_text(encoding="utf-8")
        for block in BLOCK.finditer(source):
            code = found.get((page, block[1]), "")
            lines = source.count("\n", 0, block.start(2)) - code.count("\n")
            found[page, block[1]] = code + "\n" * lines + block[2]
    slow = {"hyppo": [pytest.mark.slow]}  # it compiles for a minute
    return [
        pytest.param(page, need, code, marks=slow.get(need, []), id=f"{page.name}, {need}")
        for (page, need), code in found.items()
    ]


def on_a_gpu(need: str, code: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Without a GPU few points on the CPU."""
    torch = pytest.importorskip("torch")
    if not torch.cuda.is_available():
        code = code.replace('"cuda"', '"cpu"').replace("50_000", "100")
    yield code, {}


def on_a_cluster(need: str, code: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """A cluster of one worker in this process stands for that of the page."""
    distributed = pytest.importorskip("distributed")
    rng = np.random.default_rng(0)
    names = {"mercer": mercer, "x": rng.normal(size=(60, 2)), "y": rng.normal(size=(50, 2))}
    with distributed.LocalCluster(
        n_workers=1, threads_per_worker=1, processes=False, dashboard_address=None
    ) as cluster:
        yield code.replace("tcp://scheduler:8786", cluster.scheduler_address), names
        names["client"].close()


def with_data(need: str, code: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The folder of a data set."""
    folder = os.environ.get("MERCER_DATA")
    if folder is None or not (Path(folder) / need).is_dir():
        pytest.skip(f"needs MERCER_DATA with {need}")
    pytest.importorskip("h5py")
    yield code, {"mercer": mercer}


def with_onnxruntime(need: str, code: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """The file that the page has written before."""
    pytest.importorskip("onnxruntime")
    onnx = pytest.importorskip("onnx")
    x = np.random.default_rng(0).normal(size=(40, 3))
    model = mercer.learn.SVC(RBF(1.0)).fit(x, np.where((x**2).sum(1) < 2, "inside", "outside"))
    onnx.save(mercer.learn.to_onnx(model, dtype="float32"), "inside.onnx")
    yield code, {"np": np}


def with_another_library(need: str, code: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Samples by the names that the pages on other libraries use."""
    if need == "dcor":
        _ = peer_libraries.dcor.distance_correlation  # imported without compiling it for a minute
    pytest.importorskip("ite.cost" if need == "ite" else need)
    rng = np.random.default_rng(0)
    x, y, reference, batch = rng.normal(size=(4, 150, 2))
    names = {"x": x, "y": y, "z": rng.normal(size=(150, 1)), "u": x}
    if need == "sklearn":
        names["y"] = x[:, 0] > 0
    if need == "scipy":
        names |= {"x": x[:, 0], "y": y[:, 0]}
    if need == "causallearn":
        names["data"] = rng.normal(size=(150, 3))
    if need == "evidently":
        pd = pytest.importorskip("pandas")
        reference, batch = (pd.DataFrame(table, columns=["a", "b"]) for table in (reference, batch))
    names |= {"reference": reference, "current": batch}
    if need == "alibi_detect":
        torch = pytest.importorskip("torch")
        reference, batch = reference.astype(np.float32), batch.astype(np.float32)
        names |= {"reference": reference, "batch": batch, "stream": batch}
        names["network"] = torch.nn.Linear(2, 2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # theirs
        yield code, names


NEEDS = {
    "aerosol": with_data,
    "cluster": on_a_cluster,
    "cuda": on_a_gpu,
    "onnxruntime": with_onnxruntime,
    "usps": with_data,
}


@pytest.mark.parametrize(("page", "need", "code"), blocks())
def test_code_that_needs_more_runs(page, need, code, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for source, names in NEEDS.get(need, with_another_library)(need, code):
        exec(compile(source, str(page), "exec"), names)


def test_text_is_not_python():
    """What looks like Python is a block that runs, not `text`."""
    for page in PAGES:
        source = page.read_text(encoding="utf-8")
        fences = re.findall(r"^```([^\n]*)\n(.*?)^```$", source, re.DOTALL | re.MULTILINE)
        for language, block in fences:
            python = re.search(
                r"^(?:import|from) \w+|^\w+ = |^\w+(?:\.\w+)+\(", block, re.MULTILINE
            )
            assert language not in ("", "text") or not python, (page.name, block)
