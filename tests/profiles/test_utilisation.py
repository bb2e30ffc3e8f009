import pytest

from profiles.utilisation import bandwidth_share, model_flops_share


def test_shares_are_of_the_dense_peak() -> None:
    assert model_flops_share(14e9, 1.0, "v100", "float32") == pytest.approx(1.0)
    assert model_flops_share(14e9, 2.0, "v100", "float16") == pytest.approx(7e12 / 112e12)
    assert bandwidth_share(9e8, 2.0, "v100") == pytest.approx(0.5)


@pytest.mark.parametrize(("device", "dtype"), [("local-cpu", "float32"), ("abacus", "float32"), ("v100", "int4")])
def test_an_unknown_peak_gives_no_share(device: str, dtype: str) -> None:
    assert model_flops_share(1e9, 1.0, device, dtype) is None


def test_nothing_to_count_gives_no_share() -> None:
    assert model_flops_share(None, 1.0, "v100", "float32") is None
    assert model_flops_share(0.0, 1.0, "v100", "float32") is None
    assert model_flops_share(1.0, 0.0, "v100", "float32") is None
    assert bandwidth_share(None, 1.0, "v100") is None
    assert bandwidth_share(1.0, 1.0, "local-cpu") is None
