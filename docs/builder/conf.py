"""Configure Sphinx. The site loads no external fonts, scripts or pictures."""

from novikoff import __version__

project = "novikoff"
html_title = f"novikoff {__version__}"
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
root_doc = "index"
myst_heading_anchors = 3
myst_enable_extensions = ["attrs_block"]

html_theme = "furo"
html_static_path = ["static"]
html_css_files = ["custom.css"]
html_copy_source = False
html_show_sourcelink = False
html_show_copyright = False
pygments_style = "friendly"
pygments_dark_style = "github-dark"
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": {"color-brand-primary": "#0061a4", "color-brand-content": "#0061a4"},
    "dark_css_variables": {"color-brand-primary": "#7fbdf2", "color-brand-content": "#7fbdf2"},
}
