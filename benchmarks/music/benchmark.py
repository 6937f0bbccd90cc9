"""Music artists by what people answered: 9,090 answers, a fixed pool with their noise, and no features but genres.

    python -m benchmarks music --data DIR [--json OUT] [--trials N] [--report DIR]

DIR holds ``music_triplets.npz``: the answers about 400 artists of Ellis et al. (2002), in the version of van der Maaten
and Weinberger (2012). Answers about a fifth of all triples of artists are held out.

There are two notions: what people answered, and genres, in which 10,000 random triplets are ordered by the Jaccard
distance of the artists' sets of genres. Embeddings of ten dimensions learn people's notion alone, jointly with genres,
both notions weighing as much, or pooled with these; and a metric is learned over the genres as features. The loss is
the hinge where no other is named.

Questions are then chosen from the pool: an answer is known only to what was once asked, so the most informative
question is one of these. The embedding has the loss of t-STE.
"""

import argparse
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.frame.benchmark import Benchmark, numbers, seeds_of, trial_arguments
from benchmarks.frame.headlines import stated
from benchmarks.frame.journal import by_seed, run_trials
from benchmarks.joint.methods import FOLDS, SOLVING, best_of
from benchmarks.joint.notion_measures import triplet_error
from benchmarks.joint.people import Triplets
from benchmarks.music import report
from benchmarks.music.data import Music, order
from benchmarks.music.methods import BY_GENRES, DIMENSIONS, WAYS
from benchmarks.music.pool import ALPHA, LOOKED_AT, Pool
from crossview.engine.findings.questions.beliefs import FIRST

BUDGETS, ANSWERS = (500, 1_000, 2_000, 4_000, 7_000), (1_000, 1_500, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000)
HELD_OUT, ENOUGH = 0.2, 1_000
"""Share of the triples of artists; and held-out answers that choose a weight."""


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials of all seeds."""
    settings = {
        "protocol": (__doc__ or "").split("\n\n", 2)[2].strip(),
        "seeds": list(seeds_of(options)),
        "budgets": options.budgets,
        "answers": options.answers,
        "dimensions": DIMENSIONS,
        "triplets by genres": BY_GENRES,
        "grids": {name: way.grid for name, way in WAYS.items()},
        "held out": HELD_OUT,
        "folds": FOLDS,
        "held-out answers that choose": ENOUGH,
        "solver": {"tol": SOLVING.tol, "max_iter": SOLVING.max_iter},
        "weight of the embedding that chooses": ALPHA,
        "answers of an artist before questions are chosen": FIRST,
        "questions that are compared": LOOKED_AT,
        "workers": options.workers,
    }
    tasks = by_seed(seeds_of(options))
    arguments = options.data, options.budgets, options.answers
    trials = run_trials(options, settings, tasks, run, *arguments, progress=report.progress)
    return {"settings": settings, "rows": report.rows(trials), "trials": trials}


def run(seed: int, folder: Path, budgets: Sequence[int], answers: Sequence[int]) -> dict[str, Any]:
    """Return errors by number of answers, of all ways to place artists, and of chosen and random answers."""
    music, test = Music.read(folder).split(HELD_OUT, seed)
    ordered = order(music.unlike(), test)
    return {
        "seed": seed,
        "test": len(test),
        "consistency": float(np.mean(ordered[ordered != 0] > 0)),
        "tied": float(np.mean(ordered == 0)),
        "genres": float(np.mean((1 - ordered) / 2)),
        "curves": _curves(music, test, budgets, seed),
        "asked": [_asked(music, test, answers, active, seed) for active in (False, True)],
    }


def _curves(music: Music, test: Triplets, budgets: Sequence[int], seed: int) -> list[dict[str, Any]]:
    by_genres, curves = music.by_genres(BY_GENRES, seed), []
    for budget in budgets:
        people = music.answers[:budget]
        for name, way in WAYS.items():
            fit = partial(_fitted, way.fit, music, by_genres)
            rows, alpha = best_of(fit, way.grid, people, seed, ENOUGH)
            error = triplet_error(rows, test).value
            curves.append({"method": name, "answers": len(people), "error": error, "alpha": alpha})
    return curves


def _fitted(fit: Any, music: Music, by_genres: Triplets, people: Triplets, alpha: float) -> Any:
    return fit(music, people, by_genres, alpha)


def _asked(music: Music, test: Triplets, answers: Sequence[int], active: bool, seed: int) -> Mapping[str, Any]:
    pool, curve = Pool(music.answers, music.count, active, seed), []
    for budget in answers:
        pool.ask(min(budget, len(music.answers)))
        curve.append({"questions": len(pool.asked), "error": triplet_error(pool.embedding(), test).value})
    return {"way": "active" if active else "random", "curve": curve}


def _arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--data", type=Path, required=True, help="folder with music_triplets.npz")
    trial_arguments(parser, trials=5)
    parser.add_argument("--budgets", type=numbers, default=BUDGETS, help="numbers of answers to learn from")
    parser.add_argument("--answers", type=numbers, default=ANSWERS, help="numbers of answers that are asked for")


BENCHMARK = Benchmark(
    "music",
    __doc__,
    _arguments,
    measure,
    report.markdown,
    report.plot,
    "error against answers about music artists",
    headline=stated(
        "Predict which artists people find similar, from 7,000 answers: error",
        "{0:.1f} % (t-STE)",
        "{1:.1f} % (metric over genres)",
        {"method": "people alone, t-STE", "answers": 7000, "metric": "error"},
        {"method": "metric over genres", "answers": 7000, "metric": "error"},
        factor=100,
    ),
)
