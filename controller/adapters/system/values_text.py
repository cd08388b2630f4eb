"""Files of the values library as text, and as YAML with line numbers."""

from __future__ import annotations

from pathlib import Path

from controller.domain.values.catalogue import CatalogueInvalid
from controller.domain.values.yaml_reader import YamlDocument, read_documents
from controller.errors import SpecInvalid


def read_map(directory: Path, path: Path) -> YamlDocument:
    """The one map in the file; `directory` is values/. Raises CatalogueInvalid."""
    name = f"values/{path.relative_to(directory).as_posix()}"
    try:
        documents = read_documents(read_text(path), name)
    except SpecInvalid as error:
        raise CatalogueInvalid(str(error)) from error
    if len(documents) != 1 or not isinstance(documents[0].value, dict):
        raise CatalogueInvalid(f"{name}: expected one map")
    return documents[0]


def read_text(path: Path) -> str:
    """The file's text. Raises CatalogueInvalid."""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise CatalogueInvalid(f"cannot read {path}: {error}") from error
