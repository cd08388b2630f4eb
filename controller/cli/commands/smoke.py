"""osctl smoke: uses a region like a user, to check that it serves."""

from __future__ import annotations

import contextlib
import signal
import socket
import string
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated
from urllib.parse import urlsplit

import typer
from rich.text import Text

from controller.adapters.system.clock import SystemClock
from controller.adapters.system.randomness import SystemRandomness
from controller.adapters.system.values_files import load_library
from controller.cli.cluster import Cluster, open_cluster
from controller.cli.exit_codes import ExitCode
from controller.cli.offline.input_files import read_objects
from controller.cli.offline.own_kinds import is_region
from controller.cli.options import Context, Filenames, Kubeconfig, Namespace, Output, parse_wait
from controller.cli.output import Format, print_data, soft_wrapped, stderr, stdout
from controller.cli.smoke_steps import SmokeRun
from controller.domain.region.smoke import Outcome, StepResult, project_name
from controller.domain.shared.plurals import count
from controller.domain.values.catalogue import meant_service
from controller.errors import Problem, SpecInvalid
from controller.ports.kubernetes import OSDPL
from controller.ports.smoke import SmokeCloud
from controller.reconcile.shared.cloud_access import read_clouds
from controller.settings import read_settings

DEFAULT_TIMEOUT = 600.0
_STYLES = {Outcome.PASSED: "green", Outcome.FAILED: "bold red", Outcome.NOT_TRIED: "yellow"}
# The container node, with the default names of the chart.
_INSIDE = "kubectl -n openstack-controller exec deploy/openstack-controller -c node -- osctl smoke"

SmokeTimeout = Annotated[
    float,
    typer.Option(
        "--timeout",
        metavar="DURATION",
        parser=parse_wait,
        show_default="10m",
        help="How long the steps may take, without the clean-up.",
    ),
]

CloudsFile = Annotated[
    Path | None,
    typer.Option(
        "--clouds",
        metavar="FILE",
        help="An administrator's clouds.yaml, instead of the one that the region exports.",
        show_default=False,
    ),
]
Authority = Annotated[
    Path | None,
    typer.Option(
        "--ca",
        metavar="FILE",
        help="Certificates of the authorities to trust, with --clouds.",
        show_default=False,
    ),
]
OneService = Annotated[
    str,
    typer.Option(
        "--service",
        metavar="SERVICE",
        help="Only what shows that this service serves, by its name in spec.services, such as image.",
        show_default=False,
    ),
]
Sweep = Annotated[
    bool,
    typer.Option(
        "--sweep", help="Also remove objects of runs that may still be running. Make sure that none is."
    ),
]


def smoke(
    *,
    name: Annotated[
        str, typer.Argument(help="The region; needed only if there are several.", show_default=False)
    ] = "",
    filenames: Filenames = None,
    clouds: CloudsFile = None,
    ca: Authority = None,
    service: OneService = "",
    sweep: Sweep = False,
    timeout: SmokeTimeout = DEFAULT_TIMEOUT,
    namespace: Namespace = "",
    output: Output = Format.TABLE,
    kubeconfig: Kubeconfig = None,
    context: Context = "",
) -> None:
    """Check that a region serves: create, use and remove images, networks and a server, in a separate
    project. It connects from this machine. It first removes remains of killed runs."""
    if bool(name) + bool(filenames) + (clouds is not None) > 1:
        raise typer.BadParameter("give one of: a region's name, -f FILE, --clouds FILE")
    if ca is not None and clouds is None:
        raise typer.BadParameter("is for --clouds FILE: a region exports its own", param_hint="--ca")
    _refuse_unknown(service)
    if clouds is not None:
        title, settings = str(clouds), _read(clouds, "--clouds")
        authority = _read(ca, "--ca") if ca is not None else b""
    else:
        if filenames:
            name, namespace = _named_by(filenames, namespace)
        title, settings, authority = _exported(open_cluster(kubeconfig, context, namespace), name)
    cloud = _open(settings, authority)
    run = SmokeRun(
        cloud=cloud,
        clock=SystemClock(),
        sleep=time.sleep,
        report=lambda result: _print_step(result, to_stderr=output != Format.TABLE),
        name=project_name(SystemRandomness().token(string.ascii_lowercase + string.digits, 10)),
        seconds=timeout,
        sweep=sweep,
        service=service,
    )
    try:
        with _ended_by_signals(), contextlib.closing(cloud):
            results = run.run()
    except KeyboardInterrupt:
        _tell_interrupted(run)
        raise typer.Exit(ExitCode.INTERRUPTED) from None
    passed = all(one.outcome == Outcome.PASSED for one in results)
    _print_summary(title, results, passed, output, service)
    if results[0].outcome == Outcome.FAILED:
        _hint(cloud.auth_url, title)
    if not passed:
        raise typer.Exit(ExitCode.SMOKE_FAILED)


