"""Which options of a service are secret: those that its packages call so, whatever their names are. Pure.

Of other options, `controller/domain/values/plain_text_secrets.py` guesses by name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from controller.domain.values.chart_values import DocumentPath, Values, is_map
from controller.domain.values.names.known_names import KnownNames, Sections, Service
from controller.domain.values.option_files import confs


def known_secrets(names: KnownNames, chart: str, series: str) -> Sections:
    """The secret options of the service of a chart by section."""
    return names.words(names.secrets, chart, series)


def secret_options(values: Values, service: Service) -> Iterator[tuple[DocumentPath, Any]]:
    """Path and value of each option in values that is secret."""
    secrets = known_secrets(service.names, service.chart, service.series)
    for place, conf in confs(values):
        for file, below, content in service.files.of_conf(conf):
            for section, options in content.items() if is_map(content) else ():
                known = {name for one in service.places(file, section) for name in secrets.get(one, ())}
                for name, value in options.items() if known and is_map(options) else ():
                    if name.replace("-", "_") in known:
                        yield (*place, *below, section, name), value
