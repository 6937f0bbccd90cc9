"""Shim."""

import numpy as np

Selection = np.ndarray
