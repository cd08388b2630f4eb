"""When a region is Stalled: nothing more happens before an edit of its spec, or a restore of lost
credentials. Pure. A second OpenStackDeployment in the namespace is also Stalled: `refusal` of
`summary.py`.
"""

from __future__ import annotations

from controller.domain.api.conditions import Condition
from controller.domain.api.reasons import Reason
from controller.domain.api.shortened_text import shorten
from controller.domain.region.facts import RegionFacts
from controller.domain.region.progress import RegionProgress

# Characters of the message.
MOST_TEXT = 4000


def stalled_condition(facts: RegionFacts, progress: RegionProgress) -> Condition:
    """`Stalled`: True for a spec that cannot be served, once nothing of an earlier one goes on either, and
    for lost credentials, once nothing goes on without them.

    Never True beside a Reconciling that has work to do: kstatus takes whichever of the two it meets first.
    """
    invalid = bool(facts.problem) and not facts.passing
    stalled = invalid and not (facts.deleting or facts.goes_on(progress))
    if not stalled and has_lost_credentials(facts, progress):
        text = shorten(facts.credentials_lost, MOST_TEXT)
        return Condition("Stalled", "True", Reason.CREDENTIALS_LOST, text, facts.generation)
    return Condition(
        "Stalled", "True" if stalled else "False", facts.problem_reason, _text(facts), facts.generation
    )


def has_lost_credentials(facts: RegionFacts, progress: RegionProgress) -> bool:
    """Whether a person has to bring back credentials before anything else goes on."""
    on_hold = facts.deleting or facts.paused or facts.waits or facts.passing
    return bool(facts.credentials_lost) and not (on_hold or progress.without_secrets)


def _text(facts: RegionFacts) -> str:
    until = "until the error in condition SpecValid is corrected"
    if facts.lacking and not facts.paused:
        return f"nothing happens in {', '.join(facts.lacking)} {until}; all other services continue"
    return f"nothing happens {until}; running services are untouched"
