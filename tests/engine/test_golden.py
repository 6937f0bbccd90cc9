"""This version reads the states of earlier ones: golden files are written once and never again."""

from pathlib import Path

import numpy as np

from crossview.engine.catalog.description import space_info
from crossview.engine.catalog.rows import ViewRows
from crossview.engine.catalog.spaces import Generation
from crossview.engine.catalog.state import unpack
from crossview.engine.spaces.space import Space
from crossview.engine.values.info import Trial, Tuning
from crossview.features.registry import extractor
from crossview.index.registry import KINDS, IndexSpec

GOLDEN = Path(__file__).parent / "golden"


def test_a_stored_space_places_and_probes_as_it_did():
    space = Space.from_state("golden", 1, (GOLDEN / "space.npz").read_bytes())
    with np.load(GOLDEN / "answers.npz") as answers:
        assert space.views == ("color", "sift")
        assert space.revisions == {"color": 1, "sift": 2}
        assert space.training_keys == {f"a/{number}.jpg" for number in range(12)}
        assert space.settings == {"frozen": "sift"}
        (placed,) = space.place({"color": ViewRows(np.arange(3), answers["color"])}).values()
        np.testing.assert_allclose(placed.vectors, answers["placed"], atol=1e-6)
        ((target, probe),) = space.probe("sift", answers["sift"], ["color"]).items()
        assert (str(target), target.view, target.scale) == ("color", "color", "")
        np.testing.assert_allclose(probe, answers["probed"], atol=1e-6)
        assert (space.added, space.pairs, space.tuning) == ((), (), None)  # its version had none of these
        assert (space.constraints, space.constraint_counts) == (None, None)


def test_a_stored_space_knows_how_it_was_made():
    """The state of 2026-11-20 has its later views, its pairs and the trials of its tuning."""
    space = Space.from_state("golden", 2, (GOLDEN / "tuned.npz").read_bytes())
    tried = (Trial({"n_components": 2}, 0.75), Trial({"n_components": 99}, None, "too many"))
    assert space.tuning == Tuning(measure="map", folds=3, items=12, score=0.75, chosen={"n_components": 2}, tried=tried)
    assert (space.added, space.pairs) == (("gist",), (("a/0.jpg", "a/1.jpg"),))
    assert Space.from_state("golden", 2, space.to_state()).tuning == space.tuning
    (probe,) = space.probe("gist", np.eye(3, dtype=np.float32), ["gist"]).values()
    assert probe.shape == (3, 2)


def test_stored_spaces_of_codes_place_as_they_did():
    """One hash for a shared space, re-ranked, and one for each view apart; written on 2026-11-21."""
    kept = unpack((GOLDEN / "codes.npz").read_bytes())
    for name, rerank, code_bytes in (("shared", 2, 1), ("apart", 0, 2)):
        space = Space.from_state("golden", 1, kept[name]["space"].tobytes())
        assert (space.binary, space.cross_view, space.rerank) == (True, name == "shared", rerank)
        ((target, (_, found)),) = space.place({"gist": ViewRows(np.arange(3), kept["rows"])}).items()
        assert target.code_bytes == code_bytes
        again = Space.from_state("golden", 1, space.to_state())
        kinds = "reranked" if rerank else "binary"
        assert (space.index, again.index) == (None, IndexSpec(kinds, {"factor": rerank} if rerank else {}))
        assert type(space.empty_index(target)) is type(again.empty_index(target)) is KINDS[kinds]
        np.testing.assert_array_equal(found[:, :code_bytes], kept[name]["placed"][:, :code_bytes])
        floats = [np.ascontiguousarray(rows[:, code_bytes:]).view(np.float32) for rows in (found, kept[name]["placed"])]
        np.testing.assert_allclose(*floats, atol=1e-6)


def test_an_earlier_version_s_summary_is_told():
    """It is the catalog's summary of a space from before later views, pairs and tuning."""
    summary = {
        "spec": "cca",
        "views": ["color", "sift"],
        "targets": ["color", "sift"],
        "cross_view": True,
        "dim": {"color": 2, "sift": 2},
        "settings": {},
        "seed": 0,
        "trained_items": 12,
        "held_out": 0,
    }
    generation = Generation(
        space="golden", generation=1, created="2026-01-02T03:04:05+00:00", sequence=7, summary=summary
    )
    told = space_info(generation, [generation], active=True)
    assert (told.views, told.added, told.pairs, told.tuning) == (("color", "sift"), (), 0, None)
    assert (told.constraints, told.binary, told.rerank) == (None, False, 0)


def test_a_stored_text_view_makes_the_rows_that_it_made():
    """This holds for either model; an unknown word changes nothing."""
    for stored in unpack((GOLDEN / "text.npz").read_bytes()).values():
        view = extractor("text", stored["params"]).load_state(stored["fitted"])
        np.testing.assert_allclose(view.row("Rose and SEA xyzzy"), stored["row"], atol=1e-5)