def _exported(cluster: Cluster, name: str) -> tuple[str, bytes, bytes]:
    """A region's name, its clouds.yaml, and the authority to trust. Raises KubeError, CloudUnavailable."""
    meta = cluster.find_region(name)["metadata"]
    return str(meta["name"]), *read_clouds(cluster.kube, meta["namespace"])


def _read(file: Path, option: str) -> bytes:
    try:
        return file.expanduser().read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"{file}: {error.strerror}", param_hint=option) from None


def _refuse_unknown(service: str) -> None:
    if not service:
        return
    known = load_library(read_settings().values_dir).catalogue.services
    if service not in known:
        meant = meant_service(service, known)
        hint = f"; {meant}" if meant else f": one of {', '.join(known)}"
        raise typer.BadParameter(f'there is no service "{service}"{hint}', param_hint="--service")


def _named_by(filenames: list[str], namespace: str) -> tuple[str, str]:
    """Name and namespace of the only region of the files. Raises SpecInvalid."""
    items = read_objects(filenames)
    regions = [item for item in items if is_region(item)]
    if len(regions) != 1:
        text = f"{len(regions)} regions in the files"
        raise SpecInvalid([Problem("kind", text, f"give one {OSDPL.kind}", items[0].source)])
    [item] = regions
    return item.name, namespace or str(item.obj["metadata"].get("namespace") or "")


def _open(settings: bytes, authority: bytes) -> SmokeCloud:
    # Commands that only use files do not wait for the import of an OpenStack client.
    from controller.adapters.openstack.smoke import open_smoke_cloud

    return open_smoke_cloud(settings, SystemClock(), SystemRandomness(), authority)


@contextlib.contextmanager
def _ended_by_signals() -> Iterator[None]:
    """SIGTERM and SIGHUP end the block like Ctrl-C, and created objects are removed."""

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    before = {one: signal.signal(one, interrupt) for one in (signal.SIGTERM, signal.SIGHUP)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)


def _print_step(result: StepResult, *, to_stderr: bool) -> None:
    console = stderr() if to_stderr else stdout()
    line = Text(f"{result.outcome:10} {result.step:11} {result.seconds:6.1f} s  ")
    line.stylize(_STYLES[result.outcome], 0, len(result.outcome))
    console.print(line.append(soft_wrapped(result.detail)), soft_wrap=True)


def _print_summary(
    title: str, results: tuple[StepResult, ...], passed: bool, output: Format, service: str
) -> None:
    took = sum(one.seconds for one in results)
    if output != Format.TABLE:
        steps = [
            {
                "step": one.step,
                "outcome": str(one.outcome),
                "seconds": round(one.seconds, 1),
                "detail": one.detail,
            }
            for one in results
        ]
        print_data({"region": title, "passed": passed, "seconds": round(took, 1), "steps": steps}, output)
        return
    lacking = [one.step for one in results if one.outcome != Outcome.PASSED]
    done = (
        f"{service or 'the region'} serves: {count(len(results), 'step')} in {took:.0f} s"
        if passed
        else f"failed: {', '.join(lacking)}"
    )
    stdout().print(soft_wrapped(f"{title}: {done}"), style="green" if passed else "bold red")


def _hint(auth_url: str, title: str) -> None:
    """The remedy if the login failed because this machine is outside of the region's cluster."""
    host = urlsplit(auth_url).hostname or ""
    try:
        socket.getaddrinfo(host, None)
        return
    except (OSError, UnicodeError):
        pass
    text = f'this machine cannot resolve "{host}"'
    if ".svc" in f"{host}.":
        text += f", which is a name inside the cluster; run it there ({_INSIDE} {title} -n NAMESPACE)"
        text += ", or give a clouds.yaml of the public endpoints with --clouds"
    stderr().print(soft_wrapped(text))


def _tell_interrupted(run: SmokeRun) -> None:
    removed = any(one.step == "removal" and one.outcome == Outcome.PASSED for one in run.results)
    if removed or not run.begun:
        stderr().print("interrupted; everything is removed")
    else:
        again = "a later osctl smoke removes it, or --sweep at once"
        stderr().print(soft_wrapped(f"interrupted; its objects are in the project {run.name}: {again}"))
