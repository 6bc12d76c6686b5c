"""The page: complete in itself, right, and safe whatever kernels are called."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from perfetto_autoviz.comparison import Comparison
from perfetto_autoviz.reports.comparison.chart import waterfall_chart
from perfetto_autoviz.reports.comparison.page import page
from perfetto_autoviz.reports.comparison.picture import waterfall_picture
from perfetto_autoviz.reports.page import shell as page_module
from tests.comparison.builds import compared, nested
from tests.steps.compare.builds import layers

HOSTILE = (
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    '"><b>bold</b>',
    "'single' & \"double\"",
    "line\u2028separator\u2029",
    '<a href="javascript:alert(1)">link</a>',
    "]]><!--",
    "right\u202eto left",
    "\x1b[31mred",
    "=HYPERLINK(1)",
)
VOID = {"meta", "br", "img", "link"}


class Reader(HTMLParser):
    """Collects elements, attributes and texts, and checks that what opens is closed."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, str]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.open:
            self.texts.append((self.open[-1], data))

    def of(self, tag: str) -> list[str]:
        """The texts of the elements of a kind."""
        return [text for name, text in self.texts if name == tag]


@cache
def hostile() -> tuple[Comparison, str]:
    """Builds whose kernels have names that would break a careless page."""
    one = compared(layers([HOSTILE], runs=6), layers([HOSTILE[::-1]], runs=6), label=HOSTILE[0])
    return one, page(one)


def read(text: str) -> Reader:
    reader = Reader()
    reader.feed(text)
    reader.close()
    assert reader.open == []
    return reader


def charts(reader: Reader) -> dict[str, Any]:
    (data,) = (text for text in reader.of("script") if text.startswith('{"P1'))
    found: dict[str, Any] = json.loads(data)
    return found


def test_hostile_names_are_only_text() -> None:
    _, text = hostile()
    reader = read(text)
    assert {tag for tag, _ in reader.tags}.isdisjoint({"img", "a", "b", "link", "iframe", "object"})
    assert [attributes for tag, attributes in reader.tags if tag == "script"] == [
        {"type": "application/json", "id": "charts"}, {}, {},
    ]  # fmt: skip
    assert not [name for _, names in reader.tags for name in names if name.startswith("on")]
    cells = "".join(reader.of("td"))
    for name in HOSTILE:
        if name.isprintable():
            assert name in cells
    # What can't be seen, or turns other text around, is replaced.
    assert not re.search("[\u2028\u2029\u202e\x1b]", text)


def test_hostile_names_are_only_text_in_the_chart() -> None:
    _, text = hostile()
    (chart,) = charts(read(text)).values()
    shown = [one["text"] for one in chart["layout"]["annotations"]] + chart["narrow"]
    shown += chart["data"][0]["customdata"]
    assert any("&lt;img" in label for label in shown)
    assert not any("<" in label for label in shown)


def test_nothing_is_fetched() -> None:
    _, text = hostile()
    reader = read(text)
    for tag, attributes in reader.tags:
        assert attributes.keys().isdisjoint({"src", "href", "srcset", "action", "data"}), tag
    ours = [text for _, text in reader.texts if "plotly.js v" not in text]
    assert len(reader.of("script")) == 3
    assert not re.search(r"https?:|@import|url\(", " ".join(ours))


def test_the_policy_names_both_scripts_and_allows_nothing_else() -> None:
    _, text = hostile()
    reader = read(text)
    (policy,) = (
        str(attributes["content"])
        for _, attributes in reader.tags
        if attributes.get("http-equiv") == "Content-Security-Policy"
    )
    rules = {rule.split()[0]: rule.split()[1:] for rule in policy.split(";")}
    assert rules["default-src"] == ["'none'"]
    bodies = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert rules["script-src"] == [
        f"'sha256-{base64.b64encode(hashlib.sha256(body.encode()).digest()).decode()}'"
        for body in bodies
    ]
    assert {"connect-src", "frame-src"}.isdisjoint(rules)


