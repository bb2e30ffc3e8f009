from torch import nn

from profiles.walk.tree import breadth_first, module_tree
from tests.profiles.small_models import Net


def test_parents_stand_before_their_children() -> None:
    nodes = module_tree(Net())
    assert [node.path for node in nodes[:5]] == ["", "shared", "blocks", "blocks.0", "blocks.0.linear"]
    for node in nodes:
        assert nodes[node.index] is node
        assert node.parent is None or node.parent < node.index


def test_levels_come_one_after_another() -> None:
    depths = [node.depth for node in breadth_first(module_tree(Net()))]
    assert depths == sorted(depths)


def test_the_tree_ends_at_the_depth_limit() -> None:
    nodes = module_tree(Net(), max_depth=1)
    assert max(node.depth for node in nodes) == 1
    assert not nodes[2].is_leaf
    assert [node.path for node in module_tree(Net(), max_depth=0)] == [""]


def test_a_module_that_two_parents_share_is_a_node_under_each() -> None:
    inner = nn.Sequential(nn.ReLU())
    nodes = module_tree(nn.Sequential(nn.Sequential(inner), nn.Sequential(inner)))
    assert [(node.path, node.first_path) for node in nodes] == [
        ("", None), ("0", None), ("0.0", None), ("0.0.0", None), ("1", None), ("1.0", "0.0"), ("1.0.0", "0.0.0"),
    ]  # fmt: skip


def test_a_module_with_two_names_in_one_parent_is_one_node() -> None:
    linear = nn.Linear(2, 2)
    nodes = module_tree(nn.Sequential(linear, nn.ReLU(), linear))
    assert [(node.path, node.aliases) for node in nodes] == [("", ()), ("0", ("2",)), ("1", ())]


def test_tied_parameters_are_marked_where_they_stand_again() -> None:
    model = nn.Sequential(nn.Embedding(8, 4), nn.Linear(4, 8, bias=False))
    model[1].weight = model[0].weight
    assert [dict(node.tied) for node in module_tree(model)] == [{}, {}, {"weight": "0.weight"}]
