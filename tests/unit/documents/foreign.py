"""Small documents in published forms, of an invented battery; and what a changed value changes."""

import copy
import json
from collections.abc import Iterator
from typing import Any

from .sending import send

ID = "3F2B8C1E-5D47-4A90-8E63-0C9A7D514B26"
OTHER_ID = "7c1d0b52-94a3-4f0e-b1c8-2e6a5d3f9b40"
UPDATED = "2027-03-01T08:00:00Z"
PERIOD = {"referencePeriodStart": "2027-01-01T00:00:00Z", "referencePeriodEnd": "2028-01-01T01:00:00.5+01:00"}

GENERAL = {
    "batteryPassportIdentifier": "urn:example:417", "batteryCategory": "stationary",
    "batteryStatus": "Reused", "batteryMass": 412.50, "manufacturingDate": "2027-01-31T23:30:00-05:00",
    "warrentyPeriod": "P8Y",
    "manufacturingPlace": {"addressCountry": "DE", "streetAddress": "Am Werk 1", "postalCode": "35576"},
    "manufacturerInformation": {
        "contactName": "Helios Speicherwerke GmbH", "emailAddress": "info@helios.example",
        "webAddress": "https://helios.example", "identifier": "HSW",
        "postalAddress": {"streetAddress": "Am Werk 1", "addressCountry": "DE", "floor": "2"},
    },
}  # fmt: skip
CARBON = {
    "batteryCarbonFootprint": 61.5, "absoluteCarbonFootprint": 5400,
    "carbonFootprintPerLifecycleStage": [
        {"lifecycleStage": "RawMaterialExtraction", "carbonFootprint": 35.5},
        {"lifecycleStage": "Recycling", "carbonFootprint": -3},
        {"lifecycleStage": "Use", "carbonFootprint": 1},
    ],
    "carbonFootprintStudy": "https://helios.example/study",
}  # fmt: skip
MATERIALS = {
    "batteryChemistry": {"shortName": "NMC", "clearName": "Lithium nickel manganese cobalt oxides"},
    "batteryMaterials": [
        {"batteryMaterialName": "Cobalt", "batteryMaterialIdentifier": "7440-48-4",
         "batteryMaterialMass": 6150, "batteryMaterialLocation": {"componentName": "Cathode"},
         "isCriticalRawMaterial": True},
    ],
    "hazardousSubstances": [
        {"hazardousSubstanceName": "LiPF6", "hazardousSubstanceClass": "AcuteToxicity",
         "hazardousSubstanceConcentration": 1.2, "hazardousSubstanceImpact": ["H301"]},
    ],
}  # fmt: skip
LABELS = {
    "declarationOfConformity": "https://helios.example/doc",
    "labels": [
        {"labelingSubject": "SeparateCollection", "labelingSymbol": "https://helios.example/bin.svg",
         "labelingMeaning": {"en": "Collect separately", "de": "Getrennt sammeln"}},
    ],
}  # fmt: skip
READY = {
    "Battery_Passport": {
        "IdentifiersAndProductData": {
            "Date-timeOfLatestUpdateOfDPP": UPDATED,
            "BatteryCategory": {"batteryCategoryValue": "LMT battery"},
            "BatteryMass": {"gramKgValue": 9500, "gramKg": "g"},
        },
        "PerformanceAndDurability": {
            "RatedCapacity": {"amperehourMiliamperehourValue": 20, "ampereHourMiliamperehour": "Ah"},
            "CapacityFade": {"percentageValue": 2.5, "percent": "%"},
            "NumberOfDeepDischargeEvents": 3,
            "InformationOnAccidents": "https://helios.example/accidents",
            "InitialInternalResistanceOfBatteryCellAndPackModuleRecommended": {"ohmValue": 2, "ohm": "Ohm"},
        },
        "BatteryMaterialsAndComposition": {
            "HazardousSubstances": "Acute toxicity (CAS 21324-40-3); something else",
            "MaterialsUsedInCathodeAnodeAndElectrolyte": "LiFePO4; Graphite",
        },
        "SymbolsLabelsAndDocumentationOfConformity": {
            "SeparateCollectionSymbol": "https://helios.example/bin.svg"
        },
    }
}
TECHNICAL = {
    "GeneralInformation": {"BatteryCategory": "ev", "WarrantyInformation": {"WarrantyPeriod": "P1Y6M"}},
    "TechnicalPropertyAreas": {
        "CapacityEnergyVoltage": {"MinVoltage": 288.0, "MaxVoltage": 420, "CapacityFade": 1},
        "Resistance": {"InitialInternalResistanceAtBatteryCellLevel": 0.0012},
        "PowerCapability": {
            "OriginalPowerCapability": [
                {"atSoC": 80.0, "powerCapabilityAt": 150000}, {"atSoC": 50, "powerCapabilityAt": 140000},
            ]
        },
    },
}  # fmt: skip
CONDITION = {
    "StateOfCertifiedEnergy": {"StateOfCertifiedEnergyValue": 97.5, "LastUpdate": "2027-03-01T08:00:00"},
    "StateOfCharge": {"StateOfChargeValue": 55, "LastUpdate": "2027-03-01T09:00:00+01:00"},
    "NegativeEvents": [{"NegativeEventValue": "overcharged", "LastUpdate": "2027-02-01T08:00:00"}],
}
IDTA_MATERIALS = {
    "BatteryChemistry": {"ShortName": "LFP"},
    "BatteryMaterials": [{"BatteryMaterialName": "Lithium", "BatteryMaterialMass": 4.2}],
}
IDTA_CARBON = {
    "ProductCarbonFootprints": [
        {"PcfCo2eq": 17.2, "ReferenceImpactUnitForCalculation": "piece", "QuantityOfMeasureForCalculation": 5,
         "LifeCyclePhases": "A3 - production", "PerformanceClass": "B", "Note": "of a module"},
    ]
}  # fmt: skip
CATENA_X = {
    "specVersion": "urn:io.catenax.battery.battery_pass:6.1.0",
    "identification": {"category": "EV", "chemistry": "NMC 622"},
    "characteristics": {
        "physicalDimension": {
            "weight": {"value": 400, "unit": "unit:kilogram"}, "length": {"value": 1, "unit": "unit:metre"},
        },
        "warranty": {"lifeValue": 8, "lifeUnit": "unit:year"},
    },
    "sustainability": {
        "carbonFootprint": [{"lifecycle": "distribution", "value": 2.5, "unit": "kg CO2 / kWh"}],
        "documents": {"wastePrevention": [{"contentType": "URL", "content": "https://helios.example/w"}]},
    },
    "performance": {
        "rated": {"resistance": {"cell": 0.0012, "pack": 0.055}},
        "dynamic": {
            "capacity": {"fade": {"value": 2.5, "time": "2027-03-01T09:00:00+01:00"}},
            "selfDischargingRate": 0.25,
        },
    },
    "materials": {
        "hazardous": {
            "lead": {"concentration": 53, "materialUnit": "unit:partPerMillion", "recycled": 12.5},
            "other": [
                {"concentration": 0.5, "materialUnit": "unit:percent", "location": "cell",
                 "materialIdentification": [{"type": "EC", "name": "phenolphthalein", "id": "201-004-7"}]},
            ],
        },
        "active": {"lead": {"recycled": 12.5}},
    },
    "handling": {"content": {"sparePart": [{"manufacturerPartId": "P-17", "nameAtManufacturer": "Lid"}]}},
}  # fmt: skip
BOM_AS_BUILT = {
    "globalAssetId": "urn:uuid:1",
    "childItems": [
        {"globalAssetId": "urn:uuid:2", "businessPartner": "BPNL1", "createdOn": "2027-01-03T14:48:54.709Z",
         "quantity": {"value": 12.0, "unit": "unit:piece"}, "hasAlternatives": False},
    ],
}  # fmt: skip

