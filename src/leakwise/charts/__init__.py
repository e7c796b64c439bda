"""Charts and tables from plain numbers.

One chart language serves the notebook, the report, the documentation and the web page: a chart is a Vega-Lite
specification, a plain ``dict`` with its data inside.

- :mod:`leakwise.charts.table` writes text and HTML tables, and single numbers;
- :mod:`leakwise.charts.specs` makes the specifications;
- :mod:`leakwise.charts.render` turns one into an Altair chart, a page, an SVG or a PNG (extra ``plots``);
- :mod:`leakwise.charts.shown` prints an object and shows it in a notebook from what it says once;
- :mod:`leakwise.charts.page` is the shell of every HTML page.

Nothing here knows what the numbers mean.
"""

from leakwise.charts import render, specs, table

__all__ = ["render", "specs", "table"]
