"""The one HTML page shell: a page carries all it needs, and its content policy forbids any outside request."""

from __future__ import annotations

from html import escape

__all__ = ["html_page", "paragraph", "section"]


def html_page(title: str, body: str, *, style: str, script: str | None = None) -> str:
    """Write a whole page around a body that is HTML already; without a `script` its policy allows none.

    >>> html_page("A < B", "<p>Text</p>", style="").count("A &lt; B")
    1
    """
    # Vega compiles its expressions, and offers pictures for download as blobs; nothing else may do either.
    scripts, images = ("", "data:") if script is None else ("script-src 'unsafe-inline' 'unsafe-eval'; ", "data: blob:")
    policy = (
        f"default-src 'none'; {scripts}style-src 'unsafe-inline'; img-src {images}; base-uri 'none'; form-action 'none'"
    )
    head = "" if script is None else f"<script>{script}</script>\n"
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(title)}</title>
<style>{style}</style>
{head}</head>
<body>
{body}</body>
</html>
"""


def section(title: str, *parts: str) -> str:
    """Put parts that are HTML already into a section with a heading."""
    return f"<section>\n<h2>{escape(title)}</h2>\n{''.join(parts)}</section>\n"


def paragraph(text: str) -> str:
    """Put a plain text into a paragraph."""
    return f"<p>{escape(text)}</p>\n"
