"""What an option is where nothing sets it, by OpenStack's packages. Pure.

It is recorded (values/charts/option-defaults.json) as a file would have it. What depends on the machine has
the word of the packages' own documentation, such as `<current_hostname>`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from controller.domain.values.names.known_names import Service

_EVERY = "every"
# By section and option: one text for all series, or one for each; None for no default.
Recorded = Mapping[str, Mapping[str, str | Mapping[str, str | None] | None]]


@dataclass(frozen=True)
class OptionDefault:
    """The default of one option; `text` is None where it has none."""

    text: str | None


@dataclass(frozen=True)
class OptionDefaults:
    """The defaults of all options, by chart."""

    recorded: Mapping[str, Recorded] = field(default_factory=dict)

    def of(self, service: Service, file: str, section: str, option: str) -> OptionDefault | None:
        """The default of an option of the service; None where it is not known."""
        for place in service.places(file, section):
            for part in (service.chart, _EVERY):
                options = self.recorded.get(part, {}).get(place, {})
                if option not in options:
                    continue
                found = options[option]
                if not isinstance(found, Mapping):
                    return OptionDefault(found)
                if service.series in found:
                    return OptionDefault(found[service.series])
        return None