def test_it_fits_a_phone() -> None:
    reader = read(hostile()[1])
    (viewport,) = (a["content"] for _, a in reader.tags if a.get("name") == "viewport")
    assert viewport == "width=device-width, initial-scale=1"
    tables = sum(tag == "table" for tag, _ in reader.tags)
    assert tables == sum(attributes.get("class") == "scroll" for _, attributes in reader.tags)


def test_every_table_sorts_by_values() -> None:
    reader = read(hostile()[1])
    heads = sum(tag == "th" for tag, _ in reader.tags)
    buttons = [attributes for tag, attributes in reader.tags if tag == "button"]
    assert heads == len(buttons)
    for tag, attributes in reader.tags:
        if tag == "td" and attributes["class"] == "number" and attributes["data-value"]:
            float(str(attributes["data-value"]))


def test_the_chart_adds_up() -> None:
    a = nested("az", [("x", 3000), ("y", 2000)], repeats=3, runs=5)
    b = nested("ab", [("x", 3000), ("w", 2700)], repeats=3, runs=5)
    for pair in compared(a, b).pairs:
        (trace,) = waterfall_chart(pair.waterfall)["data"]
        first, *changes, last = trace["x"]
        assert trace["measure"] == ["absolute", *["relative"] * len(changes), "total"]
        assert first + sum(changes) == pytest.approx(last, rel=1e-12)
        assert last == pair.runs_b.wall.mean() / 1e3


def test_the_picture_shows_every_bar() -> None:
    comparison, _ = hostile()
    fall = comparison.pairs[0].waterfall
    root = ElementTree.fromstring(waterfall_picture(fall, HOSTILE[0]))
    rectangles = [node for node in root if node.tag.endswith("rect")]
    assert len(rectangles) == len(fall.bars) + 2
    for node in rectangles:
        left, width = float(node.attrib["x"]), float(node.attrib["width"])
        assert left >= 0
        assert left + width <= 800
    assert {node.tag.split("}")[1] for node in root} == {"title", "style", "rect", "text"}


DOM = """
const rows = VALUES.map((value) => ({ cells: [{ dataset: { value }, textContent: value }] }));
const body = { rows, append(...all) { this.rows = all; } };
const heading = {
  cellIndex: 0, attributes: {}, classList: { contains: (name) => name === KIND },
  getAttribute(name) { return this.attributes[name] ?? null; },
  setAttribute(name, value) { this.attributes[name] = value; },
  removeAttribute(name) { delete this.attributes[name]; },
  closest: () => ({ tBodies: [body] }),
};
heading.parentElement = { cells: [heading] };
const button = { closest: () => heading };
globalThis.document = { addEventListener() {} };
const orders = [];
"""
PRESS = """
for (let press = 0; press < 2; press += 1) {
  sortBy(button);
  orders.push([heading.attributes["aria-sort"], body.rows.map((row) => row.cells[0].textContent)]);
}
console.log(JSON.stringify(orders));
"""


@pytest.mark.parametrize(
    ("kind", "values", "first", "second"),
    [
        ("number", ["2", "10", "", "-3"], ["10", "2", "-3", ""], ["-3", "2", "10", ""]),
        ("word", ["b", "a", "c"], ["a", "b", "c"], ["c", "b", "a"]),
    ],
)
def test_tables_are_sorted(
    kind: str, values: list[str], first: list[str], second: list[str]
) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("Node.js is not installed: the page's script can't be run")
    script = (Path(page_module.__file__).parent / "page.js").read_text(encoding="utf-8")
    dom = DOM.replace("VALUES", json.dumps(values)).replace("KIND", json.dumps(kind))
    done = subprocess.run(
        [node, "-"], input=dom + script + PRESS, capture_output=True, text=True, check=True
    )
    directions = ["descending", "ascending"] if kind == "number" else ["ascending", "descending"]
    assert json.loads(done.stdout) == [[directions[0], first], [directions[1], second]]
