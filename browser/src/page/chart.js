/** Bars with whiskers: a picture beside the table, which says the same in words. */

const SVG = "http://www.w3.org/2000/svg";
const MIDDLE = 14;

function make(name, fields, words) {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(fields)) element.setAttribute(key, value);
  if (words !== undefined) element.textContent = words;
  return element;
}

/** Labels are text of the page above their bars, and lengths are shares of its width: both fit. */
export function chart(rows) {
  const left = Math.min(...rows.map((r) => Math.min(r.low, r.value - r.error)));
  const right = Math.max(...rows.map((r) => Math.max(r.high, r.value + r.error)));
  const share = (value) => (100 * (value - left)) / (right - left);
  const x = (value) => `${share(value)}%`;
  const line = (a, b, top, bottom) => make("line", { x1: x(a), x2: x(b), y1: top, y2: bottom });

  const picture = document.createElement("div");
  picture.setAttribute("aria-hidden", "true");
  for (const row of rows) {
    const label = document.createElement("div");
    label.className = "label";
    label.textContent = row.label;
    const [from, to] = [Math.min(row.low, row.value), Math.max(row.low, row.value)];
    const [a, b] = [row.value - row.error, row.value + row.error];
    const whisker = make("g", { class: "whisker" });
    whisker.append(
      line(a, b, MIDDLE, MIDDLE), line(a, a, MIDDLE - 8, MIDDLE + 8), line(b, b, MIDDLE - 8, MIDDLE + 8),
    );
    const svg = make("svg", { height: 2 * MIDDLE });
    const width = `max(1px, ${share(to) - share(from)}%)`;
    const bar = make("rect", { x: x(from), y: MIDDLE - 10, height: 20, class: "bar" });
    bar.style.width = width;
    svg.append(bar, whisker);
    picture.append(label, svg);
  }
  const axis = make("svg", { height: 26 });
  axis.append(make("line", { x1: 0, x2: "100%", y1: 1, y2: 1, class: "axis" }));
  for (const at of [rows[0].low, rows[0].high]) {
    const anchor = share(at) < 10 ? "start" : share(at) > 90 ? "end" : "middle";
    axis.append(make("text", { x: x(at), y: 20, "text-anchor": anchor }, String(at)));
  }
  picture.append(axis);
  return picture;
}
