"""What a format file may say, and what is said about one that is wrong: file, line, key, or the failing sample."""

from __future__ import annotations

import pytest

from specmon.formats.custom import CustomDialect, FaultyFormat, load_format, parse_format
from specmon.formats.custom.fields import FIELDS, KINDS, allowed_in

GOOD = """\
schema = 1
name = "tiny"
covers = "time"

[[pattern]]
name = "decode"
kind = "decode"
regex = 'B=(?P<running>\\d+) R=(?P<tok_s>\\S+)'

[[sample]]
line = "B=1 R=75.9"
pattern = "decode"
expect = { running = 1, tok_s = 75.9 }
"""


def fault_of(text: str) -> str:
    with pytest.raises(FaultyFormat) as caught:
        load_format(text, "tiny.toml")
    return str(caught.value)


def test_a_format_is_a_dialect_with_its_name_as_the_engine() -> None:
    dialect = load_format(GOOD, "tiny.toml")
    assert isinstance(dialect, CustomDialect)
    assert dialect.engine == "custom:tiny"


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ('covers = "time"', 'covers = "time"\ncolour = "red"', "tiny.toml:4: colour: is not known"),
        ('covers = "time"', 'covers = "weeks"', "tiny.toml:3: covers: "),
        ('covers = "time"\n', "", "`covers` is missing"),
        ('covers = "time"', 'covers = "cycles"', "needs `cycles`"),
        ('name = "tiny"', 'name = "My Format"', "tiny.toml:2: name: "),
        ("schema = 1", "schema = 2", "has schema 2, this version reads 1. Update specmon"),
        ("schema = 1\n", "", "schema: field required"),
        ("schema = 1", "schema = ", "not valid TOML"),
        ('kind = "decode"', 'kind = "decoding"', "tiny.toml:7: pattern.1.kind: `decoding` is none of decode, "),
        ('kind = "decode"\n', "", "tiny.toml:5: pattern.1.kind: field required"),
        ("tok_s>", "speed>", "`speed` is no field of a format"),
        ("tok_s>", "new_tokens>", "a line of kind decode cannot give `new_tokens`"),
        ("B=(?P<running>\\d+) ", "", "a line of kind decode needs `running`"),
        ("R=(?P<tok_s>\\S+)", "R=", "needs `tok_s`"),
        ("(?P<running>", "(?=x)(?P<running>", "tiny.toml:8: pattern.1.regex: look-ahead"),
        ("B=(", "B=((", "tiny.toml:8: pattern.1.regex: missing )"),
        ("B=(", "(?P<running>B)=(", "the group `running` is there twice"),
        ("regex = 'B", "regex = '(x*)|B", "matches an empty line"),
        ("regex = 'B", "regex = '\\AB", "write ^ and $"),
        ('pattern = "decode"', 'pattern = "nobody"', "names the pattern `nobody`, which is not there"),
        ('pattern = "decode"', 'pattern = "nothing"', "`decode` has no [[sample]]"),
        ("[[sample]]", '[time]\nlayout = "HH:MM"\n[[sample]]', "tiny.toml:11: time.layout: `HH:MM` is neither iso"),
        ("[[sample]]", '[time]\nlayout = "%Q"\n[[sample]]', "strptime does not take `%Q`"),
        ("[[sample]]", '[time]\nzone = "CET"\n[[sample]]', "`CET` is no zone"),
        ("[[sample]]", "[unit]\ntok_s = 0\n[[sample]]", "tiny.toml:11: unit.tok_s: input should be greater than 0"),
        ("[[sample]]", "[unit]\nmodel = 2\n[[sample]]", "`model` is no figure"),
        (
            "[[sample]]",
            "set = { running = 'one' }\n[[sample]]",
            "tiny.toml:10: pattern.1.set: `running` must be a number",
        ),
    ],
)
def test_a_wrong_file_is_named_with_line_and_key(was: str, becomes: str, said: str) -> None:
    assert was in GOOD
    fault = fault_of(GOOD.replace(was, becomes, 1))
    assert said in fault
    assert fault.startswith("format tiny.toml")


@pytest.mark.parametrize(
    ("was", "becomes", "said"),
    [
        ("tok_s = 75.9", "tok_s = 75.8", "sample 1: tok_s: expected 75.8, got 75.9"),
        ("tok_s = 75.9", "queue = 0", "sample 1: queue: expected 0, got absent"),
        ('"B=1 R=75.9"', '"B=1"', "sample 1: pattern: expected decode, got nothing"),
        ('"B=1 R=75.9"', '"B=1 R=nan"', "sample 1: tok_s: expected 75.9, got absent"),
    ],
)
def test_a_format_whose_sample_fails_is_an_error_that_says_what_came(was: str, becomes: str, said: str) -> None:
    fault = fault_of(GOOD.replace(was, becomes, 1))
    assert fault.startswith(f"format tiny in tiny.toml: {said}")
    assert "specmon formats test tiny.toml" in fault


def test_several_failing_samples_are_counted() -> None:
    second = '[[sample]]\nline = "B=2 R=1"\npattern = "decode"\nexpect = { running = 3 }\n'
    assert "(1 more fail)" in fault_of(GOOD.replace("75.9 }", "1 }") + second)


def test_a_parsed_format_need_not_pass_its_samples() -> None:
    dialect = parse_format(GOOD.replace("75.9 }", "1 }"), "tiny.toml")
    assert [outcome.is_right for outcome in dialect.outcomes()] == [False]


def test_every_field_belongs_to_a_kind() -> None:
    assert {name for kind in KINDS for name in allowed_in(kind)} == set(FIELDS)
