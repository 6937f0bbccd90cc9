"""A researcher with vectors uses two views, labels from a CSV, learners side by side, comparisons and embeddings."""

from pathlib import Path

import numpy as np
import pytest
from story import DATA, done, refused, result_of

WIKIPEDIA = DATA / "wikipedia_crossmodal/wikipedia_crossmodal.npz"
MUSIC = DATA / "triplets_music/music_triplets.npz"

pytestmark = pytest.mark.long


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


@pytest.mark.skipif(not WIKIPEDIA.is_file(), reason="needs ../shared/data/wikipedia_crossmodal")
def test_learners_side_by_side_on_own_vectors(home: Path, tmp_path: Path):
    """The two .npy files have 600 documents; the vectors that are read back are those that were put in."""
    with np.load(WIKIPEDIA, allow_pickle=False) as file:
        images, texts, classes = (file[name][:600] for name in ("image_sift_bow128", "text_lda10", "y"))
    np.save(tmp_path / "image.npy", images)
    np.save(tmp_path / "topics.npy", texts)
    keys = [f"doc/{number:04}" for number in range(600)]
    (tmp_path / "keys.txt").write_text("\n".join(keys) + "\n")
    lines = [f"{key},class {label},{number}" for number, (key, label) in enumerate(zip(keys, classes, strict=True))]
    (tmp_path / "labels.csv").write_text("key,label,number\n" + "\n".join(lines) + "\n")

    done("create", "wiki", "--views", "image=vectors:dim=128", home=home)
    where = ("--keys", tmp_path / "keys.txt", "--labels", tmp_path / "labels.csv")
    done("index", "wiki", "--view", "image", "--vectors", tmp_path / "image.npy", *where, home=home)
    done("index", "wiki", "--view", "topics", "--vectors", tmp_path / "topics.npy", *where[:2], home=home)
    listed = result_of("list", "wiki", "--limit", 1000, home=home)
    assert [item["labels"] for item in listed] == [[f"class {label}"] for label in classes]
    assert listed[7]["attributes"] == {"number": 7}

    for learner in ("cca:8", "semantic", "multi-npp:8"):
        options = ("--views", "image,topics", "--learner", learner, "--holdout", 0.25, "--seed", 1)
        done("train", "wiki", *options, home=home)
    spaces = "semantic,cca,multi-npp"
    found = result_of(
        "evaluate", "wiki", "--space", spaces, "--view", "image", "--targets", "topics", "-k", 5, home=home
    )
    scores = {row["space"]: row["value"] for row in found["rows"] if row["metric"] == "map"}
    assert set(scores) == set(spaces.split(","))
    assert min(scores.values()) > 0.12  # ten classes, by chance
    differences = {one["space"] for one in found["differences"]}
    assert differences == {"cca", "multi-npp"}

    assert "eta must be" in refused(
        "train", "wiki", "--views", "image,topics", "--learner", "multi-npp", "--set", "eta=abc", home=home
    )
    out = tmp_path / "embedded.npz"
    done("embed", "wiki", "--view", "image", "--space", "cca", "--targets", "image", "--all", "--out", out, home=home)
    with np.load(out, allow_pickle=False) as file:
        assert list(file["keys"]) == keys
        assert file["vectors"].shape == (600, 8)
    done("create", "again", "--views", "embedded=vectors:dim=8", home=home)
    assert result_of("index", "again", "--view", "embedded", "--vectors", out, home=home)["added"] == 600
    csv = done("search", "wiki", "--key", keys[3], "--view", "image", "--targets", "topics", "--csv", home=home)
    assert csv.startswith("query,rank,key,distance,target,labels")


@pytest.mark.skipif(not MUSIC.is_file(), reason="needs ../shared/data/triplets_music")
def test_a_metric_from_what_people_say_of_artists(home: Path, tmp_path: Path):
    """The view has genres of 400 artists; people gave 9,107 triplets, a third of which are kept to measure with."""
    with np.load(MUSIC, allow_pickle=False) as file:
        triplets, genres = file["triplets"], file["genre_label_matrix"].astype(np.float32)
    triplets = triplets[[len(set(row)) == 3 for row in triplets.tolist()]]
    generator = np.random.default_rng(0)
    order = generator.permutation(len(triplets))
    np.save(tmp_path / "genres.npy", genres)
    (tmp_path / "artists.txt").write_text("".join(f"artist-{number:03}\n" for number in range(len(genres))))
    for name, rows in (("train", order[3000:]), ("test", order[:3000])):
        lines = [",".join(f"artist-{item:03}" for item in triplets[row]) for row in rows]
        (tmp_path / f"{name}.csv").write_text("anchor,near,far\n" + "\n".join(lines) + "\n")

    done("create", "music", "--views", f"genres=vectors:dim={genres.shape[1]}", home=home)
    rows = ("--view", "genres", "--vectors", tmp_path / "genres.npy", "--keys", tmp_path / "artists.txt")
    done("index", "music", *rows, home=home)
    given = ("--constraints", tmp_path / "train.csv")
    done("train", "music", "--learner", "fantope:10", "--views", "genres", *given, home=home)
    measured = ("--space", "fantope,raw", "--view", "genres", "--constraints", tmp_path / "test.csv")
    found = result_of("evaluate", "music", *measured, home=home)
    share = {row["space"]: row["value"] for row in found["rows"]}
    (difference,) = found["differences"]
    assert share["fantope"] > share["raw"] > 0.5
    assert abs(difference["value"]) > 2 * difference["standard_error"]
