"""Which of our images stands for one that charts name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sandbox.errors import SandboxError
from sandbox.images.recipes import REGISTRY, Recipe


def repository(image: str) -> str:
    """The last part of an image's name, without tag and digest."""
    return image.partition("@")[0].rpartition("/")[2].partition(":")[0]


def names_of_recipes(images: Iterable[str], recipes: Iterable[Recipe]) -> Mapping[str, tuple[str, ...]]:
    """Of each recipe, by its name, the names of `images` that it stands for.

    Raises SandboxError for images of another registry, and for those that there is no recipe for.
    """
    known = {repository: recipe.name for recipe in recipes for repository in recipe.repositories}
    found: dict[str, list[str]] = {}
    problems = []
    for image in sorted(set(images)):
        if not image.startswith(f"{REGISTRY}/"):
            problems.append(f"{image} is not of the registry {REGISTRY}: set spec.images.registry")
        elif repository(image) not in known:
            problems.append(f"{image}: there is no recipe for it")
        else:
            found.setdefault(known[repository(image)], []).append(image)
    if problems:
        raise SandboxError(
            "images that the sandbox cannot make:\n" + "\n".join(f"  {one}" for one in problems)
        )
    return {name: tuple(names) for name, names in found.items()}
