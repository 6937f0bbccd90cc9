"""The benchmarks by name."""

import importlib
from collections.abc import Mapping

from benchmarks.frame.benchmark import Benchmark

MODULES: Mapping[str, str] = {
    "own": "own_files",
    "unseen": "unseen.benchmark",
    "match": "match.benchmark",
    "information": "information.benchmark",
    "copies": "copies.benchmark",
    "duplicates": "duplicates.benchmark",
    "duplicate-files": "duplicates.files",
    "examples": "examples.benchmark",
    "fusion": "fusion.benchmark",
    "words": "pretrained.words",
    "taught": "pretrained.taught",
    "artists": "pretrained.artists",
    "conditions": "store.conditions",
    "follow": "store.follow",
    "multi-npp": "multi_npp.benchmark",
    "tuning": "unseen.tuning",
    "wikipedia": "wikipedia.benchmark",
    "attributes": "attributes.benchmark",
    "attributes-lmnn": "attributes_lmnn.benchmark",
    "changes": "changes.benchmark",
    "more-less": "more_less.benchmark",
    "fantope-toy": "fantope_toy.benchmark",
    "isolet": "isolet.benchmark",
    "taxonomy": "taxonomy.benchmark",
    "joint-poses": "joint.objects",
    "joint-attributes": "joint.objects",
    "joint-newview": "joint.newview",
    "joint-consistency": "joint.consistency",
    "music": "music.benchmark",
    "joint-active": "joint.active",
    "verification": "verification.benchmark",
    "hashing": "hashing.benchmark",
    "musl": "musl.benchmark",
    "musl-novel": "musl.novel",
    "joint-synthetic": "joint.synthetic",
    "joint-hidden": "joint.hidden",
    "extract": "speed.extract",
    "model-speed": "speed.models",
    "storage": "speed.storage",
    "transfer": "speed.transfer",
    "npp-scale": "speed.npp_scale",
    "train-memory": "speed.training",
    "learner-speed": "speed.learners",
    "metric-speed": "speed.metrics",
    "qwise-speed": "speed.qwise",
    "joint-speed": "joint.speed",
    "hamming-speed": "speed.hamming",
    "near-pairs": "speed.near_pairs",
    "lean": "speed.lean",
    "store": "store.benchmark",
    "scale": "scale.benchmark",
    "large": "scale.large",
    "million": "scale.million",
    "publish": "publishing.benchmark",
    "serve-speed": "serve.benchmark",
    "hostile": "serve.hostile",
    "many-collections": "serve.many",
    "soak": "serve.soak",
    "page-speed": "serve.pages",
    "oracle": "serve.oracle.benchmark",
}
"""Modules of this package, imported on demand, in the order of the documents.

A module defines ``BENCHMARK``, or ``BENCHMARKS`` by name if it defines several.
"""


def benchmark(name: str) -> Benchmark:
    """Return a benchmark; KeyError for an unknown name."""
    module = importlib.import_module(f"benchmarks.{MODULES[name]}")
    entry: Benchmark = module.BENCHMARKS[name] if hasattr(module, "BENCHMARKS") else module.BENCHMARK
    return entry
