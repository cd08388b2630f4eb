"""What is known of references to objects that no release makes: values/references.yaml."""

from __future__ import annotations

from pathlib import Path

import yaml

from controller.domain.validation.known_references import KnownReferences
from controller.domain.values.catalogue import CatalogueInvalid


def load_known_references(values_dir: Path) -> KnownReferences:
    """Raises CatalogueInvalid when the file is not as it should be."""
    path = values_dir / "references.yaml"
    try:
        found = yaml.load(path.read_text(encoding="utf-8"), Loader=yaml.CSafeLoader)
        settled = frozenset(map(str, (*found["made"], *found["unused"])))
        return KnownReferences(settled, {str(name): str(way) for name, way in found["brought"].items()})
    except (OSError, ValueError, LookupError, TypeError, AttributeError, yaml.YAMLError) as error:
        raise CatalogueInvalid(f"{path}: cannot be read: {error}") from error
