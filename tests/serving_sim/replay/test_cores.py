from serving_sim.replay.cores import available_cores, share_cores


def test_everyone_has_cores_of_its_own_where_there_are_enough() -> None:
    share = share_cores((2, 3, 5, 7, 9), workers=2, threads=2)
    assert share.generator == (2,)
    assert share.workers == ((3, 5), (7, 9))
    assert not share.note


def test_nobody_is_pinned_where_there_are_too_few() -> None:
    share = share_cores((0, 1), workers=2, threads=1)
    assert share.generator == ()
    assert share.workers == ((), ())
    assert "3 cores are needed, 2 are here" in share.note


def test_some_core_is_there() -> None:
    assert available_cores()
