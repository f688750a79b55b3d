"""An array in pieces does what one stretch of memory does."""

from __future__ import annotations

from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from specmon.analysis.stack import Stack

_WHOLE = st.integers(-(2**31), 2**31 - 1)
_STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("append"), _WHOLE),
        st.tuples(st.just("extend"), st.lists(_WHOLE, max_size=12)),
        st.tuples(st.just("delete"), st.integers(0, 1000)),
        st.tuples(st.just("forget"), st.integers(0, 1000)),
    ),
    max_size=20,
)


@given(st.lists(_WHOLE, max_size=12), _STEPS, st.integers(1, 5), st.integers(-20, 20), st.integers(-20, 20))
def test_does_what_a_list_does(
    first: list[int], steps: list[tuple[str, int | list[int]]], piece: int, begin: int, end: int
) -> None:
    stack, expected = Stack("i", first, piece=piece), list(first)
    for what, given_ in steps:
        if isinstance(given_, list):
            stack.extend(memoryview(array("i", given_)))
            expected += given_
        elif what == "append":
            stack.append(given_)
            expected.append(given_)
        elif what == "forget":
            count = given_ % (len(expected) + 1)
            stack.forget(count)
            del expected[:count]
        elif expected:
            del stack[given_ % len(expected)]
            del expected[given_ % len(expected)]
    assert list(stack) == expected
    assert len(stack) == len(expected)
    assert [stack[position] for position in range(-len(expected), len(expected))] == expected * 2
    assert stack.numbers().tolist() == expected
    assert stack.numbers(slice(begin, end)).tolist() == expected[begin:end]
    assert [value for part in stack.parts(slice(begin, end)) for value in part.tolist()] == expected[begin:end]


@pytest.mark.parametrize("position", [3, -4])
def test_no_number_beyond_the_ends(position: int) -> None:
    stack = Stack("d", [1.0, 2.0, 3.0], piece=2)
    with pytest.raises(IndexError):
        stack[position]
    with pytest.raises(IndexError):
        del stack[position]


def test_an_array_of_its_own_stays_when_more_comes() -> None:
    stack = Stack("i", [1, 2, 3])
    numbers = stack.numbers()
    stack.append(4)
    assert numbers.tolist() == [1, 2, 3]
