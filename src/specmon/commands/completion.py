"""Completion of the command line by click's own mechanism, with scripts that know `HOST:PATH` and `@NAME`.

click's scripts hand over words that bash has cut at every `:` and `@`, and end every value with a blank. Ours hand over
the line up to the cursor, and each answers with one whole word a line, quoted as a shell wants it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from typing import ClassVar

import click
from click.shell_completion import CompletionItem, ShellComplete, add_completion_class, split_arg_string

from specmon.commands.completing import completer_of, file_items

# A value that goes on gets no blank behind it.
_BASH = r"""
%(complete_func)s() {
    local line
    COMPREPLY=()
    while IFS= read -r line; do
        [[ -n $line ]] || continue
        COMPREPLY+=("$line")
        if [[ $line == *[/:=] ]]; then compopt -o nospace 2>/dev/null; fi
    done < <(COMP_LINE="${COMP_LINE:0:COMP_POINT}" COMP_WORDBREAKS="$COMP_WORDBREAKS" %(complete_var)s=bash_complete \
        "$1" 2>/dev/null </dev/null)
}
complete -o nosort -F %(complete_func)s %(prog_name)s 2>/dev/null || complete -F %(complete_func)s %(prog_name)s
"""

_ZSH = r"""
#compdef %(prog_name)s
%(complete_func)s() {
    local line value
    local -a whole open whole_shown open_shown
    for line in "${(@f)$(COMP_LINE="${(j: :)words[1,CURRENT-1]} $PREFIX" %(complete_var)s=zsh_complete \
        "${words[1]}" 2>/dev/null </dev/null)}"; do
        value="${line%%%%$'\t'*}"
        [[ -n $value ]] || continue
        if [[ $value == *[/:=] ]]; then
            open+=("$value"); open_shown+=("${line/$'\t'/  -- }")
        else
            whole+=("$value"); whole_shown+=("${line/$'\t'/  -- }")
        fi
    done
    (( $#whole )) && compadd -Q -U -l -V specmon -d whole_shown -a whole
    (( $#open )) && compadd -Q -U -l -V specmon-open -S '' -d open_shown -a open
}
if [[ $zsh_eval_context[-1] == loadautofunc ]]; then
    %(complete_func)s "$@"
else
    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
    compdef %(complete_func)s %(prog_name)s
fi
"""

_FISH = r"""
function %(complete_func)s
    set -lx COMP_LINE (commandline -cp)
    set -lx %(complete_var)s fish_complete
    set -l program (commandline -opc)[1]
    eval (string escape -- $program) 2>/dev/null </dev/null
end
complete --no-files --keep-order --command %(prog_name)s --arguments "(%(complete_func)s)"
"""

_SPECIAL = re.compile(r"([^\w@%+=:,./~\[\]-])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


class LineCompletion(ShellComplete):
    """Completes the last word of the line that a shell hands over."""

    is_quoting: ClassVar[bool] = True
    has_help: ClassVar[bool] = True

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the last one, and the last one, which may be empty."""
        line = os.environ.get("COMP_LINE", "")
        words = split_arg_string(line)
        last = "" if not words or (line[-1:].isspace() and not line.endswith("\\ ")) else words.pop()
        return words[1:], last

    def complete(self) -> str:
        """One answer a line."""
        args, word = self.get_completion_args()
        # An option and its value in one word: click completes the value, the shell wants the word.
        head = word[: word.index("=") + 1] if word.startswith("--") and "=" in word else ""
        answers = (self.format_completion(item, head, word) for item in self._items(args, word))
        return "\n".join(dict.fromkeys(answer for answer in answers if answer))

    def _items(self, args: list[str], word: str) -> Iterator[CompletionItem[str]]:
        for item in self.get_completions(args, word):
            if item.type in ("file", "dir"):
                yield from file_items(item.value, only_folders=item.type == "dir")
            else:
                yield item

    def format_completion(self, item: CompletionItem[str], head: str = "", word: str = "") -> str:
        """A word as the shell wants it."""
        text = f"{head}{item.value}"
        if _CONTROL.search(text):
            return ""  # a name that no line can hold
        text = self._cut(_SPECIAL.sub(r"\\\1", text) if self.is_quoting else text, word)
        return f"{text}\t{item.help}" if item.help and self.has_help else text

    def _cut(self, text: str, word: str) -> str:
        return text


class BashCompletion(LineCompletion):
    """bash replaces only what stands behind the last character that breaks words there, or from the last `@` on."""

    name = "bash"
    source_template = _BASH
    has_help = False

    def _cut(self, text: str, word: str) -> str:
        breaks = [sign for sign in ":=@" if sign in os.environ.get("COMP_WORDBREAKS", "")]
        start = max((word.rfind(sign) + (sign != "@") for sign in breaks), default=0)
        start = max(start, 0)  # no `@` in the word
        return text[len(_SPECIAL.sub(r"\\\1", word[:start])) :]


class ZshCompletion(LineCompletion):
    """zsh replaces the whole word."""

    name = "zsh"
    source_template = _ZSH


class FishCompletion(LineCompletion):
    """fish quotes by itself."""

    name = "fish"
    source_template = _FISH
    is_quoting = False


_CLASSES = (BashCompletion, ZshCompletion, FishCompletion)
SHELLS = tuple(each.name for each in _CLASSES)


def print_script(*, shell: str, program: click.Command) -> int:
    """Print the script that makes a shell complete `specmon`."""
    chosen = next(each for each in _CLASSES if each.name == shell)
    click.echo(chosen(program, {}, "specmon", "_SPECMON_COMPLETE").source().strip())
    return 0


def set_up_completion(program: click.Group) -> None:
    """Make the program answer the scripts; done only when one of them asks."""
    for each in _CLASSES:
        add_completion_class(each)
    for command in _commands(program):
        for parameter in command.params:
            completer = completer_of(command, parameter)
            if completer is not None:
                _complete_by(parameter, completer)


def _commands(command: click.Command) -> Iterator[click.Command]:
    yield command
    if isinstance(command, click.Group):
        for each in command.commands.values():
            yield from _commands(each)


def _complete_by(
    parameter: click.Parameter, completer: Callable[[click.Context, str], list[CompletionItem[str]]]
) -> None:
    # The public way is an argument of each of the forty options, which they would all carry into every start.
    parameter.shell_complete = completer  # type: ignore[method-assign,assignment]
