import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from planner.cost_model.model import fit_device_model
from planner.cost_model.transfer import TransferredDeviceModel
from planner.progress import QuietProgress
from planner.review.latencies import LatencySources, device_models
from planner.review.pricing import review_model
from planner.review.reviewed_device import ReviewedDeviceModel, cut_to_fit
from planner.review.subject import subject_of_spec
from planner.study import DeviceSection
from profiles.component import Component, make_component
from profiles.errors import InputError, UnknownNameError
from profiles.fingerprint import current_fingerprint
from profiles.hardware import LOCAL_CPU
from profiles.records import ComponentProfile, Latency
from profiles.store import ProfileStore
from representations.components import components_of, work_of
from tests.planner.cost_model.synthetic import FINGERPRINT, linears, profile_of, profiles_of, roofline_ms
from tests.planner.review.small_models import CPU, DHE, SPEC, measured_model, published_model

QUICK = LatencySources(seconds_per_visit=0.0005)
SUBJECT = subject_of_spec(SPEC)


def test_what_is_here_is_measured_and_kept(tmp_path: Path) -> None:
    sources = replace(QUICK, store=tmp_path)
    found = device_models([SUBJECT], [16], [CPU], sources, QuietProgress())
    review = review_model(SUBJECT, 16, [CPU], found)
    assert found[CPU.name].source == "measured now"
    assert {row.provenance for row in review.devices[0].components} == {"measured"}
    assert len(ProfileStore(tmp_path).load()) == len({one.component for one in components_of(SPEC, 16)})


def test_notes_on_fits_stand_only_where_a_fit_was_used(tmp_path: Path) -> None:
    def notes_at(batch: int, sources: LatencySources) -> str:
        found = device_models([SUBJECT], [batch], [CPU], sources, QuietProgress())
        (device,) = review_model(SUBJECT, batch, [CPU], found).devices
        return "\n".join(device.notes)

    measured = notes_at(16, replace(QUICK, store=tmp_path))
    assert "25th percentiles of warm calls" in measured
    assert "roofline alone" not in measured
    assert "extrapolated" not in measured
    predicted = notes_at(32, replace(QUICK, profiles=tmp_path))
    assert "fewer than 8 rows, so a roofline alone: " in predicted
    assert "scatter" not in measured + predicted


def test_a_note_on_fits_names_the_families_that_were_fitted() -> None:
    model = measured_model(SPEC, DHE).model
    assert isinstance(model, ReviewedDeviceModel)
    hit, other = linears([(4, 16), (5, 6)], (64,))
    assert not any("roofline alone" in note for note in model.notes_on([hit]))
    (scarce,) = [note for note in model.notes_on([hit, other]) if "roofline alone" in note]
    assert "linear (" in scarce
    assert "embedding" not in scarce
    both = replace(model, fitted=model.fitted.only({"linear"}), estimated=published_model().model)
    table = components_of(SPEC, 64)[4].component
    assert both.estimated is not None
    assert set(both.estimated.notes) <= set(both.notes_on([table]))
    assert not set(both.estimated.notes) & set(both.notes_on([hit]))


def test_rows_that_look_wrong_are_told_of_where_they_are_the_answer() -> None:
    known = linears([(8, 8), (16, 8)], (1, 64))
    rows = [profile_of(one, roofline_ms(one) * 1e3) for one in known]
    model = ReviewedDeviceModel(fitted=fit_device_model(rows, work_of))
    assert any("slower than any device should be" in note for note in model.notes_on(known[:1]))
    assert not any("roofline alone" in note for note in model.notes_on(known[:1]))


def test_with_profiles_only_families_that_they_lack_are_measured(tmp_path: Path) -> None:
    store = ProfileStore(tmp_path)
    device_models([SUBJECT], [16], [CPU], replace(QUICK, store=tmp_path), QuietProgress())
    before = len(store.load())
    found = device_models([subject_of_spec(DHE)], [32], [CPU], replace(QUICK, profiles=tmp_path), QuietProgress())
    review = review_model(subject_of_spec(DHE), 32, [CPU], found)
    assert found[CPU.name].source == f"profiles in {tmp_path}, the rest measured now"
    assert {row.kind for row in review.devices[0].components if row.provenance == "measured"} >= {"dhe_encoder"}
    assert review.devices[0].provenance == "predicted"
    assert len(store.load()) == before


def test_a_processor_elsewhere_is_estimated_from_the_one_here() -> None:
    xeon = DeviceSection(name="xeon-e5-2680v4", kind="xeon-e5-2680v4")
    found = device_models([SUBJECT], [16], [xeon, CPU], QUICK, QuietProgress())
    assert list(found) == [xeon.name, CPU.name]
    assert isinstance(found[xeon.name].model, TransferredDeviceModel)
    assert found[xeon.name].source == "estimated"


