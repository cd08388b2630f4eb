"""A person's word that a node is off (`spec.fenced`), and what speaks against it later. Pure.

What the Node shows when the word is first acted upon is noted in the status of the maintenance: a machine
that was started since then shows something else, and its servers must not be started a second time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from controller.domain.conditions import timestamp
from controller.domain.nodes import NodeFacts
from controller.domain.times import seconds_of

_FALSE = " False"


@dataclass(frozen=True, slots=True)
class OffWord:
    """When the word was first acted upon (seconds since the epoch), and what the Node showed then.

    `uid` is empty where there was no Node; `boot`, `condition`: as in NodeFacts.
    """

    at: float
    uid: str = ""
    boot: str = ""
    condition: str = ""

    def written(self) -> dict[str, str]:
        """As it stands in the status."""
        texts = {"uid": self.uid, "bootID": self.boot, "condition": self.condition}
        return {"at": timestamp(self.at), **{key: value for key, value in texts.items() if value}}


def word_on(node: NodeFacts | None, now: float) -> OffWord:
    """The word, as it is to be noted of a node; None for one that is gone."""
    if node is None:
        return OffWord(now)
    return OffWord(now, node.uid, node.boot, node.condition)


def read_word(status: Mapping[str, Any]) -> OffWord | None:
    """What a status has noted; None where the word was not acted upon yet."""
    found = status.get("fenced")
    if not found:
        return None
    return OffWord(
        seconds_of(found.get("at")),
        str(found.get("uid") or ""),
        str(found.get("bootID") or ""),
        str(found.get("condition") or ""),
    )


def runs_again(word: OffWord, node: NodeFacts) -> bool:
    """Whether a Node shows that its machine was on after the word.

    Only a kubelet makes a Node, tells of a boot and says "False"; "Unknown" is what is said of a silent one.
    """
    booted = node.uid != word.uid or node.boot not in ("", word.boot)
    spoke = node.condition != word.condition and node.condition.endswith(_FALSE)
    return booted or spoke or node.since > word.at


def ran_as(word: OffWord, beside: Sequence[NodeFacts], now: float) -> str:
    """Another Node of the same host that its machine was on as after the word; empty for none."""
    for one in beside:
        if max(one.since, one.created) > word.at and not one.is_fenced(now):
            return one.name
    return ""
