"""Configuration of Sphinx; `build.py` stages the sources and calls it."""

import inspect
import os

import negolab_widgets
from pygments.lexers.special import TextLexer
from sphinx.addnodes import desc_annotation
from sphinx.highlighting import lexers
from sphinx.util import logging
from sphinx.util.inspect import TypeAliasForwardRef, stringify_signature
from sphinx.util.nodes import make_refnode

# Within other types autodoc would write `TypeAliasForwardRef('Seat')`.
TypeAliasForwardRef.__repr__ = lambda alias: alias.name

log = logging.getLogger(__name__)

project = "negolab"
author = copyright = "the negolab authors"
root_doc = "index"
exclude_patterns = ["_ipython"]
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]

# Guide pages and notebooks.
myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 4  # links such as studies.md#payment
nb_execution_mode = "force" if os.environ.get("NEGOLAB_RUN") else "off"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_output_stderr = "remove"
nb_ipywidgets_js = {}  # would come from another host
suppress_warnings = ["mystnb.unknown_mime_type"]
# What a saved notebook keeps is shown; of widgets, which need a kernel, nothing.
nb_mime_priority_overrides = [
    ("html", "application/vnd.jupyter.widget-view+json", 3),
    ("html", "application/vnd.plotly.v1+json", None),
    ("html", "image/svg+xml", 1),
    ("html", "text/html", 2),
]
nb_merge_streams = True
lexers["csv"] = TextLexer()  # pygments has none
copybutton_exclude = ".linenos, .gp, .go"

# The reference.
default_role = "py:obj"  # docstrings quote names in single backticks: a link where the name is documented
add_module_names = False
maximum_signature_line_length = 88
napoleon_numpy_docstring = False
napoleon_use_rtype = False
napoleon_use_ivar = True  # the fields of a named tuple are described once
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_inherit_docstrings = False
autodoc_default_options = {"members": True, "no-value": True}
autodoc_preserve_defaults = True
# Widgets are imported on first use, and autodoc sees only what is there.
vars(negolab_widgets).update({name: getattr(negolab_widgets, name) for name in negolab_widgets.__all__})
python_use_unqualified_type_names = True
autodoc_type_aliases = {name: name for name in ("Seat", "End", "InvalidKind", "AnyGame", "Schema")}
smartquotes_action = "D"  # dashes only: "A" is code

# The pages.
html_theme = "pydata_sphinx_theme"
html_title = "negolab"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_context = {"default_mode": "auto"}  # without it the theme logs an error on a first visit
html_sidebars = {"index": [], "tour": [], "changelog": []}
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_prev_next": True,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_toc_level": 2,
}
if repository := os.environ.get("GITHUB_REPOSITORY"):
    html_theme_options["github_url"] = f"https://github.com/{repository}"


def skip_aliases(app, what, name, obj, skip, options):
    """Leave out the fields of named tuples that only say "Alias for field number 0"; warn of what says nothing."""
    ours = (inspect.isclass(obj) or inspect.isfunction(obj)) and obj.__module__.startswith("negolab")
    if skip and ours and not name.startswith("_") and not obj.__name__.startswith("_") and not inspect.getdoc(obj):
        log.warning("%s %s has no docstring", what, getattr(obj, "__qualname__", name))
    return True if (getattr(obj, "__doc__", None) or "").startswith("Alias for field number") else None


def keep_colons(app, what, name, obj, options, lines):
    """Keep napoleon from reading "True if it draws nothing: ..." of an attribute as its type."""
    if what in ("attribute", "data", "property"):
        lines[:0] = ["..", ""]  # an empty comment


def mend_signature(app, what, name, obj, options, signature, returns):
    """Show what a widget's `__init__` takes, where autodoc finds its base class's `__new__`; nothing for a protocol."""
    if what != "class" or not (signature or "").startswith("(*args"):
        return None
    if getattr(obj, "_is_protocol", False):
        return "", ""
    found = inspect.signature(obj.__init__)
    own = found.replace(parameters=[*found.parameters.values()][1:], return_annotation=found.empty)
    return stringify_signature(own, unqualified_typehints=True), ""


def hide_long_values(app, domain, objtype, contentnode):
    """Leave out the value of a constant that is longer than a line."""
    if objtype not in ("data", "attribute"):
        return
    for value in contentnode.parent.findall(desc_annotation):
        if value.astext().startswith(" = ") and len(value.astext()) > 80:
            value.parent.remove(value)


def link_name(app, env, node, contnode):
    """Link a class, or a member with its class, that is described in another module than the one that names it."""
    name = node["reftarget"].removeprefix("nl.")
    if (node.get("refdomain"), node["reftype"]) != ("py", "obj") or not name[:1].isupper():
        return None
    domain = env.domains["py"]
    found = [full for full in domain.objects if full.endswith(f".{name}")]
    if len(found) != 1:
        return None
    at = domain.objects[found[0]]
    return make_refnode(app.builder, node["refdoc"], at.docname, at.node_id, contnode, found[0])


def setup(app):
    app.connect("autodoc-process-signature", mend_signature)
    app.connect("missing-reference", link_name)
    app.connect("object-description-transform", hide_long_values)
    app.connect("autodoc-process-docstring", keep_colons, priority=400)  # napoleon's is 500
    app.connect("autodoc-skip-member", skip_aliases)
