"""What an earlier version stored is read by this one: golden files are written once and never made anew."""

from pathlib import Path

import numpy as np

from engine.space import Placed, Space
from engine.state import unpack
from features import extractor

GOLDEN = Path(__file__).parent / "golden"


def test_a_stored_space_places_and_probes_as_it_did():
    space = Space.from_state("golden", 1, (GOLDEN / "space.npz").read_bytes())
    with np.load(GOLDEN / "answers.npz") as answers:
        assert space.views == ("color", "sift")
        assert space.revisions == {"color": 1, "sift": 2}
        assert space.training_keys == {f"a/{number}.jpg" for number in range(12)}
        assert space.settings == {"frozen": "sift"}
        placed = space.place({"color": Placed(np.arange(3), answers["color"])})
        np.testing.assert_allclose(placed["color"].vectors, answers["placed"], atol=1e-6)
        probes = space.probe("sift", answers["sift"], ["color"])
        np.testing.assert_allclose(probes["color"], answers["probed"], atol=1e-6)


def test_a_stored_text_view_makes_the_rows_that_it_made():
    """Of either model; a word that it does not know changes nothing."""
    for stored in unpack((GOLDEN / "text.npz").read_bytes()).values():
        view = extractor("text", stored["params"]).load_state(stored["fitted"])
        np.testing.assert_allclose(view.extract("Rose and SEA xyzzy"), stored["row"], atol=1e-5)
