"""Runs inside the virtual environment of one OpenStack series: what its packages say of configuration files.

Reads JSON on stdin and answers with JSON on stdout. What is asked for and what is answered is described in
`tests/upstream/option_packages.py`, whose `ask` starts it.
"""

import json
import logging
import re
import sys
import sysconfig
import tempfile
import uuid
import warnings
from importlib.metadata import entry_points
from urllib.parse import quote

from oslo_config import cfg, generator, types, validator

# Libraries whose options every service may have.
COMMON = (
    "castellan",
    "keystonemiddleware",
    "oslo.cache",
    "oslo.concurrency",
    "oslo.config",
    "oslo.db",
    "oslo.limit",
    "oslo.log",
    "oslo.messaging",
    "oslo.middleware",
    "oslo.policy",
    "oslo.privsep",
    "oslo.reports",
    "oslo.service",
    "oslo.versionedobjects",
    "osprofiler",
)

SITE = sysconfig.get_path("purelib")

# What words of an option keep as it is.
SAFE = "/:+,.-_*$!#~;'"

# Test suites of the libraries, and a plug-in whose library is no requirement of its service.
SKIPPED = (
    "barbican.plugin.secret_store.kmip",
    "castellan.tests.functional.config",
    "heat_integrationtests.common.config",
)


class Definitions:
    """The options that the packages define: by section and name, and by former section and name."""

    def __init__(self, packages):
        wanted = {*COMMON, *packages}
        namespaces = sorted(
            {
                point.name
                for point in entry_points(group="oslo.config.opts")
                if point.dist.name in wanted and point.name not in SKIPPED
            }
        )
        self.listed = generator._list_opts(namespaces)
        self.options = {}
        self.former = {}
        for _, groups in self.listed:
            for group, options in groups:
                for option in options:
                    self._add(_normal(str(getattr(group, "name", group) or "DEFAULT")), option)
        for name in [name for name, options in self.options.items() if "auth_type" in options]:
            for option in _of_authentication():
                self._add(name, option)

    def _add(self, group, option):
        for name in {option.name, option.dest}:
            self.options.setdefault(group, {}).setdefault(name, option)
        for old in option.deprecated_opts:
            for name in {old.name or option.dest, (old.name or option.name).replace("-", "_")}:
                self.former.setdefault((_normal(old.group or group), name), (group, option))

    def find(self, section, name, *, like=()):
        """The option, and where it is now; None twice where no one knows it. `like`: other sections."""
        for group in map(_normal, (section, *like)):
            if name in self.options.get(group, {}):
                return self.options[group][name], (group, name)
            if (group, name) in self.former:
                now, option = self.former[group, name]
                return option, (now, option.dest)
        return None, None


# Types that services have of their own: ironic.conf, manila.share.drivers.hpe.hpe_3par_driver,
# neutron.conf.services.extdns_designate_driver.
OWN = {
    "ExplicitAbsolutePath": lambda kind: "path",
    "PortRange": lambda kind: "ports",
    "Octal": lambda kind: "octal",
    "FPG": lambda kind: f"pool({kind.min_ip}..{kind.max_ip})",
    "ZonePrefixIPv4": lambda kind: f"step({kind.min}..{kind.max}..8)",
    "ZonePrefixIPv6": lambda kind: f"step({kind.min}..{kind.max}..4)",
}


def _normal(section):
    """The section as oslo.config compares it: in small letters, but DEFAULT."""
    return section if section == "DEFAULT" else section.lower()


def _is_here(now, section, name, like):
    return now[1] == name and now[0] in map(_normal, (section, *like))


def _of_authentication():
    """Options of the plugin `password`, which no service lists in whole."""
    from keystoneauth1 import loading

    plugin = loading.get_plugin_loader("password").get_options()
    return [option._to_oslo_opt() for option in plugin]


def read(text):
    """A file as section → option → values, as oslo.config reads it."""
    sections = {}
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as file:
        file.write(text)
        file.flush()
        cfg.ConfigParser(file.name, sections).parse()
    return sections


def check(definitions, file):
    """Everything that is wrong with one file."""
    found = []
    try:
        sections = read(file["text"])
    except cfg.ParseError as error:
        return [{"kind": "unreadable", "section": "", "option": "", "value": str(error)}], 0
    count = 0
    for section, options in sections.items():
        like = file.get("like", {}).get(section, ())
        for name, values in options.items():
            count += 1
            about = {"section": section, "option": name, "value": values[-1]}
            option, now = definitions.find(section, name, like=like)
            if option is None:
                found.append({"kind": "unknown", **about})
                continue
            if not _is_here(now, section, name, like):
                found.append({"kind": "renamed", **about, "now": ".".join(now)})
            if option.deprecated_for_removal:
                found.append({"kind": "to be removed", **about})
            wrong = _wrong(option, values)
            if wrong:
                found.append({"kind": "invalid", **about, "why": wrong})
    return found, count


