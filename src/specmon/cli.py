"""Options to settings to a call. Everything heavy is imported inside the command that needs it."""

from __future__ import annotations

import errno
import io
import os
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, TypeVar

import click

from specmon import __version__
from specmon.errors import SpecmonError
from specmon.visible import visible

_Function = TypeVar("_Function", bound=Callable[..., Any])  # what click decorates has any signature

EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


def main(args: list[str] | None = None) -> None:
    """Run a command line and exit with the codes of every command: 0, 1, 2, 3 or 130."""
    sys.exit(_run(args))


def _run(args: list[str] | None) -> int:
    if sys.stdout is None:  # `>&-`; what would be printed has nowhere to go
        if sys.stderr is not None:
            click.echo("specmon: the result cannot be written: stdout is closed. Leave it open.", err=True)
        return EXIT_USAGE
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that has no × gets a ?, never a traceback
    # numpy holds columns here; the threads of its linear algebra would cost more than many a log to read.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # Plugins for pydantic that others have installed have no business here, and looking for them takes time.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
    try:
        result = cli.main(args=args, prog_name="specmon", standalone_mode=False)
        sys.stdout.flush()
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help())
        return 0
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except SpecmonError as error:
        click.echo(f"specmon: {visible(str(error))}", err=True)
        return EXIT_USAGE
    except (click.Abort, KeyboardInterrupt):
        return EXIT_INTERRUPTED
    except (BrokenPipeError, SystemExit):  # click turns a broken pipe into an exit
        # The reader (head, less) has gone; without this the interpreter complains while it closes stdout.
        _silence_stdout()
        return 0
    except OSError as error:
        if error.errno not in (errno.ENOSPC, errno.EIO, errno.EDQUOT):
            raise
        _silence_stdout()
        click.echo(f"specmon: the result cannot be written: {os.strerror(error.errno).lower()}. Make room.", err=True)
        return EXIT_USAGE
    return result if isinstance(result, int) else 0


