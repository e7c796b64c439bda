"""The classes of what the functions return: ``lw.results``, for annotations and ``isinstance``."""

from leakwise.aggregate import AggregateEnvelope, Count, Histogram, LeastNoise, Total
from leakwise.blackbox import BlackBoxAudit
from leakwise.exported import Exported
from leakwise.leakage import (
    Audit,
    CompositionBounds,
    CompositionTable,
    Envelope,
    EnvelopeCurve,
    MemoLift,
    PrivacyProfile,
    Refinement,
    RowLift,
    SampleLeakage,
    ShannonCapacity,
    SimulatedEnvelope,
    StratifiedAudit,
)
from leakwise.mechanism import Composition
from leakwise.optimize import (
    Design,
    InvariantComparison,
    LeastLeakage,
    MarginDesign,
    MechanismComparison,
    StratifiedDesign,
    StratifiedMarginDesign,
    Tradeoff,
    UtilitySafe,
    WorstCaseCurve,
)
from leakwise.optimize.exact_optimum import ExactOptimum
from leakwise.optimize.from_data import DataDesign
from leakwise.proof import AggregateCertificate, Certificate, SecretPart, SeveralCertificate, StratifiedCertificate
from leakwise.report.dry_run import DryRun, SeveralDryRun
from leakwise.report.simulation import Simulation
from leakwise.rooms import offering
from leakwise.tables import Estimate, GroupedEstimate
from leakwise.tables.estimate.joint.cross_table import CrossTable
from leakwise.tables.estimate.joint.grouped import GroupedJointEstimate
from leakwise.tables.estimate.joint.independence import Independence
from leakwise.tables.estimate.joint.result import JointEstimate
from leakwise.tables.estimate.numbers import Quantity
from leakwise.tables.estimate.regression.result import Regression
from leakwise.tables.kinds.batches import Batches
from leakwise.tables.strata.audit import TableAudit
from leakwise.workflow.advise import Advised
from leakwise.workflow.protect import Protection, SeveralProtection

__all__ = [
    "Advised",
    "AggregateCertificate",
    "AggregateEnvelope",
    "Audit",
    "Batches",
    "BlackBoxAudit",
    "Certificate",
    "Composition",
    "CompositionBounds",
    "CompositionTable",
    "Count",
    "CrossTable",
    "DataDesign",
    "Design",
    "DryRun",
    "Envelope",
    "EnvelopeCurve",
    "Estimate",
    "ExactOptimum",
    "Exported",
    "GroupedEstimate",
    "GroupedJointEstimate",
    "Histogram",
    "Independence",
    "InvariantComparison",
    "JointEstimate",
    "LeastLeakage",
    "LeastNoise",
    "MarginDesign",
    "MechanismComparison",
    "MemoLift",
    "PrivacyProfile",
    "Protection",
    "Quantity",
    "Refinement",
    "Regression",
    "RowLift",
    "SampleLeakage",
    "SecretPart",
    "SeveralCertificate",
    "SeveralDryRun",
    "SeveralProtection",
    "ShannonCapacity",
    "SimulatedEnvelope",
    "Simulation",
    "StratifiedAudit",
    "StratifiedCertificate",
    "StratifiedDesign",
    "StratifiedMarginDesign",
    "TableAudit",
    "Total",
    "Tradeoff",
    "UtilitySafe",
    "WorstCaseCurve",
]
__dir__ = offering(globals())