TOP: dict[str, Any] = {
    "id": ID, "created": "2028-02-03T04:05:06Z", "status": "Active", "companyName": "Helios Zellen",
    "companyIds": ["urn:example:company:helios"], "productDescription": "A cell",
    "productIds": ["urn:example:cell:21700", "urn:example:cell:alt"], "productNameCompany": "Cell 21700",
}  # fmt: skip
PCF_3: dict[str, Any] = {
    "declaredUnitOfMeasurement": "piece", "declaredUnitAmount": "1", "productMassPerDeclaredUnit": "0.0700",
    "pcfExcludingBiogenicUptake": "1.2340", "pcfIncludingBiogenicUptake": "-0.5", **PERIOD,
}  # fmt: skip
PACT_3: dict[str, Any] = TOP | {"specVersion": "3.0.3", "pcf": PCF_3}
PACT_2: dict[str, Any] = TOP | {
    "id": OTHER_ID, "specVersion": "2.2.0", "version": 4,
    "pcf": {
        "declaredUnit": "kilogram", "unitaryProductAmount": "12.0", "pCfExcludingBiogenic": "1.2340",
        **PERIOD,
    },
}  # fmt: skip
PCF_7 = {
    "id": ID, "specVersion": "urn:io.catenax.pcf:datamodel:version:7.0.0", "version": 0,
    "created": "2028-02-03T04:05:06Z", "companyName": "Helios Zellen", "productName": "Cell 21700",
    "productIds": ["urn:example:cell:21700"],
    "pcf": {"declaredUnit": "piece", "unitaryProductAmount": 1000.0, "pcfExcludingBiogenic": 1.234, **PERIOD},
}  # fmt: skip
PCF_8 = PACT_3 | {"specVersion": ["urn:io.catenax.pcf:datamodel:version:8.0.0"]}
PCF_9 = {
    "scopeOfPcfForm": [{"specVersion": "urn:io.catenax.pcf:datamodel:version:9.0.0"}],
    "companyAndProductInformation": [{
        "companyInformation": [{"companyName": "Helios Zellen"}],
        "productInformation": [{
            "declaredUnitOfMeasurement": "piece", "declaredUnitAmount": 1.0,
            "productNameCompany": "Cell 21700", "productIds": ["urn:example:cell:21700"],
        }],
    }],
    "pcfAssessmentAndMethodology": [
        {"pcfAssessmentInformation": [
            {"idAndVersion": [{"id": ID}], "time": [{"created": "2028-02-03T04:05:06Z", **PERIOD}]},
        ]},
    ],
    "productLifeCycleStagesAndEmissions": [
        {"productionStage": [{"pcfExcludingBiogenicUptake": 1.234, "pcfIncludingBiogenicUptake": 1.9}],
         "distributionStage": [{"distributionStageIncluded": False}]},
    ],
}  # fmt: skip
EVENT = {"type": "example.published.3", "specversion": "1.0", "data": {"pfs": [PACT_3, PACT_2]}}

