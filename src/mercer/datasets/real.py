"""Fetchers of real data sets: each reads files from the folder `MERCER_DATA`, and checks them."""

from __future__ import annotations

import zipfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from mercer.datasets import fetch
from mercer.datasets.records import (
    Bags,
    Graph,
    Graphs,
    Images,
    Network,
    Papers,
    Tabular,
    Texts,
    Translations,
)

# Images of `scenes` that are copies of an earlier one, byte for byte.
_SCENE_DUPLICATES = (6, 28, 30, 34, 168, 211, 216, 256, 258, 261, 262, 267, 272, 284, 286, 289)

_SONGS, _TRAINING_SONGS = 515_345, 463_715  # the split of the UCI repository
_AEROSOL_BAGS, _AEROSOL_POINTS, _AEROSOL_COLUMNS = 800, 100, 18
_SONG_COLUMNS = (
    "year",
    *(f"timbre_{i}" for i in range(1, 13)),
    *(f"covariance_{i}" for i in range(1, 79)),
)


def fetch_usps(*, test: bool = False) -> Images:
    """Handwritten digits, 16 x 16, values 0 to 1: 7291 for training, 2007 for testing. Needs h5py."""
    if find_spec("h5py") is None:
        raise ImportError("usps.h5 is an HDF5 file, which needs h5py: pip install 'mercer[data]'")
    import h5py

    with h5py.File(fetch.path("usps/usps.h5")) as file:
        group: Any = file["test" if test else "train"]
        pixels, labels = np.asarray(group["data"]), np.asarray(group["target"])
    return Images(pixels.reshape(-1, 16, 16), labels, "USPS: handwritten digits, 16 x 16")


def fetch_mnist(*, test: bool = False) -> Images:
    """Handwritten digits, 28 x 28, values 0 to 255: 60,000 for training, 10,000 for testing."""
    arrays = fetch.arrays("mnist/mnist_t10k.npz" if test else "mnist/mnist_train60k.npz")
    return Images(arrays["images"], arrays["labels"], "MNIST: handwritten digits, 28 x 28")


def fetch_letters() -> Images:
    """50 English and Greek letters as binary images, 87 x 88; labels such as ``English/A``."""
    names = fetch.listed("letters/")
    images = np.stack([fetch.matlab(name)["I"] for name in names])
    labels = np.array([name.removeprefix("letters/ABC_mats/")[:-4] for name in names])
    return Images(images, labels, "Letters, English and Greek, 87 x 88 (GPL-3-or-later)")


def fetch_scenes() -> Bags:
    """930 indoor scenes, each a bag of 100 SIFT descriptors at random keypoints (128 dimensions).

    16 images of living rooms occur twice; `repeats` has the indices of their second copies.
    """
    arrays = fetch.arrays("scenes/scenes_indoor4_sift100.npz")
    duplicates = {f"livingroom/image_{number:04d}.jpg" for number in _SCENE_DUPLICATES}
    repeats = tuple(i for i, name in enumerate(arrays["names"]) if str(name) in duplicates)
    bags = tuple(arrays["descriptors"].astype(np.float64))
    labels = arrays["classes"][arrays["labels"]]
    return Bags(bags, labels, "Indoor scenes: SIFT descriptors of 4 kinds of rooms", repeats)


def fetch_scene_pictures() -> Images:
    """930 images of `fetch_scenes`, in its order: 200 x 200, grayscale, 0 to 255. Needs Pillow."""
    if find_spec("PIL") is None:
        raise ImportError(
            "the scenes are JPEG files, which need Pillow: pip install 'mercer[data]'"
        )
    from PIL import Image

    with zipfile.ZipFile(fetch.path("scenes/scenes_indoor4_jpg.zip")) as archive:
        names = archive.namelist()
        images = np.empty((len(names), 200, 200), dtype=np.uint8)
        for i, name in enumerate(names):
            with archive.open(name) as file, Image.open(file) as picture:
                images[i] = np.asarray(picture.convert("L"))
    labels = np.array([name.partition("/")[0] for name in names])
    return Images(images, labels, "Indoor scenes: pictures of 4 kinds of rooms, 200 x 200")


def fetch_galaxies() -> Bags:
    """7530 galaxies in 505 clusters, a bag each: four principal components of the spectrum."""
    table = Tabular(fetch.columns("smdd/spectrum_s1_pca.csv"), "")
    (groups,) = table.numbers(["GroupID"]).T
    points, labels = table.numbers(["X1", "X2", "X3", "X4"]), np.unique(groups)
    bags = tuple(points[groups == label] for label in labels)
    return Bags(bags, labels.astype(np.int64), "Clusters of galaxies: 4 components of the spectrum")


