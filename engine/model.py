"""A model that computes rows of views, registered in a home, and the result of its first run."""

from crossview.features.models.device import chosen_device as chosen_device
from crossview.features.models.folder import read_folder as read_folder
from crossview.features.models.manifest import installed as installed
from crossview.features.models.session import use_device as use_device
from crossview.features.models.stored import Model as Model
from crossview.features.models.trial import Trial as Trial
from crossview.features.models.trial import check_installed as check_installed
