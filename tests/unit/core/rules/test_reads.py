"""Which fields read which facts, by the rule text alone."""

from bpc_worker.core.rules.module import load
from bpc_worker.core.rules.reads import names_read, readers

TEXT = """
field a.mass: Qty(kg) for public = declared(kg, "composition.mass_kg");
field a.again: Qty(kg) for public = let m = declared(kg, "composition.mass_kg");
  usable(m > qty(0, kg), "none"); m;
field a.fade: Qty(pct) for public = let f = measured(pct, "capacity_fade_pct"); recordGet(f, "value");
field a.parts: Int for public = count(getFactsByPrefix("Component", "component:"));
field a.same: Int for public = let n = field("a.parts"); if (isSome(getFact("Note", "note"))) then n else n;
field a.named: Bool for public = isSome(getFact("Note",
  if (count(getFactsByPrefix("Note", "")) > 0) then "note" else "notes"));
field a.any: Int for public = let kind = if (field("a.named")) then "Note" else "Component";
  count(getFactsByPrefix(kind, kind));
"""


def test_each_fact_is_known_by_the_fields_that_read_it() -> None:
    reads = names_read(load(TEXT))

    assert reads == {
        ("Value", "composition.mass_kg"): ("a.mass", "a.again"),
        ("Measured", "capacity_fade_pct"): ("a.fade",),
        ("Component", "component:*"): ("a.parts",),
        ("Note", "note"): ("a.same",),
        ("Note", "*"): ("a.named",),
        ("*", "*"): ("a.any",),
    }
    assert readers(reads, "Component", "component:lid") == ("a.parts", "a.any")
    assert readers(reads, "Note", "note") == ("a.same", "a.named", "a.any")
    assert readers(reads, "Note", "notes") == ("a.named", "a.any")
    assert readers(reads, "Value", "composition.mass") == ("a.any",)
