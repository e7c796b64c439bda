"""How a certificate shows itself: one sentence, and a table of what was proven."""

from __future__ import annotations

from abc import abstractmethod

from leakwise.charts.shown import Parts, Shown, Table
from leakwise.charts.words import Broken, Kept

__all__ = ["ShownCertificate"]


class ShownCertificate(Shown):
    """A certificate that prints as its sentence over a table, in a terminal and in a notebook."""

    @property
    @abstractmethod
    def sentence(self) -> str:
        """The claim in words."""

    @property
    def holds(self) -> bool:
        """Whether it keeps what was asked for; one that nothing was asked of does."""
        return True

    @abstractmethod
    def _rows(self) -> list[list[str]]:
        """What was proven, by name and value."""

    def _shown(self) -> Parts:
        return [Table(["", "certificate"], self._rows(), (Kept if self.holds else Broken)(self.sentence))]
