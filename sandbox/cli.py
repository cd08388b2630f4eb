"""`python -m sandbox`: up, down, status, logs, kubeconfig, build, helm, image, demo, demo-down, openstack."""

from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table

from sandbox import demo, demo_real
from sandbox.build import BuildProgress, ensure_binaries, find_binaries
from sandbox.cluster import ComponentStatus, Sandbox
from sandbox.control_plane import COMPONENT_NAMES, REAL_NAMES
from sandbox.errors import SandboxError
from sandbox.helm import ensure_helm, newer_version, pinned_version, put_beside_python
from sandbox.image.debian import SUITES, ensure_base
from sandbox.image.dockerfile import build as build_image
from sandbox.images.build import CONTROLLER_NAME, write_controller_archive
from sandbox.node.plan import commands
from sandbox.openstack.cli import app as openstack_app
from sandbox.paths import SOURCE, Layout, sandbox_directory, state_root
from sandbox.take_down import list_sandboxes, take_down

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="A real Kubernetes control plane with simulated nodes, on loopback, without privileges.",
)
Name = Annotated[str, typer.Option("--name", "-n", help="Which sandbox; several run side by side.")]
Directory = Annotated[
    Path | None, typer.Option("--dir", help="Where its files lie [default: one place per name].")
]
app.add_typer(openstack_app, name="openstack")
DEFAULT_NAME = "default"
PLAIN_LINE_SECONDS = 15.0


class BuildDisplay:
    """Shows a build: a bar on a terminal, else one plain line every few seconds. Silent if none is needed."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.bar: Progress | None = None
        self.task: TaskID | None = None
        self.step = ""
        self.told = 0.0

    def __call__(self, progress: BuildProgress) -> None:
        if self.console.is_terminal:
            self._draw(progress)
        elif progress.step != self.step or progress.seconds - self.told >= PLAIN_LINE_SECONDS:
            self.told = progress.seconds
            print(f"build: {describe(progress)}", file=sys.stderr, flush=True)
        self.step = progress.step

    def _draw(self, progress: BuildProgress) -> None:
        if self.bar is None or self.task is None:
            columns = (TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[note]}"))
            self.bar = Progress(*columns, TimeElapsedColumn(), console=self.console)
            self.bar.start()
            self.task = self.bar.add_task("build", total=None, note="")
        note = f"{progress.done} packages" if progress.step == "compiling" else (str(progress.done or ""))
        self.bar.update(
            self.task,
            description=f"build: {progress.step}",
            completed=progress.done,
            total=progress.total or None,
            note=note,
        )

    def close(self) -> None:
        """Leaves the terminal in order."""
        if self.bar is not None:
            self.bar.stop()


def describe(progress: BuildProgress) -> str:
    """One line about a build, as `compiling, 120 packages, 31 s`."""
    parts = [progress.step]
    if progress.step == "compiling":
        parts.append(f"{progress.done} packages (of {progress.total} at most)")
    elif progress.done:
        parts.append(str(progress.done))
    parts.append(f"{progress.seconds:.0f} s")
    return ", ".join(parts)


def stderr_console() -> Console:
    """Where progress is shown; results go to stdout."""
    return Console(stderr=True)


@app.command()
def build() -> None:
    """Build the control plane's binaries, if these pins were not built before (about 6 minutes, once)."""
    display = BuildDisplay(stderr_console())
    try:
        binaries = ensure_binaries(display)
    finally:
        display.close()
    print(binaries.sandbox.parent)


@app.command()
def helm(
    newer: Annotated[bool, typer.Option("--newer", help="Only say whether a newer one is out.")] = False,
) -> None:
    """Build Helm from its pinned Go module, and put it beside this Python (minutes, once).

    With --newer it exits with 1 where there is a newer one, and with 2 where that cannot be asked.
    """
    if newer:
        try:
            found = newer_version()
        except SandboxError as error:
            print(f"helm: {error}", file=sys.stderr)
            raise typer.Exit(2) from None
        print(f"helm: {pinned_version()} is pinned, {found or 'nothing newer'} is out")
        raise typer.Exit(1 if found else 0)
    display = BuildDisplay(stderr_console())
    try:
        program = ensure_helm(display)
    finally:
        display.close()
    print(put_beside_python(program))


