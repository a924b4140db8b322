"""The 40 problems of the package benchmark-mi with known mutual information: errors of mercer beside its estimators.

    python mutual_information_table.py draw SAMPLES.npz            # where benchmark-mi is installed
    python -m benchmarks.reproductions.mutual_information_table SAMPLES.npz

benchmark-mi needs versions of NumPy and JAX that mercer does not run with, so samples and its own estimates are drawn
in an environment of its own. Writes benchmarks/results/mutual_information.md.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

RESULT = Path(__file__).parents[1] / "results" / "mutual_information.md"
SIZE, SEEDS, LARGE = 2000, 3, 0.1


def draw(path: str) -> None:
    """Samples of all problems, with the estimates of KSG and CCA of benchmark-mi."""
    import bmi.estimators as estimators
    from bmi.benchmark import BENCHMARK_TASKS

    kept = {"names": np.array(list(BENCHMARK_TASKS))}
    for i, task in enumerate(BENCHMARK_TASKS.values()):
        kept[f"{i}_true"] = np.array(float(task.mutual_information))
        for seed in range(SEEDS):
            x, y = (np.asarray(v, dtype=np.float64) for v in task.sample(SIZE, seed))
            ksg = estimators.KSGEnsembleFirstEstimator(chunk_size=100).estimate(x, y)
            cca = estimators.CCAMutualInformationEstimator().estimate(x, y)
            kept |= {f"{i}_{seed}_{k}": np.asarray(v) for k, v in zip(("x", "y", "ksg", "cca"), (x, y, ksg, cca), strict=True)}  # fmt: skip
    np.savez(path, **kept)


def compare(path: str) -> list[str]:
    """Rows of the table: mean absolute errors, and what `estimate` flags."""
    from mercer.info import KSG, CorrectedKSG, mutual_information
    from mercer.info.sample import read_sample

    data = np.load(path)
    rows, errors = [], []
    for i, name in enumerate(data["names"]):
        truth, found, corrections = float(data[f"{i}_true"]), [], []
        for seed in range(SEEDS):
            x, y = data[f"{i}_{seed}_x"], data[f"{i}_{seed}_y"]
            value, correction = CorrectedKSG().parts([read_sample(x, "x"), read_sample(y, "y")])
            plain = mutual_information(x, y, estimator=KSG())
            theirs = [float(data[f"{i}_{seed}_{k}"]) for k in ("ksg", "cca")]
            found.append([value + correction, plain, *theirs])
            corrections.append(correction)
        error = np.mean(np.abs(np.array(found) - truth), axis=0)
        errors.append(error)
        flag = (
            "corrected by " + f"{np.mean(corrections):+.2f}"
            if abs(np.mean(corrections)) > LARGE
            else ""
        )
        best = "" if error[0] <= error[2] else "worse"
        rows.append(f"| {name} | {truth:.3f} | " + " | ".join(f"{e:.3f}" for e in error) + f" | {best} | {flag} |")  # fmt: skip
        print(rows[-1], flush=True)
    table = np.array(errors)
    wins = int(np.sum(table[:, 0] <= table[:, 2]))
    mean = " | ".join(f"{e:.3f}" for e in table.mean(axis=0))
    rows.append(f"| **mean** | | {mean} | {wins} of {len(table)} as good or better | |")
    return rows


def main(arguments: list[str]) -> None:
    if arguments[0] == "draw":
        draw(arguments[1])
        return
    lines = [
        "# Mutual information: the 40 problems of benchmark-mi",
        "",
        f"Mean absolute errors in nats over {SEEDS} samples of {SIZE:,} observations. The default of `mutual_information`, "
        "`CorrectedKSG()`, and `KSG()`, beside the KSG (an ensemble of 5 and 10 neighbours) and the CCA of benchmark-mi 0.1.3. "
        "The last column is the note of `estimate`: KSG is biased in these dimensions.",
        "",
        "| Problem | true | mercer, default | mercer, KSG | benchmark-mi, KSG | benchmark-mi, CCA | against its KSG | flag |",
        "|---|---|---|---|---|---|---|---|",
        *compare(arguments[0]),
    ]
    RESULT.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
