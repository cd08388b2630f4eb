"""Which credentials a region needs: the services it has, less what the operator brings along."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from controller.domain.values.catalogue import EMBEDDED, UPSTREAM, CredentialSecret, decide_services
from controller.domain.values.library import Library
from controller.domain.values.suggestions import suggestion
from controller.errors import Problem, SpecInvalid


def region_credentials(spec: Mapping[str, Any], library: Library) -> tuple[CredentialSecret, ...]:
    """The Secrets to generate, in the order of the catalogue; the same as a full rendering finds.

    Looks at the choice of services and at spec.features.credentials only, so that a mistake in the
    values of one release keeps no other from its password. Raises SpecInvalid when the choice of
    services cannot be served.
    """
    name = str(spec.get("preset") or "")
    preset = library.presets.get(name)
    if preset is None:
        problem = Problem("spec.preset", f'no preset "{name}"', suggestion(name, library.presets))
        raise SpecInvalid([problem])
    features = spec.get("features") or {}
    chosen = features.get("services") or {}
    charts = spec.get("charts") or {}
    services, problems = decide_services(
        library.catalogue,
        preset=name,
        preset_services=preset.services,
        enabled=chosen.get("enabled") or (),
        disabled=chosen.get("disabled") or (),
        source=UPSTREAM if charts.get("repository") or charts.get("path") else EMBEDDED,
    )
    if problems:
        raise SpecInvalid(problems)
    own = features.get("credentials") or {}
    wanted = []
    for entry in services:
        named = own.get(entry.name) or {}
        ours = {key: kind for key, kind in entry.credentials.items() if key not in named}
        if ours:
            wanted.append(CredentialSecret(entry.secret_name, entry.name, ours))
    return tuple(wanted)
