"""Options to settings to a call. Everything heavy is imported inside the command that needs it."""

from __future__ import annotations

import errno
import io
import os
import sys
from pathlib import Path
from typing import Any

import click

from specmon import __version__, options
from specmon.errors import SpecmonError
from specmon.settings.command import SettledGroup
from specmon.visible import visible

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
    if "_SPECMON_COMPLETE" in os.environ:
        from specmon.commands.completion import set_up_completion

        set_up_completion(cli)
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


@click.group(
    cls=SettledGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog="\b\nBegin with one of these:\n"
    "  specmon demo            a true story in 90 seconds; needs no host and no log\n"
    "  specmon discover        the LLM servers of this machine; `specmon discover HOST` those of another\n"
    "  specmon connect HOST    follow the servers of a host; `local:` is this machine\n"
    "  specmon summary LOG...  what logs come to that you already have",
)
@click.version_option(__version__, "-V", "--version", message="specmon %(version)s")
def cli() -> None:
    """Is speculative decoding really faster, and is the baseline the one you think it is?

    specmon reads the logs of LLM servers and shows a baseline and a speculative server side by side: tokens per
    second, accept length, cycle time, the break-even, and whether the measured baseline still is the recorded one.
    """


@cli.command(epilog="Example: specmon connect gpu01 --baseline /var/log/base.log --spec /var/log/eagle3.log")
@click.argument("hosts", nargs=-1, required=True, metavar="HOST...")
@options.sides
@options.reference
@options.running
@click.option("--from-start", is_flag=True, help="Read each log from its beginning, not only its last megabytes.")
@click.option(
    "--all", "is_all", is_flag=True, help="Read all of each log, backwards beside the screen, not only 64 MB."
)
@click.option(
    "--record",
    metavar="DIR",
    type=click.Path(path_type=Path),
    help="Also capture everything into a new folder, for `specmon replay`.",
)
@options.notify
@options.formats
@options.ssh
@options.pages
@options.screen
def connect(**given: Any) -> int:
    """Follow the logs of servers over SSH.

    Without --baseline and --spec the servers of each HOST (SGLang, vLLM, llama.cpp, TensorRT-LLM) are found by their
    processes, and the logs by where those write to; `specmon discover HOST` shows what would be chosen. The HOST local:
    is this machine, without SSH. A SOURCE is a path on the first HOST, HOST:PATH, or ./PATH on this machine; what else
    it can be, `specmon tail --help` says.
    """
    from specmon.commands.connect import connect as run

    return run(**given)


@cli.command(epilog="Example: specmon discover gpu01")
@click.argument("hosts", nargs=-1, metavar="[HOST]...")
@options.host_format
@options.ssh
def discover(**given: Any) -> int:
    """Show what `connect` would follow on each HOST, and why; without a HOST on this machine.

    For each server: role, port, model, whose it is, since when it runs, where its log goes, and what could not be read.
    The status is 2 when a host cannot be reached.
    """
    from specmon.commands.discover import discover as run

    return run(**given)


@cli.command(epilog="Example: specmon doctor gpu01")
@click.argument("hosts", nargs=-1, metavar="[HOST]...")
@options.host_format
@options.ssh
@options.pages
def doctor(**given: Any) -> int:
    """Check all that lies between here and the figures of each HOST; without a HOST this machine.

    Name, host key, login, shell, clock, servers, their logs, formats and metrics pages: each line is ok, or says what
    mends it. The status is 1 when something is wrong.
    """
    from specmon.commands.doctor import doctor as run

    return run(**given)


@cli.command(epilog="Example: specmon replay --baseline base.log --spec eagle3.log --speed 20")
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@options.sides
@options.reference
@options.running
@options.speed("1")
@options.metrics
@options.span
@options.formats
@options.ssh
@options.screen
def replay(**given: Any) -> int:
    """Play captured logs by their own clock, on the same screen.

    A SOURCE is a log file, a capture directory or - for stdin.
    """
    from specmon.commands.replay import replay as run

    return run(**given)


