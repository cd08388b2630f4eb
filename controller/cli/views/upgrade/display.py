"""Shows an upgrade: a screen that is drawn again on a terminal, otherwise one line in UTC for each change."""

from __future__ import annotations

from rich.console import Console
from rich.live import Live
from rich.padding import Padding
from rich.text import Text

from controller.cli.output import Cell, print_notes, print_table, soft_wrapped
from controller.cli.views.upgrade.status import StepLine, UpgradeView, time_text
from controller.domain.api.conditions import timestamp
from controller.domain.region.upgrade.upgrade_state import StepState
from controller.domain.region.upgrade.upgrade_steps import Phase
from controller.domain.shared.plurals import count
from controller.ports.system import Clock

MARKS = {
    StepState.PENDING: ("·", "dim"),
    StepState.PREPARING: ("…", "cyan"),
    StepState.RUNNING: ("…", "cyan"),
    StepState.FAILED: ("!", "red"),
    StepState.DONE: ("✓", "green"),
}


def upgrade_display(console: Console, clock: Clock) -> _Screen | _Lines:
    """The display for the console's target."""
    live = console.is_terminal and not console.is_dumb_terminal
    return _Screen(console) if live else _Lines(console, clock)


class _Screen:
    """The status, drawn again at every look."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._live = Live(console=console, auto_refresh=False, vertical_overflow="crop")
        self._live.start()

    def show(self, view: UpgradeView) -> None:
        """One more look."""
        with self._console.capture() as drawn:
            print_upgrade(self._console, view)
        self._live.update(Text.from_ansi(drawn.get().rstrip()), refresh=True)

    def close(self) -> None:
        """Restores the terminal, with the last state on it."""
        self._live.stop()


class _Lines:
    """One line in UTC for each change."""

    def __init__(self, console: Console, clock: Clock) -> None:
        self._console, self._clock = console, clock
        self._last: tuple[str, ...] = ()

    def show(self, view: UpgradeView) -> None:
        """One more look."""
        lines = (f"{view.name}: {view.headline}", view.obstacle or view.message)
        for line in lines if lines != self._last else ():
            if line and line not in self._last:
                text = soft_wrapped(" ".join(line.split()))
                self._console.print(f"{timestamp(self._clock.now())} {text}")
        self._last = lines

    def close(self) -> None:
        """Nothing is left open by lines."""


def print_upgrade(console: Console, view: UpgradeView) -> None:
    """Header, cause, what to do next, and the table of steps."""
    upgrade = view.upgrade
    header = Text(view.name, "bold")
    header.append(f"  {upgrade.source} → {upgrade.target}  ", "not bold")
    header.append(str(upgrade.phase), f"bold {_style(view)}")
    took = f"  {time_text(view.seconds)}" if view.seconds is not None else ""
    header.append(f"  {view.done} of {count(len(view.steps), 'step')} done{took}", "not bold")
    console.print(header, soft_wrap=True)
    for text in dict.fromkeys((view.obstacle, view.message)):
        if text:
            console.print(Padding(Text(soft_wrapped(text)), (0, 0, 0, 2), expand=False))
    _print_checks(console, view)
    console.print()
    print_notes(
        console,
        (("NEXT", view.next), ("BACK", view.back), ("COMPUTES", view.computes), ("CHECKS", view.checks)),
    )
    console.print()
    print_table(
        console, ("", "STEP", "PHASE", "STATE", "TIME", "NOTE"), [_row(step, view) for step in view.steps]
    )


def _print_checks(console: Console, view: UpgradeView) -> None:
    for one in view.upgrade.checks if not view.upgrade.over else ():
        if one.message and one.state in ("Failed", "Warning"):
            style = "red" if one.state == "Failed" else "yellow"
            text = Text(f"  {str(one.state).lower()}  {one.name}: ", style)
            console.print(text.append(soft_wrapped(one.message), "not red not yellow"))


def _style(view: UpgradeView) -> str:
    if view.upgrade.over:
        return "green" if view.upgrade.phase == Phase.FINISHED else "yellow"
    if view.reason in ("UpgradeStepFailed", "UpgradeChecksFailed") or view.obstacle:
        return "red"
    return "yellow" if view.waits else "cyan"


def _row(step: StepLine, view: UpgradeView) -> list[Cell | str]:
    mark, style = MARKS.get(step.state, ("…", "cyan"))
    if step.unchanged:
        return [Cell(text, "dim") for text in ("=", step.name, step.phase, "Done", "-", step.message)]
    note_style = "red" if step.state == StepState.FAILED else ""
    # The message above the table has that of the present step.
    note = "" if step.message in view.message else step.message
    dim = "dim" if step.state == StepState.PENDING else ""
    return [
        Cell(mark, style),
        Cell(step.name, dim),
        Cell(step.phase, dim),
        Cell(str(step.state), style),
        Cell(time_text(step.seconds), dim),
        Cell(soft_wrapped(note), note_style),
    ]
