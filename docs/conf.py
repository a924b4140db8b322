"""The site: `make docs` builds it, offline and without warnings."""

import os
import re
import sys
from pathlib import Path

from docutils import nodes
from sphinx.util import logging

import mercer

sys.path.insert(0, str(Path(__file__).parent))
import reference_groups
import unreleased_changes

project = "mercer"
author = "The mercer developers"
copyright = "2026, The mercer developers"
release = version = mercer.__version__

extensions = [
    "myst_parser",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["_build", "_templates"]
templates_path = ["_templates"]
default_role = "code"
smartquotes = False  # w'Kw is a formula
suppress_warnings = ["sphinx_gallery.space_in_filename"]  # of the folder the clone lies in

# The reference follows __all__ of each package.
autosummary_ignore_module_all = False
autosummary_imported_members = True
autosummary_context = {
    "groups": {f"mercer.{p}": reference_groups.groups(p) for p in reference_groups.PACKAGES}
}
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = "mercer"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_search_scorer = str(Path(__file__).parent / "search_scorer.js")

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "subsection_order": [
        f"../examples/{folder}"
        for folder in (
            "two_sample",
            "independence",
            "goodness",
            "learning",
            "distributions",
            "structured",
            "separation",
            "rkhs",
        )
    ],
    "filename_pattern": r"/plot_\w+\.py",
    "download_all_examples": False,
    "show_memory": False,
    "min_reported_time": 10**6,
    "write_computation_times": False,  # a page that asks other hosts for scripts
    "abort_on_example_error": True,
}

# Links into the manuals of other projects need the network: only when asked.
if os.environ.get("MERCER_DOCS_ONLINE"):
    extensions.append("sphinx.ext.intersphinx")
    intersphinx_mapping = {
        "python": ("https://docs.python.org/3", None),
        "numpy": ("https://numpy.org/doc/stable", None),
        "scipy": ("https://docs.scipy.org/doc/scipy", None),
    }


def _plain_bars(app, what, name, obj, options, lines):
    """Docstrings write norms as |x - y|, which reStructuredText would take for substitutions."""
    for i, line in enumerate(lines):
        if not line.lstrip().startswith((">>>", "...")):
            pieces = re.split(r"(`[^`]*`)", line)
            lines[i] = "".join(p if p.startswith("`") else p.replace("|", r"\|") for p in pieces)


def _without_requests(app, what, name, obj, skip, options):
    """scikit-learn writes the docstrings of `set_fit_request` and the like, and refers to its own manual."""
    return True if re.fullmatch(r"set_\w+_request", name) else None


_TARGETS = reference_groups.targets()

# A figure scrolls sideways where it would be too small to read, and is a link to itself: those of pages are already.
_PAGE_FIGURE = (
    r'(<a class="[^"]*image-reference[^"]*"[^>]*>\s*<img [^>]*style="width: 100%;"[^>]*>\s*</a>)'
)
_GALLERY_FIGURE = r'(<img src="([^"]*)"[^>]*class = "sphx-glr-single-img"[^>]*>)'
_AS_LINK = r'<div class="scrolls"><a class="image-reference" href="\2">\1</a></div>'


def _breakable(path):
    """A path may break after each of its folders, so that it fits into a column of a table."""
    return re.sub(r"(?<!<)/(?=\w)", "/<wbr>", path[0])


