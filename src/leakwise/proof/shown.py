"""How a certificate shows itself: one sentence, and a table of what was proven."""

from __future__ import annotations

from abc import ABC, abstractmethod

from leakwise.charts.table import html_table, text_table

__all__ = ["ShownCertificate"]


class ShownCertificate(ABC):
    """A certificate that prints as its sentence over a table, in a terminal and in a notebook."""

    @property
    @abstractmethod
    def sentence(self) -> str:
        """The claim in words."""

    @abstractmethod
    def _rows(self) -> list[list[str]]:
        """What was proven, by name and value."""

    def __repr__(self) -> str:
        return text_table(["", "certificate"], self._rows(), title=self.sentence)

    def _repr_html_(self) -> str:
        return html_table(["", "certificate"], self._rows(), caption=self.sentence)
