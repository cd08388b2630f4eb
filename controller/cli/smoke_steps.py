"""A smoke check: creates, uses and removes the first objects of an OpenStack user, up to a server."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from ipaddress import ip_address, ip_network

from controller.domain.api.conditions import timestamp
from controller.domain.region.smoke import (
    LISTED_SERVICES,
    Outcome,
    SmokeProject,
    StepResult,
    next_to_remove,
    project_tags,
    required_services,
    step_is_wanted,
)
from controller.domain.shared.redaction import redact_urls
from controller.errors import CloudRefused, CloudUnavailable, ControllerError
from controller.ports.smoke import Progress, SmokeCloud, SmokeTenant
from controller.ports.system import Clock

POLL_SECONDS = 1.0
# Time for the deletion of a project's objects: first a server, and then its parts.
REMOVE_SECONDS = 180.0
# Its packets do not leave their network (RFC 5737).
CIDR = "192.0.2.0/24"
CONTENT = b"a disk of a smoke check, which nothing boots from\n" * 10_486
# Errors of libraries for a malformed answer.
_UNREADABLE = (LookupError, TypeError, AttributeError, ValueError)


class StepFailed(ControllerError):
    """OpenStack accepted the request, but the result is wrong. The message is the cause."""


@dataclass
class SmokeRun:
    """One run. `name` is the name of all its objects; `service`: only what shows that this one serves."""

    cloud: SmokeCloud
    clock: Clock
    sleep: Callable[[float], None]
    report: Callable[[StepResult], None]
    name: str
    seconds: float
    sweep: bool = False
    service: str = ""
    results: list[StepResult] = field(default_factory=list)
    _services: frozenset[str] = frozenset()
    begun: bool = False
    _project: SmokeProject | None = None
    _tenant: SmokeTenant | None = None
    _made: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self._deadline = self.clock.monotonic() + self.seconds
        self._until = self.clock.now() + self.seconds + REMOVE_SECONDS

    def run(self) -> tuple[StepResult, ...]:
        """All steps, except those whose requirement failed. Created objects are removed in any case."""
        try:
            self._use()
        finally:
            if self.begun:
                self._attempt("removal", self._remove_all, until=self.clock.monotonic() + REMOVE_SECONDS)
        return tuple(self.results)

    def _use(self) -> None:
        self._attempt("token", self._token)
        self._attempt("leftovers", self._leftovers, "token")
        self._attempt("project", self._make_project, "token")
        if self.service in LISTED_SERVICES:
            self._attempt("list", self._list, "token")
        self._maybe("image", self._image, "project")
        self._maybe("network", self._network, "project")
        self._maybe("port", self._port, "network")
        self._maybe("volume", self._volume, "project")
        self._maybe("flavor", self._flavor, "project")
        self._maybe("server", self._server, "image", "port", "flavor")
        self._maybe("attachment", self._attach, "server", "volume")

    # -- execution of steps ------------------------------------------------------------------

    def _maybe(self, step: str, work: Callable[[], str], *needs: str) -> None:
        """A step that a check of one service, or of a region without some service, may leave out."""
        if step_is_wanted(step, self.service, self._services):
            self._attempt(step, work, *needs)

    def _attempt(self, step: str, work: Callable[[], str], *needs: str, until: float | None = None) -> None:
        lacking = [one for one in needs if not self._passed(one)]
        began = self.clock.monotonic()
        if lacking:
            self._note(StepResult(step, Outcome.NOT_TRIED, 0.0, f"the step needs {', '.join(lacking)}"))
            return
        if began >= (until or self._deadline):
            self._note(StepResult(step, Outcome.NOT_TRIED, 0.0, f"the {self.seconds:.0f} s are over"))
            return
        try:
            detail, outcome = work(), Outcome.PASSED
        except (CloudUnavailable, CloudRefused, StepFailed) as error:
            detail, outcome = str(error), Outcome.FAILED
        except _UNREADABLE as error:
            detail, outcome = f"an answer cannot be read: {type(error).__name__}", Outcome.FAILED
        self._note(StepResult(step, outcome, self.clock.monotonic() - began, redact_urls(detail)))

    def _note(self, result: StepResult) -> None:
        self.results.append(result)
        self.report(result)

    def _passed(self, step: str) -> bool:
        return any(one.step == step and one.outcome == Outcome.PASSED for one in self.results)

    @property
    def _member(self) -> SmokeTenant:
        if self._tenant is None:
            raise StepFailed("the project was not created")
        return self._tenant

    def _await(self, what: str, look: Callable[[], Progress], wanted: str, *broken: str) -> str:
        """Waits for the desired status. Raises StepFailed, with OpenStack's own text."""
        while True:
            seen = look()
            if seen.status == wanted:
                return seen.status
            if seen.status in broken:
                raise StepFailed(f"the {what} is {seen.status}: {seen.fault or 'no cause is given'}")
            if self.clock.monotonic() >= self._deadline:
                raise StepFailed(
                    f"the {what} is {seen.status or 'without a status'}, not {wanted}, when the time was over"
                )
            self.sleep(POLL_SECONDS)

    # -- the steps; each returns its observation -----------------------------------------------------

    def _token(self) -> str:
        self._services = self.cloud.services()
        missing = [one for one in required_services(self.service) if one not in self._services]
        if missing:
            raise StepFailed(f"the catalogue has no {', '.join(missing)}")
        return f"services: {', '.join(sorted(self._services))}"

    def _leftovers(self) -> str:
        removed, let = 0, []
        for one in self.cloud.projects():
            if self.sweep or one.is_left_behind(self.clock.now()):
                self._remove(one, self.clock.monotonic() + REMOVE_SECONDS)
                removed += 1
            else:
                let.append(f"{one.name} until {timestamp(one.until) if one.until else 'an unknown time'}")
        if let:
            return f"another run may be using {', '.join(let)}; --sweep removes its objects"
        return f"{removed} removed" if removed else "none"

    def _make_project(self) -> str:
        self.begun = True
        self._project = self.cloud.make_project(self.name, project_tags(self._until))
        self._tenant = self.cloud.enter(self._project)
        return self.name

    def _list(self) -> str:
        return f"{self.service}: a list with {self.cloud.listed(self.service)} objects"

    def _image(self) -> str:
        self._made["image"] = image = self._member.make_image(self.name, CONTENT)
        self._await("image", lambda: self._member.image(image), "active", "killed", "deleted")
        if self._member.image_content(image) != CONTENT:
            raise StepFailed("the download differs from the upload")
        return f"{len(CONTENT)} bytes uploaded and downloaded"

    def _network(self) -> str:
        self._made["network"] = self._member.make_network(self.name, CIDR)
        return CIDR

    def _port(self) -> str:
        self._made["port"], address = self._member.make_port(self.name, self._made["network"])
        if not address or ip_address(address) not in ip_network(CIDR):
            raise StepFailed(f"the port has the address {address or '-'}, which is not in {CIDR}")
        return address

    def _volume(self) -> str:
        self._made["volume"] = volume = self._member.make_volume(self.name)
        return self._await("volume", lambda: self._member.volume(volume), "available", "error")

    def _flavor(self) -> str:
        if self._project is None:
            raise StepFailed("the project was not created")
        self._made["flavor"] = self.cloud.make_flavor(self.name, self._project)
        return "1 VCPU, 64 MiB"

    def _server(self) -> str:
        given = {key: self._made[key] for key in ("image", "flavor", "port")}
        self._made["server"] = server = self._member.make_server(self.name, **given)
        return self._await("server", lambda: self._member.server(server), "ACTIVE", "ERROR")

    def _attach(self) -> str:
        volume = self._made["volume"]
        self._member.attach(self._made["server"], volume)
        return self._await(
            "volume", lambda: self._member.volume(volume), "in-use", "error", "error_attaching"
        )

    # -- removal ------------------------------------------------------------------------------------

    def _remove_all(self) -> str:
        deadline = self.clock.monotonic() + REMOVE_SECONDS
        # If the answer was lost, the project may exist anyway.
        mine = (
            [self._project]
            if self._project
            else [one for one in self.cloud.projects() if one.name == self.name]
        )
        for one in mine:
            self._remove(one, deadline)
        return "nothing is left"

    def _remove(self, project: SmokeProject, deadline: float) -> None:
        """Removes everything in a project, and the project. Raises StepFailed if something remains."""
        while True:
            kinds, cause = "", ""
            try:
                found = self.cloud.leftovers(project)
                if not found:
                    self.cloud.remove_project(project)
                    return
                kinds = ", ".join(sorted({one.kind for one in found}))
                for one in next_to_remove(found):
                    self.cloud.remove(one)
            except (CloudUnavailable, CloudRefused) as error:
                cause = f": {error}"
            if self.clock.monotonic() >= deadline:
                left = f"{kinds} remain" if kinds else "the remaining objects are not known"
                raise StepFailed(f"project {project.name} could not be removed, {left}{cause}")
            self.sleep(POLL_SECONDS)
