/** Bars with whiskers, as SVG: a picture beside the table, which says the same in words. */

const SVG = "http://www.w3.org/2000/svg";
const WIDTH = 560;
const LABEL = 120;
const ROW = 44;

function make(name, fields, words) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(fields)) element.setAttribute(key, value);
  if (words !== undefined) element.textContent = words;
  return element;
}

export function chart(rows) {
  const left = Math.min(...rows.map((r) => Math.min(r.low, r.value - r.error)));
  const right = Math.max(...rows.map((r) => Math.max(r.high, r.value + r.error)));
  const x = (value) => LABEL + ((value - left) / (right - left)) * (WIDTH - LABEL - 10);
  const height = ROW * rows.length + 24;
  const svg = make("svg", { viewBox: `0 0 ${WIDTH} ${height}`, "aria-hidden": "true" });
  rows.forEach((row, i) => {
    const middle = ROW * i + ROW / 2;
    const ends = [x(Math.min(row.low, row.value)), x(Math.max(row.low, row.value))];
    svg.append(
      make("text", { x: LABEL - 8, y: middle + 5, class: "label" }, short(row.label)),
      make("rect", {
        x: ends[0], y: middle - 10, width: Math.max(1, ends[1] - ends[0]), height: 20, class: "bar",
      }),
    );
    const [a, b] = [x(row.value - row.error), x(row.value + row.error)];
    svg.append(
      make("path", {
        class: "whisker",
        d: `M${a} ${middle}H${b}M${a} ${middle - 8}v16M${b} ${middle - 8}v16`,
      }),
    );
  });
  const base = height - 22;
  svg.append(make("path", { class: "axis", d: `M${x(left)} ${base}H${x(right)}` }));
  for (const [at, anchor] of [[rows[0].low, "middle"], [rows[0].high, "end"]]) {
    svg.append(make("text", { x: x(at), y: height - 5, "text-anchor": anchor, class: "tick" }, String(at)));
  }
  return svg;
}

const short = (label) => (label.length > 15 ? `${label.slice(0, 14)}…` : label);
