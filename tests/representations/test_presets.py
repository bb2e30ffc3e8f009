import pytest

from profiles.errors import UnknownNameError
from representations.assignment import with_representation
from representations.build import build_model
from representations.presets import get_preset, model_presets
from representations.specs import DheSpec


@pytest.mark.parametrize(
    ("name", "rows", "table_bytes", "width"),
    [
        ("dlrm-kaggle", 33_762_577, 2_160_804_928, 367),
        ("dlrm-terabyte-10m", 49_126_297, 12_576_332_032, 415),
        ("dlrm-terabyte-40m", 187_767_399, 96_136_908_288, 479),
    ],
)
def test_criteo_presets_have_the_published_sizes(name: str, rows: int, table_bytes: int, width: int) -> None:
    spec = get_preset(name)
    assert sum(feature.cardinality for feature in spec.features) == rows
    assert spec.embedding_bytes == table_bytes
    assert spec.interaction_width == width


@pytest.mark.parametrize("name", model_presets.names())
def test_the_built_model_has_the_bytes_of_its_spec(name: str) -> None:
    spec = get_preset(name)
    model = build_model(spec, device="meta")
    assert sum(t.numel() * t.element_size() for t in (*model.parameters(), *model.buffers())) == spec.parameter_bytes


def test_hashing_every_terabyte_feature_is_334_times_smaller() -> None:
    dhe = DheSpec(dim=64, k=1024, widths=(256, 128))
    spec = with_representation(get_preset("dlrm-terabyte-10m"), "dhe", dim=64, dhe=dhe)
    tables = get_preset("dlrm-terabyte-10m").embedding_bytes
    concat_mlps_bytes = 5.74e6
    total = spec.embedding_bytes + concat_mlps_bytes
    assert total / 1e6 == pytest.approx(37.73, abs=0.01)
    assert 12.59e9 / total == pytest.approx(333.7, abs=0.1)
    assert tables / total == pytest.approx(333.3, abs=0.1)


def test_an_unknown_preset_lists_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match=r"did you mean 'dlrm-kaggle'.*dlrm-terabyte-10m"):
        get_preset("dlrm-kagle")