def fetch_aerosol() -> Bags:
    """800 bags of 100 pixels each, of the MISR camera of the satellite Terra. Needs SciPy.

    A bag is one place on one day. A pixel has 12 reflectances and four angles, which are the same in
    the whole bag; the label is the aerosol optical depth measured on the ground. This is MISR1 of
    Wang, Lan and Vucetic (2012), a benchmark of distribution regression (Szabo et al. 2016): put
    ``MISR1.mat`` from http://www.dabi.temple.edu/~vucetic/MIR.html into the folder ``aerosol``. No
    SHA-256 sum is registered for it; the numbers of bags, pixels, columns and labels are checked
    instead.
    """
    table = _aerosol("aerosol/MISR1.mat")
    _, first, owner = np.unique(table[:, 0], return_index=True, return_inverse=True)
    order = np.argsort(owner, kind="stable")
    bags = tuple(np.split(table[order, 1:-1], len(first)))
    return Bags(bags, table[first, -1], "Aerosol optical depth from satellite pixels (MISR1)")


def fetch_nips_papers() -> Papers:
    """1740 papers of NIPS 0 to 12: counts of 13,649 words, titles, fields and volumes. Needs SciPy."""
    from scipy.sparse import csr_array

    sparse, meta = (fetch.arrays(f"nips_papers/nips_{n}.npz") for n in ("counts_csr", "meta"))
    counts = csr_array(
        (sparse["data"], sparse["indices"], sparse["indptr"]), shape=tuple(sparse["shape"])
    )
    names = np.array(fetch.lines("nips_papers/nips.labels.key"))
    words = tuple(line.split(" = ")[0] for line in fetch.lines("nips_papers/nips.vocab"))
    titles = fetch.lines("nips_papers/nips.docs")
    description = "NIPS papers, volumes 0 to 12 (1987 to 1999): bags of words"
    return Papers(counts, words, titles, names[meta["labels"]], meta["volume"], description)


def fetch_chicago_crime() -> Tabular:
    """9912 violent crimes in Chicago, January and February 2012: kind, place and time."""
    columns = fetch.columns("chicago_crime/chicago_violent_crime_2012.csv")
    return Tabular(columns, "Violent crimes in Chicago, January and February 2012")


def fetch_parkinsons() -> Tabular:
    """Telemonitoring of 42 patients: 5875 voice recordings, 16 measures and two scores."""
    columns = fetch.columns("parkinsons/parkinsons_updrs.data", "\t")
    return Tabular(columns, "Parkinson's telemonitoring: voice measures and UPDRS scores")


def fetch_sachs() -> Network:
    """11 proteins in 7466 cells, pooled over conditions, and the accepted signalling edges."""
    columns = fetch.columns("sachs_cytometry/cyto_full_data.csv")
    cause, effect = fetch.columns("sachs_cytometry/cyto_full_target.csv").values()
    edges = tuple((str(a), str(b)) for a, b in zip(cause, effect, strict=True))
    return Network(columns, "Protein signalling by flow cytometry (Sachs et al. 2005)", edges)


def fetch_boston() -> Tabular:
    """506 districts of Boston, 14 columns; `medv` is the median value of homes."""
    return Tabular(fetch.columns("housing/boston.csv"), "Housing in Boston, 1970s")


def fetch_california() -> Tabular:
    """20,640 districts of California, 9 columns; `target` is the median value of houses."""
    return Tabular(fetch.columns("housing/california_housing.csv"), "Housing in California, 1990")


def fetch_faithful() -> Tabular:
    """272 eruptions of Old Faithful: duration, and waiting time to the next."""
    return Tabular(fetch.columns("old_faithful/faithful.csv"), "Old Faithful, minutes")


def fetch_geyser() -> Tabular:
    """299 consecutive eruptions of Old Faithful in August 1985: waiting time before, and duration."""
    return Tabular(fetch.columns("old_faithful/geyser.csv"), "Old Faithful, August 1985, minutes")


def fetch_crabs() -> Tabular:
    """200 crabs of two species (`sp`) and sexes (`sex`), five body measurements."""
    return Tabular(fetch.columns("small_tabular/crabs.csv"), "Leptograpsus crabs, millimetres")


def fetch_quakes() -> Tabular:
    """1000 earthquakes near Fiji since 1964: place, depth, magnitude, stations."""
    return Tabular(fetch.columns("small_tabular/quakes.csv"), "Earthquakes near Fiji")


def fetch_sunspots() -> Tabular:
    """Monthly numbers of sunspots from 1749 on."""
    return Tabular(fetch.columns("small_tabular/sunspot_month.csv"), "Sunspots by month")


def fetch_song_years(*, test: bool = False) -> Tabular:
    """Songs of 1922 to 2011: `year`, and 12 means and 78 covariances of timbre.

    463,715 songs for training, and 51,630 by other artists for testing. This is YearPredictionMSD of
    the UCI repository, a subset of the Million Song Dataset: put ``YearPredictionMSD.txt.zip`` into
    the folder ``song_years``. No SHA-256 sum is registered for it; the numbers of songs and columns
    and the range of the years are checked instead.
    """
    table = _songs("song_years/YearPredictionMSD.txt.zip")
    rows = table[_TRAINING_SONGS:] if test else table[:_TRAINING_SONGS]
    columns = {name: rows[:, i] for i, name in enumerate(_SONG_COLUMNS)}
    return Tabular(columns, "Songs: year and timbre (Bertin-Mahieux et al. 2011)")


