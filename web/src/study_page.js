// The page of `distsim sweep --html`: charts and a table of the points that the page itself holds (element "study"):
//   axes     [{key, name, values}]         the swept keys, values as texts
//   figures  [{name, head}]                 columns of the points, behind those of the axes
//   points   [[place on each axis..., figure..., state]]   null: none; state: 0 predicted, 1 does not fit, 2 error
// All text is set as text, never as markup.
import * as echarts from "echarts/core";
import { HeatmapChart, LineChart, ParallelChart } from "echarts/charts";
import { GridComponent, LegendComponent, ParallelComponent, TooltipComponent, VisualMapComponent } from "echarts/components";
import { CanvasRenderer } from "echarts/renderers";

echarts.use([HeatmapChart, LineChart, ParallelChart, GridComponent, LegendComponent, ParallelComponent, TooltipComponent, VisualMapComponent, CanvasRenderer]);

const { axes, figures, points } = JSON.parse(document.getElementById("study").textContent);
const MOST_SERIES = 12, MOST_ROWS = 500;
const LESS_IS_BETTER = /_ms$|^memory_gb$/;
const state = { figure: 0, sort: null, descending: false };

const dark = matchMedia("(prefers-color-scheme: dark)");
const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const element = (tag, parent, text) => {
  const made = parent.appendChild(document.createElement(tag));
  if (text !== undefined) made.textContent = text;
  return made;
};
const short = (value) => {
  if (value === null || value === undefined) return "";
  const size = Math.abs(value);
  if (size >= 1e6) return `${(value / 1e6).toPrecision(4)} M`;
  if (size >= 1000) return Math.round(value).toString();
  return Number(value.toPrecision(4)).toString();
};
const value = (point, figure = state.figure) => point[axes.length + figure];
const predicted = (point) => point[point.length - 1] === 0;
const word = (point) => ["", "memory", "error"][point[point.length - 1]];
const numbers = (axis) => {
  const all = axis.values.map(Number);
  return axis.values.every((text, i) => text.trim() !== "" && Number.isFinite(all[i])) ? all : null;
};
const base = () => ({
  animation: false,
  textStyle: { fontFamily: "system-ui, sans-serif", color: colour("text") },
  tooltip: { renderMode: "richText", backgroundColor: colour("card"), borderColor: colour("line"), textStyle: { color: colour("text"), fontSize: 13 } },
});
const axisStyle = (name) => ({
  name, nameLocation: "middle", nameTextStyle: { color: colour("soft"), fontSize: 13 }, axisLabel: { color: colour("soft"), hideOverlap: true },
  axisLine: { lineStyle: { color: colour("line") } }, splitLine: { lineStyle: { color: colour("line") } },
});
const PALETTE = ["#2f7fd1", "#e8882d", "#16928a", "#8c62c4", "#c44e6a", "#7a9a2e", "#5d6b7c", "#d1a72f", "#3aa6c9", "#a0522d", "#6a7fd1", "#999999"];
const SCALE = () => (dark.matches ? ["#1f3348", "#2b6ca8", "#7fb8ea", "#f0f6fc"] : ["#eef5fc", "#9cc5ec", "#3a7fc4", "#173f6b"]);

// Of curves: all points with the same places on the other axes, along the axis with most numbers.
function curves() {
  const along = axes.map((axis, i) => [numbers(axis) ? axis.values.length : 0, i]).sort((a, b) => b[0] - a[0])[0];
  const x = along[0] > 0 ? along[1] : axes.length - 1, ticks = numbers(axes[x]);
  const groups = new Map();
  for (const point of points) {
    const name = axes.map((axis, i) => (i === x ? null : `${axis.name} ${axis.values[point[i]]}`)).filter((part) => part !== null).join(", ");
    if (!groups.has(name)) groups.set(name, []);
    if (predicted(point)) groups.get(name).push([ticks ? ticks[point[x]] : axes[x].values[point[x]], value(point)]);
  }
  const shown = [...groups].slice(0, MOST_SERIES);
  const legendRows = shown.length > 1 ? Math.ceil(shown.reduce((sum, [name]) => sum + 7 * name.length + 50, 0) / 860) : 0;
  const spread = ticks && Math.min(...ticks) > 0 && Math.max(...ticks) / Math.min(...ticks) > 20;
  return {
    note: groups.size > shown.length ? `The first ${shown.length} of ${groups.size} curves.` : "",
    option: {
      ...base(), color: PALETTE,
      tooltip: { ...base().tooltip, trigger: "axis", valueFormatter: short },
      legend: { show: shown.length > 1, type: "plain", bottom: 0, textStyle: { color: colour("text") } },
      grid: { left: 70, right: 24, top: 20, bottom: 54 + 22 * legendRows },
      xAxis: { type: ticks ? (spread ? "log" : "value") : "category", logBase: 2, scale: true, ...axisStyle(axes[x].key), nameGap: 30 },
      yAxis: { type: "value", scale: true, ...axisStyle(figures[state.figure].head), nameGap: 52, axisLabel: { color: colour("soft"), formatter: short } },
      series: shown.map(([name, data]) => ({ name: name || figures[state.figure].head, type: "line", data, showSymbol: data.length < 60, symbolSize: 7, lineStyle: { width: 2 } })),
    },
  };
}

function range() {
  const all = points.filter(predicted).map((point) => value(point)).filter((v) => v !== null);
  return [Math.min(...all), Math.max(...all)];
}

