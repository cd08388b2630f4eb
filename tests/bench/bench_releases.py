"""helmbundle with many small releases, beside Helm's command line in the same run.

Rates are from the first request to everything deployed; for the container, to everything Ready in status.
Ratios are of the best of interleaved rounds: what else the machine does slows all of them.

BENCH_RELEASES (default "100,1000") chooses how many releases, BENCH_ROUNDS (2) how often.
"""

from __future__ import annotations

import os
import secrets
from collections import defaultdict
from collections.abc import Callable, Iterator

from sandbox import audit
from sandbox.cluster import Sandbox
from sandbox.take_down import take_down
from tests.bench.fleet import CommandLine, Fleet, Rate, container, namespace
from tests.bench.processes import Watched

# A CLI call takes as long whatever is there already: a few tell the rate.
CLI_SAMPLE = 20
BASELINE = "helm, one by one"
# From here on, what others need so long for is measured no more.
LARGE = 500

Rates = dict[tuple[str, str], list[Rate]]


def figures() -> Iterator[str]:
    """Lines to print."""
    counts = [int(one) for one in os.environ.get("BENCH_RELEASES", "100,1000").split(",")]
    rounds = int(os.environ.get("BENCH_ROUNDS", "2"))
    name = f"bench-{secrets.token_hex(2)}"
    box = Sandbox.up(name, timeout=180)
    try:
        for count in counts:
            yield f"{count} releases of 3 objects"
            if count < LARGE:
                yield from _compared(box, count, rounds)
            else:
                yield from _large(box, count)
    finally:
        take_down(name)


def _compared(box: Sandbox, count: int, rounds: int) -> Iterator[str]:
    rates: Rates = defaultdict(list)
    notes: dict[str, str] = {}
    for _ in range(rounds):
        for per_bundle, who in ((1, f"{count} HelmBundles"), (count, "one HelmBundle")):
            with namespace(box, _fresh()) as space, container(box, space, count, per_bundle, {}) as fleet:
                notes[who] = _measure(fleet, rates, who)
        with namespace(box, _fresh()) as space:
            cli = CommandLine(box, space)
            rates[BASELINE, "install"].append(cli.apply(CLI_SAMPLE, "red"))
            rates[BASELINE, "upgrade"].append(cli.apply(CLI_SAMPLE, "blue"))
    best = {key: max(found, key=lambda one: one.per_minute) for key, found in rates.items()}
    for who in dict.fromkeys(who for who, _ in best):
        line = ", ".join(
            f"{what} {best[who, what]} ({_ratio(best, who, what)} of Helm's)"
            for what in ("install", "upgrade")
        )
        yield f"  {who}: {line}"
        if who in notes:
            yield f"    {notes[who]}"


def _ratio(best: dict[tuple[str, str], Rate], who: str, what: str) -> str:
    return f"{best[who, what].per_minute / best[BASELINE, what].per_minute:.2f}"


def _measure(fleet: Fleet, rates: Rates, who: str) -> str:
    """Installs, upgrades and looks at all without need; what else is worth telling."""
    with Watched(lambda: fleet.region.controllers.pid("helmbundle")) as watched:
        installed = _counted(fleet, lambda: rates[who, "install"].append(fleet.apply("red")))
        upgraded = _counted(fleet, lambda: rates[who, "upgrade"].append(fleet.apply("blue")))
    seconds, writes = fleet.restart_and_look_at_all()
    return (
        f"requests per release: install {installed:.1f}, upgrade {upgraded:.1f}; "
        f"no-op pass {seconds:.1f} s, {writes} writes; {watched.megabytes:.0f} MB in {watched.processes} "
        f"processes, {watched.processor:.1f} s of processor time"
    )


def _counted(fleet: Fleet, action: Callable[[], object]) -> float:
    since = audit.now()
    action()
    return sum(fleet.requests(since).values()) / fleet.count


def _large(box: Sandbox, count: int) -> Iterator[str]:
    for per_bundle, who in ((1, f"{count} HelmBundles"), (100, f"{count // 100} HelmBundles of 100")):
        rates: Rates = defaultdict(list)
        with namespace(box, _fresh()) as space, container(box, space, count, per_bundle, {}) as fleet:
            note = _measure(fleet, rates, who)
        yield f"  {who}: install {rates[who, 'install'][0]}, upgrade {rates[who, 'upgrade'][0]}"
        yield f"    {note}"


def _fresh() -> str:
    return f"bench-{secrets.token_hex(3)}"
