"""The settings file: what it may say, and how a fault in it is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from specmon.errors import ConfigError
from specmon.settings.file import parse_settings, read_settings
from specmon.settings.model import Settings
from specmon.settings.names import SESSION_OPTIONS, VARIABLES

PLACE = Path("/home/anna/.config/specmon/config.toml")

WHOLE = """
theme = "specmon-light"
running = 8
warm_up = 30

[ssh]
identity = "keys/id"
known_hosts = "~/known"

[hosts.gpu01]
metrics_header_env = "GPU01_KEY"

[keys]
"view.log" = "L"

[sessions.kimi]
hosts = "gpu01"
baseline = "/var/log/base.log"
spec = ["gpu02:/var/log/a.log"]
reference = "nccl-tuned"
"""


def test_one_word_may_stand_for_a_list_and_a_number_for_a_load() -> None:
    settings = parse_settings(WHOLE, PLACE).settings
    assert settings.running == "8"
    assert settings.sessions["kimi"].hosts == ["gpu01"]
    assert settings.sessions["kimi"].baseline == ["/var/log/base.log"]


def test_paths_begin_at_the_home_folder_or_where_the_file_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/anna")
    ssh = parse_settings(WHOLE, PLACE).settings.ssh
    assert ssh.identity == ["/home/anna/.config/specmon/keys/id"]
    assert ssh.known_hosts == "/home/anna/known"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('\ntheem = "x"', "config.toml:2: theem: is not known"),
        ("[ssh]\nport = 70000", "config.toml:2: ssh.port: input should be less than or equal to 65535"),
        ('[ssh]\nport = "22"', "config.toml:2: ssh.port: input should be a valid integer"),
        ("ascii = 1", "config.toml:1: ascii: input should be a valid boolean"),
        ("interval = nan", "config.toml:1: interval: "),
        ("interval = 0.01", "config.toml:1: interval: input should be greater than or equal to 0.1"),
        ("running = true", "config.toml:1: running: input should be a valid string"),
        ('running = "many"', "config.toml:1: running: string should match"),
        ('theme = ""', "config.toml:1: theme: "),
        ("warm_up = -1", "config.toml:1: warm_up: "),
        ('[sessions.kimi]\nbaseline = "a"', "config.toml:1: sessions.kimi.hosts: field required"),
        ("[sessions.kimi]\nhosts = []", "config.toml:2: sessions.kimi.hosts: "),
        ('[sessions."@x"]\nhosts = ["a"]', "config.toml:1: sessions.@x"),
        ('[sessions.kimi]\nhosts = ["a"]\nssh = 1', "config.toml:3: sessions.kimi.ssh: is not known"),
        ('reference = "a"\nreference_tok_s = "88.8"', "reference and reference_tok_s name two references"),
        ('theme = "a"\ntheme = "b"', "config.toml:2: it is not valid TOML: "),
        ('theme = "a', "config.toml:1: it is not valid TOML: "),
        ("[notify]\nmail = true", "config.toml:2: notify.mail: is not known"),
    ],
)
def test_fault_is_one_sentence_with_file_line_and_key(text: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse_settings(text, PLACE)
    sentence = str(caught.value)
    assert said in sentence
    assert sentence.startswith(f"settings {PLACE}")
    assert sentence.endswith("Correct the file.")
    assert "\n" not in sentence


def test_key_that_stands_where_its_variable_belongs_is_not_shown() -> None:
    with pytest.raises(ConfigError) as caught:
        parse_settings('[hosts.gpu01]\nmetrics_header_env = "Bearer sk-5f0e8b7c"', PLACE)
    assert "config.toml:2: hosts.gpu01.metrics_header_env" in str(caught.value)
    assert "sk-5f0e8b7c" not in str(caught.value)


def test_unknown_session_is_told_with_the_known_ones() -> None:
    file = parse_settings(WHOLE + '[sessions.qwen]\nhosts = ["gpu03"]\n', PLACE)
    with pytest.raises(ConfigError, match=r"no session is called @kimmi\. Known: @kimi, @qwen"):
        file.session("kimmi")


def test_no_file_is_no_fault(tmp_path: Path) -> None:
    assert read_settings(tmp_path / "config.toml") is None
    assert read_settings(tmp_path / "no" / "folder" / "config.toml") is None


def test_what_is_no_readable_text_file_is_told(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"theme = '\xff'")
    with pytest.raises(ConfigError, match="it is not UTF-8 text"):
        read_settings(path)
    path.write_bytes(b"#" * (1 << 20) + b"\n")
    with pytest.raises(ConfigError, match="larger than a megabyte"):
        read_settings(path)
    path.unlink()
    path.mkdir()
    with pytest.raises(ConfigError, match="it is no file"):
        read_settings(path)


def test_text_with_a_mark_of_its_byte_order_is_read(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"\xef\xbb\xbftheme = 'x'\r\n")
    file = read_settings(path)
    assert file is not None
    assert file.settings.theme == "x"


def keys_of_file() -> set[str]:
    """Every key with a value of its own, without the tables that users name."""
    fields = Settings.model_fields
    found = {name for name in fields if name not in ("ssh", "notify", "hosts", "keys", "sessions")}
    for table in ("ssh", "notify"):
        annotation = fields[table].annotation
        assert annotation is not None
        found |= {f"{table}.{name}" for name in annotation.model_fields}
    return found


def test_every_key_has_a_variable_and_every_variable_a_key() -> None:
    assert set(VARIABLES) == keys_of_file()
    assert set(SESSION_OPTIONS.values()) <= set(parse_settings(WHOLE, PLACE).settings.sessions["kimi"].model_dump())
