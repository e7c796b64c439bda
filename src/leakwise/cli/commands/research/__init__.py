"""Commands for research: whole datasets, the papers, and the page."""
