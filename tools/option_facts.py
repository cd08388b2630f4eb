"""Records what packages say of the options that our values set: `make options`.

`tests/data/options.json` has, by chart, file, section and option, the option's type in each series; one word
where all series agree. `tests/render/test_options.py` compares the values with it, without a network.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tests.upstream.option_packages import SERIES, ask, pins_digest
from tests.upstream.options_set import (
    GLANCE_STORES,
    STORES,
    Option,
    feature_regions,
    like,
    options_set,
    whole_region,
)

FACTS = Path(__file__).resolve().parents[1] / "tests" / "data" / "options.json"
UNKNOWN = "unknown"
# Options that packages do not list, and why they are set nevertheless.
_DRAWN = "no service reads it, but it is random in the chart's defaults"
_ADAPTER = "registered with an adapter's options (neutron.common.config)"
_UNLISTED = "registered and not listed in 2025.1 (octavia.common.config)"
NOT_LISTED: Mapping[str, str] = {
    "ceilometer: ceilometer.conf [DEFAULT] skip_gnocchi_resource_types": "of the command ceilometer-upgrade",
    "gnocchi: gnocchi.conf [indexer] driver": "read by the chart, which makes the indexer's URL of it",
    "gnocchi: gnocchi.conf [statsd] project_id": _DRAWN,
    "gnocchi: gnocchi.conf [statsd] user_id": _DRAWN,
    "heat: heat.conf [trustee] cafile": "of the chart's own values for TLS; Heat reads [clients_keystone]",
    "keystone: keystone.conf [openid] remote_id_attribute": "of each protocol (keystone.federation.utils)",
    "neutron: neutron.conf [ironic] region_name": _ADAPTER,
    "neutron: neutron.conf [ironic] valid_interfaces": _ADAPTER,
    "octavia: octavia.conf [neutron] region_name": _UNLISTED,
    "octavia: octavia.conf [neutron] valid_interfaces": _UNLISTED,
}


def recorded_section(option: Option) -> str:
    """The section in the facts: sections that people name are those that their options come from."""
    others = like(option.chart, option.file, option.section)
    known = (STORES, GLANCE_STORES)
    named = bool(others) and others[0] in known and option.section != GLANCE_STORES
    found: str = others[0] if named else option.section
    return found


def every_option() -> set[Option]:
    """Every option that the values set in some region."""
    regions = [*map(whole_region, SERIES), *(region for _, region in feature_regions())]
    return {option for region in regions for option, _ in options_set(region)}


def observe_facts() -> dict[str, Any]:
    """The facts as of now. Needs the environments of all series."""
    wanted: defaultdict[str, list[Option]] = defaultdict(list)
    for option in sorted(every_option(), key=str):
        wanted[option.chart].append(option)
    types: defaultdict[Option, dict[str, str]] = defaultdict(dict)
    for series in SERIES:
        for chart, options in wanted.items():
            asked = [[one.section, one.name, like(one.chart, one.file, one.section)] for one in options]
            answer = ask(series, chart, options=asked)["options"]
            for option, known in zip(options, answer, strict=True):
                types[option][series] = _word(known)
    facts: dict[str, Any] = {}
    for option, words in types.items():
        section = facts.setdefault(option.chart, {}).setdefault(option.file, {})
        entry = section.setdefault(recorded_section(option), {})
        entry[option.name] = words[SERIES[0]] if len(set(words.values())) == 1 else words
    return {"pins": {series: pins_digest(series) for series in SERIES}, "options": facts}


def fact(facts: Mapping[str, Any], option: Option, series: str) -> str | None:
    """What is recorded of an option in a series: type and standing, `unknown`, or None for nothing at all."""
    sections = facts["options"].get(option.chart, {}).get(option.file, {})
    known = sections.get(recorded_section(option), {}).get(option.name)
    return known.get(series) if isinstance(known, dict) else known


def _word(known: dict[str, Any] | None) -> str:
    if known is None:
        return UNKNOWN
    later = f", now {known['now']}" if known["now"] else ""
    return f"{known['type']}{later}{', to be removed' if known['removal'] else ''}"


if __name__ == "__main__":
    FACTS.write_text(json.dumps(observe_facts(), indent=1, sort_keys=True) + "\n")
