"""Exit codes of the command, in this process and as a process of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import mercer
from tests.support.cli_runs import refused, run

# ---- exit codes -------------------------------------------------------------------------------


def test_the_gate(folder):
    run("two-sample", "a.csv", "b.csv", "--gate", code=1)
    run("two-sample", "a.csv", "c.csv", "--gate", code=0)
    area = json.loads(run("two-sample", "a.csv", "b.csv", "--json", "-").stdout)["effect"]
    run("two-sample", "a.csv", "b.csv", "--gate", "--min-effect", str(area - 0.01), code=1)
    run("two-sample", "a.csv", "b.csv", "--gate", "--min-effect", str(area + 0.01), code=0)
    run("drift", "a.csv", "c.csv", "b.csv", "--gate", code=1)
    run("drift", "a.csv", "c.csv", "--gate", code=0)


@pytest.mark.parametrize(
    "arguments",
    [
        ["a.csv"],
        ["a.csv", "b.csv", "--level", "0"],
        ["a.csv", "b.csv", "--level", "1.5"],
        ["a.csv", "b.csv", "--bandwidth", "-1"],
        ["a.csv", "b.csv", "--resamples", "0"],
        ["a.csv", "b.csv", "--seed", "-1"],
        ["a.csv", "b.csv", "--test", "t-test"],
        ["a.csv", "b.csv", "--memory", "a lot"],
        ["a.csv", "b.csv", "--memory", "1KiB"],
        ["a.csv", "b.csv", "--missing", "ignore"],
        ["a.csv", "b.csv", "--nonsense"],
    ],
)
def test_wrong_use_is_2(folder, arguments):
    done = run("two-sample", *arguments, code=2)
    assert done.stdout == ""
    assert done.stderr


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (["-", "-"], "only one file can be -"),
        (["a.csv", "b.csv", "--min-effect", "0.6"], "give --gate too"),
        (["a.csv", "b.csv", "--json", "nowhere/out.json"], "cannot be written"),
        (["a.csv", "b.csv", "--report", "nowhere/out.html"], "cannot be written"),
        (["a.csv", "b.csv", "--report", "."], "cannot be written"),
        (["a.csv", "b.csv", "--test", "hotelling", "--bandwidth", "1"], "has no kernel"),
        (["a.csv", "b.csv", "--columns", ","], "need column names"),
        (["a.csv", "b.csv", "--test", "energy"], "needs numeric columns, got labels in 'city'"),
        (["a.csv", "b.csv", "--test", "scf"], "needs numeric columns, got labels in 'city'"),
    ],
)
def test_wrong_use_is_told_in_one_line(folder, arguments, told):
    assert told in refused("two-sample", *arguments, code=2)


@pytest.mark.parametrize("command", ["two-sample", "drift", "power"])
def test_bad_data_is_3(folder, command):
    Path("bad.csv").write_bytes(b"\x7fELF\x00\x01\x02")
    assert "bad.csv: this is a binary file" in refused(command, "a.csv", "bad.csv", code=3)
    assert "nowhere.csv: no such file" in refused(command, "a.csv", "nowhere.csv", code=3)
    Path("bad.csv").write_text("height,weight,city\n1,2,Rome\n3,4\n")
    assert "bad.csv, row 2 (line 3)" in refused(command, "a.csv", "bad.csv", code=3)
    Path("bad.csv").write_text("height,weight,town\n1,2,Rome\n3,4,Oslo\n")
    assert "the columns differ" in refused(command, "a.csv", "bad.csv", code=3)


def test_constant_data_is_3(folder):
    Path("k.csv").write_text("u,v\n1,x\n1,x\n1,x\n")
    assert "nothing to compare" in refused("two-sample", "k.csv", "k.csv", code=3)


def test_huge_numbers_are_3_not_5(folder):
    Path("h.csv").write_text("u\n1e200\n-1e200\n1e300\n")
    refused("two-sample", "h.csv", "h.csv", code=3)


def test_over_the_memory_limit_is_4(folder):
    np.save("big.npy", np.zeros((1_000_000, 3)))
    line = refused("independence", "big.npy", "--memory", "16MiB", code=4)
    assert "needs at least 22.9 MiB" in line
    assert "699,050 rows fit" in line


def test_a_bug_is_5(folder, monkeypatch):
    def broken(*_):
        raise RuntimeError("the sky is falling")

    monkeypatch.setattr(import_module("mercer.cli.two_sample"), "two_sample_answer", broken)
    done = CliRunner().invoke(mercer.cli.app, ["two-sample", "a.csv", "b.csv"])
    assert done.exit_code == 5
    assert "this is a bug in mercer" in done.stderr
    assert "the sky is falling" in done.stderr
    assert done.stdout == ""


def test_numpys_complaints_are_bugs(folder, monkeypatch):
    monkeypatch.setattr(
        import_module("mercer.cli.two_sample"),
        "two_sample_answer",
        lambda *_: np.zeros(3) @ np.zeros(4),
    )
    done = CliRunner().invoke(mercer.cli.app, ["two-sample", "a.csv", "b.csv"])
    assert done.exit_code == 5


def test_an_interrupt_is_130(folder, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(import_module("mercer.cli.two_sample"), "two_sample_answer", interrupted)
    assert "interrupted" in refused("two-sample", "a.csv", "b.csv", code=130)


# ---- as a process -----------------------------------------------------------------------------


def start(*arguments: str, **more) -> subprocess.Popen:
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True, **more}
    if os.name == "posix":  # a shell's background jobs, and what they start, ignore interrupts
        pipes["preexec_fn"] = lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)
    return subprocess.Popen([sys.executable, "-m", "mercer", *arguments], **pipes)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_ctrl_c_ends_a_pipe_that_waits(folder):
    os.mkfifo("pipe")
    with start("two-sample", "a.csv", "pipe") as process:
        writer = None
        while writer is None and process.poll() is None:
            with suppress(OSError):  # nobody reads it yet
                writer = os.open("pipe", os.O_WRONLY | os.O_NONBLOCK)
            time.sleep(0.3)
        assert writer is not None, process.stderr.read()
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
        os.close(writer)
    assert process.returncode == 130, err
    assert out == ""
    assert err == "mercer: interrupted\n"


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
def test_a_reader_that_leaves_changes_no_verdict(folder):
    read_end, write_end = os.pipe()
    os.close(read_end)
    with start("two-sample", "a.csv", "b.csv", "--gate", stdout=write_end) as process:
        os.close(write_end)
        _, err = process.communicate(timeout=60)
    assert process.returncode == 1
    assert err == ""


def test_a_pipe_on_standard_input(folder):
    with start("two-sample", "a.csv", "-", stdin=subprocess.PIPE) as process:
        out, err = process.communicate(Path("b.csv").read_text(), timeout=60)
    assert process.returncode == 0, err
    assert out.startswith("a.csv and standard input differ")


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="no terminals here")
def test_one_bar_on_the_terminal_says_what_a_long_job_does(folder):
    np.save("x.npy", np.random.default_rng(0).normal(size=(60, 2)))
    slow = "import time\nfrom mercer.rkhs import Gaussian\n"
    slow += "def fit(x):\n    time.sleep(0.01)\n    return Gaussian.fit(x)\n"
    Path("slow.py").write_text(slow)
    controller, terminal = os.openpty()
    command = ("goodness", "x.npy", "--model", "slow:fit", "--resamples", "199")
    with start(*command, stderr=terminal) as process:
        os.close(terminal)
        seen = b""
        try:
            while block := os.read(controller, 65536):
                seen += block
        except OSError:  # the other end was closed
            pass
        out = process.stdout.read()
    os.close(controller)
    assert process.returncode == 0
    assert out.startswith("No misfit was found")
    drawn = [line.strip() for line in seen.decode().split("\r") if "%" in line]
    assert any("refitting the model" in line for line in drawn)
    assert all(line.count("%") == 1 for line in drawn)
    assert "\x1b" not in out
