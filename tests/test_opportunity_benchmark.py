from tests.benchmarks import opportunity


def test_the_page_sets_predicted_beside_measured_gains() -> None:
    case = {
        "modules": 2,
        "eager_ms": {"p25": 12.0, "iqr": 0.5},
        "compiled_ms": {"p25": 10.0, "iqr": 0.5},
        "predicted_gain_ms": -1.5,
        "measured_gain_ms": 2.0,
        "predicted_speedup": None,
        "measured_speedup": 1.2,
    }
    page = "\n".join(opportunity.BENCHMARK.describe({"cases": {"forward, all blocks": case}}))
    assert "| forward, all blocks | 2 | 12.0 ± 0.50 | 10.0 ± 0.50 | −1.50 | 2.00 | all of it | 1.20 |" in page


def test_every_choice_names_modules_of_its_model() -> None:
    for study in (opportunity._transformer(), opportunity._dlrm(), opportunity._quick_dlrm()):
        for paths in study.choices.values():
            assert all(study.target.model.get_submodule(path) for path in paths)
