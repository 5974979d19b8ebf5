"""The protocol: tools over standard input and output, and nothing else on any stream.

While it serves, standard error and stray output go to the holder's log, because clients show both to whom they like.
There are no progress messages and no log notifications. Calls run one after the other.
"""

import contextlib
import json
import logging
import os
import sys
from collections.abc import Awaitable, Callable, Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

import anyio
import anyio.to_thread
import mcp.types as wire
from mcp.server.lowlevel import Server
from mcp.server.stdio import stdio_server

from understudy.agents.arguments import checked
from understudy.agents.log import LogError
from understudy.agents.phases import Told
from understudy.agents.tools import TOOLS, Tool
from understudy.files import open_to_append
from understudy.version import __version__

if TYPE_CHECKING:
    from understudy.agents.desk import Desk
    from understudy.agents.log import HolderLog

MOST_BYTES = 1 << 20
"""Of one message; a longer one ends the session."""
_INSTRUCTIONS = (
    "Understudy answers questions about a confidential table. Call `offers` first. Quotes, forecasts, verification and "
    "figures of releases are free. Answers and drafts at a price spend a privacy budget that never comes back: quote "
    "first, and ask as little as you need. Refusals are sentences that say what to do. What is wrong with the data is "
    "never told here; only the holder can read it."
)


def server_of(desk: "Desk") -> "Server[Any]":
    """The server of one desk."""
    tools = {tool.name: tool for tool in TOOLS}
    one_at_a_time = anyio.CapacityLimiter(1)

    async def list_tools(_context: Any, _params: Any) -> wire.ListToolsResult:
        return wire.ListToolsResult(tools=[_shown(tool) for tool in TOOLS])

    async def call_tool(_context: Any, params: wire.CallToolRequestParams) -> wire.CallToolResult:
        tool = tools.get(params.name)
        if tool is None:
            return _refusal(f"there is no tool {params.name[:80]!r}; the tools are: {', '.join(tools)}.")
        return await anyio.to_thread.run_sync(called, desk, tool, params.arguments, limiter=one_at_a_time)

    server: Server[Any] = Server(
        "understudy",
        version=__version__,
        title="Understudy",
        instructions=_INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    server.middleware.clear()  # telemetry would carry errors elsewhere
    return server


def called(desk: "Desk", tool: Tool, given: Any) -> wire.CallToolResult:
    """One call, whose every outcome is a result: the protocol's library sends the words of an error that reaches it."""
    try:
        return _called(desk, tool, given)
    except LogError as reason:  # wherever it was met: before, between or behind what was to be written down
        return _refusal(str(reason))


def _called(desk: "Desk", tool: Tool, given: Any) -> wire.CallToolResult:
    try:
        facts = tool.does(desk, **checked(tool.arguments, given))
        text = json.dumps(facts, ensure_ascii=False, allow_nan=False)
    except Told as reason:
        return _refusal(str(reason))
    except LogError:
        raise
    except Exception as reason:
        reference = desk.log.failed(tool.name, reason)
        return _refusal(f"the server made a mistake; the holder finds it under {reference} in the confidential log.")
    desk.log.say("called", tool=tool.name, arguments=given)
    return wire.CallToolResult(content=[wire.TextContent(type="text", text=text)], structured_content=json.loads(text))


def _refusal(sentence: str) -> wire.CallToolResult:
    return wire.CallToolResult(content=[wire.TextContent(type="text", text=sentence)], is_error=True)


def _shown(tool: Tool) -> wire.Tool:
    return wire.Tool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=tool.input_schema,
        output_schema=tool.output_schema,
        annotations=wire.ToolAnnotations(
            title=tool.title,
            read_only_hint=not tool.writes,
            destructive_hint=tool.costs,  # what is spent is gone
            idempotent_hint=not tool.writes or tool.name == "answer",
            open_world_hint=False,
        ),
    )


class BoundedLines:
    """Lines of a stream, each of bounded length; a longer one ends it, before it fills the memory."""

    def __init__(self, stream: BinaryIO, log: "HolderLog") -> None:
        self._stream, self._log = stream, log

    def __aiter__(self) -> "BoundedLines":
        return self

    async def __anext__(self) -> str:
        line = await anyio.to_thread.run_sync(self._stream.readline, MOST_BYTES + 1, abandon_on_cancel=True)
        if len(line) > MOST_BYTES:
            self._log.say(f"a message of more than {MOST_BYTES:,} bytes ended the session")
        if not line or len(line) > MOST_BYTES:
            raise StopAsyncIteration
        return line.decode("utf-8", errors="replace")


def serve(desk: "Desk") -> None:
    """Serve standard input and output until the client hangs up."""
    with _quiet(desk.log) as stdin:
        anyio.run(_serving(desk, stdin))


def _serving(desk: "Desk", stdin: BinaryIO) -> Callable[[], Awaitable[None]]:
    async def serving() -> None:
        lines: Any = BoundedLines(stdin, desk.log)
        server = server_of(desk)
        async with stdio_server(stdin=lines) as (read, write):  # moves standard output to where standard error goes
            await server.run(read, write, server.create_initialization_options())

    return serving


@contextlib.contextmanager
def _quiet(log: "HolderLog") -> Iterator[BinaryIO]:
    """Standard error, warnings and log lines of every library go to the holder's log; nothing else reads the input.

    Standard error stays there: what is said after the end may be about the data too.
    """
    sys.stderr.flush()
    handle = open_to_append(log.path)
    os.dup2(handle, 2)
    os.close(handle)
    logging.captureWarnings(True)
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, force=True)
    private = os.dup(0)
    with open(os.devnull, "rb") as nowhere:  # noqa: PTH123 - a device, not a file
        os.dup2(nowhere.fileno(), 0)
    with os.fdopen(private, "rb", closefd=False) as stdin:  # a thread may still wait for a line when all ends
        yield stdin