def fetch_multi30k(*, validation: bool = False) -> Translations:
    """Image captions in English, French and German: 29,000 for training, 1014 for validation."""
    split = "val" if validation else "train"
    captions = {c: fetch.lines(f"multi30k/{split}.{c}.gz") for c in ("en", "fr", "de")}
    return Translations(
        captions["en"], captions["fr"], captions["de"], "Multi30k: captions of images"
    )


def fetch_trec_questions(*, test: bool = False) -> Texts:
    """Questions with six types of answers: 5452 for training, 500 for testing."""
    name = "TREC_10_coarse" if test else "train_5500_coarse"
    rows = [line.split("\t", 1) for line in fetch.lines(f"trec_questions/{name}.label")]
    labels, texts = zip(*rows, strict=True)
    return Texts(texts, labels, "TREC questions by the kind of their answer")


def fetch_mutag() -> Graphs:
    """188 molecules, mutagenic (1) or not (-1); nodes are atoms, edges are bonds."""
    return _graphs("MUTAG", "MUTAG: nitroaromatic compounds by their effect on a bacterium")


def fetch_cuneiform() -> Graphs:
    """267 drawings of 30 Hittite signs; nodes have coordinates, edges have attributes."""
    return _graphs("Cuneiform", "Cuneiform: Hittite signs as graphs of wedges")


def _graphs(name: str, description: str) -> Graphs:
    """Graphs in the TU text format: one file per property, indices from 1, graphs in sequence."""

    def column(key: str, dtype: type = np.int64) -> np.ndarray:
        rows = fetch.lines(f"graphs/{name}/{name}_{key}.txt")
        return np.array([row.split(",") for row in rows]).astype(dtype)

    def attributes(key: str, n: int) -> np.ndarray:
        known = f"graphs/{name}/{name}_{key}.txt" in fetch.registry()
        return column(key, np.float64) if known else np.zeros((n, 0), dtype=np.float64)

    owner, edges = column("graph_indicator")[:, 0] - 1, column("A") - 1
    labels, nodes = column("graph_labels")[:, 0], column("node_labels")
    edge_labels = column("edge_labels")[:, 0]
    node_values = attributes("node_attributes", len(owner))
    edge_values = attributes("edge_attributes", len(edges))
    graphs = []
    for number in range(len(labels)):
        of_node = np.flatnonzero(owner == number)
        of_edge = owner[edges[:, 0]] == number
        local_edges = edges[of_edge] - of_node[0]
        graphs.append(
            Graph(
                nodes[of_node],
                local_edges,
                edge_labels[of_edge],
                node_values[of_node],
                edge_values[of_edge],
            )
        )
    return Graphs(tuple(graphs), labels, description)


def _songs(name: str) -> np.ndarray:
    """Table of YearPredictionMSD, with its shape and years checked: (songs, 91)."""
    with zipfile.ZipFile(fetch.present(name)) as archive, archive.open(Path(name).stem) as lines:
        table = np.loadtxt(lines, delimiter=",", dtype=np.float64, ndmin=2)
    expected = (_SONGS, len(_SONG_COLUMNS))
    if table.shape != expected or table[:, 0].min() != 1922 or table[:, 0].max() != 2011:
        raise ValueError(
            f"{name} must have {expected[0]} songs and {expected[1]} columns, the first of them years "
            f"from 1922 to 2011, got {table.shape[0]} and {table.shape[1]}: download it again"
        )
    return table


def _aerosol(name: str) -> np.ndarray:
    """Rows of MISR1, (pixels, 18): number of the bag, 16 measurements and label."""
    from scipy.io import loadmat

    array = loadmat(fetch.present(name)).get("MISR1", np.empty((0, 0)))
    needed = (
        f"{name} must have a variable MISR1 of {_AEROSOL_BAGS} bags of {_AEROSOL_POINTS} pixels and "
        f"{_AEROSOL_COLUMNS} columns, the first the number of the bag and the last its label"
    )
    if array.shape != (_AEROSOL_BAGS * _AEROSOL_POINTS, _AEROSOL_COLUMNS):
        raise ValueError(f"{needed}, got an array of shape {array.shape}: download it again")
    table = array.astype(np.float64)
    labels = np.unique(table[:, [0, -1]], axis=0)
    sizes = np.unique(table[:, 0], return_counts=True)[1]
    if not (len(labels) == len(sizes) == _AEROSOL_BAGS and np.all(sizes == _AEROSOL_POINTS)):
        raise ValueError(
            f"{needed}, got {len(sizes)} bags of {sizes.min()} to {sizes.max()} pixels and "
            f"{len(labels)} labels: download it again"
        )
    if not np.isfinite(table).all():
        raise ValueError(f"{needed}, got NaN or infinite values: download it again")
    return table
