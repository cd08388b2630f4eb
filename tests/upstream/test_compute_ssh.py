"""The keys by which computes reach each other: in a Secret of the chart's, and followed by its pods."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from controller.domain.credentials.generate import SSH_PRIVATE_KEY, generate, public_key_of
from controller.domain.credentials.rotation.in_place import pair_texts
from tests.fakes.world import FakeRandomness
from tests.upstream.regions import objects, region, releases, specs

pytestmark = pytest.mark.upstream


def test_computes_have_the_pair_as_ssh_reads_it_and_are_made_again_with_it(charts: Path) -> None:
    private = generate(SSH_PRIVATE_KEY, FakeRandomness(1))
    public = public_key_of(private)
    [nova] = [one for one in releases(region(charts, specs()["small"])) if one.spec.name == "nova"]
    made = objects(nova, given={"ssh-private-key": private, "ssh-public-key": public})

    [secret] = [one for one in made if one["metadata"]["name"] == "nova-ssh"]
    found = {key: base64.b64decode(text).decode() for key, text in secret["data"].items()}
    assert found["private-key"] == private
    # A line of authorized_keys: folded, it would be two.
    assert found["public-key"].strip() == public

    [computes] = [
        one for one in made if one["kind"] == "DaemonSet" and "nova-compute" in one["metadata"]["name"]
    ]
    template = computes["spec"]["template"]
    assert template["metadata"]["annotations"]["osctl.dev/ssh-key"] == public
    [server] = [one for one in template["spec"]["containers"] if one["name"] == "nova-compute-ssh"]
    kinds = {one["name"]: one["value"] for one in server["env"]}["KEY_TYPES"]
    # OpenSSH has no keys of the kind dsa any more: the chart's list would end the container.
    assert kinds == "ed25519,ecdsa,rsa"


def test_while_the_pair_is_replaced_computes_let_in_both_keys(charts: Path) -> None:
    private = generate(SSH_PRIVATE_KEY, FakeRandomness(1))
    keys = {"ssh-private-key": private, "ssh-public-key": public_key_of(private)}
    both = str(
        pair_texts(1, "ssh-private-key", keys, lambda: generate(SSH_PRIVATE_KEY, FakeRandomness(2)))[
            "ssh-public-key"
        ]
    )
    [nova] = [one for one in releases(region(charts, specs()["small"])) if one.spec.name == "nova"]
    made = objects(nova, given={"ssh-private-key": private, "ssh-public-key": both})

    [secret] = [one for one in made if one["metadata"]["name"] == "nova-ssh"]
    # One key on each line of authorized_keys.
    assert base64.b64decode(secret["data"]["public-key"]).decode().splitlines() == both.splitlines()
    [computes] = [
        one for one in made if one["kind"] == "DaemonSet" and "nova-compute" in one["metadata"]["name"]
    ]
    assert computes["spec"]["template"]["metadata"]["annotations"]["osctl.dev/ssh-key"] == both
