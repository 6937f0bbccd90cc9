"""The check of keys, before the request of a call is read."""

import logging
from dataclasses import replace

from crossview.engine.values.errors import Argument, StorageError
from crossview.server.core.dispatch.call import Call
from crossview.server.core.dispatch.dispatcher import Gate
from crossview.server.core.dispatch.permission import check_scope
from crossview.server.core.keys.keys import KeyRing
from crossview.server.wire.errors import UnauthenticatedError
from crossview.server.wire.identity import Identity

HEADER = "authorization"
_SCHEME = "bearer "
_log = logging.getLogger("crossview.server")


class Access(Gate):
    """Enters the identity of each caller, and refuses a call without a valid key or the scope of its method.

    While the home needs no keys, every caller keeps the identity that its transport states, by default ``LOCAL``.
    """

    def __init__(self, keys: KeyRing) -> None:
        self._keys = keys

    def begin(self, call: Call) -> None:
        """See ``Around``; raises UnauthenticatedError or PermissionDeniedError."""
        identity = self._identity(call)
        if identity is not call.caller.identity:
            call.caller = replace(call.caller, identity=identity)
        check_scope(call.caller.identity, call.method)

    def _identity(self, call: Call) -> Identity:
        try:
            required = self._keys.required()
        except StorageError as error:
            _log.error("%s", error)
            raise UnauthenticatedError("the server cannot read its keys, and refuses all calls: see its log") from error
        if not required:
            return call.caller.identity
        headers = [value for name, value in call.caller.metadata() if name == HEADER]
        if not headers:
            raise UnauthenticatedError(
                "the server needs a key: give it as ",
                Argument("key"),
                ", in the variable CROSSVIEW_KEY of commands, or in the header authorization: Bearer KEY",
            )
        text = headers[0]
        if len(headers) > 1 or not isinstance(text, str) or not text[: len(_SCHEME)].lower() == _SCHEME:
            raise UnauthenticatedError("the header authorization must occur once, in the form: Bearer KEY")
        return self._keys.identity(text[len(_SCHEME) :].strip())
