"""What an attachment may be; apart from its reader, so that who only names them imports little."""

ATTACHMENT = "ATTACHMENT"
WHAT = (
    "declaration_of_conformity", "instructions", "dismantling", "safety", "test_report",
    "due_diligence_report", "carbon_study", "waste", "other",
)  # fmt: skip
