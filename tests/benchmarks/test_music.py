"""The music benchmark divides answers by artists, chooses answers of the pool, and writes every figure."""

import json

import numpy as np
import pytest

from benchmarks.frame.benchmark import MissingDataError
from benchmarks.music import benchmark, methods
from benchmarks.music.data import FILE, Music, order
from benchmarks.music.pool import Pool, gains
from crossview.engine.findings.questions import Places

ARTISTS = 40


@pytest.fixture
def folder(tmp_path):
    """Answers follow the places of 40 artists, one names an artist twice, and genres follow the places."""
    generator = np.random.default_rng(0)
    places = generator.normal(size=(ARTISTS, 2))
    triplets = np.array([generator.choice(ARTISTS, 3, replace=False) for _ in range(600)])
    gaps = [np.linalg.norm(places[triplets[:, 0]] - places[triplets[:, at]], axis=1) for at in (1, 2)]
    triplets[gaps[0] > gaps[1]] = triplets[gaps[0] > gaps[1]][:, [0, 2, 1]]
    genres = np.hstack([places > 0, places < -1, places > 1]).astype(np.uint8)
    genres[0] = 0
    np.savez(tmp_path / FILE, triplets=np.vstack([triplets, [3, 5, 5]]), genre_label_matrix=genres)
    return tmp_path


def test_answers_about_the_same_artists_stay_together(folder):
    """No answer is lost, except those that name an artist twice."""
    music = Music.read(folder)
    learned, held_out = music.split(0.2, 0)
    assert len(music.answers) == len(learned.answers) + len(held_out) == 600
    about = [set(map(tuple, np.sort(part, axis=1).tolist())) for part in (learned.answers, held_out)]
    assert not about[0] & about[1]
    assert not np.array_equal(held_out, music.split(0.2, 1)[1])


def test_genres_order_artists_that_have_some(folder):
    """Artists are ordered by the share of genres that two have in common, without ties."""
    music = Music.read(folder)
    found = music.by_genres(200, 0)
    assert 0 not in found
    assert (order(music.unlike(), found) == 1).all()
    assert (music.unlike()[0, 1:] == 1).all()


def test_a_pool_asks_for_answers_that_it_has_once(folder):
    """It asks for the most informative ones, once it has two and a half answers for each artist."""
    answers = Music.read(folder).split(0.2, 0)[0].answers
    random, active = (Pool(answers, ARTISTS, chosen, 0) for chosen in (False, True))
    for pool in (random, active):
        pool.ask(150)
        assert len(pool.asked) == 150
        assert set(map(tuple, pool.asked.tolist())) <= set(map(tuple, answers.tolist()))
    assert np.array_equal(random.asked, answers[:150])
    assert np.array_equal(active.asked[:100], answers[:100])
    assert not np.array_equal(active.asked, random.asked)


def test_answers_that_are_known_tell_least(folder):
    """A question about artists that were often compared is less informative than one about artists that were not."""
    positions = np.random.default_rng(0).normal(size=(6, 2))
    belief = Places(positions, np.tile(np.eye(2), (6, 1, 1)))
    questions = np.array([[0, 1, 2], [3, 4, 5]])
    before = gains(belief, questions)
    belief.learn(np.repeat(questions[:1], 50, axis=0))
    after = gains(belief, questions)
    assert after[0] < before[0]
    assert after[1] == pytest.approx(before[1])


def test_music_writes_figures_of_every_way(folder, tmp_path, monkeypatch):
    """Errors of all ways to place artists, and of chosen answers beside random ones."""
    ways = {name: methods.Way(way.fit, (0.01,)) for name, way in methods.WAYS.items()}
    monkeypatch.setattr(benchmark, "WAYS", ways)
    monkeypatch.setattr(benchmark, "BY_GENRES", 300)
    out = tmp_path / "out.json"
    arguments = [
        "--data",
        str(folder),
        "--trials",
        "1",
        "--workers",
        "1",
        "--budgets",
        "100,400",
        "--answers",
        "120,300",
    ]
    assert benchmark.BENCHMARK.main([*arguments, "--json", str(out), "--report", str(tmp_path)]) == 0
    (trial,) = json.loads(out.read_text())["trials"]
    assert {one["method"] for one in trial["curves"]} == set(methods.WAYS)
    assert 0.5 < trial["consistency"] < 1
    text = (tmp_path / "music.md").read_text()
    assert "| joint with genres |" in text
    assert "| 300 |" in text
    assert (tmp_path / "music.png").stat().st_size > 1000


def test_missing_data_are_named(tmp_path):
    with pytest.raises(MissingDataError, match=FILE):
        Music.read(tmp_path)