def test_profiles_of_another_set_up_are_refused_or_said_to_be_stale(tmp_path: Path) -> None:
    store = ProfileStore(tmp_path)
    for row in profiles_of([one.component for one in components_of(SPEC, 16)]):
        store.append(row)
    sources = replace(QUICK, profiles=tmp_path)
    with pytest.raises(InputError, match=r"under another set-up: processor synthetic .*--allow-stale"):
        device_models([SUBJECT], [16], [CPU], sources, QuietProgress())
    found = device_models([SUBJECT], [16], [CPU], replace(sources, allow_stale=True), QuietProgress())
    assert found[CPU.name].notes[0].startswith("stale: measured under another set-up")


def test_without_measurements_nothing_is_known_of_this_machine() -> None:
    with pytest.raises(InputError, match=r"device 'local-cpu': nothing was measured on it"):
        device_models([SUBJECT], [16], [CPU], replace(QUICK, measure=False), QuietProgress())
    with pytest.raises(InputError, match=r"^--profiles: must be a folder of profiles, but there is no nowhere"):
        LatencySources(profiles=Path("nowhere"))


def test_profiles_of_another_device_are_named_where_one_is_missing(tmp_path: Path) -> None:
    sources = replace(QUICK, profiles=tmp_path, measure=False)
    with pytest.raises(InputError, match="holds no profiles; leave out --no-measure"):
        device_models([SUBJECT], [16], [CPU], sources, QuietProgress())
    elsewhere = replace(FINGERPRINT, device="v100")
    ProfileStore(tmp_path).append(profile_of(linears([(4, 4)], (1,))[0], 1.0, fingerprint=elsewhere))
    with pytest.raises(InputError, match="holds profiles of v100; leave out --no-measure"):
        device_models([SUBJECT], [16], [CPU], sources, QuietProgress())


def test_a_table_that_is_too_large_is_cut_and_what_it_says_is_a_prediction() -> None:
    sources = replace(QUICK, table_budget_bytes=16_000)
    found = device_models([SUBJECT], [16], [CPU], sources, QuietProgress())
    review = review_model(SUBJECT, 16, [CPU], found)
    by_path = {row.path: row.provenance for row in review.devices[0].components}
    assert (by_path["embeddings.0"], by_path["embeddings.1"]) == ("predicted", "measured")
    assert "too large for this machine, so cut: embedding of 1,000 rows as embedding of 500 rows" in " ".join(
        review.devices[0].notes
    )


def here_rows(*components: Component) -> list[ComponentProfile]:
    return [profile_of(one, 0.1, fingerprint=current_fingerprint(LOCAL_CPU, 1)) for one in components]


def stored(folder: Path, rows: Sequence[ComponentProfile]) -> LatencySources:
    store = ProfileStore(folder)
    for row in rows:
        store.append(row)
    return replace(QUICK, profiles=folder, measure=False)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"spec": '{"dtype":"float32","kind":"wavelet","pass":"forward"}'}, "component kind: unknown name 'wavelet'"),
        ({"spec": '{"width":3}'}, "its spec describes no component"),
        (
            {"warm": Latency(p25_ms=math.nan, median_ms=1.0, iqr_ms=0.1, n=9, visits=3)},
            r"\"kind\":\"linear\".* must be finite and > 0",
        ),
    ],
)
def test_a_row_that_cannot_be_is_named_with_its_store(tmp_path: Path, change: dict[str, Any], complaint: str) -> None:
    (row,) = here_rows(*linears([(8, 8)], (1,)))
    sources = stored(tmp_path, [replace(row, path="", **change)])
    with pytest.raises(InputError, match=rf"^profiles in {tmp_path}: .*{complaint}"):
        device_models([SUBJECT], [16], [CPU], sources, QuietProgress())


def test_what_the_profiles_lack_and_nobody_published_is_named(tmp_path: Path) -> None:
    sources = stored(tmp_path, here_rows(*linears([(8, 8), (4, 4)])))
    with pytest.raises(InputError, match=rf"{tmp_path}: nothing of .*embedding\(torch\).*; leave out --no-measure"):
        device_models([SUBJECT], [16], [CPU], sources, QuietProgress())


def test_rows_are_cut_to_the_budget() -> None:
    table = components_of(SPEC, 4)[2 + 2].component
    assert table.kind == "embedding"
    assert cut_to_fit(table, work_of, 10**6) is table
    assert work_of(cut_to_fit(table, work_of, 8_000)).parameter_bytes <= 8_000
    linear = linears([(8, 8)], (1,))[0]
    assert cut_to_fit(linear, work_of, 1) is linear


def test_families_that_were_not_measured_are_estimated_where_that_is_possible() -> None:
    measured = measured_model(SPEC).model
    assert isinstance(measured, ReviewedDeviceModel)
    both = replace(measured, estimated=published_model().model)
    encoder = make_component("dhe_encoder", 4, {"k": 4, "rows": 9, "transform": "uniform"})
    linear = components_of(SPEC, 64)[0].component
    assert both.predict([encoder, linear]).provenance == ("estimated", "measured")
    with pytest.raises(UnknownNameError, match=r"component: unknown name 'dhe_encoder"):
        measured.predict([encoder])
