"""Fields as rows, what changed between two versions, an explanation as a tree."""

from bpc_worker.web.dashboard import shown
from bpc_worker.web.dashboard.passport_fields import changes, leaves, lines, steps

PUBLISHED: dict[str, object] = {
    "fields": {
        "performance": {"energy": {"value": "78.5000", "unit": "kWh"}, "cycles": "1500"},
        "carbon": {"empty": "notDeclared", "reason": "no study", "detail": "due 2028"},
        "chemistry": ["Ni", "Mn"],
        "parts": [{"mass": {"value": "1.50", "unit": "kg"}}],
    }
}


def test_fields_have_value_unit_reason_and_for_whom() -> None:
    found = lines(PUBLISHED, {"performance.energy": ("public", "authority")}, may_see=True)

    assert [(each.path, each.value, each.unit, each.reason) for each in found] == [
        ("performance.energy", "78.5000", "kWh", ""),
        ("performance.cycles", "1500", "", ""),
        ("carbon", "", "", "notDeclared: no study; due 2028"),
        ("chemistry", "Ni, Mn", "", ""),
        ("parts", '[{"mass":{"value":"1.50","unit":"kg"}}]', "", ""),
    ]
    assert found[0].audiences == "public, authority"


def test_without_the_right_what_is_not_known_to_be_public_is_hidden() -> None:
    found = lines(PUBLISHED, {"performance.energy": ("public",), "chemistry": ("authority",)}, may_see=False)

    assert [each.value for each in found] == ["78.5000", shown.HIDDEN, "", shown.HIDDEN, shown.HIDDEN]


def test_what_changed_is_told_by_path_and_hidden_where_it_is_not_public() -> None:
    after = {"fields": {"performance": {"energy": {"value": "79", "unit": "kWh"}}, "carbon": "1"}}
    told = [(each.path, each.before, each.after) for each in changes(PUBLISHED, after, None)]

    assert told == [
        ("carbon", "notDeclared: no study; due 2028", "1"),
        ("chemistry", "Ni, Mn", ""),
        ("parts", '[{"mass":{"value":"1.50","unit":"kg"}}]', ""),
        ("performance.cycles", "1500", ""),
        ("performance.energy", "78.5000 kWh", "79 kWh"),
    ]
    hidden = changes(PUBLISHED, after, frozenset({"performance.energy"}))
    assert {each.path: each.after for each in hidden if each.after} == {
        "carbon": shown.HIDDEN, "performance.energy": "79 kWh",
    }  # fmt: skip
    assert changes(PUBLISHED, PUBLISHED, None) == []


def test_what_is_no_object_has_no_fields() -> None:
    assert lines({}, {}, may_see=True) == []
    assert dict(leaves({"a": {}})) == {}


def test_an_explanation_is_as_deep_as_it_is_indented_and_ends_in_documents() -> None:
    told = steps(["energy = 1 kWh", "  fact Value energy", "    from bom.csv 4:2 (sha256 ab)"])

    assert [(each.depth, each.place) for each in told] == [(0, ""), (1, ""), (2, "bom.csv 4:2 (sha256 ab)")]
