"""Runs inside the virtual environment of one OpenStack series: loads files with the services' own code.

`service_program.py ACTION`, with JSON on stdin and the answer as JSON on stdout. See `option_packages.load`.
"""

import configparser
import importlib
import importlib.util
import json
import sys
import tempfile
import warnings
from importlib.metadata import PackageNotFoundError, distribution, entry_points
from pathlib import Path


def written(directory, files):
    """The files below a directory, by name; their paths."""
    paths = []
    for name, text in files.items():
        path = Path(directory) / name
        path.write_text(text)
        paths.append(str(path))
    return paths


def policies(asked, directory):
    """Problems of a policy.yaml beside the rules that the service itself registers, by oslo.policy."""
    from oslo_config import cfg
    from oslo_policy import opts, policy

    (path,) = written(directory, {"policy.yaml": asked["text"]})
    conf = cfg.ConfigOpts()
    conf([])
    opts._register(conf)
    conf.set_override("policy_file", path, "oslo_policy")
    enforcer = policy.Enforcer(conf, policy_file=path)
    for point in entry_points(group="oslo.policy.policies"):
        if point.dist.name not in asked["packages"]:
            continue
        for rule in point.load()():
            if rule.name not in enforcer.registered_rules:
                enforcer.register_default(rule)
    enforcer.load_rules(force_reload=True)
    enforcer.check_rules(raise_on_violation=True)
    unregistered = sorted(set(enforcer.file_rules) - set(enforcer.registered_rules))
    return {"registered": len(enforcer.registered_rules), "unregistered": unregistered}


def rule_names(asked, directory):
    """The names of the rules of policies that the packages register, and those that a rule had before."""
    found = set()
    for point in entry_points(group="oslo.policy.policies"):
        if point.dist.name not in asked["packages"]:
            continue
        for rule in point.load()():
            found.add(rule.name)
            former = rule.deprecated_rule
            found |= {former.name} if former else set()
    return sorted(found)


def rules(asked, directory):
    """Of each rule of a policy whether oslo.policy reads it: what it does not, it logs, and denies to all. A
    lone word comes out as it is in older releases, and fails where it is to be asked."""
    import logging

    from oslo_policy import _checks, _parser

    told = []
    handler = logging.Handler()
    handler.emit = told.append
    logging.getLogger("oslo_policy").addHandler(handler)
    read = []
    for rule in asked["rules"]:
        told.clear()
        found = _parser.parse_rule(rule)
        read.append(isinstance(found, _checks.BaseCheck) and not told)
    return read


def mappings(asked, directory):
    """Of each rule of a mapping whether Keystone's API takes it."""
    import keystone.conf
    from keystone import exception
    from keystone.federation import utils

    keystone.conf.configure()
    taken = []
    for rule in asked["rules"]:
        try:
            utils.validate_mapping_structure({"rules": [rule]})
        except exception.ValidationError:
            taken.append(False)
        else:
            taken.append(True)
    return taken


def mapped(asked, directory):
    """What Keystone's mapping engine makes of the variables of each request, by the rules of a mapping."""
    import keystone.conf
    from keystone.federation import utils

    keystone.conf.configure()
    processor = utils.RuleProcessor("corp", asked["rules"])
    return [processor.process(variables) for variables in asked["requests"]]


def compute_versions(asked, directory):
    """From which compute service on Nova moves NUMA live, by its own check, and the oldest it runs with."""
    import inspect
    import re

    from nova.conductor.tasks import live_migrate
    from nova.objects import service

    check = inspect.getsource(live_migrate.LiveMigrationTask._check_instance_has_no_numa)
    oldest = service.SERVICE_VERSION_ALIASES[service.OLDEST_SUPPORTED_SERVICE_VERSION]
    return {"numa": [int(found) for found in re.findall(r">= (\d+)", check)], "oldest": oldest}


def paste(asked, directory):
    """Pipelines and factories of a Paste file that cannot be found."""
    from paste.deploy import loadwsgi

    for module, name, arguments in (PREPARED[one] for one in asked["packages"] if one in PREPARED):
        getattr(importlib.import_module(module), name)(*arguments)
    (path,) = written(directory, {"paste.ini": asked["text"]})
    loader = loadwsgi.ConfigLoader(path)
    missing = []
    for section in loader.parser.sections():
        for key, value in loader.parser.items(section, raw=True):
            if key.endswith("_factory"):
                missing += _missing(section, value)
            elif key == "use" and value.startswith("egg:"):
                package, _, name = value.removeprefix("egg:").partition("#")
                missing += _missing_egg(section, package, name or "main")
            elif key == "use" and value.startswith("call:"):
                missing += _missing(section, value.removeprefix("call:"))
            elif key in ("pipeline", "keystone", "noauth") and "/" not in value:
                missing += [
                    f"{section}: {part}"
                    for part in value.split()
                    if not any(f"{kind}:{part}" in loader.parser.sections() for kind in KINDS)
                ]
    return {"sections": len(loader.parser.sections()), "missing": missing}


# What services call before they read their file: it makes the factories.
PREPARED = {
    "cinder": ("cinder.objects", "register_all", ()),
    "openstack-heat": ("heat.common.wsgi", "setup_paste_factories", (None,)),
}
KINDS = ("filter", "app", "application", "composite", "pipeline", "filter-app")