# What the theme leaves out and axe-core asks for: levels of headings in the menu, names of landmarks, and blocks that
# scroll sideways can be reached with the keyboard.
_ACCESSIBLE = (
    (r'<p class="caption" role="heading">', '<p class="caption" role="heading" aria-level="2">'),
    (
        r'<aside class="sidebar-drawer">',
        '<aside class="sidebar-drawer" aria-label="Pages of the site">',
    ),
    (
        r'<aside class="toc-drawer( no-toc)?">',
        r'<aside class="toc-drawer\1" aria-label="On this page">',
    ),
    (r"<pre>", '<pre tabindex="0">'),
    (r'<div class="table-wrapper([^"]*)">', r'<div class="table-wrapper\1" tabindex="0">'),
    (_PAGE_FIGURE, r'<div class="scrolls">\1</div>'),
    (_GALLERY_FIGURE, _AS_LINK),
    (r'(<div id="search-results"></div>)', r"<h1>Search</h1>\1"),
    (r'<span class="pre">(?:[\w.]+/)+[\w.]*</span>', _breakable),
    (  # thumbnails of the gallery hide the text of their links
        r'(<a class="reference internal" href="[^"]*")(><span class="doc">([^<"]*)</span></a></p>\s*<div class="sphx-glr-thumbnail-title">)',
        r'\1 aria-label="\3"\2',
    ),
)


def _complete(app, docname, source):
    """The index of the reference names everything that is public, and the changelog what is not released yet."""
    if docname == "api/index":
        source[0] = source[0].replace("% names", "\n\n".join(reference_groups.listing()))
    if docname == "changelog":
        source[0] = source[0].replace(unreleased_changes.MARK, unreleased_changes.section())


def _check_names(app, env):
    """Every public name has its entry in the reference."""
    for name in reference_groups.missing(set(env.get_domain("py").objects)):
        logging.getLogger(__name__).warning("the reference has no entry for %s", name)


# `MMDAgg`, `info.entropy`, `two_sample(x, y)`; a word such as `power` must be called to be a name.
_NAME = re.compile(r"((?:\w+\.)*\w+)(\(.*\))?", re.DOTALL)
_NO_LINKS = (nodes.reference, nodes.title, nodes.literal_block, nodes.term)


def _link_names(app, doctree, docname):
    """Public names in the text are links to their entries in the reference."""
    objects = app.env.get_domain("py").objects
    for literal in list(doctree.findall(nodes.literal)):
        match = _NAME.fullmatch(literal.astext())
        if match is None or (
            match[1].islower() and not match[2] and not re.search(r"[._]", match[1])
        ):
            continue
        entry = objects.get(_TARGETS.get(match[1], ""))
        if entry is None or entry.docname == docname or _within(literal, _NO_LINKS):
            continue
        if docname.startswith("migration/") and _in_first_column(literal):
            continue  # of the other library
        uri = app.builder.get_relative_uri(docname, entry.docname) + "#" + entry.node_id
        link = nodes.reference("", "", internal=True, refuri=uri, classes=["name"])
        literal.replace_self(link)
        link += literal


def _in_first_column(node):
    while node.parent is not None:
        if isinstance(node, nodes.entry):
            return node.parent.index(node) == 0
        node = node.parent
    return False


def _within(node, kinds):
    while node.parent is not None:
        node = node.parent
        if isinstance(node, kinds):
            return True
    return False


def _only_the_open_branch(app, pagename, templatename, context, doctree):
    """The menu has the pages around this one; with all 700 in it every page is four times as large and slow to write."""
    toctree = context.get("toctree")
    if toctree is not None:
        context["toctree"] = lambda **options: toctree(**{**options, "collapse": True})


def _make_accessible(app, exception):
    """Complete the attributes of finished pages."""
    if exception is not None or app.builder.format != "html":
        return
    for page in Path(app.outdir).rglob("*.html"):
        text = done = page.read_text(encoding="utf-8")
        for pattern, replacement in _ACCESSIBLE:
            done = re.sub(pattern, replacement, done)
        if done != text:
            page.write_text(done, encoding="utf-8")


def setup(app):
    """Hook into Sphinx."""
    app.connect("source-read", _complete)
    app.connect(
        "html-page-context", _only_the_open_branch, priority=400
    )  # before the theme makes the menu
    app.connect("env-check-consistency", _check_names)
    app.connect("doctree-resolved", _link_names)
    app.connect("build-finished", _make_accessible)
    app.connect("autodoc-skip-member", _without_requests)
    app.connect("autodoc-process-docstring", _plain_bars)
