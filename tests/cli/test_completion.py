"""What the shells' scripts are answered; tests/e2e presses the tab key in the shells themselves."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Specmon
from tests.conftest import Sshd


def answers(specmon: Specmon, line: str, shell: str = "zsh", **env: str) -> list[str]:
    done = specmon(env={"COMP_LINE": line, "_SPECMON_COMPLETE": f"{shell}_complete", **env})
    assert (done.status, done.err) == (0, "")
    return [answer.partition("\t")[0] for answer in done.out.splitlines() if answer]


@pytest.mark.parametrize(
    ("line", "breaks", "answer"),
    [
        ("specmon connect gpu01 --theme=specmon-li", ":=@", "specmon-light"),
        ("specmon connect gpu01 --theme=specmon-li", "", "--theme=specmon-light"),
        ("specmon tail a:b:lo", ":=@", None),
        ("specmon connect anna@gp", ":=@", "@gpu01"),
        ("specmon connect anna@gp", ":=", "anna@gpu01"),
    ],
)
def test_bash_gets_what_stands_behind_its_word_breaks(
    specmon: Specmon, environment: dict[str, str], line: str, breaks: str, answer: str | None
) -> None:
    folder = Path(environment["HOME"]) / ".ssh"
    folder.mkdir()
    (folder / "config").write_text("host gpu01 *.lab !x\n")
    found = answers(specmon, line, "bash", COMP_WORDBREAKS=breaks)
    assert found == ([] if answer is None else [answer])


def test_names_are_quoted_and_those_that_no_line_holds_left_out(specmon: Specmon, tmp_path: Path) -> None:
    for name in ("a b.log", "a$(x).log", "a'b.log", "a\nb.log", ".hidden"):
        (tmp_path / name).write_text("")
    assert answers(specmon, "specmon summary a") == ["a\\ b.log", "a\\$\\(x\\).log", "a\\'b.log"]
    assert "a$(x).log" in answers(specmon, "specmon summary a", "fish")
    assert answers(specmon, "specmon summary .h") == [".hidden"]
    assert answers(specmon, "specmon summary a\\ ") == ["a\\ b.log"]


def test_faulty_settings_and_configurations_are_silence(specmon: Specmon, environment: dict[str, str]) -> None:
    home = Path(environment["HOME"])
    for path in (home / ".ssh" / "config", home / ".config" / "specmon" / "config.toml"):
        path.parent.mkdir(parents=True)
        path.write_bytes(b"include config\n[[[\xff")
    assert answers(specmon, "specmon connect ") == ["local:"]
    assert answers(specmon, "specmon tail nohost.invalid:/var/") == []
    assert answers(specmon, "specmon tail docker:x") == []
    assert answers(specmon, 'specmon connect "unclosed') == []
    assert answers(specmon, "specmon nonsense ") == answers(specmon, "specmon ")


@pytest.mark.sshd
def test_host_is_asked_with_the_options_of_the_line_and_of_the_settings(
    specmon: Specmon, environment: dict[str, str], sshd: Sshd, tmp_path: Path
) -> None:
    (tmp_path / "far.log").write_text("")
    word = f"127.0.0.1:{tmp_path}/fa"
    options = f"-i {sshd.client_key} --known-hosts {sshd.known_hosts}"
    assert answers(specmon, f"specmon tail -p {sshd.port} {options} {word}") == [f"127.0.0.1:{tmp_path}/far.log"]
    settings = Path(environment["HOME"]) / ".config" / "specmon" / "config.toml"
    settings.parent.mkdir(parents=True)
    settings.write_text(f'[ssh]\nport = {sshd.port}\nidentity = "{sshd.client_key}"\n')
    assert answers(specmon, f"specmon tail --known-hosts {sshd.known_hosts} {word}") == [
        f"127.0.0.1:{tmp_path}/far.log"
    ]


@pytest.mark.sshd
def test_nobody_is_asked_about_keys_or_passwords(specmon: Specmon, sshd: Sshd, tmp_path: Path) -> None:
    (tmp_path / "far.log").write_text("")
    (tmp_path / "none").write_text("")
    word = f"127.0.0.1:{tmp_path}/fa"
    unknown = f"-p {sshd.port} -i {sshd.client_key} --known-hosts {tmp_path}/none"
    assert answers(specmon, f"specmon tail {unknown} {word}") == []
    assert (tmp_path / "none").read_text() == ""
    without_key = f"-p {sshd.port} --known-hosts {sshd.known_hosts}"
    assert answers(specmon, f"specmon tail {without_key} {word}") == []


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_script_is_printed(specmon: Specmon, shell: str) -> None:
    done = specmon("completion", shell)
    assert done.status == 0
    assert "_SPECMON_COMPLETE" in done.out
    assert f"{shell}_complete" in done.out
