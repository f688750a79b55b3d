"""Settings on the command line: which of file, environment and flag counts, and how it is shown."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from specmon.settings.names import VARIABLES
from tests.cli.conftest import Specmon

WriteSettings = Callable[[str], Path]
SECRET = "https://hooks.example.com/s3cret"


@pytest.fixture
def settings(environment: dict[str, str]) -> WriteSettings:
    def write(text: str) -> Path:
        path = Path(environment["HOME"]) / ".config" / "specmon" / "config.toml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(0o600)
        return path

    return write


def shown(
    specmon: Specmon, *words: str, env: dict[str, str] | None = None
) -> dict[str, tuple[object, str, str | None]]:
    """Value, source and place of each setting."""
    done = specmon("config", "show", "--format", "json", *words, env=env)
    assert done.status == 0, done.err
    document = json.loads(done.out)
    assert document["schema_version"] == 1
    return {each["key"]: (each["value"], each["source"], each["place"]) for each in document["settings"]}


def test_without_a_file_everything_is_as_it_comes(at_once: Specmon) -> None:
    found = shown(at_once)
    assert set(found) == set(VARIABLES)
    assert {source for _, source, _ in found.values()} == {"default"}
    assert found["interval"] == (5.0, "default", None)


def test_environment_goes_before_the_file_and_a_flag_before_both(at_once: Specmon, settings: WriteSettings) -> None:
    path = settings('theme = "specmon-light"\ninterval = 2\nrunning = 8\n')
    env = {"SPECMON_THEME": "specmon-contrast", "SPECMON_INTERVAL": "3"}
    found = shown(at_once, "demo", "--interval", "4", env=env)
    assert found["theme"] == ("specmon-contrast", "environment", "$SPECMON_THEME")
    assert found["interval"] == (4.0, "flag", "--interval")
    assert "running" not in found  # the demo has no such option
    assert shown(at_once, "replay")["running"] == ("8", "file", f"{path}:3")
    assert shown(at_once, env=env)["interval"] == (3.0, "environment", "$SPECMON_INTERVAL")


@pytest.mark.parametrize(("key", "option"), [("plain", "--no-plain"), ("ascii", "--no-ascii")])
def test_flag_takes_back_what_the_file_switches_on(
    at_once: Specmon, settings: WriteSettings, key: str, option: str
) -> None:
    settings(f"{key} = true\n")
    assert shown(at_once, "demo")[key][0] is True
    assert shown(at_once, "demo", option)[key][:2] == (False, "flag")


def test_a_number_on_the_command_line_takes_the_place_of_a_reference_in_the_file(
    at_once: Specmon, settings: WriteSettings
) -> None:
    settings('reference = "nccl-tuned"\n')
    found = shown(at_once, "replay", "--reference-tok-s", "88.8@1")
    assert found["reference"][0] is None
    assert found["reference_tok_s"] == ("88.8@1", "flag", "--reference-tok-s")
    assert shown(at_once, "replay", "--reference", "")["reference"][0] is None
    both = at_once("replay", "x.log", "--reference-tok-s", "88.8", "--reference", "a")
    assert "give one of them" in both.err


def test_settings_reach_the_command(at_once: Specmon, settings: WriteSettings, tmp_path: Path) -> None:
    (tmp_path / "a.log").write_text("nothing\n")
    path = settings('\nreference = "nobodys"\n')
    done = at_once("summary", "a.log")
    assert done.status == 2
    assert "nobodys" in done.err
    path.write_text('running = "9-3"\n')
    assert "9-3" in at_once("summary", "a.log").err
    assert at_once("summary", "a.log", "--running", "1").status == 0


def test_options_that_only_look_alike_take_nothing(at_once: Specmon, settings: WriteSettings) -> None:
    settings('running = "28-34"\n[ssh]\nport = 2222\n')
    assert at_once("reference", "add", "r", "--tok-s", "62.9").status == 0
    assert "1 running: 62.9 tok/s" in at_once("reference", "show", "r").out
    assert "no command with settings" in at_once("config", "show", "serve", "demo").err


def test_session_gives_hosts_and_options(at_once: Specmon, settings: WriteSettings) -> None:
    path = settings(
        'reference = "everyday"\ntheme = "specmon-light"\n[sessions.kimi]\nhosts = ["gpu01", "gpu02"]\n'
        'baseline = "/b.log"\nspec = ["gpu02:/s.log"]\nreference_tok_s = "88.8@1"\nfrom_start = true\n'
    )
    found = shown(at_once, "connect", "@kimi", "gpu03", "--baseline", "/mine.log")
    assert found["hosts"][0] == ["gpu01", "gpu02", "gpu03"]
    assert found["baseline"][:2] == (["/mine.log"], "flag")
    assert found["spec"] == (["gpu02:/s.log"], "file", f"{path}:6")
    assert found["from_start"][0] is True
    assert found["reference"][0] is None  # the session has the other way to say one
    assert found["reference_tok_s"] == ("88.8@1", "file", f"{path}:7")
    assert found["theme"] == ("specmon-light", "file", f"{path}:2")
    assert shown(at_once, "discover", "@kimi")["hosts"][0] == ["gpu01", "gpu02"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (None, "no session is called @kimmi: "),
        ('theme = "x"\n', "has none. Write a table [sessions.kimmi] with hosts."),
        ('[sessions.kimi]\nhosts = ["a"]\n', "Known: @kimi ("),
    ],
)
def test_unknown_session_is_told(at_once: Specmon, settings: WriteSettings, text: str | None, said: str) -> None:
    if text is not None:
        settings(text)
    done = at_once("connect", "@kimmi")
    assert (done.status, done.out) == (2, "")
    assert said in done.err
    assert "one session at a time" in at_once("connect", "@a", "@b").err


def test_faulty_file_stops_what_needs_it_and_nothing_else(at_once: Specmon, settings: WriteSettings) -> None:
    path = settings('theme = "x"\nport = 22\n')
    for words in (("summary", "a.log"), ("config", "show"), ("config", "check"), ("demo",), ("connect", "@a")):
        done = at_once(*words)
        assert done.status == 2
        assert done.err == f"specmon: settings {path}:2: port: is not known. Correct the file.\n"
    assert at_once("config", "path").out == f"{path}\n"
    assert at_once("--help").status == 0
    for line in ("connect --help", "config check --help", "replay -h", "--version"):
        assert at_once(*line.split()).status == 0
    assert "[default: 5.0" in at_once("replay", "--help").out


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("SPECMON_INTERVAL", "soon", "$SPECMON_INTERVAL: 'soon' is not a valid float range"),
        ("SPECMON_SSH_PORT", "0", "$SPECMON_SSH_PORT: 0 is not in the range"),
        ("SPECMON_ASCII", "perhaps", "$SPECMON_ASCII: "),
    ],
)
def test_faulty_variable_is_named(at_once: Specmon, variable: str, value: str, said: str) -> None:
    for words in (("config", "show"), ("connect", "gpu01")):
        done = at_once(*words, env={variable: value})
        assert done.status == 2
        assert said in done.err
        assert done.err.endswith("Set it anew, or unset it.\n")


def test_address_of_the_webhook_is_never_shown(at_once: Specmon, settings: WriteSettings) -> None:
    path = settings(f'[notify]\nwebhook = "{SECRET}"\n')
    for words in (("config", "show"), ("config", "show", "--format", "json"), ("config", "check")):
        done = at_once(*words)
        assert done.status == 0
        assert "s3cret" not in done.out + done.err
    assert "(set, not shown)" in at_once("config", "show").out
    assert "s3cret" not in at_once("config", "show", "connect", "gpu01", "--webhook", SECRET).out
    path.chmod(0o644)
    assert "chmod 600" in at_once("config", "check").err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('theme = "nobodys"', ":1: no theme is called nobodys. Known: "),
        ('[keys]\n"view.lag" = "L"', "'view.lag' is no action"),
        ('[keys]\n"view.log" = "t"', "view.log: t belongs to view.theme"),
        ('[keys]\n"view.log" = "hyper+q"', "'hyper+q' is no key"),
        ('[notify]\nwebhook = "example.com"', ":2: the webhook is no address"),
        ('running = "9-3"', ":1: --running '9-3'"),
        ('[sessions.a]\nhosts = ["a b"]', ":2: "),
    ],
)
def test_check_finds_what_only_fails_later(at_once: Specmon, settings: WriteSettings, text: str, said: str) -> None:
    settings(text + "\n")
    done = at_once("config", "check")
    assert done.status == 2
    assert said in done.err
    assert "Traceback" not in done.err


def test_check_says_that_all_is_right(at_once: Specmon, settings: WriteSettings) -> None:
    assert "there is no settings file, and none is needed" in at_once("config", "check").out
    path = settings('theme = "specmon-light"\n[ssh]\nport = 2222\n')
    assert at_once("config", "check").out == f"{path}: right, 2 settings.\n"


def test_keys_are_listed_with_the_users_own(at_once: Specmon, settings: WriteSettings) -> None:
    settings('[keys]\n"view.log" = "L"\n')
    rows = {line.split()[0]: line.split()[1] for line in at_once("config", "keys").out.splitlines()}
    assert rows["view.log"] == "L"
    assert rows["view.theme"] == "t"


def test_without_a_settings_file_a_command_loads_no_more_for_them(environment: dict[str, str]) -> None:
    code = "import sys; from specmon.cli import _run; _run(['formats', '--help']); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment)
    assert not {"pydantic", "tomllib", "platformdirs", "textual"} & set(done.stdout.split())
