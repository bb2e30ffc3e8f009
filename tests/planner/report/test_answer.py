from dataclasses import replace

import pytest

from planner.report.answer import compose_answer
from planner.report.facts import Facts, PathFacts, PolicyFacts, SlaFacts
from planner.report.provenance import Provenance


def path(
    device: str = "cpu", representation: str = "table", share: float = 1.0, by: Provenance = "predicted"
) -> PathFacts:
    return PathFacts(
        name=f"{representation}@{device}", representation=representation, device=device, share=share, provenance=by
    )


def policy(label: str = "static", *paths: PathFacts, **changes: object) -> PolicyFacts:
    used = paths or (path(),)
    plain = PolicyFacts(
        label=label,
        static=len(used) == 1,
        holds=True,
        tail_ms=6.2,
        violation_share=0.001,
        accuracy=0.8012,
        correct_in_sla_per_s=102_000.0,
        paths=used,
        max_qps=1350.0,
        ci_low=1310.0,
        ci_high=1390.0,
        price_per_hour=0.36,
    )
    return replace(plain, **changes)  # type: ignore[arg-type]  # a test names the fields that it changes


def facts(*policies: PolicyFacts, qps: float = 1000.0, unpriced: tuple[str, ...] = ()) -> Facts:
    return Facts(
        qps=qps, sla_ms=10, percentile=99, tail=99, samples_per_query=100, policies=policies, unpriced=unpriced
    )


ROUTED = policy(
    "mp-rec",
    path("gpu", "hybrid", 0.62, by="estimated"),
    path("cpu", "table", 0.38),
    accuracy=0.8028,
    correct_in_sla_per_s=103_000.0,
    max_qps=1830.0,
)


def test_without_a_serving_run_nothing_is_answered() -> None:
    answer = compose_answer(None)
    assert "does not say what to serve" in answer.headline
    assert not answer.sentences


def test_no_policies_answer_nothing() -> None:
    assert not compose_answer(facts()).tiles


def test_one_path_that_holds_is_named_with_the_load_and_the_sla() -> None:
    headline = compose_answer(facts(policy())).headline
    assert headline == "Serve table on cpu: this one path holds 1,000 queries/s within 10 ms at p99."


def test_a_routing_policy_is_named_with_its_paths() -> None:
    headline = compose_answer(facts(ROUTED, policy())).headline
    assert headline.startswith("Route with mp-rec over hybrid on gpu and table on cpu: by estimate, that holds")


def test_the_figures_carry_latency_accuracy_capacity_and_interval() -> None:
    text = compose_answer(facts(policy())).sentences[0]
    assert "p99 latency is 6.2 ms" in text
    assert "80.12 % of the predictions are right" in text
    assert "1,350 queries/s (95 % interval 1,310 to 1,390), 1.35 times the load" in text


def test_an_estimate_is_said_to_be_one_wherever_it_stands() -> None:
    answer = compose_answer(facts(ROUTED, policy()))
    assert answer.sentences[0].startswith("With nothing timed on gpu, the p99 latency is")
    assert "(by estimate)" in answer.sentences[2]
    assert "an estimated 1,310 queries/s" in answer.changes[0]
    grades = {tile.label: tile.provenance for tile in answer.tiles}
    assert grades.pop("Accuracy") == "measured"
    assert set(grades.values()) == {"estimated"}


def test_a_prediction_is_not_called_an_estimate() -> None:
    answer = compose_answer(facts(policy()))
    assert "estimate" not in " ".join((answer.headline, *answer.sentences, *answer.changes))


def test_a_mixed_accuracy_is_measured_and_said_to_be_mixed() -> None:
    notes = {tile.label: tile.note for tile in compose_answer(facts(ROUTED)).tiles}
    assert notes["Accuracy"] == "on held-out data, mixed by simulated shares"


def test_the_auc_of_the_path_stands_beside_its_accuracy() -> None:
    answer = compose_answer(facts(policy("static", replace(path(), auc=0.63391))))
    assert "80.12 % of the predictions are right (AUC 0.6339)" in answer.sentences[0]
    assert {tile.label: tile.value for tile in answer.tiles}["AUC"] == "0.6339"


