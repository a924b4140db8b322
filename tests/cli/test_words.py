"""`mercer two-sample --text-kernel words`: texts as sets of words, and the words that differ."""

import json
import unicodedata

import numpy as np
import pytest

from mercer.cli.word_comparison import words_of
from mercer.htest import MMD
from mercer.kernels import Jaccard
from tests.support.cli_runs import refused, run

PLAIN = ["meeting", "report", "lunch", "monday", "office", "thanks", "home", "dinner"]
SPAM = ["FREE", "Prize!", "£1000", "don’t"]
WORDS = ("--text-kernel", "words")


def texts(seed, more=(), n=40):
    rng = np.random.default_rng(seed)
    rows = [[*rng.choice(PLAIN, 5), *rng.choice(more or PLAIN, 2)] for _ in range(n)]
    return [" ".join(rng.permutation(row)) for row in rows]


@pytest.fixture
def mails(put):
    """Forty plain texts and thirty with planted words, as lines of text and of JSON, and in one table."""
    ham, spam = texts(0), texts(1, SPAM, 30)
    for name, rows in (("ham", ham), ("spam", spam)):
        put("\n".join(rows) + "\n\n", f"{name}.txt")
        put("\n".join(json.dumps({"body": row}) for row in rows), f"{name}.jsonl")
    both = [("ham", row) for row in ham] + [("spam", row) for row in spam]
    order = np.random.default_rng(2).permutation(len(both))
    put("label,message\n" + "".join(f"{both[i][0]},{both[i][1]}\n" for i in order), "mails.csv")
    return ham, spam


def _told(*words):
    return json.loads(run("two-sample", *words, *WORDS, "--json", "-").stdout)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("FREE prize, free PRIZE!!!win", {"free", "prize", "win"}),
        ("don’t 'DON'T' rock 'n' roll", {"don't", "rock", "n", "roll"}),
        ("well-known e_mail 3.5 £1000", {"well", "known", "e", "mail", "3", "5", "1000"}),
        ("Straße STRASSE", {"strasse"}),
        (unicodedata.normalize("NFD", "Café") + " café", {"café"}),
        ("नमस्ते दुनिया।", {"नमस्ते", "दुनिया"}),
        ("!!! 😀 ''", set()),
    ],
)
def test_words_of_a_text(text, words):
    assert words_of([text]) == [words]


def test_words_are_those_of_a_text_whatever_the_others_are():
    rows = [*texts(0), *texts(1, SPAM), "नमस्ते", ""]
    assert words_of(rows) == [words_of([row])[0] for row in rows]


def test_words_that_differ_are_named_with_their_numbers_of_texts(mails):
    told = _told("ham.txt", "spam.txt", "--text", "lines")
    sets = [words_of(rows) for rows in mails]
    direct = MMD(Jaccard()).test(*sets, rng=0)
    assert told["pvalue"] == direct.pvalue <= 0.05
    features = told["features"]["features"]
    assert [f["name"] for f in features] == [f.name for f in direct.features(rng=0)]
    differing = {f["name"] for f in features if f["adjusted"] <= 0.05}
    assert differing >= {"free", "prize", "1000", "don't"}
    for feature in features:
        assert feature["texts"] == [sum(feature["name"] in s for s in side) for side in sets]
    strengths = [(f["adjusted"], f["pvalue"]) for f in features]
    assert strengths == sorted(strengths)
    text = run("two-sample", "ham.txt", "spam.txt", "--text", "lines", *WORDS).stdout
    number = next(f["texts"][1] for f in features if f["name"] == "free")
    assert f"in 0 and {number} texts (0% and {round(100 * number / 30)}%)" in text
    assert "40 and 30 texts of 7 words on average" in text
    assert "words differ on their own: " in text


def test_all_kinds_of_files_give_the_same_words(mails):
    lines = _told("ham.txt", "spam.txt", "--text", "lines")
    fields = _told("ham.jsonl", "spam.jsonl", "--text", "body")
    assert [lines[key] for key in ("pvalue", "features", "effect")] == [
        fields[key] for key in ("pvalue", "features", "effect")
    ]
    table = _told("mails.csv", "--by", "label", "--text", "message")
    by_name = [
        {f["name"]: f["texts"] for f in told["features"]["features"]} for told in (lines, table)
    ]
    assert by_name[0] == by_name[1]
    assert _told("ham.txt", "spam.txt", "--text", "lines", "--test", "mmdagg")["differ"]


def test_the_report_names_words(mails):
    run(
        "two-sample",
        "mails.csv",
        "--by",
        "label",
        "--text",
        "message",
        *WORDS,
        "--report",
        "page.html",
    )
    with open("page.html", encoding="utf-8") as file:
        page = file.read()
    assert "Which words differ?" in page
    assert "--text-kernel words" in page
    assert "Prize!" in page  # texts are shown as they are, not as sets
    assert "texts (0% and " in page


def test_equal_samples_have_no_words_that_differ(put):
    for seed, name in enumerate("ab"):
        put("\n".join(texts(seed)), f"{name}.txt")
    told = _told("a.txt", "b.txt", "--text", "lines")
    assert not told["differ"]
    assert not [f for f in told["features"]["features"] if f["adjusted"] <= 0.05]


def test_substrings_lead_to_words(mails, put):
    hint = "--text-kernel words compares them by their words"
    assert any(hint in r for r in _remarks("ham.txt", "spam.txt"))
    put("\n".join("ACGT" * (i % 3 + 1) + "A" * i for i in range(8)), "dna.txt")
    assert not any(hint in r for r in _remarks("dna.txt", "dna.txt"))


def _remarks(*files):
    done = run("two-sample", *files, "--text", "lines", "--resamples", "99", "--json", "-")
    return json.loads(done.stdout)["remarks"]


def test_more_words_than_are_compared_are_counted(put):
    """The command compares 2,000 one by one."""
    rng = np.random.default_rng(0)
    for name in "ab":
        rows = (" ".join(f"w{i}" for i in rng.integers(0, 2100, 150)) for _ in range(40))
        put("\n".join(rows), f"{name}.txt")
    told = _told("a.txt", "b.txt", "--text", "lines", "--resamples", "99")
    assert len(told["features"]["features"]) == 2000
    assert any(r.startswith("2,000 of 2,") for r in told["remarks"])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("one two\nthree four", "five\nsix"),
        ("hello world\n" * 3, "world, HELLO\n" * 3),
        ("!!!\n?", "...\n-"),
    ],
)
def test_texts_whose_words_tell_nothing_apart_are_refused(put, first, second):
    put(first, "a.txt")
    put(second, "b.txt")
    message = refused("two-sample", "a.txt", "b.txt", "--text", "lines", *WORDS, code=3)
    assert "words tell nothing apart" in message


@pytest.mark.parametrize(
    ("options", "told"),
    [
        (["mails.csv", "--by", "label", *WORDS], "name their column with --text"),
        (["ham.txt", "spam.txt", "--text", "lines", *WORDS, "--test", "mmdfuse"], "takes vectors"),
    ],
)
def test_wrong_use(mails, options, told):
    assert told in refused("two-sample", *options, code=2)


def test_words_have_no_length(mails):
    done = run(
        "two-sample", "ham.txt", "spam.txt", "--text", "lines", "--text-kernel", "words:3", code=2
    )
    assert "must be words, or spectrum" in done.stderr
