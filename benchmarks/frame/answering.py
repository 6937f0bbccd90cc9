"""A worker in a process of its own: it does what it is asked through a connection, and ends with its parent.

Any interpreter can run it, so that it imports nothing but Python's own modules.
"""

import json
import os
import threading
import time
from multiprocessing.connection import Connection


def answer(worker: object, descriptor: int) -> None:
    """Call the methods of a worker that the other end names, until it closes the connection.

    A question is a JSON object: "action", the name of a method, and its arguments by name. The answer is the JSON
    object that the method returns, or {"failed": the type and first line of its error}.
    """
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    with Connection(descriptor) as connection:
        while True:
            try:
                question = json.loads(connection.recv_bytes())
            except EOFError:
                return
            try:
                reply = getattr(worker, question.pop("action"))(**question)
            except Exception as error:  # noqa: BLE001  # a peer may fail in any way, and is reported with its reason
                reply = {"failed": f"{type(error).__name__}: {error}".splitlines()[0]}
            connection.send_bytes(json.dumps(reply).encode())


def _end_with(parent: int) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)  # the parent was killed: nobody waits for the answers
