"""Known references to objects that no release contains, for all services and for each."""

from __future__ import annotations

from pathlib import Path

from controller.adapters.system.values_text import read_map
from controller.domain.validation.known_references import KnownReferences
from controller.domain.values.catalogue import CatalogueInvalid


def load_known_references(values_dir: Path) -> KnownReferences:
    """Raises CatalogueInvalid for a malformed file."""
    settled: set[str] = set()
    brought: dict[str, str] = {}
    shared = read_map(values_dir, values_dir / "references.yaml")
    services = (read_map(values_dir, path) for path in sorted(values_dir.glob("services/*/service.yaml")))
    for source, part in (
        (shared.source, shared.value),
        *((one.source, one.value.get("references")) for one in services),
    ):
        try:
            settled.update(map(str, (*(part or {}).get("made", ()), *(part or {}).get("unused", ()))))
            brought.update({str(name): str(way) for name, way in (part or {}).get("brought", {}).items()})
        except (TypeError, AttributeError) as error:
            raise CatalogueInvalid(f"{source}: references cannot be read: {error}") from error
    return KnownReferences(frozenset(settled), brought)
