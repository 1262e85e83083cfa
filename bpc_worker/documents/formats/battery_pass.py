"""The aspects of the Battery Pass data model, version 1.2, as tables."""

from bpc_worker.documents.formats import foreign_readings as as_
from bpc_worker.documents.formats.form import Cell, Form, Member, Rows, marks
from bpc_worker.documents.reading import readings

CATEGORIES = {"ev": "EV", "lmt": "LMT", "industrial": "INDUSTRIAL", "stationary": "INDUSTRIAL"}
STATUSES = {
    "Original": "original", "Repurposed": "repurposed", "Reused": "re-used",
    "Remanufactured": "remanufactured", "Waste": "waste",
}  # fmt: skip
_STAGE = "carbonFootprintPerLifecycleStage/*[lifecycleStage={}]/carbonFootprint"
_LABEL = "labels/*[labelingSubject=SeparateCollection]"

_GENERAL = Form(
    name="Battery Pass GeneralProductInformation 1",
    kind="OTHER",
    marks=marks("batteryPassportIdentifier batteryCategory manufacturerInformation operatorInformation"),
    cells=(
        Cell("batteryCategory", "identity.category", as_.word(CATEGORIES)),
        Cell("batteryCategory", "condition.stationary", as_.is_word("stationary", CATEGORIES)),
        Cell("batteryStatus", "identity.status", as_.word(STATUSES)),
        Cell("batteryMass", "composition.mass_kg"),
        Cell("manufacturingDate", "identity.manufacturing_month", as_.month),
        Cell("puttingIntoService", "identity.put_into_service_month", as_.month),
        Cell("manufacturingPlace", "identity.manufacturing_place", as_.address_line),
        Cell("warrentyPeriod", "performance.warranty_months", as_.months),
        Cell("manufacturerInformation/contactName", "manufacturer.name"),
        Cell("manufacturerInformation/postalAddress", "manufacturer.address", as_.address),
        Cell("manufacturerInformation/emailAddress", "manufacturer.email", as_.email),
        Cell("manufacturerInformation/webAddress", "manufacturer.web"),
    ),
)

_CARBON = Form(
    name="Battery Pass CarbonFootprint 1",
    kind="OTHER",
    marks=marks("carbonFootprintPerLifecycleStage batteryCarbonFootprint"),
    cells=(
        Cell("batteryCarbonFootprint", "carbon.per_kwh_kg"),
        Cell("absoluteCarbonFootprint", "carbon.absolute_t", unit="kg"),
        Cell(_STAGE.format("RawMaterialExtraction"), "carbon.raw_material_per_kwh_kg"),
        Cell(_STAGE.format("MainProduction"), "carbon.production_per_kwh_kg"),
        Cell(_STAGE.format("Distribution"), "carbon.distribution_per_kwh_kg"),
        Cell(_STAGE.format("Recycling"), "carbon.end_of_life_per_kwh_kg"),
        Cell("carbonFootprintPerformanceClass", "carbon.performance_class"),
        Cell("carbonFootprintStudy", "carbon.study_url"),
    ),
)

_MATERIALS = Form(
    name="Battery Pass MaterialComposition 1",
    kind="OTHER",
    marks=marks("batteryMaterials batteryChemistry hazardousSubstances"),
    cells=(Cell("batteryChemistry/shortName", "composition.chemistry"),),
    rows=(
        Rows(
            "batteryMaterials/*",
            "Component",
            "component:",
            (
                Member("part", "batteryMaterialLocation/componentName", readings.name),
                Member("part_number", "batteryMaterialLocation/componentId", readings.name),
                Member("material", "batteryMaterialName", readings.text),
                Member("cas", "batteryMaterialIdentifier", readings.cas),
                Member("mass_kg", "batteryMaterialMass", as_.number("g", "kg")),
                Member("critical", "isCriticalRawMaterial", readings.flag),
            ),
        ),
        Rows(
            "hazardousSubstances/*",
            "Substance",
            "substance:",
            (
                Member("name", "hazardousSubstanceName", readings.text),
                Member("class", "hazardousSubstanceClass", readings.text),
                Member("cas", "hazardousSubstanceIdentifier", readings.cas),
                Member("share_pct", "hazardousSubstanceConcentration", as_.number(most=100)),
                Member("location", "hazardousSubstanceLocation/componentName", readings.name),
            ),
            whole=True,
        ),
    ),
)

_LABELS = Form(
    name="Battery Pass Labels 1",
    kind="OTHER",
    marks=marks("labels declarationOfConformity resultOfTestReport"),
    cells=(
        Cell("declarationOfConformity", "conformity.declaration_url"),
        Cell("resultOfTestReport", "conformity.test_results", as_.link),
        Cell(f"{_LABEL}/labelingSymbol", "label.separate_collection_symbol", as_.stated, kept=True),
        Cell(f"{_LABEL}/labelingMeaning", "waste.symbols"),
    ),
)

FORMS = (_GENERAL, _CARBON, _MATERIALS, _LABELS)
