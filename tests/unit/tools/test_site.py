"""The scripts that make pages for the site. The site itself is built, and checked, by `make docs`."""

from pathlib import Path

import pytest

from tools.docs.check_site import problems
from tools.docs.cpp_pages import cpp_pages
from tools.docs.doxygen_filter import filtered
from tools.docs.nav_hook import filled as filled_nav
from tools.docs.program_pages import routes_text, settings_text
from tools.docs.stage import file_page, with_blocks, with_file_pages


def test_a_block_becomes_what_the_program_says() -> None:
    page = "before\n<!-- site: commands -->\nread the help\n<!-- site: end -->\nafter\n"
    assert with_blocks(page, {"commands": lambda: "the help"}) == "before\nthe help\nafter\n"


def test_a_block_that_nobody_fills_is_an_error() -> None:
    with pytest.raises(KeyError, match="colours"):
        with_blocks("<!-- site: colours -->\n<!-- site: end -->\n", {"commands": str})


def test_links_to_files_lead_to_pages_of_them_and_all_others_stay() -> None:
    page = "[a](../../examples/pi.py) [b](actors.md#names) [c](https://example.org/x.py) [d](../images/report.png)\n"
    code = "```\n[no link](../../examples/pi.py)\n```\n"
    text, files = with_file_pages(page + code, Path("docs/guides/page.md"))
    assert text == page.replace("../../examples/pi.py", "../../files/examples/pi.py.md") + code
    assert files == {Path("examples/pi.py")}


def test_the_page_of_a_file_shows_all_of_it() -> None:
    page = file_page(Path("notes.txt"), "one\n```\ntwo\n")
    assert page == "# notes.txt\n\n````text\none\n```\ntwo\n\n````\n"


def test_a_page_of_a_header_has_what_its_comments_say(tmp_path: Path) -> None:
    (tmp_path / "x.xml").write_text("""<doxygen>
      <compounddef kind="file"><compoundname>box.h</compoundname>
        <detaileddescription><para><preformatted>Boxes: hold one thing.

  Box box;

Threading:  one thread.
Ownership:  the box owns
            what it holds.</preformatted></para></detaileddescription><location file="fray/box.h"/></compounddef>
      <compounddef kind="class" prot="public"><compoundname>fray::v1::Box</compoundname>
        <sectiondef><memberdef kind="function" prot="public" static="no" id="a"><type>std::vector&lt; int &gt;</type>
          <definition>std::vector&lt; int &gt; fray::v1::Box::open</definition><argsstring>(bool all) const</argsstring>
          <name>open</name><briefdescription><para>Runs `fray <ndash/>x`, a*b.</para></briefdescription>
          <location file="fray/box.h" line="9"/></memberdef>
        <memberdef kind="function" prot="private" id="b"><name>secret</name><location file="fray/box.h" line="10"/>
        </memberdef></sectiondef><location file="fray/box.h" line="8"/></compounddef></doxygen>""")
    pages = cpp_pages(tmp_path)
    assert list(pages) == ["box.h.md"]
    assert pages["box.h.md"].split("\n\n") == [
        "# `fray/box.h`",
        "`#include <fray/box.h>`",
        "Boxes: hold one thing.",
        "```cpp\nBox box;\n```",
        "- **Threading**: one thread.\n- **Ownership**: the box owns what it holds.",
        "## `Box` { #fray-box-h-Box }",
        "```cpp\nclass Box;\n```",
        "### `open` { #fray-box-h-open }",
        "```cpp\nstd::vector<int> open(bool all) const;\n```",
        "Runs `fray --x`, a\\*b.\n",
    ]


def test_comments_of_the_c_header_are_doxygens_too() -> None:
    header = (
        "/* box.h: a box.\n *\n *   box b;\n */\n#define N 1 /* <one> */\n/* Opens it\n * all. */\nint open(void);\n"
    )
    assert filtered("box.h", header).splitlines() == [
        "/** @file box.h <pre> box.h: a box.",
        "",
        "  box b;",
        " </pre>*/",
        "#define N 1 /**< \\<one\\> */",
        "/** Opens it",
        "all. */",
        "int open(void);",
    ]


def test_the_table_of_paths_has_frays_own_first() -> None:
    operation = {"summary": "all | some", "parameters": [{"name": "id", "in": "path"}]}
    query = {"name": "offset", "in": "query", "description": "first byte"}
    body = {"content": {"application/json": {"schema": {"required": ["a"], "properties": {"a": {"type": "string"}}}}}}
    document = {
        "paths": {
            "/api/jobs/": {"get": operation},
            "/api/v1/jobs": {"post": {"summary": "submit", "parameters": [query], "requestBody": body}},
        }
    }
    lines = routes_text(document).splitlines()
    assert lines[2] == "| `POST /api/v1/jobs` | submit | `offset`: first byte |"
    assert lines[3] == "| `GET /api/jobs/` | all \\| some |  |"
    assert lines[-1] == "| `a` | string | needed |"


def test_the_table_of_settings_names_the_variables() -> None:
    setting = {"value": "~/x", "origin": "default", "variables": ["A", "B"], "meaning": "a folder"}
    assert settings_text({"settings": {"home": setting}}).splitlines()[2] == "| `A`, `B` | a folder | `~/x` | `home` |"


def test_a_folder_in_the_navigation_becomes_its_pages_the_readme_first(tmp_path: Path) -> None:
    (tmp_path / "ways").mkdir()
    for name in ("0002-b.md", "0001-a.md", "README.md", "x.png"):
        (tmp_path / "ways" / name).touch()
    nav = [{"Start": "README.md"}, {"Ways": "ways/*"}]
    ways = ["ways/README.md", "ways/0001-a.md", "ways/0002-b.md"]
    assert filled_nav(nav, tmp_path) == [{"Start": "README.md"}, {"Ways": ways}]


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ('<script src="https://example.org/x.js"></script>', "is loaded from another host: https://example.org/x.js"),
        ('<link rel="stylesheet" href="//example.org/x.css">', "is loaded from another host: //example.org/x.css"),
        ('<img src="gone.png">', "no such file: gone.png"),
        ('<a href="other.html">x</a>', "no such file: other.html"),
        ('<a href="#nowhere">x</a>', "no such anchor: #nowhere"),
    ],
)
def test_a_site_with_a_fault_is_refused(tmp_path: Path, body: str, complaint: str) -> None:
    (tmp_path / "index.html").write_text(body)
    assert problems(tmp_path) == [f"index.html: {complaint}"]


def test_a_style_that_loads_from_elsewhere_is_refused(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text("<p>")
    (tmp_path / "x.css").write_text("@font-face { src: url('https://example.org/x.woff'); }")
    (tmp_path / "y.css").write_text("p { background: url(data:image/png;base64,AAAA), url(../x.png); }")
    assert problems(tmp_path) == ["x.css: is loaded from another host: https://example.org/x.woff"]


def test_a_whole_site_has_no_problems(tmp_path: Path) -> None:
    (tmp_path / "index.html").write_text('<h1 id="top">x</h1><a href="#top">x</a><a href="a%20b.html#end">y</a>')
    (tmp_path / "a b.html").write_text('<a href="https://example.org/">x</a><p id="end">')
    assert problems(tmp_path) == []


def test_a_folder_without_pages_is_no_site(tmp_path: Path) -> None:
    assert problems(tmp_path) == [f"{tmp_path}: there is no page"]
