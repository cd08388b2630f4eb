"""Files of a chart that Helm leaves out, by the rules of its .helmignore."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache

from controller.errors import ChartInvalid

FILE = ".helmignore"
MOST_RULES = 500
# Helm's own rule: files that editors leave beside templates.
_ALWAYS = "templates/.?*"
_RANGE = re.compile(r"\[(\^?)((?:[^\]\\]|\\.)+)\]")

#: Whether a file (False) or directory (True) of this name in the chart is ignored.
Ignored = Callable[[str, bool], bool]


@dataclass(frozen=True)
class _Rule:
    pattern: re.Pattern[str]
    negated: bool
    directories: bool
    whole: bool  # matched with the whole name, not with its last part only

    def matches(self, name: str) -> bool:
        return self.pattern.fullmatch(name if self.whole else name.rpartition("/")[2]) is not None


def ignored_by(text: str) -> Ignored:
    """The files that the rules exclude.

    Raises ChartInvalid if a rule is unreadable. The rules differ from git's: the first rule that matches
    decides, and a rule with `!` excludes everything that it does not match
    (https://helm.sh/docs/chart_template_guide/helm_ignore_file/).
    """
    rules = [_rule(line.strip()) for line in (*text.splitlines(), _ALWAYS) if _says_something(line)]
    if len(rules) > MOST_RULES:
        raise ChartInvalid(f"{FILE}: more than {MOST_RULES} rules")

    def ignored(name: str, directory: bool) -> bool:
        for rule in rules:
            if rule.negated:
                if (rule.directories and not directory) or not rule.matches(name):
                    return True
            elif (directory or not rule.directories) and rule.matches(name):
                return True
        return False

    return ignored


def _says_something(line: str) -> bool:
    return bool(line.strip()) and not line.strip().startswith("#")


def _rule(text: str) -> _Rule:
    if "**" in text:
        raise ChartInvalid(f'{FILE}: Helm does not know "**" as in "{text[:100]}"')
    negated, text = text.startswith("!"), text.removeprefix("!")
    directories, text = text.endswith("/"), text.removesuffix("/")
    return _Rule(_compiled(text.removeprefix("/")), negated, directories, "/" in text)


@lru_cache(maxsize=1000)
def _compiled(glob: str) -> re.Pattern[str]:
    """The pattern as Go's filepath.Match reads it: `*` and `?` stop at a slash, `\\` quotes."""
    pieces, place = [""], 0
    while place < len(glob):
        letter, bracket = glob[place], _RANGE.match(glob, place)
        if letter == "*":
            pieces.append("")
        elif bracket:
            letters = bracket.group(2).replace("[", "\\[")
            pieces[-1] += f"(?!/)[{bracket.group(1)}{letters}]"
            place = bracket.end() - 1
        elif letter == "[" or glob[place:] == "\\":
            raise _invalid(glob)
        elif letter == "\\":
            place += 1
            pieces[-1] += re.escape(glob[place])
        else:
            pieces[-1] += "[^/]" if letter == "?" else re.escape(letter)
        place += 1
    # Each star matches as little as possible without backtracking, so no pattern takes long.
    first, *between = pieces
    last = f"[^/]*{between.pop()}" if between else ""
    try:
        return re.compile(first + "".join(f"(?>[^/]*?{piece})" for piece in between) + last, re.DOTALL)
    except re.error:
        raise _invalid(glob) from None


def _invalid(glob: str) -> ChartInvalid:
    return ChartInvalid(f'{FILE}: "{glob[:100]}" is not a pattern')
