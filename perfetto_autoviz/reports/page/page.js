"use strict";

// Sorts a table by the column whose heading was pressed; pressed again, the other way round.
function sortBy(button) {
  const heading = button.closest("th");
  const numeric = heading.classList.contains("number");
  const column = heading.cellIndex;
  const body = heading.closest("table").tBodies[0];
  // Numbers start with the largest, as that is what one looks for.
  const first = numeric ? "descending" : "ascending";
  const second = numeric ? "ascending" : "descending";
  const order = heading.getAttribute("aria-sort") === first ? second : first;
  for (const other of heading.parentElement.cells) other.removeAttribute("aria-sort");
  heading.setAttribute("aria-sort", order);
  const sign = order === "ascending" ? 1 : -1;
  const key = (row) => {
    const cell = row.cells[column];
    const value = cell.dataset.value || cell.textContent;
    return numeric ? parseFloat(cell.dataset.value) : value;
  };
  const rows = [...body.rows].map((row) => [key(row), row]);
  rows.sort(([a], [b]) => {
    if (!numeric) return sign * a.localeCompare(b);
    if (isNaN(a) || isNaN(b)) return isNaN(a) - isNaN(b);
    return sign * (a - b);
  });
  body.append(...rows.map(([, row]) => row));
}

// Draws a chart when it is first seen: one that is hidden has no width.
function draw(figure, charts) {
  if (figure.dataset.drawn) return;
  figure.dataset.drawn = "yes";
  const { data, layout, narrow } = charts[figure.dataset.chart];
  const style = getComputedStyle(document.body);
  layout.font = { color: style.color, family: style.fontFamily, size: 12 };
  layout.xaxis.gridcolor = style.getPropertyValue("--line");
  if (figure.clientWidth < 640) {
    layout.annotations.forEach((annotation, row) => { annotation.text = narrow[row]; });
  }
  Plotly.newPlot(figure, data, layout, { responsive: true, displayModeBar: false });
}

document.addEventListener("DOMContentLoaded", () => {
  const charts = JSON.parse(document.getElementById("charts").textContent);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("th button");
    if (button) sortBy(button);
  });
  for (const details of document.querySelectorAll("details")) {
    const show = () => details.open
      && details.querySelectorAll("figure").forEach((figure) => draw(figure, charts));
    details.addEventListener("toggle", show);
    show();
  }
});
