import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings

from profiles.errors import InputError
from profiles.records import SCHEMA, ComponentProfile
from tests.profiles.rows import FINGERPRINT, any_profile, latency, row


@settings(max_examples=20)
@given(any_profile)
def test_a_row_survives_json(profile: ComponentProfile) -> None:
    assert ComponentProfile.from_row(json.loads(json.dumps(profile.to_row()))) == profile


@settings(max_examples=20)
@given(any_profile)
def test_a_row_survives_flattening(profile: ComponentProfile) -> None:
    assert ComponentProfile.from_flat(profile.to_flat()) == profile


def test_flat_columns_carry_their_units() -> None:
    flat = row(warm=latency(2.0), preprocessors=("compile", "cold")).to_flat()
    assert flat["warm_median_ms"] == 2.0
    assert flat["cold_median_ms"] is None
    assert flat["fingerprint_threads"] == 1
    assert flat["preprocessors"] == "compile+cold"
    assert flat["schema"] == SCHEMA


def test_another_schema_is_refused() -> None:
    with pytest.raises(InputError, match=r"schema: must be 'recplan.profile/1', but got 'recplan.plan/1'"):
        ComponentProfile.from_row({**row().to_row(), "schema": "recplan.plan/1"})


@pytest.mark.parametrize(
    "change", [{"nonsense": 1}, {"warm": {"nonsense": 1}}, {"fingerprint": {}}, {"preprocessors": None}]
)
def test_rows_of_another_shape_are_refused(change: dict[str, Any]) -> None:
    with pytest.raises(InputError, match="profile row"):
        ComponentProfile.from_row({**row().to_row(), **change})


def test_the_device_key_ignores_revision_and_time_only() -> None:
    later = replace(FINGERPRINT, git_revision="abc", timestamp="2030")
    assert later.device_key() == FINGERPRINT.device_key()
    assert replace(FINGERPRINT, threads=2).device_key() != FINGERPRINT.device_key()
    assert replace(FINGERPRINT, libraries=(("torch", "3"),)).device_key() != FINGERPRINT.device_key()


def test_skipping_keeps_the_identity_and_says_why() -> None:
    skipped = row("x", warm=latency()).skipped("no kernel")
    assert (skipped.content_hash, skipped.provenance, skipped.reason) == ("x", "skipped", "no kernel")
