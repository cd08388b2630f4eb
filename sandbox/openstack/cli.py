"""`python -m sandbox openstack`: up, down, status, env."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

from sandbox.errors import SandboxError
from sandbox.openstack.cloud import Cloud
from sandbox.openstack.configuration import REGION
from sandbox.openstack.series import DEFAULT, KNOWN, find_series

app = typer.Typer(
    no_args_is_help=True,
    help="A real OpenStack control plane on loopback, with three simulated hypervisors.",
)
SeriesName = Annotated[
    str, typer.Option("--series", "-s", envvar="OPENSTACK_SERIES", help=f"Which release: {', '.join(KNOWN)}.")
]


@app.command()
def up(
    series: SeriesName = DEFAULT,
    fresh: Annotated[bool, typer.Option("--fresh", help="Without what was done to it before.")] = False,
) -> None:
    """Start it, or what of it does not run; set up first if it never was (minutes, once)."""
    tell = _teller()
    Cloud.up(find_series(series), tell, fresh=fresh)
    tell(f"eval $(python -m sandbox openstack env --series {series})")


@app.command()
def prepare(series: SeriesName = DEFAULT) -> None:
    """Install and set it up, if that was never done, without starting it (minutes, once)."""
    Cloud.prepare(find_series(series), _teller())


def _teller() -> Callable[[str], None]:
    """Prints lines with the seconds that have passed."""
    began = time.monotonic()
    console = Console(stderr=True)

    def tell(text: str) -> None:
        console.print(f"{time.monotonic() - began:5.1f} s  {text}", highlight=False, markup=False)

    return tell


@app.command()
def down(series: SeriesName = DEFAULT) -> None:
    """Stop every process of it; what it holds stays for the next start."""
    cloud = Cloud.find(find_series(series))
    if cloud is not None:
        cloud.down()
    print(f"OpenStack {series} is down" if cloud else f"OpenStack {series} was never set up")


@app.command()
def status(series: SeriesName = DEFAULT) -> None:
    """Show its processes with their memory; exit code 1 when one does not run."""
    cloud = _known(series)
    table = Table("PROCESS", "PID", "MEMORY", box=None)
    seen = cloud.status()
    for one in seen:
        table.add_row(one.name, str(one.pid or "down"), f"{one.bytes / 2**20:.0f} MiB")
    Console().print(table)
    print(f"total {sum(one.bytes for one in seen) / 2**20:.0f} MiB")
    if any(not one.pid for one in seen):
        raise typer.Exit(1)


@app.command()
def env(
    series: SeriesName = DEFAULT,
    user: Annotated[str, typer.Option(help="Whose credentials.")] = "admin",
) -> None:
    """Print the variables that OpenStack's own command line reads."""
    for key, value in _known(series).credentials(user, user).items():
        print(f"export OS_{key.upper()}={value}")
    print(f"export OS_REGION_NAME={REGION}\nexport OS_IDENTITY_API_VERSION=3")


def _known(series: str) -> Cloud:
    cloud = Cloud.find(find_series(series))
    if cloud is None:
        raise SandboxError(f"OpenStack {series} was never set up: python -m sandbox openstack up -s {series}")
    return cloud
