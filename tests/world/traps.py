"""What a process meets between two of its calls: it is killed, stands still, meets another."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.world.process import Killed, Process

if TYPE_CHECKING:
    from tests.world.world import World


@dataclass(eq=False)
class Trap:
    """What a process meets at one of its next calls.

    `left`: so many writes (or calls) are left to it before. `what`: dies before or after it, stands still,
    has its answer lost. `meanwhile` happens while it stands still.
    """

    what: str
    left: int
    seconds: float = 0.0
    meanwhile: list[Any] = field(default_factory=list)
    writes: bool = True


class Traps:
    """Those that wait for a process of ours. `depth`: how many stand still now, one within the other."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._set: list[Trap] = []
        self.depth = 0

    def set(self, trap: Trap) -> None:
        self._set.append(trap)

    def clear(self) -> None:
        self._set.clear()

    def before_call(self, process: Process, service: str, words: str, *, write: bool) -> None:
        if not process.alive:
            raise Killed
        self._meet(process, words, write=write, after=False)
        if not process.alive:
            raise Killed

    def after_call(self, process: Process, words: str, *, write: bool) -> None:
        self._meet(process, words, write=write, after=True)

    def _meet(self, process: Process, words: str, *, write: bool, after: bool) -> None:
        world = self._world
        if self.depth > 1:
            return
        for trap in list(self._set):
            if trap not in self._set or trap.what == "cut":
                continue
            if (trap.writes and not write) or (trap.what == "dies after") != after:
                continue
            if trap.left > 0:
                trap.left -= 1
                continue
            self._set.remove(trap)
            world.met[f"process {trap.what}"] += 1
            where = "after" if after else "before"
            if trap.what in ("dies after", "dies before"):
                world.tell(f"{process.name} is killed {where}: {words}")
                process.alive = False
                raise Killed
            self._stand_still(process, trap, words)

    def _stand_still(self, process: Process, trap: Trap, words: str) -> None:
        world = self._world
        if trap.what == "meets another":
            world.tell(f"everybody else works before {process.name} goes on with: {words}")
            self.depth += 1
            for other in list(world.processes):
                other.run("maintenances", "hosts", "region")
            self.depth -= 1
            return
        world.tell(f"{process.name} stands still for {trap.seconds:.0f} s before: {words}")
        self.depth += 1
        try:
            if trap.what == "stands still, and another takes over":
                other = world.born()
                world.processes.append(other)
                world.leader = other
            world.pass_time(trap.seconds / 2)
            for event in trap.meanwhile:
                world.happen(event)
            if world.leader is not process:
                world.leader.run("hosts", "maintenances", "region")
            world.pass_time(trap.seconds / 2)
            if world.leader is not process:
                world.leader.run("hosts", "maintenances", "region")
        finally:
            self.depth -= 1
        world.tell(f"{process.name} goes on with: {words}")
        if world.leader is not process:
            # Its fence ends it: what it is about to send is sent, and nothing after that.
            self._set.insert(0, Trap("dies after", 0, writes=False))

    def cut(self, service: str, words: str) -> bool:
        """Whether the answer to what was just done is lost."""
        world = self._world
        for trap in list(self._set):
            if trap.what != "cut":
                continue
            if trap.left > 0:
                trap.left -= 1
                continue
            self._set.remove(trap)
            world.met["answer lost"] += 1
            world.tell(f"the answer of the {service} is lost: {words}")
            return True
        return False
