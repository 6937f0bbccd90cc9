"""Run by the peers' interpreter, which has metric-learn and nothing of ours: LEARNER SETTINGS IN.npz OUT.npz.

Ends with the process that started it.
"""

import inspect
import json
import os
import resource
import sys
import threading
import time
import warnings

import metric_learn
import numpy as np


def main(learner: str, settings: str, inputs: str, outputs: str) -> None:
    with np.load(inputs) as arrays:
        data = dict(arrays)
    kind = getattr(metric_learn, learner)
    options = json.loads(settings)
    rows = data["rows"]
    if "tuples" in data:
        options["preprocessor"] = rows
        arguments = [data[name] for name in ("tuples", "similar") if name in data]
    else:
        arguments = [rows, data["labels"]]
    accepted = inspect.signature(kind).parameters
    unknown = set(options) - set(accepted)
    if unknown:
        raise SystemExit(f"{learner} has no settings {sorted(unknown)}; it has {sorted(accepted)}")
    estimator = kind(**options)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        began = time.perf_counter()
        estimator.fit(*arguments)
        seconds = time.perf_counter() - began
    np.savez(outputs, components=estimator.components_)
    iterations = getattr(estimator, "n_iter_", None)
    report = {
        "seconds": seconds,
        "iterations": None if iterations is None else int(iterations),
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "warnings": sorted({str(warning.message) for warning in caught}),
    }
    print(json.dumps(report))


def end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)  # the parent was killed: nobody waits for the result


if __name__ == "__main__":
    threading.Thread(target=end_with, args=(os.getppid(),), daemon=True).start()
    main(*sys.argv[1:])