@app.command()
def image(
    archive: Annotated[
        Path | None,
        typer.Option(help="Write it as an OCI archive into this file."),
    ] = None,
    suite: Annotated[
        list[str] | None, typer.Option(help="The Debian below it, repeatable [all; trixie for an archive].")
    ] = None,
) -> None:
    """Make the controller's image as the Dockerfile says, without Docker (minutes, once)."""

    def tell(step: str) -> None:
        print(f"image: {step}", file=sys.stderr, flush=True)

    if archive is not None:
        made = write_controller_archive(archive, (suite or ["trixie"])[0], tell)
        print(f"{archive}  {CONTROLLER_NAME}  {made.digest}")
        return
    for one in suite or SUITES:
        for layer in build_image(SOURCE.parent / "Dockerfile", ensure_base(one, tell), tell).layers:
            print(layer)


@app.command()
def up(
    name: Name = DEFAULT_NAME,
    directory: Directory = None,
    profile: Annotated[
        str | None, typer.Option(help="Nodes: single, small (3 control, 3 compute), large:N [single].")
    ] = None,
    real: Annotated[
        bool, typer.Option("--real", help="With a real node, in which pods run (Linux, root).")
    ] = False,
    *,
    nodes: Annotated[
        int | None, typer.Option(help="With --real: how many real nodes, up to 3 [1, or what it has].")
    ] = None,
    timeout: Annotated[float, typer.Option(help="Seconds that the boot may take, the build apart.")] = 180.0,
) -> None:
    """Start a sandbox, or repair one that is half dead; at once when it runs already."""
    console = stderr_console()
    display = BuildDisplay(console)

    def tell(text: str) -> None:
        console.print(text, highlight=False, markup=False, soft_wrap=True)

    if nodes is not None and not real:
        raise SandboxError("--nodes counts real nodes: give --real, or a --profile of simulated ones")
    try:
        box = Sandbox.up(
            name, directory, profile, real=real, nodes=nodes, timeout=timeout, report=display, tell=tell
        )
    finally:
        display.close()
    tell(f'sandbox "{box.name}" is up, profile {box.state.profile}')
    tell(f"  kubeconfig  export KUBECONFIG={box.kubeconfig}")
    tell(f"  audit log   {box.audit_log}")
    tell(f"  tools       {box.binaries.kubectl}, {box.helm}")
    option = f" --dir {box.layout.directory}" if directory else ""
    tell(f"  stop        python -m sandbox down --name {box.name}{option}")


@app.command()
def down(name: Name = DEFAULT_NAME, directory: Directory = None) -> None:
    """Stop a sandbox and remove its files; nothing happens when there is none."""
    gone = take_down(name, directory)
    print(f'sandbox "{name}" is gone' if gone else f'there is no sandbox "{name}"')


@app.command()
def status(
    name: Annotated[str | None, typer.Option("--name", "-n", help="Only this one [default: all].")] = None,
    directory: Directory = None,
    as_json: Annotated[bool, typer.Option("--json", help="As JSON.")] = False,
) -> None:
    """Show the sandboxes and the health of their components; exit code 1 when one is not healthy."""
    boxes = _boxes(name, directory)
    rows = [(box, box.status()) for box in boxes]
    if as_json:
        content = [
            {
                "name": box.name,
                "directory": str(box.layout.directory),
                "profile": box.state.profile,
                "kubeconfig": str(box.kubeconfig),
                "components": {one.name: {"pid": one.pid, "healthy": one.healthy} for one in seen},
            }
            for box, seen in rows
        ]
        print(json.dumps(content, indent=2))
    else:
        _print_status(rows)
    if any(not one.healthy for _, seen in rows for one in seen) or (name is not None and not rows):
        raise typer.Exit(1)


def _boxes(name: str | None, directory: Path | None) -> list[Sandbox]:
    if name is not None or directory is not None:
        box = Sandbox.open(name or DEFAULT_NAME, directory)
        return [box] if box is not None else []
    opened = (Sandbox.open(found, place) for found, place in list_sandboxes(state_root()))
    return [box for box in opened if box is not None]


