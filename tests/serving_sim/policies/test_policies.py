import subprocess
import sys
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import pytest

from profiles.errors import InputError, UnknownNameError
from serving_sim.engine import simulate, trace_run
from serving_sim.kernels import Rule
from serving_sim.plan import Plan, PolicyChoice
from serving_sim.policies import (
    POLICIES,
    Entry,
    MpRec,
    Policy,
    RoutingContext,
    Static,
    TableSwitch,
    as_policy,
    named_policies,
    policy_label,
    tiered_rule,
)
from serving_sim.testing import PolicyContract, small_plan


@dataclass(frozen=True, kw_only=True, slots=True)
class Shortest:
    """A policy of a user's own: whatever path is done first."""

    name: ClassVar[str] = "shortest"

    def compile(self, context: RoutingContext) -> Rule:
        return tiered_rule([Entry(path=path) for path in range(len(context.paths))], context.servers_of_path)


class TestStatic(PolicyContract):
    def make(self) -> Policy:
        return Static(path="dhe-gpu")


class TestTableSwitch(PolicyContract):
    def make(self) -> Policy:
        return TableSwitch()


class TestMpRec(PolicyContract):
    def make(self) -> Policy:
        return MpRec()


class TestMpRecByDeadlineAlone(PolicyContract):
    def make(self) -> Policy:
        return MpRec(predicate="finish-in-sla")


class TestAPolicyOfAUsersOwn(PolicyContract):
    def make(self) -> Policy:
        return Shortest()


class TestMpRecWithoutATable(PolicyContract):
    def make(self) -> Policy:
        return MpRec()

    def plan(self) -> Plan:
        plan = small_plan()
        return replace(plan, paths=tuple(path for path in plan.paths if path.representation != "table"))


def paths_taken(plan: Plan, policy: Policy) -> set[str]:
    return {plan.paths[int(path)].name for path in trace_run(plan, policy=policy).path_N}


def test_static_takes_the_named_path_or_the_first() -> None:
    assert paths_taken(small_plan(), Static(path="hybrid-gpu")) == {"hybrid-gpu"}
    assert paths_taken(small_plan(), Static()) == {"table-cpu"}


def test_table_switch_takes_tables_only_and_both_devices() -> None:
    assert paths_taken(small_plan(), TableSwitch()) == {"table-cpu", "table-gpu"}


def test_mp_rec_takes_the_most_accurate_path_while_nothing_is_short() -> None:
    plan = small_plan(qps=0.01, sla_ms=1e4)
    assert paths_taken(plan, MpRec()) == {"hybrid-cpu", "hybrid-gpu"}


def test_mp_rec_falls_back_to_tables_when_no_path_holds_the_sla() -> None:
    assert paths_taken(small_plan(sla_ms=0.01), MpRec()) == {"table-cpu", "table-gpu"}


def test_the_rate_predicate_spares_the_queues_under_load() -> None:
    plan = small_plan(qps=1500, queries=20_000)
    careful, greedy = simulate(plan, policy=MpRec()), simulate(plan, policy=MpRec(predicate="finish-in-sla"))
    tables = simulate(plan, policy=TableSwitch())
    assert greedy.correct_predictions_in_sla_per_s < 0.95 * tables.correct_predictions_in_sla_per_s
    assert careful.correct_predictions_in_sla_per_s >= tables.correct_predictions_in_sla_per_s


def test_a_share_of_nothing_is_the_deadline_alone() -> None:
    plan = small_plan(qps=1500)
    free, greedy = trace_run(plan, policy=MpRec(share=0)), trace_run(plan, policy=MpRec(predicate="finish-in-sla"))
    assert free.path_N.tolist() == greedy.path_N.tolist()


def test_labels_name_the_options_that_differ() -> None:
    assert policy_label(MpRec()) == "mp-rec"
    assert policy_label(MpRec(share=0.5)) == "mp-rec (share=0.5)"


def test_policies_are_made_from_names_choices_or_given_as_they_are() -> None:
    options: dict[str, Any] = {"path": "dhe-cpu"}
    assert as_policy("static") == Static()
    assert as_policy(PolicyChoice(name="static", options=options)) == Static(path="dhe-cpu")
    assert as_policy(Shortest()) == Shortest()
    assert POLICIES.names() == ("accuracy-floor", "batching", "headroom", "mp-rec", "split", "static", "table-switch")


def test_an_option_that_a_policy_does_not_have_is_refused_with_those_that_it_has() -> None:
    with pytest.raises(UnknownNameError, match=r"policy\.options of static: unknown name 'pat' .*known: path"):
        as_policy(PolicyChoice(name="static", options={"pat": "dhe-cpu"}))


def test_a_rule_needs_an_entry() -> None:
    with pytest.raises(InputError, match="at least one path"):
        tiered_rule([], [])


def test_a_named_policy_takes_its_own_options_of_the_plan() -> None:
    choice = PolicyChoice(name="static", options={"path": "dhe-gpu"})
    assert named_policies(["static", "mp-rec"], choice) == (Static(path="dhe-gpu"), MpRec())
    assert named_policies(["static", "mp-rec"], choice, ["path"]) == (Static(path="dhe-gpu"), MpRec())


def test_an_option_set_for_a_run_that_no_named_policy_takes_is_refused() -> None:
    choice = PolicyChoice(name="static", options={"path": "dhe-gpu"})
    with pytest.raises(UnknownNameError, match=r"policy\.options of mp-rec, table-switch: unknown name 'path'"):
        named_policies(["mp-rec", "table-switch"], choice, ["path"])


def test_a_plan_may_name_a_policy_of_an_installed_package(tmp_path: Path) -> None:
    (tmp_path / "foreign.py").write_text(
        "from dataclasses import dataclass\n"
        "from typing import ClassVar\n"
        "from serving_sim.policies import fixed_rule\n"
        "@dataclass(frozen=True, kw_only=True, slots=True)\n"
        "class Last:\n"
        "    name: ClassVar[str] = 'last'\n"
        "    def compile(self, context):\n"
        "        return fixed_rule(len(context.paths) - 1)\n"
    )
    metadata = tmp_path / "foreign-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: foreign\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[recplan.policies]\nlast = foreign:Last\n")
    small_plan(queries=100, policy=PolicyChoice(name="last")).save(tmp_path / "plan.json")
    script = (
        f"import sys; sys.path.append({str(tmp_path)!r}); from serving_sim import load_plan, simulate\n"
        f"print(simulate(load_plan({str(tmp_path / 'plan.json')!r})).path_share['hybrid-gpu'])"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "1.0\n"