def _wrong(option, values):
    for value in values if option.multi else values[-1:]:
        if "$" in value.replace("$$", ""):
            continue
        try:
            option.type(value.replace("$$", "$"))
        except (ValueError, TypeError) as error:
            return str(error)
    return ""


def validated(definitions, files):
    """What oslo-config-validator itself says of each file: the lines that it logs as errors."""
    conf = cfg.ConfigOpts()
    # It makes this again for each file, which takes most of its time.
    data = generator._generate_machine_readable_data(generator._get_groups(definitions.listed), conf)
    validator.generator._generate_machine_readable_data = lambda groups, conf: data
    validator.generator._list_opts = lambda namespaces: definitions.listed
    lines = []
    handler = logging.Handler(logging.ERROR)
    handler.emit = lambda record: lines.append(record.getMessage())
    logging.getLogger().addHandler(handler)
    answer = {}
    for name, file in files.items():
        with tempfile.NamedTemporaryFile("w", suffix=".conf") as path:
            path.write(file["text"])
            path.flush()
            conf = cfg.ConfigOpts()
            validator._register_cli_opts(conf)
            conf(["--namespace", "all", "--input-file", path.name])
            validator._validate(conf)
        answer[name] = sorted(set(lines))
        lines.clear()
    return answer


def describe(definitions, wanted):
    """Type and standing of options that are asked for as [section, option, [sections it may be like]]."""
    answer = []
    for section, name, like in wanted:
        option, now = definitions.find(section, name, like=like)
        answer.append(
            None
            if option is None
            else {
                "type": type(option).__name__.removesuffix("Opt"),
                "now": "" if _is_here(now, section, name, like) else ".".join(now),
                "removal": bool(option.deprecated_for_removal),
            }
        )
    return answer


def names(definitions):
    """The names of all options by section, those included that an option had before."""
    found = {section: set(options) for section, options in definitions.options.items()}
    for section, name in definitions.former:
        found.setdefault(section, set()).add(name)
    return {section: sorted({name.replace("-", "_") for name in known}) for section, known in found.items()}


def kinds(definitions):
    """What the values of options have to be, by section and name; those that may be any text left out."""
    found = {}
    for section, options in definitions.options.items():
        for name, option in options.items():
            plain, kind = name.replace("-", "_"), _kind(option)
            found.setdefault(section, {})[plain] = kind or found.get(section, {}).get(plain, "")
    for (section, name), (_, option) in definitions.former.items():
        found.setdefault(section, {}).setdefault(name.replace("-", "_"), _kind(option))
    return {section: {name: kind for name, kind in by.items() if kind} for section, by in found.items()}


def secrets(definitions):
    """The options that are secret, by section; those included that an option had before."""
    found = {}
    for section, options in definitions.options.items():
        for name, option in options.items():
            if option.secret:
                found.setdefault(section, set()).add(name.replace("-", "_"))
    for (section, name), (_, option) in definitions.former.items():
        if option.secret:
            found.setdefault(section, set()).add(name.replace("-", "_"))
    return {section: sorted(known) for section, known in found.items()}


def defaults(definitions):
    """The default of each option by section and name, as a file would have it; null where it has none."""
    found = {}
    for section, options in definitions.options.items():
        for name, option in options.items():
            found.setdefault(section, {})[name.replace("-", "_")] = _default(option)
    return found


def _default(option):
    # What depends on the machine has an example for documents, such as <hostname>.
    given = option.default if option.sample_default is None else option.sample_default
    if option.secret and given:
        return ""  # an example of a password at best
    if given is None or given == []:
        return None if given is None else ""
    if isinstance(given, bool):
        return str(given).lower()
    if isinstance(given, dict):
        return ",".join(f"{key}:{_word(value)}" for key, value in given.items())
    if isinstance(given, list | tuple | range):
        between = "\n" if option.multi else ","
        return between.join(map(_word, given))
    return _word(given)


def _word(value):
    text = str(value).lower() if isinstance(value, bool) else str(value)
    # Where the packages of this environment are says nothing of an image.
    return text.replace(SITE, "<site-packages>").replace(sys.prefix, "<prefix>")


