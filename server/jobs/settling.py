"""How a job ended whose process is dead: by what it left in its collection, else by an error."""

import logging

from google.protobuf.any_pb2 import Any
from google.rpc.status_pb2 import Status

from crossview.engine.errors import NotFoundError, StorageError
from crossview.engine.home import Home
from crossview.server.jobs.operation import collection_of, kind_of
from crossview.server.methods import JOBS
from crossview.server.wire.convert_info import from_space
from crossview.server.wire.status import refusal
from crossview.v1.jobs_pb2 import SubmitJobRequest

_log = logging.getLogger("crossview.jobs")


def settled(home: Home, request: SubmitJobRequest, otherwise: Exception) -> Status | Any:
    """Return the space that a job made, if its collection has it, else the status of an error.

    A generation is stored in one transaction, with the id of the job. Nobody may carry the job out any more. Raises
    BusyError while others keep the collection from being read: ask again later.
    """
    if JOBS[kind_of(request)].makes_space:
        try:
            with home.open(collection_of(request)) as collection:
                made = collection.spaces.made_by(request.request_id)
                if made is not None:
                    response = Any()
                    response.Pack(from_space(collection.name, made))
                    return response
        except NotFoundError:
            pass  # the collection was deleted, and all that the job can have made with it
        except StorageError as error:
            _log.error("%s", error)
            otherwise = type(otherwise)(f"{otherwise}. Whether it made a space is unknown: {error.message}")
    return refusal(otherwise).status
