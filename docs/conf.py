"""Sphinx settings: MyST Markdown, furo, API pages from the docstrings."""

from hermes_memory_core.version import VERSION

project = "Hermes Memory"
author = "Hermes Memory maintainers"
release = version = VERSION
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3
exclude_patterns = ["_build", "_tools"]
html_theme = "furo"
html_title = f"Hermes Memory {VERSION}"
autodoc_typehints = "description"
autodoc_member_order = "bysource"
napoleon_google_docstring = True
nitpicky = False
suppress_warnings = ["myst.header"]
