"""Pictures by words: the names of unseen concepts ask for their drawings, with and without learned pairs.

    python -m benchmarks words --data DIR --models DIR [--artists google,twitter] [--json OUT] [--trials N]

DIR of ``--data`` holds ``emoji2``, 1,390 concepts with a name, drawn by two artists; DIR of ``--models`` holds a model
of pictures (``lite0``) and one of sentences (``minilm``), which share no space. The concepts are divided into five
folds. Spaces learn from the names and drawings of four; each name of the fifth asks for its drawing among the drawings
of this fold.
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.frame.benchmark import Benchmark, Document, seeds_of, trial_arguments
from benchmarks.frame.journal import cache_folder, run_trials
from benchmarks.frame.tables import table
from benchmarks.pretrained.drawings import ARTISTS, Concepts, home_with_models
from benchmarks.pretrained.words_trial import CONSE, FOLDS, FUSED, LENGTH, METHODS, run

LENGTHS = (1, LENGTH)
RANDOM = "random order"


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials."""
    seeds, cache = seeds_of(options), cache_folder(options)
    Concepts(options.data)
    home_with_models(cache / "home", options.models)
    settings = {"seeds": list(seeds), "artists": list(options.artists), "folds": FOLDS}
    tasks = {f"{artist} seed {seed}": (artist, seed) for seed in seeds for artist in options.artists}
    trials = run_trials(options, settings, tasks, run, options.data, options.models, cache)
    return {"settings": settings, "rows": rows(trials), "trials": trials}


def rows(trials: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the recalls of each method on the drawings of each artist, with their standard errors over concepts."""
    lines = []
    for artist in dict.fromkeys(trial["data"] for trial in trials):
        of_artist = [trial for trial in trials if trial["data"] == artist]
        for k in LENGTHS:
            hits = {method: _hits(of_artist, method, k) for method in METHODS}
            chance = float(np.mean([min(1.0, k / np.mean(trial["candidates"])) for trial in of_artist]))
            lines.append({"data": artist, "method": RANDOM, "metric": f"recall@{k}", "value": chance})
            for method, own in hits.items():
                row = {"data": artist, "method": method, "metric": f"recall@{k}", "value": float(own.mean())}
                gap = hits[FUSED] - own
                fused = {} if method == FUSED else {"ahead": float(gap.mean()), "ahead_error": _error(gap)}
                lines.append({**row, "error": _error(own), **fused})
    return lines


def _hits(trials: Sequence[Mapping[str, Any]], method: str, k: int) -> NDArray[np.float64]:
    """Return the share of the divisions in which each concept's drawing is among the first k, (n,)."""
    ranks = np.array([trial["ranks"][method] for trial in trials])
    return np.asarray(((ranks > 0) & (ranks <= k)).mean(axis=0))


def _error(values: NDArray[np.float64]) -> float:
    """Return the standard error of the mean over concepts."""
    return float(values.std(ddof=1) / np.sqrt(len(values)))


def markdown(document: Document) -> str:
    """Return the report: recall of each method, and the lead of the fused list."""
    settings = document["settings"]
    about = (
        f"Names of unseen concepts ask for their drawings, {FOLDS} folds, {len(settings['seeds'])} divisions; recall "
        "in per cent ± standard error over concepts. The learned methods but `ConSE` learn from the names of four "
        "fifths of the concepts, and choose their settings by cross-validation. The last line fuses the learned map "
        "and ConSE by calibrated match; the paired difference is that of this line to each other one. "
        "EfficientNet-Lite0 learned from ImageNet, which may hold some of these drawings."
    )
    parts = ["# Pictures by words", about]
    for artist in settings["artists"]:
        lines = [["method", *(f"recall@{k}" for k in LENGTHS), f"fused is ahead at {LENGTH}"]]
        for method in (RANDOM, *METHODS):
            own_rows = [row for row in document["rows"] if (row["data"], row["method"]) == (artist, method)]
            last = own_rows[-1]
            ahead = f"{100 * last['ahead']:+.1f} ± {100 * last['ahead_error']:.1f}" if "ahead" in last else ""
            lines.append([method, *(_cell(row) for row in own_rows), ahead])
        parts += [f"## {artist.capitalize()}'s drawings", table(lines)]
    return "\n\n".join(parts)


def _cell(row: Mapping[str, Any]) -> str:
    return f"{100 * row['value']:.1f}" + (f" ± {100 * row['error']:.1f}" if "error" in row else "")


def headline(document: Document) -> tuple[str, str, str]:
    """Return the recall of the fused list beside that of ConSE, a line of README."""
    first = document["settings"]["artists"][0]
    values = {
        row["method"]: row["value"]
        for row in document["rows"]
        if (row["data"], row["metric"]) == (first, f"recall@{LENGTH}")
    }
    task = f"Find the drawing of a concept that no learner has seen, by its name: share in the first {LENGTH}"
    return task, f"{values[FUSED]:.3f}", f"{values[CONSE]:.3f} (names of known concepts alone, ConSE)"


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", required=True, type=Path, help="folder of the sets")
    parser.add_argument("--models", required=True, type=Path, help="folder of the models")
    parser.add_argument("--artists", type=_artists, default=ARTISTS, help=f"of {', '.join(ARTISTS)} [default: all]")
    trial_arguments(parser, trials=3)


def _artists(text: str) -> tuple[str, ...]:
    """Return names of artists, for argparse."""
    names = tuple(text.split(","))
    if unknown := set(names) - set(ARTISTS):
        raise argparse.ArgumentTypeError(f"{sorted(unknown)[0]!r} is not an artist: {', '.join(ARTISTS)}")
    return names


BENCHMARK = Benchmark("words", __doc__, _arguments, measure, markdown, headline=headline)
"""Words and drawings, by two models."""
