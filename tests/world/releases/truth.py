"""What is true: which data there are, what opens them, and which objects are not ours to touch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from controller.domain.api.names import finalizer
from controller.domain.values.chart_values import copied
from controller.ports.kubernetes import KubeObject
from tests.fakes.objects import Identity, identity_of
from tests.world.truth import Violated

DATA = "data are deleted"
CREDENTIALS = "credentials are replaced under a living database"
OTHERS = "an object of others is changed"
TWO = "two controllers act"
ENDLESS = "it never comes to rest"

# So long after a person has taken it back a wish may still be served, in seconds: a pass that had read it.
LATE = 15.0
# Where its watches tell it nothing, a container of ours looks by itself so often, in seconds.
LOOKS_EVERY = 300.0


# What Kubernetes itself puts on every claim.
IN_USE = "kubernetes.io/pvc-protection"
# What serving a person's bundle puts on it.
SERVED = (finalizer("helmbundle"),)


@dataclass(eq=False)
class Volume:
    """What a claim holds. `opens`: what the database in it was made with, by what it is the secret of;
    `never` has what a Secret held then already that does not open it: it is of another database."""

    claim: str
    uid: str
    opens: dict[str, str] = field(default_factory=dict)
    never: set[str] = field(default_factory=set)
    gone: bool = False


@dataclass
class Foreign:
    """Objects that persons made, as they left them. `noted`: how many there have been; `numbers`: which of
    these each is."""

    objects: dict[Identity, tuple[str, Any]] = field(default_factory=dict)
    numbers: dict[Identity, int] = field(default_factory=dict)
    noted: int = 0

    def note(self, obj: KubeObject) -> None:
        self.noted += 1
        self.numbers[identity_of(obj)] = self.noted
        self.objects[identity_of(obj)] = (obj["metadata"]["uid"], _content(obj))

    def overtaken(self, identity: Identity, looked: int) -> bool:
        """Whether it was made after Helm had looked what is there, when so many had been noted: its writes
        ask no one, as docs/safety.md says. It is no one's any more then."""
        if identity not in self.objects or self.numbers.get(identity, 0) <= looked:
            return False
        del self.objects[identity]
        return True

    def forget(self, obj: Mapping[str, Any]) -> None:
        self.objects.pop(identity_of(obj), None)

    def settle(self, identity: Identity, live: KubeObject | None) -> None:
        """A person has changed what persons have: it is as they left it."""
        if live is None:
            self.objects.pop(identity, None)
        else:
            self.objects[identity] = (live["metadata"]["uid"], _content(live))

    def check(self, identity: Identity, live: KubeObject | None, by: str) -> None:
        """Raises Violated where it is not as its owner left it."""
        known = self.objects.get(identity)
        if known is None:
            return
        title = f"{identity[1]} {identity[3]}"
        if live is None:
            raise Violated(OTHERS, f"{title}, which a person made, is deleted by {by}")
        if (live["metadata"]["uid"], _content(live)) != known:
            raise Violated(OTHERS, f"{title}, which a person made, is changed by {by}: {_content(live)}")


def _content(obj: Mapping[str, Any]) -> Any:
    meta = obj["metadata"]
    kept = {key: meta.get(key) or {} for key in ("labels", "annotations")}
    kept["deleting"] = bool(meta.get("deletionTimestamp"))
    kept["owners"] = meta.get("ownerReferences") or []
    kept["finalizers"] = [one for one in meta.get("finalizers") or () if one not in (IN_USE, *SERVED)]
    rest = {key: part for key, part in obj.items() if key not in ("metadata", "status")}
    return copied({**rest, "metadata": kept})
