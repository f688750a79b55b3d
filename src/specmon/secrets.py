"""What must never be stored or shown: the rules by which a name or a value counts as a secret.

Tables lose their secret entries (`drop_secrets`); running text, as a log has it, keeps its form and loses the values
(`hide_in_text`).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import TypeAlias

# The same as `events.Json`; this module is below all others and imports none.
Json: TypeAlias = "str | int | float | bool | list[Json] | dict[str, Json] | None"

_SECRET_WORDS = frozenset(
    {
        "KEY",
        "KEYS",
        "APIKEY",
        "TOKEN",
        "SECRET",
        "PASS",
        "PASSWORD",
        "PASSWD",
        "CREDENTIAL",
        "CREDENTIALS",
        "AUTH",
    }
)

# Names that hold a secret word and no secret. The reason stands beside each, because a wrong line here leaks.
_EXCEPTIONS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), reason)
    for pattern, reason in (
        ("speculative_token_map", "path of the draft model's reduced vocabulary"),
        ("(.*_)?forward_pass(_.*)?", "a pass of the model, not a password"),
        ("(.*_)?pass_metrics(_.*)?", "metrics of a forward pass"),
        ("(.*_)?pass_config", "vLLM's passes of the compiler"),
        ("(.*_)?num_(.*_)?passes?", "a count of passes"),
        ("(.*_)?token_(usage|distribution)(_.*)?", "a share of the KV cache or of a batch"),
        ("(.*_)?(first|inter|per|output)_token(_.*)?", "a latency or a count per generated token"),
        (
            "(.*_)?token_(id|ids|budget|budgets|limit|limits|count|capacity|ratio|bucket|buckets)",
            "a number about tokens",
        ),
        ("(.*_)?(mask|pad|bos|eos|stop|image|video|audio|noise)_token(_.*)?", "an entry of the vocabulary"),
        ("(.*_)?(key|k)_(cache|quant|size|dtype|scale)(_.*)?", "the K of a KV cache"),
        ("key_error|token_error", "the class of an exception"),
    )
)

_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_SECRET_VALUE = re.compile(
    r"""
      \b(?: sk | pk | rk )-[A-Za-z0-9_-]{8,}                    # OpenAI and those who copy its form
    | \bhf_(?![a-z]{8,15}\b)[A-Za-z0-9]{8,}                     # Hugging Face; not the folder hf_transformers
    | \b(?: gh[pousr] | github_pat )_[A-Za-z0-9_]{16,}          # GitHub
    | \b(?: AKIA | ASIA )[A-Z0-9]{16}\b                         # AWS
    | \bxox[a-z]-[A-Za-z0-9-]{8,}                               # Slack
    | \bglpat-[A-Za-z0-9_-]{8,}                                 # GitLab
    | \bnvapi-[A-Za-z0-9_-]{8,}                                 # NVIDIA
    | \beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}                 # a JSON web token
    | \b(?i: bearer | basic )\s+[A-Za-z0-9._~+/=-]{6,}          # an HTTP header
    | ://[^\s/:@]{0,256}:[^\s/@]{1,256}@                        # user:pass@ in an address
    | ^[^\s/:@]{1,256}:[^\s/:@]{1,256}@[^\s/@]{1,256}           # the same without a scheme
    | -----BEGIN\ [A-Z\ ]{0,32}PRIVATE\ KEY
    """,
    re.VERBOSE,
)
_SIGNS = (
    *("sk-", "pk-", "rk-", "hf_", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "github_pat_", "AKIA", "ASIA", "xox"),
    *("glpat-", "nvapi-", "eyJ", "@", "-----BEGIN"),
)
_ASSIGNMENT = re.compile(r"""["']?([A-Za-z_][A-Za-z0-9_-]{0,127})["']?\s{0,4}[=:]\s{0,4}(?!None\b|null\b)""")
HIDDEN = "***"

# In running text: a name with a sign behind it, then its value: quoted, in brackets, or up to the next separator. A
# quote may stand behind backslashes, as in JSON inside a string.
_NAMED = re.compile(
    r"""(?<![\w-]) (?P<name>[A-Za-z_][A-Za-z0-9_-]{0,127})
        (?: \\{0,8}["']?\s{0,4}[=:]\s{0,4} | [ ]set[ ]by[ ]environment[ ]to[ ] ) (?!None\b|null\b)
      | (?<![\w-]) (?P<option>--?[A-Za-z][A-Za-z0-9_-]{0,127}) (?:=|\\{0,8}["']?,?[ ]{1,4}(?![- ]))""",
    re.VERBOSE,
)
_VALUE = re.compile(
    r"""(?P<quote>\\{0,8}["'])(?:\\.|[^\\])*?(?:(?P=quote)|$)|[\[({][^\])}]*[\])}]?|[^\s,;)}\]'"&]+""", re.DOTALL
)
# An option may have several: `--api-key one two`, `['--api-key', 'one', 'two']`.
_MORE = re.compile(r"""(?:\\{0,8}["'])?,?[ ]{1,4}(?!\\{0,8}["']?-)(?=\S)""")
_COUNT = re.compile(r"[+-]?[\d.,/%]+")
_DEEPEST = 32  # levels of nesting that are looked into; what lies deeper is dropped


@lru_cache(maxsize=4096)  # a log has few names and many lines
def is_secret_name(name: str) -> bool:
    """Whether one of the words of a flag's or variable's name says that its value is a secret."""
    words = [word.upper() for part in re.split(r"[^A-Za-z0-9]+", name) for word in _WORD.findall(part)]
    if _SECRET_WORDS.isdisjoint(words) and not _has_api_key(words):
        return False
    plain = "_".join(word.lower() for word in words)
    return not any(pattern.fullmatch(plain) for pattern, _ in _EXCEPTIONS)


def is_secret_value(value: str) -> bool:
    """Whether a value looks like a key, whatever its name."""
    return _may_hold_key(value) and _SECRET_VALUE.search(value) is not None


def drop_secrets(values: Mapping[str, Json]) -> dict[str, Json]:
    """The same mapping without secret entries, nested ones and those inside JSON texts included.

    An entry whose own text holds a secret goes as a whole: half a value would be a wrong one.
    """
    return _drop_from(values, 0)


def hide_in_text(text: str) -> str:
    """A line of running text with `***` in place of every secret value: what a log pane may show."""
    if _may_hold_key(text):
        text = _SECRET_VALUE.sub(lambda found: f"://{HIDDEN}@" if found[0].startswith("://") else HIDDEN, text)
    shown: list[str] = []
    done = 0
    for start, end in _secret_values(text):
        shown += (text[done:start], HIDDEN)
        done = end
    return "".join((*shown, text[done:]))


def _may_hold_key(text: str) -> bool:
    """A quick look for the letters that every pattern of a key needs; it spares most lines the search."""
    return any(sign in text for sign in _SIGNS) or any(word in text.lower() for word in ("bearer", "basic"))


def _secret_values(text: str) -> Iterator[tuple[int, int]]:
    """Where the values of secret names stand. What is inside the value of a harmless name is looked at as well."""
    position = 0
    while (named := _NAMED.search(text, position)) is not None:
        position = named.end()
        name = named["name"] or named["option"]
        if not is_secret_name(name):
            continue
        value = _VALUE.match(text, position)
        if value is None or (_COUNT.fullmatch(value[0]) and "token" in name.lower()):
            continue  # a vocabulary and a batch have tokens with numbers (`#token: 512`); a key is no number
        end = value.end()
        while named["option"] and (more := _MORE.match(text, end)) and (value := _VALUE.match(text, more.end())):
            end = value.end()
        yield position, end
        position = end


def _drop_from(values: Mapping[str, Json], depth: int) -> dict[str, Json]:
    return {
        name: _without_secrets(value, depth + 1)
        for name, value in values.items()
        if not is_secret_name(name) and not _is_secret(value, depth + 1)
    }


def _without_secrets(value: Json, depth: int) -> Json:
    if isinstance(value, dict):
        return _drop_from(value, depth)
    if isinstance(value, list):
        return [_without_secrets(item, depth + 1) for item in value if not _is_secret(item, depth + 1)]
    return value


def _is_secret(value: Json, depth: int) -> bool:
    if isinstance(value, str):
        return is_secret_value(value) or _holds_secret_assignment(value)
    return depth > _DEEPEST and isinstance(value, dict | list)


def _holds_secret_assignment(text: str) -> bool:
    """Whether a text is a record or JSON document in which a secret name has a value."""
    if not text or not any(sign in text for sign in "=:"):
        return False
    try:
        nested = json.loads(text) if text[0] in "{[" else None
    except (ValueError, RecursionError):
        nested = None
    if isinstance(nested, dict | list):
        return _without_secrets(nested, 0) != nested
    return any(is_secret_name(match[1]) for match in _ASSIGNMENT.finditer(text))


def _has_api_key(words: list[str]) -> bool:
    return any(word.endswith("APIKEY") for word in words)
