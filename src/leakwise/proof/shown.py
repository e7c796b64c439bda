"""How a certificate shows itself: one sentence, and a table of what was proven."""

from __future__ import annotations

from abc import abstractmethod

from leakwise.charts.shown import Parts, Shown, Table
from leakwise.charts.words import Kept

__all__ = ["ShownCertificate"]


class ShownCertificate(Shown):
    """A certificate that prints as its sentence over a table, in a terminal and in a notebook."""

    @property
    @abstractmethod
    def sentence(self) -> str:
        """The claim in words."""

    @abstractmethod
    def _rows(self) -> list[list[str]]:
        """What was proven, by name and value."""

    def _shown(self) -> Parts:
        return [Table(["", "certificate"], self._rows(), Kept(self.sentence))]
