"""The screen in a browser: textual-serve runs one specmon for each visitor, and only pages of our own may reach it."""

from __future__ import annotations

import asyncio
import logging
import os
import shlex
import signal
import sys
from collections.abc import Awaitable, Callable, Sequence
from urllib.parse import urlsplit

import click

from specmon.errors import ConfigError
from specmon.sources.loopback import is_loopback, is_own_name

SCREENS = ("connect", "replay", "demo")  # the commands that have a screen to show


def serve(*, words: tuple[str, ...], host: str, port: int) -> int:
    """Serve until Ctrl+C; each visitor gets a process of its own.

    Raises ConfigError when the extra is not installed, the command has no screen, or the port cannot be had.
    """
    if words[0] not in SCREENS:
        raise ConfigError(f"`{words[0]}` has no screen to serve. Serve one of: {', '.join(SCREENS)}.")
    _check(words)
    try:
        import textual_serve.server  # noqa: F401  # only whether it is there
    except ImportError as error:
        raise ConfigError(
            "the browser needs an extra package: run `pip install '.[web]'` in the checkout of specmon."
        ) from error
    if not is_loopback(host):
        click.echo(
            f"specmon: {host} can be reached from other machines, and there is no login: whoever opens the page can do "
            "what you can do in this screen. Put a proxy with a login before it, or leave --host away.",
            err=True,
        )
    # What a terminal would say of itself: the browser's is a whole one, wherever the server was started.
    os.environ.update(TERM="xterm-256color", PYTHONIOENCODING="utf-8")
    try:
        asyncio.run(_run(host, port, shlex.join([sys.executable, "-m", "specmon", *words])))
    except OSError as error:
        raise ConfigError(
            f"cannot serve on {host}:{port}: {error.strerror or error}. Choose another with --port."
        ) from error
    return 0


def is_own_page(host_header: str, origin: str | None, host: str) -> bool:
    """Whether a request comes from our own page, opened under a name that we serve.

    A page of another site can reach a server on loopback through the browser of somebody who has both open: by a
    WebSocket, which no same-origin rule stops, or by a name of its own that it makes point here (DNS rebinding). The
    first is told by `Origin`, the second by `Host`. Bound to an address that others reach, names are the user's affair.
    """
    if is_loopback(host) and not is_own_name(host_header):
        return False
    return origin is None or urlsplit(origin).netloc == host_header


def _check(words: Sequence[str]) -> None:
    """A wrong option is told here, not in the browser of the first visitor."""
    if not {"-h", "--help"}.isdisjoint(words):
        raise ConfigError(f"see `specmon {words[0]} --help`.")
    program = click.get_current_context().find_root().command
    if isinstance(program, click.Group):
        program.commands[words[0]].make_context(f"specmon {words[0]}", list(words[1:]))


async def _run(host: str, port: int, command: str) -> None:
    from aiohttp import web
    from textual_serve.server import Server

    Answer = Callable[[web.Request], Awaitable[web.StreamResponse]]

    @web.middleware
    async def own_pages_only(request: web.Request, handler: Answer) -> web.StreamResponse:
        if not is_own_page(request.headers.get("Host", ""), request.headers.get("Origin"), host):
            raise web.HTTPForbidden(text="specmon answers only its own page.\n")
        return await handler(request)

    shown = f"[{host}]" if ":" in host else host
    server = Server(command, host=host, port=port, title="specmon", public_url=f"http://{shown}:{port}")
    # The parts of `Server.serve`, without its banner and its loop: what cannot be bound is told before anything is.
    app = await server._make_app()
    app.middlewares.append(own_pages_only)
    app.on_startup.clear()
    logging.basicConfig(level=logging.WARNING, format="specmon: %(message)s")
    runner = web.AppRunner(app, access_log=None)
    ended = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, ended.set)
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port, shutdown_timeout=2).start()
        click.echo(f"Open {server.public_url} in a browser. Ctrl+C ends it.")
        sys.stdout.flush()
        await ended.wait()
    finally:
        await runner.cleanup()
