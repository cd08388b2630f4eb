"""Rules about options that values put into files of configuration."""

from __future__ import annotations

from controller.domain.api.spec_rules.rule import refusal, warning

TEXT_READ_AS_TRUE = warning(
    "text-read-as-true",
    "spec.services.*.*.values",
    "expected true or false, got {got}, which charts read as true",
    "write true or false without quotes",
)

TEXT_FOR_NUMBER = warning(
    "text-for-number",
    "spec.services.*.*.values",
    "expected a number, as in the chart and the controller, got {got}",
    "give a number",
)

SECTION_UNKNOWN = warning(
    "section-unknown",
    "spec.services.*.*.values.conf.*.*",
    'no package of OpenStack {series} has options of a section "{section}" in {file}.conf',
    'did you mean "{near}"? It is used as written.',
)

OPTION_UNKNOWN = warning(
    "option-unknown",
    "spec.services.*.*.values.conf.*.*.*",
    'no package of OpenStack {series} has an option "{option}" in {where}',
    "{remedy}",
)

POLICY_NAME_UNKNOWN = warning(
    "policy-name-unknown",
    "spec.features.policies.*.*",
    '{service} has no rule "{name}"',
    "{remedy}",
)

OPTION_NAME_MALFORMED = refusal(
    "option-name-malformed",
    "spec.services.*.*.values.conf.*.*.*",
    'option "{option}" of {where} has a name with special characters',
    "write the name of an option, without = : # ; [ and line breaks",
)

OPTION_EMPTY_MAP = refusal(
    "option-empty-map",
    "spec.services.*.*.values.conf.*.*.*",
    (
        'option "{option}" of {where} has an empty map, and charts write nothing for it: the default of '
        "the package applies"
    ),
    'leave it out, or write "" for an empty text',
)

OPTION_MAP = refusal(
    "option-map",
    "spec.services.*.*.values.conf.*.*.*",
    'option "{option}" of {where} has a map, for which charts write nothing',
    "{remedy}",
)

OPTION_SEVERAL_VALUES = refusal(
    "option-several-values",
    "spec.services.*.*.values.conf.*.*.*",
    'option "{option}" of {where} has several lines, but the service uses only the last one',
    "give one value",
)

OPTION_NESTED_LIST = refusal(
    "option-nested-list",
    "spec.services.*.*.values.conf.*.*.*",
    (
        'option "{option}" of {where} has a list or a map in a list, which charts write in the notation '
        "of Go, such as map[a:1]"
    ),
    "give a list of texts and numbers",
)

OPTION_LIST_ON_ONE_LINE = refusal(
    "option-list-on-one-line",
    "spec.services.*.*.values.conf.*.*.*",
    'option "{option}" of {where} may occur several times, but a list becomes one line with commas',
    "write {{type: multistring, values: [...]}}, which becomes a line for each",
)

OPTION_COMMA_IN_ITEM = refusal(
    "option-comma-in-item",
    "spec.services.*.*.values.conf.*.*.*",
    ('option "{option}" of {where} has a comma in an item of its list, which the service reads as two items'),
    "write each of them as a separate item",
)

OPTION_SEVERAL_LINES = refusal(
    "option-several-lines",
    "spec.services.*.*.values.conf.*.*.*",
    'option "{option}" of {where} has several lines, which the service reads as separate options',
    "write one line (in YAML >- joins lines), or start each further one with a space",
)

OPTION_QUOTED = refusal(
    "option-quoted",
    "spec.services.*.*.values.conf.*.*.*",
    'option "{option}" of {where} begins and ends with a quote, which the service removes',
    "remove them; YAML's own quotes are not part of the value",
)

OPTION_LIST_WITH_BRACKETS = refusal(
    "option-list-with-brackets",
    "spec.services.*.*.values.conf.*.*.*",
    (
        'option "{option}" of {where} is a list without brackets: the service reads them as part of the '
        "first and last item"
    ),
    "remove them, or give a list",
)

OPTION_TYPE = refusal(
    "option-type",
    "spec.services.*.*.values.conf.*.*.*",
    'option "{option}" of {where} is {wanted}, got {got}',
    "{remedy}",
)

OPTION_REFERENCE_UNKNOWN = refusal(
    "option-reference-unknown",
    "spec.services.*.*.values.conf.*.*.*",
    ('option "{option}" of {where} refers to an option "{name}", which no package of OpenStack {series} has'),
    "write $$ for a dollar sign, or name an existing option",
)

OPTION_WITHOUT_ITEM = warning(
    "option-without-item",
    "spec.services.*.*.values.conf.*",
    "{option} needs {item} in {list}: {why}",
    "{remedy}",
)
