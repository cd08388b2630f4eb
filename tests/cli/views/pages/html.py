"""Reads a page as a browser does: its elements, and what is wrong with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

_VOID = frozenset({"meta", "br", "hr", "img", "link", "input"})


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    text: str = ""
    inside: tuple[str, ...] = ()


@dataclass
class Page(HTMLParser):
    """The elements of a page in their order, each with all text in it."""

    elements: list[Element] = field(default_factory=list)
    mistakes: list[str] = field(default_factory=list)
    _open: list[Element] = field(default_factory=list)

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.elements, self.mistakes, self._open = [], [], []
        self.feed(text)
        self.close()
        self.mistakes += [f"<{one.tag}> is not closed" for one in self._open]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = [name for name, _ in attrs]
        self.mistakes += [f"{tag} has {name} twice" for name in names if names.count(name) > 1]
        inside = tuple(one.tag for one in self._open)
        found = Element(tag, {name: text or "" for name, text in attrs}, inside=inside)
        self.elements.append(found)
        if tag not in _VOID:
            self._open.append(found)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in _VOID:
            self._open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag in ("td", "th"):
            self.handle_data(" ")
        if not self._open or self._open[-1].tag != tag:
            self.mistakes.append(f"</{tag}> closes {self._open[-1].tag if self._open else 'nothing'}")
        else:
            self._open.pop()

    def handle_data(self, data: str) -> None:
        for one in self._open:
            one.text += data

    def all(self, tag: str) -> list[Element]:
        return [one for one in self.elements if one.tag == tag]

    @property
    def text(self) -> str:
        return " ".join(self.all("body")[0].text.split())
