"""Whatever a launch line, an environment or a command line holds, no secret gets into a reference file."""

from __future__ import annotations

import contextlib
import io
import string
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from specmon.cli import main
from tests.monitor.lines import decodes, launch

MARK = "Zq9secretZq9"  # stands in every secret value, and nowhere else

SECRET_NAMES = st.sampled_from(
    ["api_key", "admin_api_key", "hf_token", "HF_TOKEN", "ssl_keyfile_password", "clientSecret", "db_pass",
     "AWS_SECRET_ACCESS_KEY", "credentials", "VLLM_API_KEY", "NCCL_AUTH"]
)  # fmt: skip
PLAIN_NAMES = st.sampled_from(["served_model_name", "extra", "NCCL_SOCKET_IFNAME", "chat_template", "note"])
PLAIN_VALUES = st.text(string.ascii_lowercase, min_size=0, max_size=6)
SECRET_VALUES = st.sampled_from(
    [f"sk-{MARK}abcdefgh", f"hf_{MARK}", f"Bearer {MARK}", f"http://me:{MARK}@host/x", f"me:{MARK}@host",
     f'{{"api_key": "{MARK}"}}', f"token={MARK}", f"ghp_{MARK}abcdefgh", f"-----BEGIN RSA PRIVATE KEY {MARK}"]
)  # fmt: skip
SECRETS = st.tuples(SECRET_NAMES, st.just(MARK) | SECRET_VALUES) | st.tuples(PLAIN_NAMES, SECRET_VALUES)
NESTED = SECRETS.map(lambda pair: ("config", {"outer": [{pair[0]: pair[1]}], "size": 3}))


def run(*args: str) -> tuple[int, str]:
    """The status, and all that was printed."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out), pytest.raises(SystemExit) as end:
        main([*args])
    assert isinstance(end.value.code, int)
    return end.value.code, out.getvalue()


def written(folder: Path) -> str:
    return "".join(path.read_text() for path in folder.rglob("*.toml"))


@settings(max_examples=30, deadline=None)
@given(st.lists(SECRETS | NESTED, min_size=1, max_size=4), PLAIN_VALUES)
def test_secret_of_a_launch_line_is_not_recorded(secrets: list[tuple[str, object]], plain: str) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        flags: dict[str, object] = {**dict(secrets), "tp_size": 4, "max_total_tokens": 7, "plain": plain}
        env = "".join(
            f"gpu01:1:1 [0] NCCL INFO NCCL_{key.upper()} set by environment to {value}\n"
            for key, value in secrets
            if isinstance(value, str) and key != "clientSecret"  # in capitals it is one word, and no secret one
        )
        (folder / "a.log").write_text(launch(0, **flags) + env + decodes(6, 20))
        status, told = run("reference", "record", "x", str(folder / "a.log"), "--out", name)
        assert status == 0, told
        text = written(folder)
        for form in ("text", "json", "toml"):
            told += run("reference", "show", str(folder / "x.toml"), "--format", form)[1]
    assert MARK not in text
    assert MARK not in told
    assert "tp_size = 4" in text
    assert "max_total_tokens = 7" in text
    assert f'plain = "{plain}"' in text


@settings(max_examples=30, deadline=None)
@given(SECRETS, st.sampled_from(["--env", "--flag", "--note", "--host", "--model", "--engine"]))
def test_secret_of_a_command_line_is_refused(secret: tuple[str, str], option: str) -> None:
    name, value = secret
    given_value = f"{name}={value}" if option in ("--env", "--flag") or value == MARK else value
    with tempfile.TemporaryDirectory() as folder:
        status, told = run("reference", "add", "x", "--tok-s", "88.8", "--out", folder, option, given_value)
        text = written(Path(folder))
    assert status == 2
    assert text == ""
    assert MARK not in told


def test_secret_in_the_note_of_a_hand_written_file_is_not_shown(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = tmp_path / "references" / "r.toml"
    file.parent.mkdir()
    file.write_text(f'name = "r"\nnote = "measured with sk-{MARK}abcdefgh"\n[[level]]\nrunning = 1\ntok_s = 88.8\n')
    for form in ("text", "json"):
        status, shown = run("reference", "show", str(file), "--format", form)
        assert (status, MARK in shown) == (0, False)
        assert "measured with" in shown
        assert MARK not in run("reference", "list", "--format", form)[1]