def _missing(section, target):
    module, _, names = target.partition(":")
    try:
        found = importlib.import_module(module)
        for name in names.split("."):
            found = getattr(found, name)
    except (ImportError, AttributeError) as error:
        return [f"{section}: {target}: {error}"]
    return []


def _missing_egg(section, package, name):
    groups = (
        "paste.filter_factory",
        "paste.app_factory",
        "paste.composite_factory",
        "paste.filter_app_factory",
    )
    try:
        points = [point for point in distribution(package).entry_points if point.group in groups]
    except PackageNotFoundError:
        points = []
    if not any(point.name == name for point in points):
        return [f"{section}: egg:{package}#{name}"]
    return []


def uwsgi(asked, directory):
    """The options of a uWSGI file, and what it is to load that the packages do not have."""
    parser = configparser.ConfigParser(interpolation=None, strict=False)
    parser.read_string(asked["text"])
    options = dict(parser["uwsgi"])
    missing = []
    # Not imported: most read their configuration at once.
    if (module := options.get("module")) and not _is_there(module.partition(":")[0]):
        missing.append(f"module: {module}")
    if (file := options.get("wsgi-file")) and not (Path(sys.prefix) / "bin" / Path(file).name).exists():
        missing.append(f"wsgi-file: {file}")
    if not module and not file:
        missing.append("no application")
    return {"options": options, "missing": missing}


def _is_there(module):
    try:
        return importlib.util.find_spec(module) is not None
    except ImportError:
        return False


def queues(asked, directory):
    """How oslo.messaging declares the queue of a topic, its fanout and the replies of a service."""
    import oslo_messaging
    from oslo_config import cfg
    from oslo_messaging._drivers import impl_rabbit

    conf = cfg.CONF
    conf([f"--config-file={path}" for path in written(directory, asked["files"])], project="queues")
    transport = oslo_messaging.get_rpc_transport(conf)
    rabbit = conf.oslo_messaging_rabbit
    limits = impl_rabbit.Connection._get_quorum_configurations(None, rabbit)
    declared = {}
    for name, quorum in (
        ("topic", rabbit.rabbit_quorum_queue),
        ("transient", rabbit.rabbit_transient_quorum_queue),
    ):
        arguments = (rabbit.rabbit_ha_queues, 0, quorum, limits, rabbit.rabbit_stream_fanout)
        declared[name] = impl_rabbit._get_queue_arguments(*arguments)
    hosts = transport._driver._url.hosts
    return {**declared, "brokers": [f"{host.username}:{host.password}@{host.hostname}" for host in hosts]}


def key_manager(asked, directory):
    """Which key manager castellan gives a service, and which endpoint of Barbican it asks."""
    from castellan import key_manager as managers
    from castellan import options
    from oslo_config import cfg

    conf = cfg.CONF
    conf([f"--config-file={path}" for path in written(directory, asked["files"])], project="keys")
    options.set_defaults(conf)
    found = managers.API(conf)
    return {"class": type(found).__name__, "endpoint": conf.barbican.barbican_endpoint_type}


def task_flow(asked, directory):
    """Whether Octavia's worker runs its flows itself, and what its clients ask."""
    from octavia.common import base_taskflow, config
    from octavia.controller.worker.v2 import controller_worker

    paths = written(directory, asked["files"])
    config.init([f"--config-file={path}" for path in paths])
    conf = config.cfg.CONF
    if conf.task_flow.jobboard_enabled:
        engine = base_taskflow.TaskFlowServiceController
    else:
        engine = type(base_taskflow.BaseTaskFlowEngine())
    assert controller_worker.ControllerWorker
    clients = {name: conf[name].endpoint_type for name in ("nova", "glance", "cinder", "certificates")}
    return {"engine": engine.__name__, "clients": clients, "neutron": conf.neutron.valid_interfaces}


def locks(asked, directory):
    """The driver and the address that tooz gives Cinder for its locks."""
    from cinder import coordination  # noqa: F401 - registers the options
    from oslo_config import cfg
    from tooz import coordination as tooz

    conf = cfg.CONF
    conf([f"--config-file={path}" for path in written(directory, asked["files"])], project="locks")
    found = tooz.get_coordinator(conf.coordination.backend_url, b"a-member")
    url = found._parsed_url
    return {
        "driver": type(found).__name__,
        "user": url.username,
        "password": url.password,
        "host": url.hostname,
        "database": url.path,
        "options": dict(found._options),
    }


def options(asked, directory):
    """Values of options as a service reads them, asked for as [section, option]."""
    from oslo_config import cfg

    conf = cfg.ConfigOpts()
    for section, name in asked["options"]:
        conf.register_opt(cfg.StrOpt(name), group=None if section == "DEFAULT" else section)
    conf([f"--config-file={path}" for path in written(directory, asked["files"])], project="options")
    return [
        getattr(conf if section == "DEFAULT" else getattr(conf, section), name)
        for section, name in asked["options"]
    ]


def main():
    warnings.simplefilter("ignore")
    asked = json.load(sys.stdin)
    # Packages print while they are imported.
    answers, sys.stdout = sys.stdout, sys.stderr
    with tempfile.TemporaryDirectory() as directory:
        answer = globals()[sys.argv[1]](asked, directory)
    json.dump(answer, answers)


if __name__ == "__main__":
    main()
