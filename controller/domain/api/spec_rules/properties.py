"""Rules about properties that bootstrap Jobs give to objects of OpenStack."""

from __future__ import annotations

from controller.domain.api.spec_rules.rule import warning

PROPERTY_UNKNOWN = warning(
    "property-unknown",
    "spec.services.*.*.values.bootstrap",
    '{reader} does not know the property "{name}", and ignores it',
    "{suggestion}",
)
PLUGIN_UNKNOWN = warning(
    "plugin-unknown",
    "spec.services.*.*.values.conf",
    '{option} lists the plug-in "{name}", which {reader} does not have; the service does not start, '
    "or ignores the plug-in",
    "{suggestion}",
)
PROPERTY_VALUE = warning(
    "property-value",
    "spec.services.*.*.values.bootstrap",
    'property "{name}" is {wanted}, but {reader} gets "{value}"',
    "give {wanted}",
)
