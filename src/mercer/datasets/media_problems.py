"""Simulated audio, faces, songs and videos: stand-ins with the sizes of data sets that cannot be shipped.

The two-sample problems are those of Gretton et al. 2012 (amplitude-modulated music) and Jitkrittum et al. 2016
(faces with positive and negative emotions); the paired ones those of Jitkrittum et al. 2017 (songs and years,
videos and captions).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mercer import validate
from mercer.datasets.independence_problems import PairedProblem
from mercer.datasets.two_sample_problems import Problem

_RATE = 8000.0  # audio samples a second
_CARRIER = 2000.0  # Hz, below half the rate
_NOTE = 0.25  # seconds
_PENTATONIC = 2.0 ** (np.array([0, 2, 4, 7, 9, 12, 14, 16]) / 12)  # ratios of frequencies
_FACE = (48, 34)  # pixels: rows and columns
_SONG_COLUMNS, _FACTORS = 90, 10
_VIDEO_COLUMNS, _WORDS, _TOPICS, _CAPTION = 2000, 1878, 20, 8


@dataclass(frozen=True)
class AmplitudeModulation(Problem):
    """Fragments of two songs as a radio transmits them, cos(w t) (A s(t) + 1) + noise (Gretton et al. 2012).

    A fragment has `length` samples at 8 kHz and begins at a random time of the song; the carrier has 2 kHz. Both
    songs are made of 64 notes of a pentatonic scale, in different keys. With `same` both samples are of one song.
    """

    length: int = 1000
    noise: float = 0.1
    same: bool = False

    def __post_init__(self) -> None:
        validate.whole("length", self.length)
        validate.positive("noise", self.noise)

    @property
    def null(self) -> bool:
        return bool(self.same)

    def draw(self, n: int, m: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        return self._fragments(n, 0, rng), self._fragments(m, 0 if self.same else 1, rng)

    def _fragments(self, n: int, song: int, rng: np.random.Generator) -> np.ndarray:
        score = np.random.default_rng(song)
        base = (220.0, 262.0)[song]
        notes = base * score.choice(_PENTATONIC, size=64)
        starts = rng.uniform(0, 64 * _NOTE, size=(n, 1))
        times = starts + np.arange(self.length) / _RATE  # (n, length)
        since = times % _NOTE
        frequency = notes[(times // _NOTE).astype(np.int64) % 64]
        tone = np.sin(2 * np.pi * frequency * since) + 0.5 * np.sin(4 * np.pi * frequency * since)
        signal = np.exp(-3 * since / _NOTE) * tone
        carried = np.cos(2 * np.pi * _CARRIER * (times - starts)) * (0.5 * signal + 1)
        return carried + self.noise * rng.standard_normal(carried.shape)


@dataclass(frozen=True)
class ExpressiveFaces(Problem):
    """Drawn faces of 48 x 34 grey pixels, the first sample with positive and the second with negative emotions.

    Smiles curve up and brows rise; else mouths curve down and brows frown. Shapes of heads, places of eyes, light and noise
    are random, as the actor is in photographs. With `same` emotions are mixed in both samples.
    """

    strength: float = 1.0
    noise: float = 0.1
    same: bool = False

    def __post_init__(self) -> None:
        validate.positive("strength", self.strength)
        validate.positive("noise", self.noise)

    @property
    def null(self) -> bool:
        return bool(self.same)

    def draw(self, n: int, m: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        if self.same:
            signs = [2.0 * rng.integers(2, size=k) - 1 for k in (n, m)]
        else:
            signs = [np.ones(n, dtype=np.float64), -np.ones(m, dtype=np.float64)]
        return self._faces(signs[0], rng), self._faces(signs[1], rng)

    def _faces(self, sign: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        def vary(mean: float, deviation: float) -> np.ndarray:
            return rng.normal(mean, deviation, size=(len(sign), 1, 1))

        rows, columns = np.meshgrid(
            np.linspace(-1, 1, _FACE[0]), np.linspace(-1, 1, _FACE[1]), indexing="ij"
        )
        across = np.abs(columns - vary(0, 0.04))
        emotion = sign[:, None, None] * self.strength + vary(0, 0.7)
        head = (across / vary(0.8, 0.04)) ** 2 + (rows / vary(0.9, 0.04)) ** 2 < 1
        wide = vary(0.35, 0.04)
        mouth = vary(0.45, 0.03) + 0.06 * emotion * (1 - 2 * (across / wide) ** 2)
        apart, brow = vary(0.38, 0.03), vary(-0.42, 0.03)
        line = brow - 0.04 * emotion * (1 - (across - apart) / 0.25)
        dark = np.exp(-(((rows - mouth) / 0.05) ** 2)) * (across < wide)
        dark = dark + np.exp(-(((rows - line) / 0.04) ** 2)) * (np.abs(across - apart) < 0.22)
        dark = dark + np.exp(-(((rows + 0.22) / 0.07) ** 2) - ((across - apart) / 0.09) ** 2)
        light = 1 + vary(0, 0.1) * columns + vary(0, 0.1)
        pictures = np.where(head, (0.8 - 0.5 * dark) * light, 0.2)
        pictures = pictures + self.noise * rng.standard_normal(pictures.shape)
        return pictures.reshape(len(sign), -1)


@dataclass(frozen=True)
class SongYears(PairedProblem):
    """90 audio features of a song and its year of release, in the sizes of YearPredictionMSD.

    Features are mixtures of ten factors; the year depends on the first two, on one of them without a trend. A
    strength of 0 makes year and features independent. `fetch_song_years` reads the real data.
    """

    strength: float = 1.0

    def __post_init__(self) -> None:
        validate.number("strength", self.strength)

    @property
    def null(self) -> bool:
        return self.strength == 0

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        mixing = np.random.default_rng(0).standard_normal((_FACTORS, _SONG_COLUMNS))
        factors = rng.standard_normal((n, _FACTORS))
        songs = factors @ mixing + 2 * rng.standard_normal((n, _SONG_COLUMNS))
        trend = np.tanh(factors[:, 0]) + np.abs(factors[:, 1])
        early = rng.gamma(1.5, 6.0, size=n)  # most songs are recent
        return songs, np.clip(2011 - early + 4 * self.strength * trend, 1922, 2011)[:, None]


@dataclass(frozen=True)
class VideoCaptions(PairedProblem):
    """2,000 features of a video and the frequencies of 1,878 words in its caption, in the sizes of VideoStory46K.

    A video has one of 20 topics, which moves 50 of its features and is the source of a share `strength` of the
    eight words of its caption; the others come from a common, Zipf-like distribution. 0: independent.
    """

    strength: float = 0.5

    def __post_init__(self) -> None:
        validate.number("strength", self.strength)
        if not 0 <= self.strength <= 1:
            raise ValueError(f"strength must be between 0 and 1, got {self.strength}")

    @property
    def null(self) -> bool:
        return self.strength == 0

    def draw(self, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        known = np.random.default_rng(0)
        centres = np.zeros((_TOPICS, _VIDEO_COLUMNS), dtype=np.float64)
        for centre in centres:
            centre[known.choice(_VIDEO_COLUMNS, 50, replace=False)] = 1.0
        topic_words = known.integers(_WORDS, size=(_TOPICS, 15))
        topics = rng.integers(_TOPICS, size=n)
        videos = centres[topics] + rng.standard_normal((n, _VIDEO_COLUMNS))
        frequency = 1 / np.arange(1, _WORDS + 1)
        words = rng.choice(_WORDS, size=(n, _CAPTION), p=frequency / frequency.sum())
        of_topic = rng.random((n, _CAPTION)) < self.strength
        chance = rng.integers(topic_words.shape[1], size=(n, _CAPTION))
        words = np.where(of_topic, topic_words[topics[:, None], chance], words)
        captions = np.zeros((n, _WORDS), dtype=np.float64)
        np.add.at(captions, (np.arange(n)[:, None], words), 1 / _CAPTION)
        return videos, captions
