"""The options that several commands share, each as a decorator."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

_Function = TypeVar("_Function", bound=Callable[..., Any])  # what click decorates has any signature


def sides(function: _Function) -> _Function:
    """--baseline and --spec."""
    for option in (
        click.option(
            "--spec",
            "speculative",
            metavar="SOURCE",
            multiple=True,
            help="The log of the speculative server; may be given several times.",
        ),
        click.option(
            "--baseline",
            metavar="SOURCE",
            multiple=True,
            help="The log of the server without speculation; may be given several times.",
        ),
    ):
        function = option(function)
    return function


def reference(function: _Function) -> _Function:
    for option in (
        click.option(
            "--reference-tok-s",
            envvar="SPECMON_REFERENCE_TOK_S",
            metavar="TOK_S[@RUNNING]",
            help="A reference without a file: the baseline's tokens per second, and at how many running requests.",
        ),
        click.option(
            "--reference",
            envvar="SPECMON_REFERENCE",
            metavar="NAME",
            help="The recorded baseline: NAME in ./references or in the user's data folder, or the path of a file.",
        ),
    ):
        function = option(function)
    return function


def running(function: _Function) -> _Function:
    return click.option(
        "--running",
        envvar="SPECMON_RUNNING",
        metavar="N|LO-HI",
        help="Compare at N running requests, or over all numbers from LO to HI; else where both have most samples.",
    )(function)


def formats(function: _Function) -> _Function:
    return click.option(
        "--format-file",
        "format_files",
        metavar="FILE",
        multiple=True,
        type=click.Path(path_type=Path),
        help="A custom format (TOML) to read the logs with, besides those in your configuration folder.",
    )(function)


def client(function: _Function) -> _Function:
    return click.option(
        "--client",
        "clients",
        metavar="[SERVER=]FILE",
        multiple=True,
        help="What a load generator measured (sglang.bench_serving, vllm bench serve, aiperf), to check the log by.",
    )(function)


def metrics(function: _Function) -> _Function:
    return click.option(
        "--metrics",
        metavar="[SERVER=]FILE",
        multiple=True,
        help="Metrics pages of the server, one or a series of them; else X.metrics beside X.log.",
    )(function)


def host_format(function: _Function) -> _Function:
    return click.option(
        "--format",
        "form",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="How to print the result.",
    )(function)


_SSH_NAMES = ("port", "identities", "jump", "ssh_config", "known_hosts")


def ssh(function: _Function) -> _Function:
    """How hosts are reached; the command gets all of it as `ssh`."""

    @wraps(function)
    def gathered(**options: Any) -> Any:
        ssh = {name: options.pop(name) for name in _SSH_NAMES}
        return function(**options, ssh=ssh)

    file = click.Path(path_type=Path)
    for option in (
        click.option(
            "--known-hosts", type=file, envvar="SPECMON_SSH_KNOWN_HOSTS", help="Instead of ~/.ssh/known_hosts."
        ),
        click.option("-F", "--ssh-config", type=file, envvar="SPECMON_SSH_CONFIG", help="Instead of ~/.ssh/config."),
        click.option(
            "-J", "--jump", envvar="SPECMON_SSH_JUMP", metavar="[USER@]HOST[:PORT]", help="Go through this host."
        ),
        click.option(
            "-i",
            "--identity",
            "identities",
            envvar="SPECMON_SSH_IDENTITY",
            multiple=True,
            type=file,
            help="A private key file.",
        ),
        click.option(
            "-p",
            "--port",
            envvar="SPECMON_SSH_PORT",
            type=click.IntRange(1, 65535),
            help="The SSH port, when the SSH configuration has none.",
        ),
    ):
        gathered = option(gathered)
    return gathered  # type: ignore[return-value]  # the same function with one more step before it


_PAGE_NAMES = ("metrics_header_env", "metrics_ca", "metrics_insecure")


def pages(function: _Function) -> _Function:
    """How servers' own pages are asked for; the command gets all of it as `pages`."""

    @wraps(function)
    def gathered(**options: Any) -> Any:
        pages = {name: options.pop(name) for name in _PAGE_NAMES}
        return function(**options, pages=pages)

    for option in (
        click.option("--metrics-insecure", is_flag=True, help="Ask TLS servers without looking at their certificates."),
        click.option(
            "--metrics-ca",
            metavar="FILE",
            type=click.Path(path_type=Path),
            help="Certificates (PEM) to trust TLS servers by, instead of the system's.",
        ),
        click.option(
            "--metrics-header-env",
            metavar="[HOST[:PORT]=]NAME",
            multiple=True,
            help="For servers with an API key: the variable that holds the Authorization header (`Bearer KEY`) for "
            "HOST, else for the first; $SPECMON_METRICS_AUTHORIZATION does the same.",
        ),
    ):
        gathered = option(gathered)
    return gathered  # type: ignore[return-value]  # the same function with one more step before it


