from tests.benchmarks.label_choice import Spells, label_errors


def test_one_quiet_visit_is_enough_for_the_least_and_medians_need_two() -> None:
    errors = {name: one.mean() for name, one in label_errors(Spells(share=0.25, seconds=1.0), points=150).items()}
    assert errors["pooled p25"] < 0.6 * errors["median p25"]
    assert errors["least p25"] < 0.6 * errors["median p25"]


def test_visits_that_agree_are_better_in_spells_than_any_label_of_three_visits() -> None:
    errors = {name: one.mean() for name, one in label_errors(Spells(share=0.5, seconds=5.0), points=150).items()}
    assert errors.pop("agreeing") < 0.7 * min(errors.values())


def test_on_a_quiet_machine_waiting_for_agreement_costs_little() -> None:
    errors = {name: one.mean() for name, one in label_errors(Spells(share=0.0, seconds=1.0), points=150).items()}
    assert errors["agreeing"] < 1.5 * errors["pooled p25"]
