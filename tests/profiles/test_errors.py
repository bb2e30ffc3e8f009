import pickle

import pytest

from profiles.errors import CorruptFileError, InfeasibleError, InputError, RecplanError, StorageError, UnknownNameError


def test_bad_input_is_a_value_error_of_our_root() -> None:
    for kind in (InputError, InfeasibleError, CorruptFileError):
        assert issubclass(kind, RecplanError)
        assert issubclass(kind, ValueError)


def test_storage_error_is_an_os_error_that_names_the_file() -> None:
    error = StorageError(28, "cannot append", "/some/file")
    assert isinstance(error, OSError)
    assert (error.errno, error.filename) == (28, "/some/file")


def test_unknown_name_lists_the_known_ones_and_the_closest() -> None:
    error = UnknownNameError("policy", "statik", ["static", "mp-rec"])
    assert str(error) == "policy: unknown name 'statik' (did you mean 'static'?); known: mp-rec, static"


def test_unknown_name_without_known_ones() -> None:
    assert str(UnknownNameError("policy", "x", [])).endswith("known: none")


def test_unknown_name_survives_a_trip_between_processes() -> None:
    error = pickle.loads(pickle.dumps(UnknownNameError("policy", "statik", ["static"])))
    assert (error.what, error.name, error.known) == ("policy", "statik", ("static",))
    with pytest.raises(UnknownNameError, match="statik"):
        raise error


def test_of_thousands_of_known_names_only_some_are_listed() -> None:
    error = UnknownNameError("table", "t50000", [f"t{i}" for i in range(5000)])
    assert len(str(error)) < 600
    assert "did you mean 't5" in str(error)
    assert str(error).endswith(" and 4,940 more")