def span(function: _Function) -> _Function:
    for option in (
        click.option(
            "--warm-up",
            "warm_up_s",
            envvar="SPECMON_WARM_UP",
            type=click.IntRange(min=0),
            default=0,
            metavar="SECONDS",
            help="Leave out samples until so long after the server was ready.",
        ),
        click.option(
            "--run",
            type=click.IntRange(min=1),
            metavar="N",
            help="Which life of the server to judge; else the last.",
        ),
        click.option("--until", metavar="TIME", help="Leave out samples after this time of the log."),
        click.option(
            "--since",
            metavar="TIME",
            help="Leave out samples before this time of the log: 2026-02-26T16:41:43, 16:41:43, or -10m from its end.",
        ),
    ):
        function = option(function)
    return function


def screen(function: _Function) -> _Function:
    for option in (
        click.option("--ascii/--no-ascii", "is_ascii", envvar="SPECMON_ASCII", help="Draw with ASCII characters only."),
        click.option("--theme", envvar="SPECMON_THEME", metavar="NAME", help="The colour theme to begin with."),
        click.option(
            "--interval",
            "interval_s",
            envvar="SPECMON_INTERVAL",
            type=click.FloatRange(min=0.1),
            default=5.0,
            show_default=True,
            help="Seconds between two sets of plain lines.",
        ),
        click.option(
            "--plain/--no-plain",
            "is_plain",
            envvar="SPECMON_PLAIN",
            help="Print lines instead of a screen; chosen by itself when there is no terminal.",
        ),
    ):
        function = option(function)
    return function


def notify(function: _Function) -> _Function:
    for option in (
        click.option(
            "--webhook",
            envvar="SPECMON_WEBHOOK",
            metavar="URL",
            help="Post a change of the verdict there as JSON; SPECMON_WEBHOOK keeps the address off the command line.",
        ),
        click.option(
            "--notify/--no-notify",
            "on_desktop",
            envvar="SPECMON_NOTIFY_DESKTOP",
            help="Show a change of the verdict as a notification of the desktop, through the terminal.",
        ),
    ):
        function = option(function)
    return function


def speed(default: str) -> Callable[[_Function], _Function]:
    return click.option(
        "--speed",
        type=_Speed(),
        default=default,
        show_default=True,
        help="How many times faster than it happened, or `max` for as fast as possible.",
    )


class _Speed(click.ParamType[float]):
    name = "factor"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        text = str(value).strip().lower()
        if text in ("max", "inf"):  # the default of an option comes here a second time, as a number
            return float("inf")
        try:
            factor = float(text.removesuffix("x"))
        except ValueError:
            factor = 0.0
        if not 0 < factor < float("inf"):
            self.fail(f"{value!r} is no speed; write a number above 0, such as 10, or max", param, ctx)
        return factor


class _Share(click.ParamType[float]):
    name = "share"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        from specmon.commands.check import parse_share

        return parse_share(str(value))


def out(function: _Function) -> _Function:
    for option in (
        click.option("--replace", "is_replaced", is_flag=True, help="Start anew instead of adding to what is there."),
        click.option(
            "--out",
            metavar="FOLDER",
            type=click.Path(path_type=Path),
            help="Write NAME.toml into this folder.",
        ),
        click.option("--host", help="The host it was measured on."),
        click.option(
            "--tolerance",
            type=_Share(),
            help="How far the cycle time may be off, as 5% or 0.05; 5% unless given.",
        ),
        click.option("--note", metavar="TEXT", help="What to remember about it."),
    ):
        function = option(function)
    return function


def one_level(function: _Function) -> _Function:
    return click.option(
        "--running", type=click.IntRange(min=1), metavar="B", help="Only this number of running requests; else all."
    )(function)