@cli.command(
    short_help="Show a true story in 90 seconds, over a real SSH connection.", epilog="Example: specmon demo --speed 3"
)
@options.speed("1")
@options.screen
def demo(**given: Any) -> int:
    """Show a true story in 90 seconds, over a real SSH connection to this machine.

    A loopback SSH server with a throw-away key plays a capture of two servers; nothing else is needed.
    """
    from specmon.commands.demo import demo as run

    return run(**given)


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
@options.ssh
def tail(**given: Any) -> int:
    """Print every line of logs once and in order, through faults, rotations and restarts.

    A SOURCE is a log file or a pattern, HOST:PATH, HOST:PORT or - for stdin; or, with HOST: before it or without,
    docker:NAME, compose:SERVICE, journal:UNIT, kube:NAMESPACE/POD[/CONTAINER], slurm:JOBID, tmux:PANE, cmd:COMMAND.
    Several get the prefix `NAME| `. Gaps and reconnects are told on stderr.
    """
    from specmon.commands.tail import tail as run

    return run(**given)


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
@options.ssh
@options.pages
def capture(**given: Any) -> int:
    """Keep logs as they come, with arrival times and the conditions of their servers, in one folder.

    Of a HOST every server is captured whose log can be followed; local: is this machine. `replay`, `summary`, `check`
    and `reference record` read the folder like a log. It can be read at any moment, also after a crash.
    """
    from specmon.commands.capture import capture as run

    return run(**given)


@cli.command(epilog="Example: specmon summary --format json base.log eagle3.log")
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@options.sides
@options.reference
@options.running
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown", "csv", "html"]),
    default="text",
    show_default=True,
    help="How to print the result.",
)
@options.client
@options.metrics
@options.span
@options.formats
@options.ssh
def summary(**given: Any) -> int:
    """Read logs to their ends and print the result.

    A SOURCE is a log file, a capture directory, HOST:PATH or - for stdin.
    """
    from specmon.commands.summary import summary as run

    return run(**given)


@cli.command(
    short_help="Judge logs and answer with the exit status: the gate for CI.",
    epilog="Example: specmon check base.log eagle3.log --reference nccl-tuned --format github",
)
@click.argument("sources", nargs=-1, metavar="[SOURCE]...")
@options.sides
@options.reference
@click.option(
    "--fail-on",
    metavar="WORD,...",
    help="What must not be: slower,diverged,crash unless said otherwise; help lists all words.",
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
@options.running
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
@options.client
@options.metrics
@options.span
@options.formats
@options.ssh
def check(**given: Any) -> int:
    """Judge logs like the screen does, and answer with the exit status: the gate for CI and scripts.

    The status is 0 when all is well, 1 when a question of --fail-on failed, 2 for wrong usage or unreadable input,
    3 when a question has no answer (too few samples, not comparable, no reference). 2 goes before 1, 1 before 3.
    """
    from specmon.commands.check import check as run

    return run(**given)


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
@options.reference
@options.running
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "markdown", "csv"]),
    default="text",
    show_default=True,
    help="How to print the ranking.",
)
@options.client
@options.metrics
@options.span
@options.formats
@options.ssh
def compare(**given: Any) -> int:
    """Rank many speculative runs against one baseline, and predict the best number of draft steps.

    Every run of a log is a row; runs of the same settings are one. --run narrows each log to one of its runs. A SOURCE
    that is the --baseline, too, is left out, so *.log may stand for all.
    """
    from specmon.commands.compare import compare as run

    return run(**given)


@cli.group(short_help="What logs can be read, and what is read out of one.")
def formats() -> None:
    """What logs can be read: built-in dialects, those of installed packages, and your own formats.

    Your own are TOML files in the `formats` folder of your specmon configuration, or named with --format-file.
    """


