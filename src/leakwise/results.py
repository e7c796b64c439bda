"""The classes of what the functions return: ``lw.results``, for annotations and ``isinstance``."""

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
    StratifiedDesign,
    StratifiedMarginDesign,
    Tradeoff,
    UtilitySafe,
    WorstCaseCurve,
)
from leakwise.optimize.from_data import DataDesign
from leakwise.proof import Certificate, SecretPart, SeveralCertificate, StratifiedCertificate
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
    "Audit",
    "Batches",
    "BlackBoxAudit",
    "Certificate",
    "Composition",
    "CompositionBounds",
    "CompositionTable",
    "CrossTable",
    "DataDesign",
    "Design",
    "DryRun",
    "Envelope",
    "EnvelopeCurve",
    "Estimate",
    "Exported",
    "GroupedEstimate",
    "GroupedJointEstimate",
    "Independence",
    "InvariantComparison",
    "JointEstimate",
    "LeastLeakage",
    "MarginDesign",
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
    "Tradeoff",
    "UtilitySafe",
    "WorstCaseCurve",
]
__dir__ = offering(globals())