EVERY = {
    "general": (GENERAL, "OTHER"), "carbon": (CARBON, "OTHER"), "materials": (MATERIALS, "OTHER"),
    "labels": (LABELS, "OTHER"), "ready": (READY, "OTHER"), "technical": (TECHNICAL, "OTHER"),
    "condition": (CONDITION, "OTHER"), "idta materials": (IDTA_MATERIALS, "OTHER"),
    "idta carbon": (IDTA_CARBON, "OTHER"), "catena-x": (CATENA_X, "OTHER"), "bom": (BOM_AS_BUILT, "BOM"),
    "pact 3": (PACT_3, "PCF"), "pact 2": (PACT_2, "PCF"), "pcf 7": (PCF_7, "PCF"), "pcf 8": (PCF_8, "PCF"),
    "pcf 9": (PCF_9, "PCF"), "list": ({"data": [PACT_3, PACT_2]}, "PCF"), "answer": ({"data": PACT_3}, "PCF"),
    "event": (EVENT, "PCF"),
}  # fmt: skip


def lost(document: object, kind: str) -> list[str]:
    """The places whose value can be any other without a word of the answer being another."""
    plain = send(document, kind)
    refused = [each.where for each in getattr(plain, "refused", ())]
    places = []
    for steps, value in _leaves(document, ()):
        where = "".join(f"/{step}" for step in steps)
        is_told = any(where == each or where.startswith(f"{each}/") for each in refused)
        if not is_told and send(_changed(document, steps, _other(value)), kind) == plain:
            places.append(where)
    return places


def _leaves(value: object, steps: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], object]]:
    inner = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else None
    )
    if inner is None:
        yield steps, value
    else:
        for step, each in inner:
            yield from _leaves(each, (*steps, step))


def _other(value: object) -> object:
    match value:
        case bool():
            return not value
        case int() | float():
            return 7.25 if value != 7.25 else 8.5
        case _:
            return f"{value}, another"


def _changed(document: Any, steps: tuple[Any, ...], value: object) -> Any:
    copied = json.loads(json.dumps(document)) if not steps else copy.deepcopy(document)
    inner = copied
    for step in steps[:-1]:
        inner = inner[step]
    inner[steps[-1]] = value
    return copied
