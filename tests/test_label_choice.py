from tests.benchmarks.label_choice import Spells, label_errors


def test_the_pooled_quartile_needs_one_quiet_visit_and_medians_need_two() -> None:
    errors = {name: one.mean() for name, one in label_errors(Spells(share=0.25, seconds=1.0), points=400).items()}
    assert errors["pooled p25"] < 1.1 * errors["least p25"]
    assert errors["pooled p25"] < 0.6 * min(errors["median p25"], errors["pooled median"])


def test_on_a_quiet_machine_pooling_is_no_worse_than_the_least() -> None:
    errors = {name: one.mean() for name, one in label_errors(Spells(share=0.0, seconds=1.0), points=400).items()}
    assert errors["pooled p25"] < errors["least p25"]
