"""All studies are continued by one command: the poorest first, each where it stopped."""

from benchmarks.machine import describe
from benchmarks.reproductions import __main__ as command
from benchmarks.reproductions.plan import Plan
from benchmarks.reproductions.records import Record, Store, heading


def shown(store: Store) -> str:
    return str({key: entry["runs"] for key, entry in store["cells"].items()})


def once(key: str, seed: int) -> dict[str, float]:
    return {"seconds": 2.0 if key == "slow" else 1.0, "rejections": seed % 2}


def plan(name: str = "made", **wanted: int) -> Plan:
    return Plan(Record(name, shown), once, lambda _: wanted)


def test_the_cell_with_the_smallest_share_is_next():
    store = {"cells": {"a": {"runs": 2, "seconds": 1.0}}}
    assert [*plan(a=4, b=4, c=2).turns(store)] == ["b", "c", "b", "a", "b", "c", "a", "b"]
    assert plan(a=4, b=4).share(store) == 0
    assert plan(a=4).share(store) == 0.5
    assert plan(a=1).share(store) == 1


def test_hours_count_the_runs_that_are_missing():
    store: Store = {"cells": {"a": {"runs": 2, "seconds": 7200.0}, "b": {"runs": 4, "seconds": 0}}}
    left, whole = plan(a=5, b=4, new=10).hours(store)  # a new cell: half an hour a run
    assert (left, whole) == (3 + 5, 5 + 5)


def test_a_new_cell_takes_as_long_as_those_whose_names_are_most_alike():
    seconds = {"small/fast": 36.0, "large/fast": 72.0, "small/slow": 360.0}
    store = {"cells": {key: {"runs": 1, "seconds": value} for key, value in seconds.items()}}
    wanted = dict.fromkeys(seconds, 1) | {"tiny/slow": 10}
    assert plan(**wanted).hours(store) == (1.0, 1.0 + sum(seconds.values()) / 3600)


def test_the_poorest_study_is_continued_where_it_stopped(tmp_path, capsys):
    plans = {"one": plan("one", a=3), "two": plan("two", b=2, slow=2)}
    plans["two"].complete(plans["two"].record.load(tmp_path), 0.0, tmp_path)  # a single run
    command.run(plans, 60.0, tmp_path, 1)
    assert (tmp_path / "one.md").read_text(encoding="utf-8") == "{'a': 3}"
    assert (tmp_path / "two.md").read_text(encoding="utf-8") == "{'b': 2, 'slow': 2}"
    assert capsys.readouterr().out.count("0% of the runs") == 2
    command.run(plans, 60.0, tmp_path, 1)
    assert capsys.readouterr().out == ""


def test_a_study_that_lacks_a_package_is_left_out(tmp_path, capsys):
    lacking = Plan(Record("made", shown), once, lambda _: {"a": 1}, needs=("no_such_package",))
    command.run({"made": lacking}, 60.0, tmp_path, 1)
    assert capsys.readouterr().out == "made: left out, no_such_package not found\n"
    assert not [*tmp_path.iterdir()]


def test_a_page_written_anew_names_the_machine_of_its_runs(tmp_path):
    """`--pages` changes what a page says, and nothing that was measured."""
    old = Record("made", lambda store: "\n".join([*heading("Old"), shown(store), ""]))
    other = describe() | {"CPU": "another"}
    store = {"cells": {"a": {"runs": 2, "seconds": 1.0}}, "machine": other}
    old.save(store, tmp_path, ran_here=False)
    before = (tmp_path / "made.json").read_text(encoding="utf-8")
    anew = Plan(
        Record("made", lambda _: "\n".join([*heading("New"), ""])), once, lambda _: {"a": 2}
    )
    anew.complete(anew.record.load(tmp_path), folder=tmp_path)  # no run is missing
    text = (tmp_path / "made.md").read_text(encoding="utf-8")
    assert "# New\n\n* CPU: another\n" in text
    assert (tmp_path / "made.json").read_text(encoding="utf-8") == before
    anew.record.run(anew.record.load(tmp_path), ["a"], once, folder=tmp_path)
    assert "* CPU: another\n" not in (tmp_path / "made.md").read_text(encoding="utf-8")


def test_pages_say_what_the_studies_say_of_their_records():
    """Words that were changed in a study, and numbers that were changed in its record, are on its page."""
    stale = []
    for name in command.STUDIES:
        record = command.plan(name).record
        page = (command.RESULTS / f"{record.name}.md").read_text(encoding="utf-8")
        if page != record.page(record.load()):
            stale.append(name)
    assert not stale, f"run python -m benchmarks.reproductions --pages {' '.join(stale)}"


def test_every_study_has_a_plan_whose_cells_are_those_of_its_record():
    """What is on record is planned, apart from cells that a study can run on demand."""
    for name in command.STUDIES:
        each = command.plan(name)
        wanted = each.wanted({"cells": {}})
        assert wanted, name
        stored = each.record.load()["cells"]
        assert not stored or set(stored) & set(wanted), name
    plans = {"causal_direction": command.plan("causal_direction")}
    rows = command.listing(plans, command.RESULTS, 2)
    assert "causal_direction | 40 " in rows[2]