function heatMap() {
  const [low, high] = range(), [down, across] = [0, 1];
  const cells = axes[0].values.length * axes[1].values.length;
  const data = points.map((point) => ({ value: [point[across], point[down], predicted(point) ? value(point) : "-"], word: word(point) }));
  return {
    note: points.every(predicted) ? "" : "Cells with a word have no prediction; the reasons are below the table.",
    option: {
      ...base(),
      tooltip: { ...base().tooltip, formatter: (p) => `${axes[down].name} ${axes[down].values[p.value[1]]}, ${axes[across].name} ${axes[across].values[p.value[0]]}\n${figures[state.figure].head}: ${p.data.word || short(p.value[2])}` },
      grid: { left: 90, right: 110, top: 16, bottom: 54 },
      xAxis: { type: "category", data: axes[across].values, ...axisStyle(axes[across].key), nameGap: 32 },
      yAxis: { type: "category", data: axes[down].values, ...axisStyle(axes[down].key), nameGap: 66 },
      visualMap: { min: low, max: high, calculable: true, right: 0, top: "middle", precision: 3, formatter: short, inRange: { color: SCALE() }, textStyle: { color: colour("soft") } },
      series: [{ type: "heatmap", data, itemStyle: { borderColor: colour("card"), borderWidth: cells < 900 ? 1 : 0 },
        label: { show: cells <= 150, formatter: (p) => p.data.word || short(p.value[2]), fontSize: 12 } }],
    },
  };
}

function parallel() {
  const [low, high] = range();
  const shown = [...new Set([state.figure, ...["iteration_ms", "samples_per_s", "memory_gb"].map((name) => figures.findIndex((f) => f.name === name))])].filter((i) => i >= 0);
  const parallelAxis = [
    ...axes.map((axis, dim) => ({ dim, name: axis.name, type: "category", data: axis.values })),
    ...shown.map((figure, i) => ({ dim: axes.length + i, name: figures[figure].head, type: "value", scale: true, axisLabel: { formatter: short } })),
  ];
  const data = points.filter(predicted).map((point) => [...axes.map((axis, i) => axis.values[point[i]]), ...shown.map((figure) => value(point, figure))]);
  return {
    note: "Each line is a point. Drag along an axis to keep the lines that pass there.",
    option: {
      ...base(),
      parallel: { left: 50, right: 130, top: 40, bottom: 20, parallelAxisDefault: { nameTextStyle: { color: colour("text") }, axisLabel: { color: colour("text"), backgroundColor: colour("card"), padding: 1 }, axisLine: { lineStyle: { color: colour("soft") } } } },
      parallelAxis,
      visualMap: { min: low, max: high, dimension: axes.length, right: 0, top: "middle", calculable: true, precision: 3, formatter: short, inRange: { color: SCALE().slice(1) }, textStyle: { color: colour("soft") } },
      series: [{ type: "parallel", data, lineStyle: { width: data.length > 400 ? 1 : 1.6, opacity: data.length > 400 ? 0.35 : 0.75 }, progressive: 2000 }],
    },
  };
}

const drawn = [];
function draw() {
  while (drawn.length > 0) drawn.pop().dispose();
  const target = document.getElementById("charts");
  target.replaceChildren();
  if (axes.length === 0 || !points.some(predicted)) return;
  const pictures = axes.length === 1 ? [["Curve", curves()]] : axes.length === 2 ? [["Heat map", heatMap()], ["Curves", curves()]] : [["All keys at once", parallel()], ["Curves", curves()]];
  for (const [name, picture] of pictures) {
    const section = element("section", target);
    element("h2", section, `${name}: ${figures[state.figure].head}`);
    const place = element("div", section);
    place.style.height = "420px";
    if (picture.note) element("p", section, picture.note).className = "note";
    const chart = echarts.init(place);
    chart.setOption(picture.option);
    drawn.push(chart);
  }
}

function rowsInOrder() {
  if (state.sort === null) return points;
  const axis = axes[state.sort], ticks = axis && numbers(axis);
  const key = (point) => (axis ? (ticks ? ticks[point[state.sort]] : axis.values[point[state.sort]]) : predicted(point) ? point[state.sort] : null);
  const sign = state.descending ? -1 : 1;
  return [...points].sort((a, b) => {
    const [x, y] = [key(a), key(b)];
    if (x === null || y === null) return (x === null) - (y === null);
    return x < y ? -sign : x > y ? sign : 0;
  });
}

function table() {
  const target = document.getElementById("table");
  target.replaceChildren();
  const whole = element("table", target), head = element("tr", element("thead", whole)), body = element("tbody", whole);
  [...axes.map((axis) => axis.name), ...figures.map((figure) => figure.head)].forEach((name, column) => {
    const cell = element("th", head, name + (state.sort === column ? (state.descending ? " \u2193" : " \u2191") : ""));
    cell.style.cursor = "pointer";
    cell.onclick = () => {
      state.descending = state.sort === column ? !state.descending : column >= axes.length && !LESS_IS_BETTER.test(figures[column - axes.length].name);
      state.sort = column;
      table();
    };
  });
  const rows = rowsInOrder();
  for (const point of rows.slice(0, MOST_ROWS)) {
    const row = element("tr", body);
    axes.forEach((axis, i) => element("td", row, axis.values[point[i]]));
    figures.forEach((figure, i) => element("td", row, i === 0 && !predicted(point) ? word(point) : short(value(point, i))));
  }
  if (rows.length > MOST_ROWS) element("p", target, `The first ${MOST_ROWS} of ${rows.length} points.`).className = "note";
}

const choice = document.getElementById("figure");
figures.forEach((figure, i) => (element("option", choice, figure.head).value = i));
choice.onchange = () => {
  state.figure = Number(choice.value);
  draw();
};
dark.addEventListener("change", draw);
addEventListener("resize", () => drawn.forEach((chart) => chart.resize()));
draw();
table();
