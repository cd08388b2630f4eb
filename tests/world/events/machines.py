"""Machines, their power, links, clocks and names."""

from __future__ import annotations

from tests.world.events.draw import Draw, happens, happens_to_machine
from tests.world.truth import Machine
from tests.world.world import World


@happens_to_machine(powered=True)
def machine_loses_power(world: World, draw: Draw, machine: Machine) -> str | None:
    world.truth.power_off(machine)
    return f"{machine.host} loses its power"


@happens_to_machine(powered=False)
def machine_is_started(world: World, draw: Draw, machine: Machine) -> str | None:
    world.truth.power_on(machine, world.time.seconds)
    return f"{machine.host} is started"


@happens_to_machine(powered=True)
def machine_reboots(world: World, draw: Draw, machine: Machine) -> str | None:
    world.truth.power_off(machine)
    world.truth.power_on(machine, world.time.seconds)
    return f"{machine.host} reboots"


@happens_to_machine(powered=True)
def machine_is_cut_off(world: World, draw: Draw, machine: Machine) -> str | None:
    """A partition: it runs on."""
    which = draw.number(4)
    machine.cluster_link = which == 2
    machine.cloud_link = which == 1
    what = {1: "from the API server", 2: "from Nova"}.get(which, "from everything")
    return f"{machine.host} is cut off {what}, and runs on"


@happens_to_machine()
def links_are_mended(world: World, draw: Draw, machine: Machine) -> str | None:
    if machine.cluster_link and machine.cloud_link:
        return None
    machine.cluster_link = machine.cloud_link = True
    return f"the links of {machine.host} are mended"


@happens_to_machine(powered=True)
def kubelet_says_not_ready(world: World, draw: Draw, machine: Machine) -> str | None:
    machine.unwell = not machine.unwell
    return f"the kubelet of {machine.host} says {'NotReady' if machine.unwell else 'Ready'} from now on"


@happens_to_machine(powered=True)
def compute_ends(world: World, draw: Draw, machine: Machine) -> str | None:
    """nova-compute crashes, and its servers run on; or it is repaired."""
    machine.broken = not machine.broken
    machine.compute = False
    return f"nova-compute on {machine.host} {'crashes' if machine.broken else 'may start again'}"


@happens_to_machine()
def clock_is_wrong(world: World, draw: Draw, machine: Machine) -> str | None:
    machine.clock = draw.one((-36000.0, -3600.0, -100.0, 0.0, 100.0, 3600.0, -1_700_000_000.0))
    return f"the clock of {machine.host} is {machine.clock:+.0f} s wrong"


@happens
def our_clock_jumps(world: World, draw: Draw) -> str | None:
    clock = world.leader.clock
    by = draw.one((7200.0, -7200.0, 100000.0, -60.0, 150.0))
    clock.offset += by
    return f"the clock of our container is set by {by:+.0f} s"


@happens_to_machine(powered=True)
def machine_is_renamed(world: World, draw: Draw, machine: Machine) -> str | None:
    """Its kubelet joins under another name; the old Node stays, silent."""
    old = machine.node
    machine.node = f"{machine.host}-as-{draw.one(('a', 'b'))}" if old == machine.host else machine.host
    if any(one.node == machine.node and one is not machine for one in world.truth.machines.values()):
        machine.node = old
        return None
    machine.named = world.time.seconds
    if draw.number(2):
        world.truth.power_off(machine)
        world.truth.power_on(machine, world.time.seconds)
        return f"{machine.host} reboots, and joins as the Node {machine.node} instead of {old}"
    return f"the kubelet of {machine.host} joins as the Node {machine.node} instead of {old}"


@happens_to_machine(powered=False)
def machine_is_replaced(world: World, draw: Draw, machine: Machine) -> str | None:
    """Broken for good: another gets its name. Disks that were in it are gone with it."""
    node = world.cluster.nodes.get(machine.node)
    if node is None or node.machine != machine.key or len(world.truth.machines) > 8:
        return None
    machine.retired = True
    new = world.add_machine(machine.host, machine.node)
    new.powered, new.contacted = False, None
    world.truth.power_on(new, world.time.seconds)
    world.cluster.remove_node(machine.node)
    world.cordoned_by_person.discard(machine.node)
    return f"another machine takes the place of {machine.host}"


@happens_to_machine(powered=True)
def machine_sleeps(world: World, draw: Draw, machine: Machine) -> str | None:
    """Suspended, or frozen: whoever looks sees a machine that is off."""
    world.truth.sleep(machine)
    return f"{machine.host} falls asleep"


@happens_to_machine(powered=False)
def machine_wakes(world: World, draw: Draw, machine: Machine) -> str | None:
    """Nothing is booted: its processes go on, and so does its nova-compute. Its kubelet may stay unheard.

    But not both: a machine that wakes where no one can hear it is what the person who confirms vouches for.
    """
    if machine.contacted is None or machine.broken:
        return None
    machine.cluster_link, machine.cloud_link = draw.number(3) == 0, True
    world.truth.wake(machine, world.cloud.left_on(machine.host))
    if machine.reports and machine.host in world.cloud.services:
        # At once: it may be cut off in the same moment, and no one would have heard it then.
        world.cloud.heard(machine.host)
    return f"{machine.host} wakes{'' if machine.cluster_link else ', and only Nova hears it'}"