@formats.command("list", epilog="Example: specmon formats list --format-file mytool.toml")
@options.formats
def formats_list(**given: Any) -> int:
    """List all dialects, where each is from, and how many of its samples are right."""
    from specmon.commands.formats import list_formats as run

    return run(**given)


@formats.command("fields", epilog="Example: specmon formats fields | grep _ms")
def formats_fields() -> int:
    """List the kinds of lines and the fields that a custom format can give, with their units."""
    from specmon.commands.formats import list_fields as run

    return run()


@formats.command("test", epilog="Example: specmon formats test ~/.config/specmon/formats/mytool.toml")
@click.argument("file", type=click.Path(path_type=Path))
def formats_test(**given: Any) -> int:
    """Run the samples of a custom format and print what each line gives.

    The status is 1 when a sample gives something else than the file says, 2 when the file itself is wrong.
    """
    from specmon.commands.formats import test_format as run

    return run(**given)


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
@options.formats
@options.ssh
def formats_explain(**given: Any) -> int:
    """Show line by line what is made of a LOG: carrier, dialect, kind and fields, and count what is not recognised."""
    from specmon.commands.explain import explain as run

    return run(**given)


@cli.command(
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
    epilog="Example: specmon serve connect gpu01 --reference nccl-tuned",
)
@click.option("--host", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option("--port", type=click.IntRange(1, 65535), default=8000, show_default=True)
@click.argument("words", nargs=-1, required=True, type=click.UNPROCESSED, metavar="COMMAND [ARG]...")
def serve(**given: Any) -> int:
    """Show the screen of `connect`, `replay` or `demo` in a browser on this machine.

    What follows is a command line of specmon; each visitor gets a process of its own. There is no login: whoever
    reaches the page can do what you can do in the screen, so it listens on loopback, and answers only its own page.
    Needs the extra: pip install '.[web]' in a checkout of specmon.
    """
    from specmon.commands.serve import serve as run

    return run(**given)


@cli.group(short_help="Serve the figures to other programs.")
def export() -> None:
    """Serve the figures to other programs."""


@export.command("prometheus", epilog="Example: specmon export prometheus gpu01 gpu02 --reference nccl-tuned")
@click.argument("hosts", nargs=-1, required=True, metavar="HOST...")
@click.option(
    "--listen",
    metavar="ADDRESS:PORT",
    default="127.0.0.1:9753",
    show_default=True,
    help="Where Prometheus finds the page; port 0 takes a free one.",
)
@options.sides
@options.reference
@options.running
@options.formats
@options.ssh
@options.pages
def export_prometheus(**given: Any) -> int:
    """Follow servers as `connect` does, and serve their figures to Prometheus.

    The page /metrics has every figure of every server (specmon_decode_tokens_per_second, specmon_accept_length_tokens,
    ...), how a baseline stands against its reference and, of one baseline and one speculative server, the comparison.
    Rules for alerts and a dashboard for Grafana are in the folder contrib of specmon's source. There is no login.
    """
    from specmon.commands.export import export_prometheus as run

    return run(**given)


@cli.group(short_help="Record baselines with their conditions, list and compare them.")
def reference() -> None:
    """Recorded baselines with their conditions, so that a baseline that has changed is found out.

    They are TOML files in ./references when there is such a folder, else in your data folder.
    """


@reference.command("record", epilog="Example: specmon reference record nccl-tuned gpu01:/var/log/base.log --run 2")
@click.argument("name")
@click.argument("sources", nargs=-1, required=True, metavar="SOURCE...")
@options.one_level
@options.out
@click.option("--force", "is_forced", is_flag=True, help="Record what is not worth recording, too.")
@options.span
@options.formats
@options.ssh
def reference_record(**given: Any) -> int:
    """Measure the baseline of each SOURCE and write it down; under a NAME that is there, as one more session.

    A SOURCE is a log file, a capture directory, HOST:PATH or - for stdin. The status is 3 when the log is not worth
    recording (too few clean samples, a crash, a speculative server), with what is missing.
    """
    from specmon.commands.reference_record import record as run

    return run(**given)


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
@options.out
def reference_add(**given: Any) -> int:
    """Write down a number that you have; under a NAME that is there, as one more level."""
    from specmon.commands.reference_add import add as run

    return run(**given)


@reference.command("list", epilog="Example: specmon reference list")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
def reference_list(**given: Any) -> int:
    """List the references that can be named."""
    from specmon.commands.reference_show import list_references as run

    return run(**given)


@reference.command("show", epilog="Example: specmon reference show nccl-tuned")
@click.argument("name")
@click.option("--format", "form", type=click.Choice(["text", "json", "toml"]), default="text", show_default=True)
def reference_show(**given: Any) -> int:
    """Show one reference with its sessions and conditions."""
    from specmon.commands.reference_show import show_reference as run

    return run(**given)


@reference.command("diff", epilog="Example: specmon reference diff nccl-tuned gpu01:/var/log/base.log")
@click.argument("before", metavar="NAME")
@click.argument("now", metavar="NAME|SOURCE")
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@options.one_level
@options.span
@options.formats
@options.ssh
def reference_diff(**given: Any) -> int:
    """Show what differs between a reference and another one, or the baseline of a SOURCE.

    The status is 1 when a condition differs that is known to change the speed.
    """
    from specmon.commands.reference_diff import diff as run

    return run(**given)


@reference.command("remove", epilog="Example: specmon reference remove nccl-tuned")
@click.argument("name")
@click.option("--yes", "is_agreed", is_flag=True, help="Do not ask.")
def reference_remove(**given: Any) -> int:
    """Delete a reference."""
    from specmon.commands.reference_remove import remove_reference as run

    return run(**given)


@cli.group(short_help="What is set, where it comes from, and which keys there are.")
def config() -> None:
    """Settings: one TOML file, the environment before it, and the command line before both.

    `specmon config path` tells where the file is; without one nothing is missing. docs/settings.md has every key.
    """


@config.command(
    "show", context_settings={"ignore_unknown_options": True}, epilog="Example: specmon config show connect @kimi"
)
@click.option("--format", "form", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.argument("words", nargs=-1, type=click.UNPROCESSED, metavar="[COMMAND [ARG]...]")
def config_show(**given: Any) -> int:
    """Show every setting and where it comes from; or what a command line of specmon would get."""
    from specmon.commands.config import show as run

    return run(**given)


@config.command("path", epilog="Example: $EDITOR $(specmon config path)")
def config_path() -> int:
    """Show where the settings file is, or would be."""
    from specmon.settings.names import settings_path

    click.echo(settings_path())
    return 0


@config.command("check", epilog="Example: specmon config check")
def config_check() -> int:
    """Say whether the settings file and the variables are right; the status is 2 when not."""
    from specmon.commands.config import check as run

    return run()


@config.command("keys", epilog="Example: specmon config keys")
def config_keys() -> int:
    """List the actions of the screen and their keys, for the table [keys]."""
    from specmon.commands.config import keys as run

    return run()


@cli.command(short_help="Print the script that makes your shell complete.", epilog="Example: specmon completion bash")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def completion(**given: Any) -> int:
    """Print the script that makes a shell complete commands, options, hosts, sessions, references, themes and logs.

    bash: put `eval "$(specmon completion bash)"` into ~/.bashrc. zsh: the same with zsh into ~/.zshrc. fish:
    `specmon completion fish > ~/.config/fish/completions/specmon.fish`. Behind HOST: the files of the host are listed
    over SSH, where no password is needed.
    """
    from specmon.commands.completion import print_script

    return print_script(program=cli, **given)


@cli.command(short_help="Print the manual page.", epilog="Example: specmon man | man -l -")
def man() -> int:
    """Print the manual page, in the language of man(1)."""
    from specmon.commands.manual import print_manual

    return print_manual(program=cli)
