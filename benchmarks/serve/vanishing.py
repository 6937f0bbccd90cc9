"""Clients that stop reading, vanish during calls, or send the first half of a stream and wait."""

import asyncio
import itertools
from collections.abc import AsyncIterator, Awaitable
from typing import Any

import grpc
import numpy as np
from google.protobuf.descriptor import MethodDescriptor

from benchmarks.serve.findings import Findings, of_call

_LARGE = [
    ("grpc.max_send_message_length", -1),
    ("grpc.max_receive_message_length", -1),
    ("grpc.use_local_subchannel_pool", 1),
]
_AT_ONCE, _LONGEST, _GIVEN_UP = 16, 0.5, 10.0


async def vanish(address: str, requests: dict[str, list[bytes]], count: int, seed: int, findings: Findings) -> None:
    """Begin so many calls by path, each given up after a while by chance: by the call, or by the connection."""
    generator = np.random.default_rng(seed)
    numbers = itertools.count()
    every = [(path, data) for path, ones in requests.items() for data in ones]

    async def client() -> None:
        while (number := next(numbers)) < count:
            path, data = every[number % len(every)]
            channel = _connected(address)
            call = channel.unary_unary(path)(data, timeout=_GIVEN_UP)
            await asyncio.sleep(generator.uniform(0, _LONGEST))
            if generator.random() < 0.5:
                call.cancel()
            await channel.close()
            await _noted("clients", call, path, data, findings)

    await asyncio.gather(*(client() for _ in range(_AT_ONCE)))


async def half_streams(
    address: str, method: MethodDescriptor, message: bytes, megabytes: int, findings: Findings
) -> None:
    """Send so much, as far as the server takes it, through streams that do not end but are given up."""
    path = f"/{method.containing_service.full_name}/{method.name}"

    async def messages() -> AsyncIterator[bytes]:
        for _ in range(max(1, megabytes * 2**20 // _AT_ONCE // len(message))):
            yield message
        await asyncio.sleep(_GIVEN_UP)

    async def client() -> None:
        async with _connected(address) as channel:
            if not method.server_streaming:
                call = channel.stream_unary(path)(messages(), timeout=_GIVEN_UP)
                await _noted("streams", call, path, message, findings)
                return
            answers = channel.stream_stream(path)(messages(), timeout=_GIVEN_UP)
            await _noted("streams", _read(answers), path, message, findings)

    await asyncio.gather(*(client() for _ in range(_AT_ONCE)))


async def unread(address: str, path: str, message: bytes, count: int, findings: Findings) -> None:
    """Send so many requests, as far as the server takes them, through streams whose answers are not read."""

    async def client() -> None:
        async with _connected(address) as channel:
            call = channel.stream_stream(path)(timeout=_GIVEN_UP)
            try:
                for _ in range(count // _AT_ONCE):
                    await asyncio.wait_for(call.write(message), _GIVEN_UP / 4)
            except (TimeoutError, asyncio.CancelledError, grpc.RpcError, asyncio.InvalidStateError):
                pass  # the server takes no more, or has given the stream up
            call.cancel()
            findings.note("clients", path, message, "CANCELLED")

    await asyncio.gather(*(client() for _ in range(_AT_ONCE)))


def _connected(address: str) -> Any:
    return grpc.aio.insecure_channel(address, options=_LARGE)


async def _read(answers: Any) -> None:
    async for _ in answers:
        pass


async def _noted(part: str, call: Awaitable[Any], path: str, data: bytes, findings: Findings) -> None:
    try:
        await call
        findings.note(part, path, data, "OK")
    except asyncio.CancelledError:
        findings.note(part, path, data, "CANCELLED")
    except grpc.RpcError as error:
        status, message = of_call(error)
        if status != "DEADLINE_EXCEEDED":  # they were made to run out of time
            findings.note(part, path, data, status, message)
