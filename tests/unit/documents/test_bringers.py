import pytest

from bpc_worker.documents.bringers import brought_by
from tests.support import law_table

PATHS = sorted({path for row in law_table.read(law_table.POINTS) for path in row["fields"].split()})
CONDITIONS = sorted(
    {
        f"condition.{name}"
        for row in law_table.read(law_table.POINTS)
        for name in row["condition"].replace("&&", " ").replace("||", " ").replace("!", " ").split()
    }
)


@pytest.mark.parametrize("path", [*PATHS, *CONDITIONS])
def test_every_field_of_the_law_s_list_is_brought_by_something(path: str) -> None:
    assert brought_by(path)


def test_the_longest_beginning_counts() -> None:
    assert brought_by("composition.components") == "BOM"
    assert brought_by("composition.mass") != "BOM"


def test_other_rules_have_fields_that_nobody_knows() -> None:
    assert brought_by("energy.total") is None
