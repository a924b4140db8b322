"""An output never replaces an input, another output, or a file of the user's own."""

import os
from pathlib import Path

import pytest

from tests.support.cli_runs import refused, run

COMMANDS = {
    "two-sample": ["two-sample", "a.csv", "b.csv"],
    "drift": ["drift", "a.csv", "c.csv", "b.csv"],
    "power": ["power", "a.csv", "b.csv"],
    "independence": ["independence", "b.csv", "--x", "height", "--y", "weight"],
    "goodness": ["goodness", "b.csv", "--columns", "height,weight"],
}
OUTPUTS = [
    (name, option)
    for name in COMMANDS
    for option in ("--json", "--report", "--plot")
    if option != "--plot" or name == "power"
]


@pytest.mark.parametrize(("command", "option"), OUTPUTS)
@pytest.mark.parametrize("spelling", ["b.csv", "./b.csv", "sub/../b.csv", "whole", "link", "hard"])
def test_an_output_that_is_an_input_is_refused(folder, command, option, spelling):
    before = Path("b.csv").read_bytes()
    Path("sub").mkdir()
    os.symlink("b.csv", "link")
    os.link("b.csv", "hard")
    spelling = str(Path("b.csv").resolve()) if spelling == "whole" else spelling
    line = refused(*COMMANDS[command], option, spelling, code=2)
    assert f"{Path(spelling)} is one of the input files; write to another file" in line
    assert Path("b.csv").read_bytes() == before


def test_an_input_through_a_link_is_an_input(folder):
    os.symlink("a.csv", "link")
    assert "one of the input files" in refused(
        "two-sample", "link", "b.csv", "--json", "a.csv", code=2
    )


@pytest.mark.parametrize(("command", "option"), [("two-sample", "--report"), ("power", "--plot")])
@pytest.mark.parametrize("spelling", ["out.svg", "./out.svg", "link"])
def test_two_outputs_need_two_files(folder, command, option, spelling):
    os.symlink("out.svg", "link")
    line = refused(*COMMANDS[command], "--json", spelling, option, "out.svg", code=2)
    assert "two outputs would be written to" in line
    assert not Path("out.svg").exists()


def test_a_device_can_take_two_outputs(folder):
    run("two-sample", "a.csv", "b.csv", "--json", os.devnull, "--report", os.devnull)


def test_a_model_is_an_input_too(folder):
    text = "def score(x):\n    return -x\n"
    Path("own.py").write_text(text)
    arguments = ["goodness", "b.csv", "--columns", "height,weight", "--model", "own:score"]
    assert "one of the input files" in refused(*arguments, "--json", "own.py", code=2)
    assert Path("own.py").read_text() == text


def test_the_demo_keeps_files_that_are_not_its_own(folder):
    from mercer.datasets.demo import demo_files

    run("demo", "--copy", ".")
    run("demo", "--copy", ".")  # the same files once more
    line = refused("demo", "--copy", ".", "--report", "orders_april.csv", code=2)
    assert "two outputs would be written to" in line
    shipped = demo_files()[0].parent
    assert "one of the input files" in refused("demo", "--copy", str(shipped), code=2)
    Path("orders_april.csv").write_text("mine\n")
    Path("orders_march.csv").unlink()
    assert "choose another folder" in refused("demo", "--copy", ".", code=2)
    assert Path("orders_april.csv").read_text() == "mine\n"
    assert not Path("orders_march.csv").exists()
