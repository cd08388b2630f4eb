"""Counts the words a sentence has in the pages, and finds words that plain English does not need.

Paragraphs and list items are counted apart. Tables, headings and blocks of code are left out of the count;
the words are looked for everywhere but in code.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean, quantiles

from markdown_it import MarkdownIt
from markdown_it.token import Token

ROOT = Path(__file__).parents[1]

MOST_WORDS_IN_THE_MEAN = 16.5
LONG = 35
MOST_LONG = 0.04
# A page alone may be a little above what all of them keep to: a short one has few sentences.
MOST_WORDS_OF_A_PAGE = 18.0
MOST_LONG_OF_A_PAGE = 0.06

FORBIDDEN = re.compile(
    r"\b(?:somebody|nobody|anybody|everybody|told|one's own|for ever|of before|thereof|thereby"
    r"|whereby|therein|anew|let(?:s|ting)? in|without a word|unwedge|makes? good"
    r"|(?<!\ba )(?<!\bone )(?<!\blast )(?<!\bfirst )(?<!\btwo )pass(?:es|ed)? over"
    r"|mend(?:s|ed|ing)?|for want of|at the (?:most|least)|be it|but for"
    r"|(?-i:Where (?:a|an|the|no|there)))\b",
    re.IGNORECASE,
)
CODE = "\N{REPLACEMENT CHARACTER}"
ABBREVIATION = re.compile(r"\b(?:e\.g|i\.e|etc|vs|cf)\.")
END = re.compile(r"(?<=[.!?])[\"')\]]*\s+(?=[\"'(\[]*[A-Z0-9" + CODE + "])")
WORD = re.compile(rf"[\w{CODE}][\w{CODE}'’./:@=-]*")


@dataclass(frozen=True)
class Figures:
    """Of the sentences of one page, or of all."""

    sentences: int
    mean: float
    p90: float
    long: float

    def __str__(self) -> str:
        words = f"mean {self.mean:4.1f}  p90 {self.p90:4.0f}  over {LONG}: {self.long:5.1%}"
        return f"{self.sentences:5} sentences  {words}"


def figures_of(sentences: Sequence[str]) -> Figures:
    lengths = [len(WORD.findall(one)) for one in sentences]
    if not lengths:
        return Figures(0, 0.0, 0.0, 0.0)
    p90 = quantiles(lengths, n=10)[8] if len(lengths) > 1 else lengths[0]
    return Figures(len(lengths), mean(lengths), p90, sum(one > LONG for one in lengths) / len(lengths))


def sentences_of(markdown: str) -> list[str]:
    """What is read as running text, sentence by sentence."""
    found = []
    for text, _, counted in _texts(markdown):
        if counted:
            found += [part for part in END.split(ABBREVIATION.sub(lambda one: one[0][:-1], text)) if part]
    return [one for one in found if WORD.search(one)]


def forbidden_in(markdown: str) -> list[tuple[int, str]]:
    """Line and word of each one that a page should do without."""
    return [(line, one) for text, line, _ in _texts(markdown) for one in FORBIDDEN.findall(text)]


def _texts(markdown: str) -> Iterator[tuple[str, int, bool]]:
    """Each paragraph, item, heading and cell with its line, and whether it is running text."""
    table = heading = False
    for token in MarkdownIt("commonmark").enable("table").parse(markdown):
        if token.type in {"table_open", "table_close"}:
            table = token.type == "table_open"
        elif token.type in {"heading_open", "heading_close"}:
            heading = token.type == "heading_open"
        elif token.type == "inline":
            line = (token.map or [0])[0] + 1
            yield _plain(token.children or ()), line, not (table or heading)


def _plain(parts: Sequence[Token]) -> str:
    kinds = {"code_inline": CODE, "softbreak": " ", "hardbreak": " "}
    return "".join(kinds.get(one.type, one.content if one.type == "text" else "") for one in parts).strip()


def pages(root: Path = ROOT) -> list[Path]:
    return sorted([*root.glob("*.md"), *root.glob("[cs]*/README.md"), *(root / "docs").rglob("*.md")])


def problems_of(name: str, text: str) -> list[str]:
    """Why a page does not pass."""
    found = [f"{name}:{line}: '{word}'" for line, word in forbidden_in(text)]
    figures = figures_of(sentences_of(text))
    if figures.mean > MOST_WORDS_OF_A_PAGE or figures.long > MOST_LONG_OF_A_PAGE:
        found.append(f"{name}: {figures}".replace("  ", " "))
        found += [f"{name}: long: {one[:90]}…" for one in sentences_of(text) if len(WORD.findall(one)) > LONG]
    return found


def check(texts: dict[str, str]) -> list[str]:
    """Everything that is wrong with the pages."""
    found = [problem for name, text in texts.items() for problem in problems_of(name, text)]
    everything = figures_of([one for text in texts.values() for one in sentences_of(text)])
    if everything.mean > MOST_WORDS_IN_THE_MEAN or everything.long > MOST_LONG:
        found.append(f"all pages together: {everything}")
    return found


def main(words: Sequence[str]) -> int:
    texts = {str(page.relative_to(ROOT)): page.read_text(encoding="utf-8") for page in pages()}
    if "--figures" in words:
        for name, text in texts.items():
            print(f"{name:50} {figures_of(sentences_of(text))}  words to avoid: {len(forbidden_in(text))}")
        print(f"{'all':50} {figures_of([one for text in texts.values() for one in sentences_of(text)])}")
        return 0
    found = check(texts)
    print("\n".join(found) or "plain")
    return 1 if found else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