def test_the_auc_of_a_mix_is_that_of_the_path_that_takes_most() -> None:
    mixed = replace(ROUTED, paths=tuple(replace(part, auc=0.6 + part.share / 100) for part in ROUTED.paths))
    answer = compose_answer(facts(mixed))
    assert "62.0 % of the queries go to hybrid on gpu (AUC 0.6062)" in answer.sentences[0]
    assert "hybrid on gpu, 62.0 % of queries" in [tile.note for tile in answer.tiles]


def test_an_overloaded_policy_has_a_capacity_and_no_latency() -> None:
    choked = policy("slow", path("cpu", "dhe"), holds=False, overloaded=True, tail_ms=10_049.0, max_qps=524.0)
    answer = compose_answer(facts(choked))
    assert answer.headline.endswith("the nearest, dhe on cpu, is overloaded (capacity 524 queries/s).")
    assert "p99 latency" not in answer.sentences[0]
    assert answer.tiles[0].value == "overloaded"
    against = compose_answer(facts(ROUTED, choked))
    assert any("that one is overloaded (capacity 524 queries/s)" in sentence for sentence in against.sentences)
    assert "the best is dhe on cpu, which is overloaded (capacity 524" in against.changes[-1]


def test_a_policy_that_is_the_best_path_in_all_but_name_is_not_its_rival() -> None:
    lone = policy("table-switch", path(), static=False, max_qps=5000.0)
    answer = compose_answer(facts(lone, policy()))
    assert answer.headline.startswith("Serve table on cpu")
    assert not any("Against" in sentence for sentence in answer.sentences)
    assert "table-switch would hold it up to 5,000 queries/s" in answer.changes[0]


def test_accuracy_given_up_for_capacity_is_said_in_one_sentence() -> None:
    slow = replace(ROUTED, label="mp-rec (careful)", max_qps=730.0, accuracy=0.8054, correct_in_sla_per_s=103_100.0)
    sentences = compose_answer(facts(ROUTED, slow)).sentences
    expected = "mp-rec gives up 0.26 points of accuracy for 2.5 times the capacity of mp-rec (careful) (730 queries/s)."
    assert sentences[-1] == expected


def test_the_runner_up_may_be_the_one_that_gives_accuracy_up() -> None:
    crude = replace(ROUTED, label="crude", max_qps=5000.0, accuracy=0.79, correct_in_sla_per_s=90_000.0)
    sentences = compose_answer(facts(ROUTED, crude)).sentences
    assert sentences[-1].startswith("crude gives up 1.28 points of accuracy for 2.7 times the capacity of mp-rec (")


@pytest.mark.parametrize(("bias", "way"), [(-0.38, "38 % too fast"), (0.2, "20 % too slow"), (-0.1, None)])
def test_whole_models_predicted_to_one_side_are_warned_of(bias: float, way: str | None) -> None:
    text = " ".join(compose_answer(facts(policy()), None, {"composed": {"bias": bias}}).sentences)
    assert (f"Whole models were predicted {way} here" in text) if way else ("Whole models" not in text)


def test_a_bias_far_above_the_noise_is_warned_of_too() -> None:
    summary = {"composed": {"bias": -0.1}, "noise_floor": {"median": 0.02}}
    assert any("10 % too fast" in sentence for sentence in compose_answer(facts(policy()), None, summary).sentences)


def test_the_cost_is_that_of_a_million_predictions() -> None:
    # 0.36 an hour over 1,000 queries/s of 100 samples: 360 million predictions.
    assert "A million predictions cost 0.001 at this load" in compose_answer(facts(policy())).sentences[1]


def test_a_missing_price_is_named() -> None:
    answer = compose_answer(facts(policy(price_per_hour=None), unpriced=("cpu", "gpu")))
    assert answer.sentences[1].endswith("the study gives no price for cpu.")


def test_the_best_single_path_is_set_beside_a_routing_policy() -> None:
    text = compose_answer(facts(ROUTED, policy())).sentences[2]
    assert "the best single path, table on cpu" in text
    assert "accuracy +0.16 points, 1.36 times the capacity (1,350 queries/s), p99 6.2 ms instead of 6.2 ms." in text


def test_no_gain_is_not_given_a_number() -> None:
    equal = policy("other", path(share=0.5), path("gpu", "dhe", 0.5), accuracy=0.80121)
    assert "the same accuracy" in compose_answer(facts(equal, policy())).sentences[2]


