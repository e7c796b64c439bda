"""Certificates and their checking on exact integers. Imports neither leakage nor optimize."""

from leakwise.proof.certificate import Certificate, certify, load_certificate
from leakwise.proof.verification import verify

__all__ = ["Certificate", "certify", "load_certificate", "verify"]
