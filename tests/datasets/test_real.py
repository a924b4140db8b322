"""Real data sets: what is known about them holds; files that are missing or changed are refused."""

import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from mercer import datasets
from mercer.datasets import fetch, real

with_data = pytest.mark.skipif(
    not os.environ.get("MERCER_DATA"), reason="MERCER_DATA names no folder with data sets"
)
SONGS = "song_years/YearPredictionMSD.txt.zip"
ELSEWHERE = {"fetch_song_years": SONGS, "fetch_aerosol": "aerosol/MISR1.mat"}  # to be put there
FETCHERS = [name for name in datasets.__all__ if name.startswith("fetch_")]


@with_data
@pytest.mark.parametrize("name", FETCHERS)
def test_every_fetcher_fetches(name):
    if name == "fetch_usps":
        pytest.importorskip("h5py")
    if name == "fetch_scene_pictures":
        pytest.importorskip("PIL")
    file = ELSEWHERE.get(name)
    if file and not (Path(os.environ["MERCER_DATA"]) / file).is_file():
        pytest.skip(f"{file} is not among the data sets")
    found = getattr(datasets, name)()
    assert len(found) > 0
    assert found.description


@with_data
def test_digits():
    mnist = datasets.fetch_mnist(test=True)
    assert mnist.images.shape == (10_000, 28, 28)
    assert np.bincount(mnist.labels)[0] == 980
    assert mnist.of(0).shape == (980, 784)
    pytest.importorskip("h5py")
    usps = datasets.fetch_usps()
    assert len(usps) == 7291
    assert len(datasets.fetch_usps(test=True)) == 2007
    assert usps.of(3).shape == (658, 256)
    assert (usps.pixels.min(), usps.pixels.max()) == (0.0, 1.0)


@with_data
def test_tables():
    crime = datasets.fetch_chicago_crime()
    assert len(crime) == 9912
    assert np.sum(crime.columns["primary_type"] == "ROBBERY") == 1326
    assert crime.numbers(["latitude", "longitude"]).shape == (9912, 2)
    assert datasets.fetch_boston().numbers().shape == (506, 14)
    assert_allclose(datasets.fetch_boston().columns["medv"].mean(), 22.5328, atol=1e-4)
    assert datasets.fetch_california().numbers().shape == (20_640, 9)
    assert datasets.fetch_parkinsons().numbers().shape == (5875, 22)
    assert len(np.unique(datasets.fetch_parkinsons().columns["subject#"])) == 42
    assert_allclose(datasets.fetch_faithful().columns["waiting"].mean(), 70.897, atol=1e-3)
    assert len(datasets.fetch_geyser()) == 299
    crabs = datasets.fetch_crabs()
    assert set(crabs.columns["sp"]) == {"B", "O"}
    assert crabs.numbers().shape == (200, 6)
    assert len(datasets.fetch_quakes()) == 1000
    assert datasets.fetch_sunspots().columns["time"][0] == 1749
    sachs = datasets.fetch_sachs()
    assert sachs.numbers().shape == (7466, 11)
    assert {name for edge in sachs.edges for name in edge} == set(sachs.names)


@with_data
def test_frames_have_the_columns():
    pytest.importorskip("pandas")
    frame = datasets.fetch_crabs().frame()
    assert tuple(frame.columns) == datasets.fetch_crabs().names
    assert len(frame) == 200


@with_data
def test_bags():
    scenes = datasets.fetch_scenes()
    assert len(scenes) == 930
    assert scenes.bags[0].shape == (100, 128)
    assert len(scenes.repeats) == 16
    assert set(scenes.labels[list(scenes.repeats)]) == {"livingroom"}
    pytest.importorskip("PIL")
    pictures = datasets.fetch_scene_pictures()
    assert pictures.images.shape == (930, 200, 200)
    assert pictures.labels.tolist() == scenes.labels.tolist()
    own = pictures.images[pictures.labels == "livingroom"].reshape(289, -1)
    again = set(scenes.repeats)  # and only these show a room for the second time
    assert len(np.unique(own, axis=0)) == 289 - len(again)
    galaxies = datasets.fetch_galaxies()
    assert len(galaxies) == 505
    assert sum(map(len, galaxies.bags)) == 7530


@with_data
def test_texts():
    papers = datasets.fetch_nips_papers()
    assert papers.counts.shape == (1740, 13_649)
    assert papers.words[:2] == ("network", "learning")
    assert len(papers.of("Neuroscience")) == 132
    # the vocabulary file says how often each word occurs
    assert papers.counts.sum(axis=0)[0] == 19_882
    with pytest.raises(ValueError, match="nothing is labelled 'Astrology'"):
        papers.of("Astrology")
    captions = datasets.fetch_multi30k(validation=True)
    assert len(captions) == len(captions.french) == len(captions.german) == 1014
    questions = datasets.fetch_trec_questions(test=True)
    assert len(questions) == 500
    assert set(questions.labels) == {"ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"}


