"""Options said once: commands show them all, and the line that runs a command again does."""

import inspect
import json
import shlex

import numpy as np
import pytest
from typer.testing import CliRunner

import mercer
from mercer.cli.common_options import TwoSampleOptions, expanded
from mercer.cli.match import Missing
from mercer.cli.test_names import KernelName, TestName


def told(*words: str) -> dict:
    done = CliRunner().invoke(mercer.cli.app, [*words, "--json", "-"])
    assert done.exit_code == 0, done.stderr
    document = json.loads(done.stdout)
    del document["elapsed_seconds"]
    return document


@pytest.mark.parametrize(
    "asked",
    [
        TwoSampleOptions(),
        TwoSampleOptions(
            test=TestName.ENERGY, columns=["height,weight in kg"], resamples=49, seed=3
        ),
        TwoSampleOptions(
            kernel=KernelName.CAUCHY, bandwidth=0.5, categories=["code"], memory="1GiB"
        ),
        TwoSampleOptions(missing=Missing.IMPUTE, columns=["height", "code"]),
    ],
)
def test_the_line_that_runs_it_again_does(asked, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for name in ("a", "a b"):
        rows = "".join(f"{u},{v},{k}\n" for u, v, k in rng.normal(size=(30, 3)).round(1))
        (tmp_path / f"{name}.csv").write_text(f"height,weight in kg,code\n{rows}")
    words = shlex.split(asked.command_line("two-sample", ("a.csv", "a b.csv"), level="0.1"))
    assert words[:2] == ["mercer", "two-sample"]
    given = {**vars(asked), "level": 0.1}
    options = [
        word
        for name, value in given.items()
        for one in (value if isinstance(value, list) else [value])
        if one is not None
        for word in (f"--{name}", str(one))
    ]
    assert told(*words[1:]) == told("two-sample", "a.csv", "a b.csv", *options)


def test_fields_become_parameters_and_come_back():
    def command(path: str, asked: TwoSampleOptions, level: float = 0.5) -> tuple:
        return path, asked, level

    run = expanded(command)
    shown = inspect.signature(run).parameters
    assert list(shown) == ["path", *vars(TwoSampleOptions()), "level"]
    given = {name: p.default for name, p in shown.items() if p.default is not p.empty}
    assert run(**given | {"path": "x", "seed": 7}) == ("x", TwoSampleOptions(seed=7), 0.5)
