import pytest

from profiles.errors import InputError, MeasurementError
from profiles.executors.connection import connect


@pytest.mark.parametrize("address", ["127.0.0.1:1", "ray://127.0.0.1:1", "no-such-host.invalid:6379"])
def test_an_address_that_nothing_answers_at_is_refused_at_once(address: str) -> None:
    with pytest.raises(InputError, match="nothing answers at"):
        connect(address)


def test_an_address_without_a_port_number_is_refused() -> None:
    with pytest.raises(InputError, match="must end in a port, but got 'host:x'"):
        connect("host:x")


def test_a_cluster_that_cannot_be_started_is_a_measurement_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RAY_TMPDIR", "/proc/nowhere")
    with pytest.raises(MeasurementError, match=r"could not start or join 'local': .*nowhere"):
        connect("local")
