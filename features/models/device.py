"""The device that runs the models: a choice for a machine, not for a view. Processes inherit it by a variable."""

import os
from typing import Literal, cast, get_args

from crossview.features.errors import ModelError

VARIABLE = "CROSSVIEW_DEVICE"
Device = Literal["cpu", "cuda"]
PROVIDERS: dict[Device, str] = {"cpu": "CPUExecutionProvider", "cuda": "CUDAExecutionProvider"}
"""onnxruntime's names."""


def chosen_device() -> Device:
    """Return the device of this process [default: cpu]; ModelError for an unknown one."""
    return checked_device(os.environ.get(VARIABLE) or "cpu")


def checked_device(name: str) -> Device:
    """Return a device by its name; ModelError for an unknown one."""
    if name not in get_args(Device):
        raise ModelError(f"{name!r} is not a device that runs models ({VARIABLE}): choose cpu or cuda")
    return cast(Device, name)


def on_graphics_card() -> bool:
    """Return whether models run on a graphics card."""
    return os.environ.get(VARIABLE) == "cuda"
