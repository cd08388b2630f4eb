"""Whether the commands of the README work wherever a person clones.

    python -m tools.clones [--only PLACE] [COMMAND…]

Each place gets a fresh clone of HEAD. A command is a target of make; by default all of COMMANDS are tried. A
line for each says how it ended and how long it took. What is built is shared with this machine's user.
Another user, and a HOME that cannot be written, get a copy of it, or build their own with `--fresh-cache`.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[1]
COMMANDS = ("setup", "demo", "demo-down", "test")
# Beside make and a Python: what any system has.
BARE_PATH = "/usr/bin:/bin"
# Of what is built, by its place in the cache.
PROGRAMS = ("kubernetes", "helm")
KEPT = ("PATH", "LANG", "TMPDIR", "SSL_CERT_", "REQUESTS_CA_", "PIP_", "GOPROXY", "GOSUMDB")
OTHER_USER = 65534
HOURS = 6 * 3600.0


@dataclass(frozen=True)
class Place:
    """The place of the clone in a directory, and its differences."""

    name: str
    checkout: Callable[[Path], Path]
    environment: Mapping[str, str | None] = field(default_factory=dict)
    home_mode: int = 0o755
    user: int | None = None


PLACES = (
    Place("temporary", lambda base: base / "checkout"),
    Place("blanks", lambda base: base / "a path with blanks" / "check out"),
    Place("long", lambda base: base.joinpath(*(f"{'long' * 12}-{one}" for one in range(4)))),
    Place("user", lambda base: base / "checkout", user=OTHER_USER),
    Place("home", lambda base: base / "checkout", home_mode=0o555, user=OTHER_USER),
    Place("path", lambda base: base / "checkout", environment={"PATH": BARE_PATH}),
)


def main() -> int:
    """0 where every command ended with 0 in every place."""
    parser = argparse.ArgumentParser(prog="tools.clones", description=__doc__)
    parser.add_argument("--only", action="append", choices=[one.name for one in PLACES])
    parser.add_argument("--fresh-cache", action="store_true")
    parser.add_argument("--keep", action="store_true", help="leave the clones")
    parser.add_argument("commands", nargs="*", default=COMMANDS)
    asked = parser.parse_args()
    good = True
    for place in PLACES:
        if asked.only and place.name not in asked.only:
            continue
        if place.user is not None and os.geteuid() != 0:
            print(f"{place.name}: left out, for only root can become another user")
            continue
        base = Path(tempfile.mkdtemp(prefix=f"clone-{place.name}-"))
        base.chmod(0o755)
        good = tried(place, base, asked.commands, fresh=asked.fresh_cache) and good
        if not asked.keep:
            shutil.rmtree(base, ignore_errors=True)
    return 0 if good else 1


def tried(place: Place, base: Path, commands: list[str], *, fresh: bool) -> bool:
    """Whether all commands end with 0 there; the first that does not ends the place."""
    checkout, home = place.checkout(base), base / "home"
    home.mkdir()
    checkout.parent.mkdir(parents=True, exist_ok=True)
    subprocess.run(["git", "clone", "--quiet", "--no-hardlinks", str(ROOT), str(checkout)], check=True)
    environment = _environment(place, base, home, fresh=fresh)
    if place.user is not None:
        subprocess.run(["chown", "-R", f"{place.user}:{place.user}", str(base)], check=True)
    home.chmod(place.home_mode)
    for command in commands:
        began = time.monotonic()
        with (base / f"{command}.log").open("w") as log:
            done = subprocess.run(
                ["make", command, f"PYTHON={_python(place)}"],
                cwd=checkout,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                timeout=HOURS,
                check=False,
                user=place.user,
                group=place.user,
                extra_groups=None if place.user is None else [],
            )
        taken = time.monotonic() - began
        print(f"{place.name:10} make {command:10} {done.returncode:3} {taken:6.0f} s", flush=True)
        if done.returncode != 0:
            print((base / f"{command}.log").read_text(errors="replace")[-3000:])
            return False
    return True


def _environment(place: Place, base: Path, home: Path, *, fresh: bool) -> dict[str, str]:
    # Where packages come from may be said in the environment.
    kept = {name: text for name, text in os.environ.items() if name.startswith(KEPT)}
    built = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    own: dict[str, str | None] = {"HOME": str(home), "XDG_STATE_HOME": str(base / "state")}
    if place.user is None:
        own["XDG_CACHE_HOME"] = str(built)
    else:
        own["TMPDIR"] = str(base / "temporary")
        # If the HOME is read-only, build results are in the temporary directory.
        root = home / ".cache/openstack-controller" if place.home_mode & 0o200 else _in_temporary(base, place)
        root.mkdir(parents=True, mode=0o700)
        for program in () if fresh else PROGRAMS:
            source = built / "openstack-controller" / program
            if source.is_dir():
                shutil.copytree(source, root / program, symlinks=True)
    found = {**kept, **own, **place.environment}
    return {name: text for name, text in found.items() if text is not None}


def _in_temporary(base: Path, place: Place) -> Path:
    return base / "temporary" / f"openstack-controller-{place.user}"


def _python(place: Place) -> str:
    """One that the user of the place can read."""
    ours = str(sys._base_executable)  # type: ignore[attr-defined]
    if place.user is None:
        return ours
    return shutil.which("python3", path=BARE_PATH) or ours


if __name__ == "__main__":
    raise SystemExit(main())
