"""Error against answers: random and chosen questions, single ones and grids of nine, by simulated people.

Objects are those of the other benchmarks of notions, 200 points of which people compare a four-dimensional projection,
or 200 pictures of aeroplanes by all landmarks, of which many are equally unlike: between those a person picks either.
A person perceives every distance with an error in proportion to it, so
close calls are hard; people err on 0, 5 or 15 per cent of random triplets. Before questions are chosen, two and a half
triplets an object are asked at random. The embedding has ten dimensions, and the answers choose its loss by
cross-validation at each number of answers. Chosen questions are those of this embedding, which is learned again
whenever there are an eighth more answers.

A single question takes 3.6 seconds and a grid, in which the four nearest of nine are picked, 10.4: .8 for every picture
that is looked at, .8 to decide, .4 for every pick. Useful triplets of an answer are those that random single questions
would need for the same error.
"""

import argparse
import time
from typing import Any

import numpy as np

from benchmarks.frame.benchmark import Benchmark, numbers, seeds_of, trial_arguments
from benchmarks.frame.headlines import stated
from benchmarks.frame.journal import run_trials
from benchmarks.joint import active_report as report
from benchmarks.joint.asking import FIRST_HOW, ROUND, WAYS, Session
from benchmarks.joint.people import Person, drawn
from benchmarks.joint.sets import SYNTHETIC
from crossview.engine.findings.questions.beliefs import FIRST

NOTIONS = {"uniform": 2, "clustered": 2, "poses": 0}
"""Which notion of a set people are asked about: of the synthetic ones the four-dimensional one."""
ANSWERS = (500, 1_000, 2_000, 3_000, 4_000, 6_000, 8_000)
ERRORS = (0, 5, 15)
TEST, PER_GRID = 20_000, 8
"""Test triplets; and single questions for each grid, whose budgets are so much smaller."""


def measure(options: argparse.Namespace) -> dict[str, Any]:
    """Return settings, rows and trials: a trial is of a set, an error rate, a way to ask and a seed."""
    settings = {
        "protocol": (__doc__ or "").split("\n\n", 1)[1].strip(),
        "seeds": list(seeds_of(options)),
        "answers": options.answers,
        "errors": options.errors,
        "single questions for each grid": PER_GRID,
        "test": TEST,
        "dimensions": FIRST_HOW.n_components,
        "triplets of an object before questions are chosen": FIRST,
        "rounds": ROUND,
        "seconds": {name: way.seconds for name, way in WAYS.items()},
        "workers": options.workers,
    }
    tasks = {
        f"{name}, {share} % errors, {way}, seed {seed}": (name, share, way, seed)
        for name in options.sets
        for share in options.errors
        for way in WAYS
        for seed in seeds_of(options)
    }
    trials = run_trials(options, settings, tasks, run, options.answers, progress=report.progress)
    return {"settings": settings, "rows": report.rows(trials), "trials": trials}


def run(task: tuple[str, int, str, int], answers: tuple[int, ...]) -> dict[str, Any]:
    """Return the errors of one way to ask after every number of questions, on one set, by one kind of people."""
    name, share, way, seed = task
    began = time.perf_counter()
    distances = SYNTHETIC[name](seed).distances[NOTIONS[name]]
    generator = np.random.default_rng([seed, 7])
    test = drawn(distances, TEST, generator)
    session = Session(WAYS[way], distances, Person.who_errs(share / 100, distances, generator), seed)
    curve = []
    for budget in answers:
        questions = budget if WAYS[way].candidates == 2 else budget // PER_GRID
        if not questions:
            continue
        session.ask(questions)
        curve.append({"questions": questions, "error": session.error(test), "slips": session.slips()})
    seconds = time.perf_counter() - began
    return {"set": name, "share": share, "way": way, "seed": seed, "curve": curve, "seconds": seconds}


def _arguments(parser: argparse.ArgumentParser) -> None:
    trial_arguments(parser, trials=3)
    parser.add_argument("--sets", nargs="+", choices=list(NOTIONS), default=list(NOTIONS), help="which objects")
    parser.add_argument("--answers", type=numbers, default=ANSWERS, help="numbers of single questions")
    parser.add_argument("--errors", type=_shares, default=ERRORS, help="per cent of random triplets answered wrongly")


def _shares(text: str) -> tuple[int, ...]:
    return tuple(int(part) for part in text.split(","))


BENCHMARK = Benchmark(
    "joint-active",
    __doc__,
    _arguments,
    measure,
    report.markdown,
    report.plot,
    "error against answers",
    headline=stated(
        "Learn a notion from 4,000 answers of people, who err in 5 % of them: error",
        "{0:.1f} % (random questions)",
        "{1:.1f} % (chosen questions)",
        {"set": "uniform", "people err": 0.05, "method": "random", "questions": 4000, "metric": "error"},
        {"set": "uniform", "people err": 0.05, "method": "active", "questions": 4000, "metric": "error"},
        factor=100,
    ),
)
