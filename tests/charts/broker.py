"""RabbitMQ of Debian's packages: its reader of configuration, and an image of it for pods."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import pytest

from sandbox.errors import SandboxError
from sandbox.openstack.servers import Programs, ensure_servers
from sandbox.patience import patient
from tests.charts.pods import Image

# What rabbit_prelaunch_conf does with rabbitmq.conf: the same schemas, parser, validators and translations.
READ = """
    [Plugins, File] = init:get_plain_arguments(),
    Schemas = filelib:wildcard(filename:join(Plugins, "*/priv/schema/*.schema")),
    Conf = case cuttlefish_conf:file(File) of
        Parsed when is_list(Parsed) -> Parsed;
        Unread -> io:format("~p~n", [Unread]), halt(1)
    end,
    case cuttlefish_generator:map(cuttlefish_schema:files(Schemas), Conf) of
        {error, Phase, {errorlist, Errors}} ->
            [io:format("~p: ~s~n", [Phase, cuttlefish_error:xlate(Error)]) || {error, Error} <- Errors],
            halt(1);
        Config -> io:format("~0p~n", [Config]), halt(0)
    end.
"""


@cache
def servers() -> Programs:
    """Debian's servers; skips the test where this machine cannot have them."""
    try:
        return ensure_servers(print)
    except SandboxError as error:
        pytest.skip(str(error))


def read_configuration(text: str, directory: Path, files: Mapping[str, str]) -> str:
    """What RabbitMQ makes of a rabbitmq.conf, as an Erlang term on one line. Fails with its complaint.

    `files` are those that it names, which the reader looks for, by the path in the pod.
    """
    for path, content in files.items():
        here = directory / path.lstrip("/")
        here.parent.mkdir(parents=True, exist_ok=True)
        here.write_text(content)
        text = text.replace(path, str(here))
    (directory / "rabbitmq.conf").write_text(text)
    (plugins,) = (servers().rabbitmq.parents[1] / "lib").glob("rabbitmq_server-*/plugins")
    libraries = [str(path) for path in plugins.glob("*/ebin")]
    erlang = ["erl", "-noshell", "-boot", "start_clean", "-pa", *libraries, "-eval", READ, "-extra"]
    done = subprocess.run(
        [*erlang, str(plugins), str(directory / "rabbitmq.conf")],
        env={"PATH": "/usr/bin:/bin", "HOME": str(directory), **servers().environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=patient(120),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def image(directory: Path) -> Image:
    """This machine with the packages over it, as far as they are not installed."""
    root = servers().basedir.parent
    path = "/usr/lib/rabbitmq/bin:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    environment = {"PATH": path, "LANG": "C.UTF-8"}
    if root == Path("/"):
        return Image(root, environment=environment)
    # Unpacked, Erlang knows the place where it is, and only its owner comes there.
    launcher = root / "usr/lib/erlang/bin/erl"
    moved = directory / "image/lib/erlang/bin/erl"
    moved.parent.mkdir(parents=True, exist_ok=True)
    moved.write_text(launcher.read_text().replace(str(root), ""))
    moved.chmod(0o755)
    return Image(Path("/"), {"usr": (directory / "image", root / "usr")}, environment)
