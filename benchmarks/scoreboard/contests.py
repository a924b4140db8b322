"""All contests, by name."""

from __future__ import annotations

from benchmarks.scoreboard import (
    dependence_contests,
    learner_contests,
    machine_contests,
    sample_contests,
)
from benchmarks.scoreboard.contest import Contest

CONTESTS: dict[str, Contest] = {
    contest.name: contest
    for contest in (
        *machine_contests.CONTESTS,
        *learner_contests.CONTESTS,
        *sample_contests.CONTESTS,
        *dependence_contests.CONTESTS,
    )
}


def chosen(words: tuple[str, ...]) -> list[Contest]:
    """The contests whose name contains one of the words, in lower or upper case; all without words."""
    wanted = [word.lower() for word in words]
    return [
        contest
        for contest in CONTESTS.values()
        if not wanted or any(word in contest.name.lower() for word in wanted)
    ]