def test_a_rival_that_is_late_is_said_to_be() -> None:
    late = policy("slow", path("cpu", "dhe"), holds=False, violation_share=0.21)
    assert "misses the SLA (21.0 % of its queries are late)" in compose_answer(facts(ROUTED, late)).sentences[2]


def test_rivals_without_a_capacity_are_compared_by_latency() -> None:
    text = compose_answer(facts(replace(ROUTED, max_qps=None), policy(tail_ms=7.5))).sentences[2]
    assert text.endswith("accuracy +0.16 points, p99 6.2 ms instead of 7.5 ms.")


def test_where_nothing_holds_the_nearest_is_named() -> None:
    answer = compose_answer(facts(policy(holds=False, violation_share=0.3, tail_ms=14.0)))
    assert answer.headline.startswith(
        "Nothing tried serves 1,000 queries/s within 10 ms at p99: the nearest, table on cpu,"
    )
    assert answer.changes == ()
    assert not any(tile.label.startswith("Cost") for tile in answer.tiles)


def under(*shares: float) -> tuple[SlaFacts, ...]:
    """The static policy under SLAs of 2, 5, 15 and 30 ms."""
    return tuple(
        SlaFacts(label="static", sla_ms=sla_ms, violation_share=share, holds=share <= 0.01)
        for sla_ms, share in zip((2, 5, 15, 30), shares, strict=True)
    )


def test_a_tighter_sla_is_judged_by_its_own_simulation() -> None:
    def said(*shares: float) -> tuple[str, ...]:
        return compose_answer(replace(facts(policy()), slas=under(*shares))).changes

    assert "A tighter SLA: it holds 5 ms, but not 2 ms (4.0 % of the queries would be late)." in said(0.04, 0, 0, 0)
    assert any("it holds 10 ms, but not 5 ms" in change for change in said(0.0, 0.02, 0, 0))
    assert any("it still holds 2 ms, the tightest tried" in change for change in said(0, 0, 0, 0))
    assert not any("SLA:" in change for change in compose_answer(facts(policy())).changes)


def test_a_looser_sla_is_the_first_simulated_one_that_holds() -> None:
    late = facts(policy(holds=False, violation_share=0.3))
    changes = compose_answer(replace(late, slas=under(1, 1, 0.2, 0.005))).changes
    assert changes == ("A looser SLA: table on cpu would hold one of 30 ms.",)
    assert compose_answer(replace(late, slas=under(1, 1, 1, 1))).changes == ()


def test_more_load_names_who_would_hold_it() -> None:
    strong = policy("big", path("cpu", "dhe"), max_qps=2000.0, correct_in_sla_per_s=1.0, accuracy=0.79)
    change = compose_answer(facts(policy(), strong)).changes[0]
    assert change.endswith("dhe on cpu would hold it up to 2,000 queries/s, at 79.00 % accuracy.")


def test_a_load_inside_the_capacity_interval_is_called_close() -> None:
    assert "at the edge already" in compose_answer(facts(policy(), qps=1320.0)).changes[0]


def test_without_estimates_another_policy_is_best() -> None:
    change = compose_answer(facts(ROUTED, policy())).changes[-1]
    assert change.startswith("Measuring gpu: without estimated devices the best is table on cpu, which holds the SLA")


def test_where_everything_is_estimated_that_is_said() -> None:
    assert "no policy was tried that does without" in compose_answer(facts(ROUTED)).changes[-1]


def test_capacity_without_an_interval_stands_alone() -> None:
    answer = compose_answer(facts(policy(ci_low=None, ci_high=None)))
    assert "its capacity is 1,350 queries/s, 1.35 times" in answer.sentences[0]
    assert "interval" not in answer.sentences[0]


def test_an_accuracy_that_a_constant_answer_reaches_is_said_to_say_little() -> None:
    def said(constant_accuracy: float | None) -> str:
        return " ".join(compose_answer(facts(policy()), constant_accuracy).sentences)

    assert "one constant answer would be right for 80.12 %" in said(0.8012)
    assert "one constant answer" not in said(0.8011)
    assert "one constant answer" not in said(None)
