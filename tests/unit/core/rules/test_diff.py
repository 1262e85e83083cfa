"""What differs between two rule texts."""

from bpc_worker.core.rules.diff import Change, Entry, diff

OLD = """
table t: Int = {"a": 1, "b": 2};
field n: Int = requireSome(lookup(t, "a"));
field gone: Text = "x";
example e: {} => expect(n, == 1);
"""


def test_spaces_and_comments_are_no_difference() -> None:
    spaced = OLD.replace("requireSome(", "-- why\n  requireSome( ").replace("};", " } ;")

    assert diff(OLD, OLD) == diff(OLD, spaced) == diff(spaced, OLD) == []


def test_a_blank_inside_a_text_is_a_difference() -> None:
    assert diff(OLD, OLD.replace('"x"', '"x "')) == [
        Entry("field", "gone", "changed", (Change("expression", '"x"', '"x "'),))
    ]


def test_what_was_added_removed_and_changed() -> None:
    new = """
    field n: Opt(Int) for commission, authorities = lookup(t,  "b");
    field fresh: Bool = true;
    table t: Int = {"b": 3, "c": 4};
    property p: cases(1) seed(2) {} forall x: Int in [1, 2] => x > 0;
    """

    assert diff(OLD, new) == [
        Entry(
            "field",
            "n",
            "changed",
            (
                Change("type", "Int", "Opt(Int)"),
                Change("audiences", "public", "authorities, commission"),
                Change("expression", 'requireSome(lookup(t, "a"))', 'lookup(t, "b")'),
            ),
        ),
        Entry(
            "field",
            "gone",
            "removed",
            (
                Change("type", "Text", None),
                Change("audiences", "public", None),
                Change("expression", '"x"', None),
            ),
        ),
        Entry(
            "field",
            "fresh",
            "added",
            (
                Change("type", None, "Bool"),
                Change("audiences", None, "public"),
                Change("expression", None, "true"),
            ),
        ),
        Entry(
            "table",
            "t",
            "changed",
            (Change('row "a"', "1", None), Change('row "b"', "2", "3"), Change('row "c"', None, "4")),
        ),
        Entry("test", "e", "removed", (Change("text", "example e: {} => expect(n, == 1);", None),)),
        Entry(
            "test",
            "p",
            "added",
            (Change("text", None, "property p: cases(1) seed(2) {} forall x: Int in [1, 2] => x > 0;"),),
        ),
    ]


LAW = """
law "Old" by class {
  act carbon "Act" pending;
  point "P-1" "p" fields () source "s" basis law gate stop for public { EV: required; LMT: not; };
}
field class: Text = "EV";
table t: Int = {"a": 1};
"""


def test_the_law_differs_by_title_act_point_and_row() -> None:
    new = (
        LAW.replace('"Old"', '"New"')
        .replace("pending", "adopted 2027-01-15")
        .replace("EV: required", "EV: not")
    )
    dropped = LAW.replace("gate stop", "gate warn").replace("table t", "draft table t")

    assert diff(LAW, new) == [
        Entry("law", "list", "changed", (Change("title", "Old", "New"),)),
        Entry(
            "law",
            "act carbon",
            "changed",
            (Change("text", 'act carbon "Act" pending;', 'act carbon "Act" adopted 2027-01-15;'),),
        ),
        Entry("law", "point P-1", "changed", (Change("row EV", "EV: required;", "EV: not;"),)),
    ]
    assert [(each.kind, each.name, [one.aspect for one in each.changes]) for each in diff(LAW, dropped)] == [
        ("law", "point P-1", ["head"]),
        ("table", "t", ["draft"]),
    ]