def _silence_stdout() -> None:
    """Nothing that is still held for a stdout that is gone may be written when the interpreter ends."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _sides(function: _Function) -> _Function:
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


def _reference(function: _Function) -> _Function:
    for option in (
        click.option(
            "--reference-tok-s",
            metavar="TOK_S[@RUNNING]",
            help="A reference without a file: the baseline's tokens per second, and at how many running requests.",
        ),
        click.option(
            "--reference",
            metavar="NAME",
            help="The recorded baseline: NAME in ./references or in the user's data folder, or the path of a file.",
        ),
    ):
        function = option(function)
    return function


def _running(function: _Function) -> _Function:
    return click.option(
        "--running",
        metavar="N|LO-HI",
        help="Compare at N running requests, or over all numbers from LO to HI; else where both have most samples.",
    )(function)


def _formats(function: _Function) -> _Function:
    return click.option(
        "--format-file",
        "format_files",
        metavar="FILE",
        multiple=True,
        type=click.Path(path_type=Path),
        help="A custom format (TOML) to read the logs with, besides those in your configuration folder.",
    )(function)


def _client(function: _Function) -> _Function:
    return click.option(
        "--client",
        "clients",
        metavar="[SERVER=]FILE",
        multiple=True,
        help="What a load generator measured (sglang.bench_serving, vllm bench serve, aiperf), to check the log by.",
    )(function)


def _metrics(function: _Function) -> _Function:
    return click.option(
        "--metrics",
        metavar="[SERVER=]FILE",
        multiple=True,
        help="Metrics pages of the server, one or a series of them; else X.metrics beside X.log.",
    )(function)


def _host_format(function: _Function) -> _Function:
    return click.option(
        "--format",
        "form",
        type=click.Choice(["text", "json"]),
        default="text",
        show_default=True,
        help="How to print the result.",
    )(function)


_SSH_NAMES = ("port", "identities", "jump", "ssh_config", "known_hosts")


def _ssh(function: _Function) -> _Function:
    """How hosts are reached; the command gets all of it as `ssh`."""

    @wraps(function)
    def gathered(**options: Any) -> Any:
        ssh = {name: options.pop(name) for name in _SSH_NAMES}
        return function(**options, ssh=ssh)

    file = click.Path(path_type=Path)
    for option in (
        click.option("--known-hosts", type=file, help="Instead of ~/.ssh/known_hosts."),
        click.option("-F", "--ssh-config", type=file, help="Instead of ~/.ssh/config."),
        click.option("-J", "--jump", metavar="[USER@]HOST[:PORT]", help="Go through this host."),
        click.option("-i", "--identity", "identities", multiple=True, type=file, help="A private key file."),
        click.option(
            "-p", "--port", type=click.IntRange(1, 65535), help="The SSH port, when the SSH configuration has none."
        ),
    ):
        gathered = option(gathered)
    return gathered  # type: ignore[return-value]  # the same function with one more step before it


def _span(function: _Function) -> _Function:
    for option in (
        click.option(
            "--warm-up",
            "warm_up_s",
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


def _screen(function: _Function) -> _Function:
    for option in (
        click.option("--ascii", "is_ascii", is_flag=True, help="Draw with ASCII characters only."),
        click.option("--theme", metavar="NAME", help="The colour theme to begin with."),
        click.option(
            "--interval",
            "interval_s",
            type=click.FloatRange(min=0.1),
            default=5.0,
            show_default=True,
            help="Seconds between two sets of plain lines.",
        ),
        click.option(
            "--plain",
            "is_plain",
            is_flag=True,
            help="Print lines instead of a screen; chosen by itself when there is no terminal.",
        ),
    ):
        function = option(function)
    return function


def _speed(default: str) -> Callable[[_Function], _Function]:
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


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, "-V", "--version", message="specmon %(version)s")
def cli() -> None:
    """Is speculative decoding really faster, and is the baseline the one you think it is?

    specmon reads the logs of LLM servers and shows a baseline and a speculative server side by side: tokens per
    second, accept length, cycle time, the break-even, and whether the measured baseline still is the recorded one.
    """


@cli.command(epilog="Example: specmon connect gpu01 --baseline /var/log/base.log --spec /var/log/eagle3.log")
@click.argument("hosts", nargs=-1, required=True, metavar="HOST...")
@_sides
@_reference
@_running
@click.option("--from-start", is_flag=True, help="Read each log from its beginning, not only its last megabytes.")
@click.option(
    "--record",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Also capture everything into a new folder, for `specmon replay`.",
)
@_formats
@_ssh
@_screen
def connect(**options: Any) -> int:
    """Follow the logs of servers over SSH.

    Without --baseline and --spec the servers of each HOST (SGLang, vLLM, llama.cpp, TensorRT-LLM) are found by their
    processes, and the logs by where those write to; `specmon discover HOST` shows what would be chosen. The HOST local:
    is this machine, without SSH. A SOURCE is a path on the first HOST, HOST:PATH, or ./PATH on this machine; what else
    it can be, `specmon tail --help` says.
    """
    from specmon.commands.connect import connect as run

    return run(**options)


@cli.command(epilog="Example: specmon discover gpu01")
@click.argument("hosts", nargs=-1, metavar="[HOST]...")
@_host_format
@_ssh
def discover(**options: Any) -> int:
    """Show what `connect` would follow on each HOST, and why; without a HOST on this machine.

    For each server: role, port, model, whose it is, since when it runs, where its log goes, and what could not be read.
    The status is 2 when a host cannot be reached.
    """
    from specmon.commands.discover import discover as run

    return run(**options)


@cli.command(epilog="Example: specmon doctor gpu01")
@click.argument("hosts", nargs=-1, metavar="[HOST]...")
@_host_format
@_ssh
def doctor(**options: Any) -> int:
    """Check all that lies between here and the figures of each HOST; without a HOST this machine.

    Name, host key, login, shell, clock, servers, their logs, formats and metrics pages: each line is ok, or says what
    mends it. The status is 1 when something is wrong.
    """
    from specmon.commands.doctor import doctor as run

    return run(**options)


@cli.command(epilog="Example: specmon replay --baseline base.log --spec eagle3.log --speed 20")
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@_sides
@_reference
@_running
@_speed("1")
@_metrics
@_span
@_formats
@_ssh
@_screen
def replay(**options: Any) -> int:
    """Play captured logs by their own clock, on the same screen.

    A SOURCE is a log file, a capture directory or - for stdin.
    """
    from specmon.commands.replay import replay as run

    return run(**options)


@cli.command(
    short_help="Show a true story in 90 seconds, over a real SSH connection.", epilog="Example: specmon demo --speed 3"
)
@_speed("1")
@_screen
def demo(**options: Any) -> int:
    """Show a true story in 90 seconds, over a real SSH connection to this machine.

    A loopback SSH server with a throw-away key plays a capture of two servers; nothing else is needed.
    """
    from specmon.commands.demo import demo as run

    return run(**options)


@cli.command(
    short_help="Print every line of logs once and in order, also over SSH.",
    epilog="Example: specmon tail gpu01:/var/log/base.log gpu02:/var/log/eagle3.log",
)
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@click.option(
    "--from-start", is_flag=True, help="Begin at the first byte of each log; else only new lines are printed."
)
@click.option(
    "--backfill",
    type=click.IntRange(min=0),
    metavar="BYTES",
    help="Begin with the whole lines among the last BYTES of each log.",
)
@_ssh
def tail(**options: Any) -> int:
    """Print every line of logs once and in order, through faults, rotations and restarts.

    A SOURCE is a log file or a pattern, HOST:PATH, HOST:PORT or - for stdin; or, with HOST: before it or without,
    docker:NAME, compose:SERVICE, journal:UNIT, kube:NAMESPACE/POD[/CONTAINER], slurm:JOBID, tmux:PANE, cmd:COMMAND.
    Several get the prefix `NAME| `. Gaps and reconnects are told on stderr.
    """
    from specmon.commands.tail import tail as run

    return run(**options)


@cli.command(epilog="Example: specmon capture gpu01 --out monday")
@click.argument("sources", nargs=-1, required=True, metavar="HOST|SOURCE...")
@click.option("--out", metavar="DIR", required=True, type=click.Path(path_type=Path), help="A new or an empty folder.")
@click.option(
    "--for",
    "for_s",
    type=click.FloatRange(min=0, min_open=True),
    metavar="SECONDS",
    help="Stop after so long; else on Ctrl-C.",
)
@click.option("--from-start", is_flag=True, help="Read each log from its beginning, not only its last megabytes.")
@_ssh
def capture(**options: Any) -> int:
    """Keep logs as they come, with arrival times and the conditions of their servers, in one folder.

    Of a HOST every server is captured whose log can be followed; local: is this machine. `replay`, `summary`, `check`
    and `reference record` read the folder like a log. It can be read at any moment, also after a crash.
    """
    from specmon.commands.capture import capture as run

    return run(**options)


@cli.command(epilog="Example: specmon summary --format json base.log eagle3.log")
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@_sides
@_reference
@_running
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown", "csv", "html"]),
    default="text",
    show_default=True,
    help="How to print the result.",
)
@_client
@_metrics
@_span
@_formats
@_ssh
def summary(**options: Any) -> int:
    """Read logs to their ends and print the result.

    A SOURCE is a log file, a capture directory, HOST:PATH or - for stdin.
    """
    from specmon.commands.summary import summary as run

    return run(**options)


@cli.command(
    short_help="Judge logs and answer with the exit status: the gate for CI.",
    epilog="Example: specmon check base.log eagle3.log --reference nccl-tuned --format github",
)
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@_sides
@_reference
@click.option(
    "--fail-on",
    metavar="WORD,...",
    help="What must not be: slower,diverged,crash unless said otherwise; an unknown word lists all.",
)
@click.option(
    "--min-samples",
    type=click.IntRange(min=10),
    default=10,
    show_default=True,
    help="Clean samples a side below which nothing about speed is answered.",
)
@click.option(
    "--tolerance",
    metavar="SHARE",
    help="How far the baseline may lie from its reference, as 5% or 0.05; else what the reference says.",
)
@_running
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "github", "junit"]),
    default="text",
    show_default=True,
    help="How to print the answers.",
)
@click.option(
    "--report",
    metavar="FILE",
    type=click.Path(path_type=Path),
    help="Write the answers in that format to FILE, and text to stdout.",
)
@_client
@_span
@_formats
@_ssh
def check(**options: Any) -> int:
    """Judge logs like the screen does, and answer with the exit status: the gate for CI and scripts.

    The status is 0 when all is well, 1 when a question of --fail-on failed, 2 for wrong usage or unreadable input,
    3 when a question has no answer (too few samples, not comparable, no reference). 2 goes before 1, 1 before 3.
    """
    from specmon.commands.check import check as run

    return run(**options)


@cli.command(
    short_help="Rank many speculative runs against one baseline.",
    epilog="Example: specmon compare steps2.log steps3.log steps5.log --baseline base.log",
)
@click.argument("sources", nargs=-1, metavar="SOURCE...")
@click.option(
    "--baseline",
    metavar="SOURCE",
    multiple=True,
    help="The log without speculation; several are runs of one baseline, and then the runs are the unit.",
)
@_reference
@_running
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown", "csv"]),
    default="text",
    show_default=True,
    help="How to print the ranking.",
)
@_client
@_span
@_formats
@_ssh
def compare(**options: Any) -> int:
    """Rank many speculative runs against one baseline, and predict the best number of draft steps.

    Every run of a log is a row; runs of the same settings are one. --run narrows each log to one of its runs. A SOURCE
    that is the --baseline, too, is left out, so *.log may stand for all.
    """
    from specmon.commands.compare import compare as run

    return run(**options)


@cli.group(short_help="What logs can be read, and what is read out of one.")
def formats() -> None:
    """What logs can be read: built-in dialects, those of installed packages, and your own formats.

    Your own are TOML files in the `formats` folder of your specmon configuration, or named with --format-file.
    """


@formats.command("list", epilog="Example: specmon formats list --format-file mytool.toml")
@_formats
def formats_list(**options: Any) -> int:
    """List all dialects, where each is from, and how many of its samples are right."""
    from specmon.commands.formats import list_formats as run

    return run(**options)


@formats.command("fields", epilog="Example: specmon formats fields | grep _ms")
def formats_fields() -> int:
    """List the kinds of lines and the fields that a custom format can give, with their units."""
    from specmon.commands.formats import list_fields as run

    return run()


@formats.command("test", epilog="Example: specmon formats test ~/.config/specmon/formats/mytool.toml")
@click.argument("file", type=click.Path(path_type=Path))
def formats_test(**options: Any) -> int:
    """Run the samples of a custom format and print what each line gives.

    The status is 1 when a sample gives something else than the file says, 2 when the file itself is wrong.
    """
    from specmon.commands.formats import test_format as run

    return run(**options)


@formats.command("explain", epilog="Example: specmon formats explain --limit 5 server.log")
@click.argument("log")
@click.option(
    "--limit",
    type=click.IntRange(min=0),
    default=3,
    show_default=True,
    help="How many lines of each kind are shown; 0 shows every line.",
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@_formats
def formats_explain(**options: Any) -> int:
    """Show line by line what is made of a LOG: carrier, dialect, kind and fields, and count what is not recognised."""
    from specmon.commands.explain import explain as run

    return run(**options)


@cli.group(short_help="Record baselines with their conditions, list and compare them.")
def reference() -> None:
    """Recorded baselines with their conditions, so that a baseline that has changed is found out.

    They are TOML files in ./references when there is such a folder, else in your data folder.
    """


def _out(function: _Function) -> _Function:
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


def _one_level(function: _Function) -> _Function:
    return click.option(
        "--running", type=click.IntRange(min=1), metavar="B", help="Only this number of running requests; else all."
    )(function)


@reference.command("record", epilog="Example: specmon reference record nccl-tuned gpu01:/var/log/base.log --run 2")
@click.argument("name")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@_one_level
@_out
@click.option("--force", "is_forced", is_flag=True, help="Record what is not worth recording, too.")
@_span
@_formats
@_ssh
def reference_record(**options: Any) -> int:
    """Measure the baseline of each SOURCE and write it down; under a NAME that is there, as one more session.

    A SOURCE is a log file, a capture directory, HOST:PATH or - for stdin. The status is 3 when the log is not worth
    recording (too few clean samples, a crash, a speculative server), with what is missing.
    """
    from specmon.commands.reference_record import record as run

    return run(**options)


@reference.command("add", epilog="Example: specmon reference add nccl-tuned --tok-s 88.8 --env NCCL_PROTO=LL")
@click.argument("name")
@click.option("--tok-s", type=float, required=True, help="Decode throughput of the server, in tokens per second.")
@click.option(
    "--running", type=click.IntRange(min=1), default=1, show_default=True, help="At how many running requests."
)
@click.option("--cycle-ms", type=float, help="Time of a decode step; else it follows from the speed.")
@click.option("--env", metavar="NAME=VALUE", multiple=True, help="A variable that was set; may be given several times.")
@click.option("--flag", "flags", metavar="NAME=VALUE", multiple=True, help="A launch flag, likewise.")
@click.option("--model", help="The model that was served.")
@click.option("--engine", help="The server's kind: sglang, vllm, …")
@_out
def reference_add(**options: Any) -> int:
    """Write down a number that you have; under a NAME that is there, as one more level."""
    from specmon.commands.reference_add import add as run

    return run(**options)


@reference.command("list", epilog="Example: specmon reference list")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def reference_list(**options: Any) -> int:
    """List the references that can be named."""
    from specmon.commands.reference_show import list_references as run

    return run(**options)


@reference.command("show", epilog="Example: specmon reference show nccl-tuned")
@click.argument("name")
@click.option("--format", "form", type=click.Choice(["text", "json", "toml"]), default="text", show_default=True)
def reference_show(**options: Any) -> int:
    """Show one reference with its sessions and conditions."""
    from specmon.commands.reference_show import show_reference as run

    return run(**options)


@reference.command("diff", epilog="Example: specmon reference diff nccl-tuned gpu01:/var/log/base.log")
@click.argument("before", metavar="NAME")
@click.argument("now", metavar="NAME|SOURCE")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@_one_level
@_span
@_formats
@_ssh
def reference_diff(**options: Any) -> int:
    """Show what differs between a reference and another one, or the baseline of a SOURCE.

    The status is 1 when a condition differs that is known to change the speed.
    """
    from specmon.commands.reference_diff import diff as run

    return run(**options)


@reference.command("remove", epilog="Example: specmon reference remove nccl-tuned")
@click.argument("name")
@click.option("--yes", "is_agreed", is_flag=True, help="Do not ask.")
def reference_remove(**options: Any) -> int:
    """Delete a reference."""
    from specmon.commands.reference_remove import remove_reference as run

    return run(**options)
