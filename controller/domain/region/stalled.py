"""When a region is Stalled: nothing goes on any more until somebody edits its spec. Pure.

A second OpenStackDeployment beside the one that is served is Stalled, too: `refusal` of `summary.py`.
"""

from __future__ import annotations

from controller.domain.api.conditions import Condition
from controller.domain.region.facts import RegionFacts
from controller.domain.region.progress import RegionProgress


def stalled_condition(facts: RegionFacts, progress: RegionProgress) -> Condition:
    """`Stalled`: True for a spec that cannot be served, once nothing of an earlier one goes on either.

    Never True beside a Reconciling that has work to do: kstatus takes whichever of the two it meets first.
    """
    invalid = bool(facts.problem) and not facts.passing
    stalled = invalid and not (facts.deleting or facts.goes_on(progress))
    return Condition(
        "Stalled", "True" if stalled else "False", facts.problem_reason, _text(facts), facts.generation
    )


def _text(facts: RegionFacts) -> str:
    until = "until the error in condition SpecValid is corrected"
    if facts.lacking and not facts.paused:
        return f"nothing happens in {', '.join(facts.lacking)} {until}; all else is served"
    return f"nothing happens {until}; what ran is untouched"