def _kind(option):
    """The word for what the option takes, as `controller.domain.values.names.option_types` describes it;
    nothing for what takes any text."""
    within = _type(option.type)
    if option.multi:
        return f"multi:{within}" if within else "multi"
    return within


def _type(kind):
    if isinstance(kind, types.Boolean):
        return "bool"
    if kind is uuid.UUID:
        return "uuid"
    if type(kind).__name__ in OWN:
        return OWN[type(kind).__name__](kind)
    if isinstance(kind, types.Number):
        return _number(kind)
    if isinstance(kind, types.String):
        return _string(kind)
    if isinstance(kind, types.List):
        return _with("brackets" if kind.bounds else "list", _type(kind.item_type))
    if isinstance(kind, types.Dict):
        between = quote(getattr(kind, "key_value_separator", ":"), safe=":")
        return _with(f"{'braces' if kind.bounds else 'map'}({between})", _type(kind.value_type))
    if isinstance(kind, types.Range):
        return "range({}..{})".format(*map(_bound, (kind.min, kind.max)))
    if isinstance(kind, types.URI):
        schemes = "|".join(kind.schemes or ())
        return f"uri({kind.max_length or ''};{schemes})"
    if isinstance(kind, types.HostAddress):
        return "domain" if isinstance(kind, types.HostDomain) else "host"
    if isinstance(kind, types.Hostname):
        return "name"
    if isinstance(kind, types.IPAddress):
        checks = {kind._check_ipv4: "ip4", kind._check_ipv6: "ip6"}
        return checks.get(kind.version_checker, "ip")
    return ""


def _with(outer, within):
    return f"{outer}:{within}" if within else outer


def _number(kind):
    if kind.choices:
        return f"number({'|'.join(map(str, kind.choices))})"
    number = "float" if isinstance(kind, types.Float) else "int"
    least, most = map(_bound, (kind.min, kind.max))
    return f"{number}({least}..{most})"


def _string(kind):
    if kind.choices:
        words = sorted({str(choice) for choice in kind.choices if choice is not None})
        return f"{'any' if kind.ignore_case else 'one'}({'|'.join(quote(word, safe=SAFE) for word in words)})"
    if kind.regex:
        flags = "(?i)" if kind.regex.flags & re.IGNORECASE else ""
        return f"like({quote(flags + kind.regex.pattern, safe='')})"
    if kind.max_length:
        return f"text({kind.max_length})"
    return "quoted" if kind.quotes else ""


def _bound(number):
    """A bound as text; nothing for what stands for none."""
    return "" if number is None or number >= sys.maxsize else str(number).removesuffix(".0")


def read_back(definitions, asked):
    """Of each [section, option, lines of a file] whether the packages' option takes it, and what is read."""
    answer = []
    for section, name, text in asked:
        option, _ = definitions.find(section, name)
        try:
            sections = read(f"[{section}]\n{text}\n")
            found = sections.get(section, {})
            values = found.get(name)
            if values is None or len(found) > 1 or len(sections) > 1:
                answer.append([False, "it is another option"])
                continue
            taken = [option.type(value) for value in (values if option.multi else values[-1:])]
            answer.append([True, _plain(taken if option.multi else taken[0])])
        except Exception as error:  # drivers have types with errors of their own
            answer.append([False, str(error)[:120]])
    return answer


def _plain(value):
    """What JSON can say of it."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple | range):
        return [_plain(item) for item in value]
    return value if isinstance(value, bool | int | float | str) or value is None else str(value)


def main():
    warnings.simplefilter("ignore")
    asked = json.load(sys.stdin)
    # Packages print while they are imported.
    answers, sys.stdout = sys.stdout, sys.stderr
    definitions = Definitions(asked["packages"])
    answer = {"files": {}, "options": describe(definitions, asked.get("options", ()))}
    files = asked.get("files", {})
    for name, file in files.items():
        found, count = check(definitions, file)
        answer["files"][name] = {"found": found, "count": count}
    if asked.get("names"):
        answer["names"] = names(definitions)
    if asked.get("kinds"):
        answer["kinds"] = kinds(definitions)
    if asked.get("secrets"):
        answer["secrets"] = secrets(definitions)
    if asked.get("defaults"):
        answer["defaults"] = defaults(definitions)
    if asked.get("read_back"):
        answer["read_back"] = read_back(definitions, asked["read_back"])
    if asked.get("validator"):
        answer["validator"] = validated(definitions, files)
    json.dump(answer, answers)


if __name__ == "__main__":
    main()