@with_data
def test_graphs():
    mutag = datasets.fetch_mutag()
    assert len(mutag) == 188
    assert sorted(np.unique(mutag.labels, return_counts=True)[1]) == [63, 125]
    for graph in mutag.graphs:
        assert graph.edges.min() >= 0
        assert graph.edges.max() < len(graph)
        edges = set(map(tuple, graph.edges))
        assert edges == {(b, a) for a, b in edges}
    cuneiform = datasets.fetch_cuneiform()
    assert len(cuneiform) == 267
    assert cuneiform.graphs[0].node_attributes.shape[1] == 3


@with_data
def test_letters():
    letters = datasets.fetch_letters()
    assert letters.images.shape == (50, 87, 88)
    assert set(np.unique(letters.images)) == {0, 1}
    assert "English/A" in letters.labels


def test_without_a_folder_the_way_out_is_told(monkeypatch):
    monkeypatch.delenv("MERCER_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="set the environment variable MERCER_DATA"):
        datasets.fetch_mnist()


def test_a_missing_file_is_named(monkeypatch, tmp_path):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="mnist/mnist_train60k.npz is not in the folder"):
        datasets.fetch_mnist()


def test_a_changed_file_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    (tmp_path / "housing").mkdir()
    (tmp_path / "housing/boston.csv").write_text("a,b\n1,2\n", encoding="utf-8")
    with pytest.raises(ValueError, match="is not the expected file"):
        datasets.fetch_boston()


def test_hdf5_needs_an_extra(monkeypatch):
    monkeypatch.setattr("mercer.datasets.real.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'mercer\[data\]'"):
        datasets.fetch_usps()


def test_pictures_need_an_extra(monkeypatch):
    monkeypatch.setattr("mercer.datasets.real.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'mercer\[data\]'"):
        datasets.fetch_scene_pictures()


def test_columns_are_numbers_or_texts(monkeypatch, tmp_path):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    data = b'"","a","b"\n"1",1.5,x\n"2",-2,"y, z"\n'
    (tmp_path / "t.csv").write_bytes(data)
    import hashlib

    monkeypatch.setattr(fetch, "registry", lambda: {"t.csv": hashlib.sha256(data).hexdigest()})
    table = datasets.Tabular(fetch.columns("t.csv"), "")
    assert table.names == ("a", "b")
    assert table.numbers().tolist() == [[1.5], [-2.0]]
    assert table.columns["b"].tolist() == ["x", "y, z"]
    with pytest.raises(ValueError, match="no column 'c': use a, b"):
        table.numbers(["c"])


# ---- songs, whose sum is not known: a small archive in the same form ---------------------------


@pytest.fixture
def songs(monkeypatch, tmp_path):
    """Writes an archive of these lines as the UCI repository has it, for 30 songs, 25 to train."""
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    monkeypatch.setattr(real, "_SONGS", 30)
    monkeypatch.setattr(real, "_TRAINING_SONGS", 25)

    def write(table: np.ndarray) -> None:
        text = "\n".join(
            ",".join([f"{row[0]:.0f}", *(f"{v:.5f}" for v in row[1:])]) for row in table
        )
        (tmp_path / SONGS).parent.mkdir(exist_ok=True)
        with zipfile.ZipFile(tmp_path / SONGS, "w") as archive:
            archive.writestr("YearPredictionMSD.txt", text + "\n")

    return write


def some_songs() -> np.ndarray:
    rng = np.random.default_rng(0)
    years = np.append(rng.integers(1922, 2012, size=28), [1922, 2011])
    return np.column_stack([years, 50 * rng.standard_normal((30, 90))])


def test_songs_have_years_means_and_covariances(songs):
    songs(table := some_songs())
    train, test = datasets.fetch_song_years(), datasets.fetch_song_years(test=True)
    assert (len(train), len(test)) == (25, 5)
    assert train.names[:2] == ("year", "timbre_1")
    assert train.names[-1] == "covariance_78"
    assert_allclose(np.concatenate([train.numbers(), test.numbers()]), table, atol=5e-6)


@pytest.mark.parametrize(
    "change", [lambda t: t[:29], lambda t: t[:, :90], lambda t: t + 1, lambda t: t[::-1] - 1]
)
def test_other_songs_are_refused(songs, change):
    songs(change(some_songs()))
    with pytest.raises(ValueError, match="must have 30 songs and 91 columns.*download it again"):
        datasets.fetch_song_years()


def test_missing_songs_are_named(monkeypatch, tmp_path):
    monkeypatch.setenv("MERCER_DATA", str(tmp_path))
    with pytest.raises(
        FileNotFoundError, match=r"song_years/YearPredictionMSD\.txt\.zip is not in"
    ):
        datasets.fetch_song_years()
