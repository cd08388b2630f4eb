"""Images that change between two renderings of a region: by image if there are too many to list by tag.

Pure. Another version of OpenStack changes over a hundred tags, of a dozen images.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from controller.cli.views.diff import ReleaseDiff
from controller.domain.values.values_diff import ValueChange

# Up to so many tags are listed one by one, with the layer and the line that set each.
MOST_TAGS = 8
_TAGS = ("images", "tags")


@dataclass(frozen=True)
class ImageChange:
    """One image that replaces another, in these tags of the values of these releases."""

    before: str
    after: str
    places: int
    releases: tuple[str, ...]

    @property
    def name(self) -> str:
        """The name without registry, folders and tag."""
        return _repository(self.after).rpartition("/")[2]

    @property
    def parts(self) -> tuple[str, str, str]:
        """The repository, and the parts that differ: `registry/nova`, `2025.1`, `2025.2`.

        If the repositories differ, an empty one and both complete images.
        """
        repository = _repository(self.before)
        if repository != _repository(self.after):
            return "", self.before, self.after
        cut = len(repository) + 1
        return repository, self.before[cut:], self.after[cut:]


def image_changes(releases: Iterable[ReleaseDiff]) -> tuple[ImageChange, ...]:
    """Every image that changes, in the order of the names."""
    found: dict[tuple[str, str], list[str]] = {}
    for one in releases:
        for change in one.values:
            if is_image(change):
                found.setdefault((change.before, change.after), []).append(one.release)
    changes = (
        ImageChange(before, after, len(places), tuple(dict.fromkeys(places)))
        for (before, after), places in found.items()
    )
    return tuple(sorted(changes, key=lambda one: (one.name, one.before, one.after)))


def is_image(change: ValueChange) -> bool:
    """Whether an image replaces another one."""
    images = (change.before, change.after)
    return change.path[:-1] == _TAGS and all(isinstance(image, str) and image for image in images)


def too_many(changes: Sequence[ImageChange]) -> bool:
    """Whether there are too many tags to list."""
    return sum(one.places for one in changes) > MOST_TAGS


def _repository(image: str) -> str:
    """An image without its tag and digest; the colon of a port stays."""
    name = image.partition("@")[0]
    path, colon, tag = name.rpartition(":")
    return path if colon and "/" not in tag else name
