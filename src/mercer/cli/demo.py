"""`mercer demo`: the main job on data that ships with mercer."""

from __future__ import annotations

import filecmp
import shutil
from pathlib import Path
from typing import Annotated

import typer

import mercer
from mercer.cli import options
from mercer.cli.common_options import Asked
from mercer.cli.exits import WrongUse, guarded, tell
from mercer.cli.two_sample import compared, write_results

_STORY = """\
Orders of a shop in two months (made-up data that ships with mercer). The mean and the standard
deviation of every column are the same in both, and so are the shares of every label.
Do the months differ?

  $ mercer two-sample {first} {second}
"""
_NEXT = """
Next: mercer demo --report demo.html draws the pictures; mercer demo --copy . leaves the two files
here, and mercer two-sample --help tells what else can be asked."""

Copy = Annotated[
    Path | None, typer.Option("--copy", metavar="FOLDER", help="Put the two files there.")
]


@guarded
def demo(report: options.Report = None, copy: Copy = None, seed: options.Seed = 0) -> None:
    """Run the main job on data that ships with mercer."""
    from mercer.datasets.demo import demo_files

    files = demo_files()
    copies = [] if copy is None else [copy / file.name for file in files]
    options.writable(report, *copies, inputs=files)
    options.drawable(*(() if report is None else ("matplotlib", "jinja2")))
    for file, place in zip(files, copies, strict=False):
        if place.exists() and not filecmp.cmp(file, place, shallow=False):
            raise WrongUse(f"{place} exists and is not the demo's file; choose another folder")
    for file, place in zip(files, copies, strict=False):
        shutil.copy(file, place)
    tell(_STORY.format(first=files[0].name, second=files[1].name))
    with mercer.config(progress=options.on_terminal()):
        findings = compared(str(files[0]), str(files[1]), Asked(seed=seed), 0.05)
        again = f"mercer two-sample {files[0].name} {files[1].name} --seed {seed}"
        write_results(findings, 0.0, None, report, again)
    tell(_NEXT)