def _print_status(rows: list[tuple[Sandbox, tuple[ComponentStatus, ...]]]) -> None:
    if not rows:
        print("no sandbox" if find_binaries() else "no sandbox, and the binaries are not built yet")
        return
    present = {one.name for _, seen in rows for one in seen}
    columns = [one for one in (*COMPONENT_NAMES, *REAL_NAMES) if one in present]
    table = Table("SANDBOX", "PROFILE", *columns, "DIRECTORY", box=None)
    for box, seen in rows:
        marks = {one.name: "healthy" if one.healthy else "sick" if one.pid else "down" for one in seen}
        states = [marks.get(name, "-") for name in columns]
        table.add_row(box.name, box.state.profile, *states, str(box.layout.directory))
    Console(width=None if sys.stdout.isatty() else 240).print(table)


@app.command()
def logs(
    component: Annotated[
        str,
        typer.Argument(help="etcd, apiserver, controller-manager, scheduler, kwok; kubelet or node2/kubelet"),
    ],
    name: Name = DEFAULT_NAME,
    directory: Directory = None,
    lines: Annotated[int, typer.Option(help="How many from the end; 0 for all.")] = 100,
) -> None:
    """Print the log of one component."""
    layout = Layout(sandbox_directory(name, directory))
    all_names = (*COMPONENT_NAMES, *REAL_NAMES, *commands())
    names = {one.removeprefix("kube-"): one for one in all_names}
    # As in `node2/kubelet`: of another node than the first.
    node, _, program = component.rpartition("/")
    full = names.get(program.removeprefix("kube-"))
    if full is not None and node in REAL_NAMES:
        full = f"{node}/{full}"
    if full is None:
        raise SandboxError(f'no component "{component}": one of {", ".join(names)}')
    try:
        text = layout.log(full).read_text(errors="replace").splitlines()
    except FileNotFoundError:
        raise SandboxError(f'sandbox "{name}" has no log of {full}; is it up?') from None
    print("\n".join(text[-lines:] if lines else text))


@app.command()
def kubeconfig(name: Name = DEFAULT_NAME, directory: Directory = None) -> None:
    """Print the path of a sandbox's kubeconfig: export KUBECONFIG=$(python -m sandbox kubeconfig)."""
    box = Sandbox.open(name, directory)
    if box is None or not box.kubeconfig.exists():
        raise SandboxError(f'there is no sandbox "{name}"; start it with: python -m sandbox up --name {name}')
    print(box.kubeconfig)


@app.command("demo")
def demo_command(
    real: Annotated[
        bool, typer.Option("--real", help="With pods that run, on a real node (Linux, root).")
    ] = False,
    series: Annotated[str, typer.Option(help="Of OpenStack, with --real.")] = demo_real.SERIES,
    charts: Annotated[
        Path | None, typer.Option(help="With --real: a checkout of OpenStack-Helm, for its charts.")
    ] = None,
    boots: Annotated[
        bool, typer.Option("--boots", help="With --real: servers are guests of QEMU, which run.")
    ] = False,
) -> None:
    """A region from one resource on a control plane of its own: shown coming up, and left running."""
    console = stderr_console()
    display = BuildDisplay(console)
    began = time.monotonic()

    def tell(text: str) -> None:
        console.print(
            f"{time.monotonic() - began:5.1f} s  {text}", highlight=False, markup=False, soft_wrap=True
        )

    chosen = demo_real.RealDemo(series, charts.resolve(strict=True) if charts else None, boots)
    try:
        box = Sandbox.up(demo_real.NAME if real else demo.NAME, real=real, report=display, tell=tell)
    finally:
        display.close()
    if real:
        demo_real.run_real_demo(box, tell, chosen)
    else:
        demo.run_demo(box, tell)
    tell("Ready")
    print(f"\n{demo_real.next_steps(box) if real else demo.next_steps(box)}", flush=True)


@app.command("demo-down")
def demo_down_command() -> None:
    """Stop the demo, and the one with real pods: every process and file of them goes."""
    gone = [demo.remove_demo(), demo_real.remove_real_demo()]
    print("the demo is gone" if any(gone) else "there is no demo")


def main() -> None:
    """Runs the command; a SandboxError becomes one message and exit code 1."""
    # Who ends a job of CI sends this: as after Ctrl-C, what was started on the way is stopped.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        app()
    except SandboxError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(1)
    except OSError as error:
        print(f"error: {error.filename or 'the system'}: {error.strerror}", file=sys.stderr)
        sys.exit(1)
