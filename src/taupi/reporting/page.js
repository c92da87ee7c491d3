"use strict";
// Zooming: drag over a chart to choose a time span, double-click to see all of it. Charts of one group move together.
(function () {
  const NS = "http://www.w3.org/2000/svg", first = document.querySelector("figure.chart svg");
  if (!first) return;
  const [, , SPAN, TALL] = numbersOf(first.querySelector(".view"));
  const [, , W, H] = numbersOf(first), place = first.querySelector(".frame");
  const [L, T, w, h] = ["x", "y", "width", "height"].map((k) => Number(place.getAttribute(k))), R = W - L - w, B = H - T - h;
  function numbersOf(svg) { return svg.getAttribute("viewBox").split(" ").map(Number); }
  const pair = (text) => text.split(" ").map(Number);
  const charts = Array.from(document.querySelectorAll("figure.chart"), function (figure) {
    const svg = figure.querySelector("svg");
    return { figure, svg, view: svg.querySelector(".view"), axes: svg.querySelector(".axes"), out: figure.querySelector("output"),
      group: figure.dataset.group, span: pair(figure.dataset.span), range: pair(figure.dataset.range), log: figure.dataset.scale === "log",
      seen: [0, SPAN], lines: null };
  });
  function lines(c) {  // read when first needed: names, and points as numbers
    if (!c.lines) {
      const names = Array.from(c.figure.querySelectorAll(".key"), (k) => k.textContent);
      const classes = Array.from(c.figure.querySelectorAll(".key"), (k) => k.classList[1]);
      c.lines = Array.from(c.view.querySelectorAll("polyline"), function (p) {
        const numbers = p.getAttribute("points").split(/[ ,]/).map(Number);
        return { name: names[classes.indexOf(p.classList[0])], x: numbers.filter((_, i) => i % 2 === 0), y: numbers.filter((_, i) => i % 2) };
      });
    }
    return c.lines;
  }
  function ticks(low, high, about) {
    const rough = (high - low) / about, unit = Math.pow(10, Math.floor(Math.log10(rough)));
    const step = [1, 2, 5, 10].map((k) => k * unit).find((s) => s >= 0.8 * rough), values = [];
    for (let k = Math.ceil(low / step - 1e-9); k <= Math.floor(high / step + 1e-9); k++) values.push(Number((k * step).toPrecision(12)));
    return values;
  }
  const time = (c, x) => c.span[0] + (c.span[1] - c.span[0]) * x / SPAN;
  const at10 = (c, v) => c.log ? Math.pow(10, v) : v;
  function label(c, v) {  // a number beside the axis, in few characters
    if (!c.log) return String(v);
    const size = Number(Math.pow(10, v).toPrecision(3));
    return size >= 1e-3 && size < 1e5 ? String(size) : size.toExponential().replace("+", "");
  }
  function logTicks(low, high) {
    const every = Math.max(1, Math.ceil((high - low) / 6)), tens = [], finer = [];
    for (let k = Math.ceil(low); k <= Math.floor(high); k++) if (k % every === 0) tens.push(k);
    if (tens.length > 2) return tens;
    for (let k = Math.floor(low); k <= Math.floor(high); k++) for (const m of [1, 2, 5]) { const v = k + Math.log10(m); if (v >= low && v <= high) finer.push(v); }
    return finer.length > 1 ? finer : ticks(low, high, 4);
  }
  const value = (c, y) => c.range[1] - (c.range[1] - c.range[0]) * y / TALL;
  function put(parent, tag, attributes, text) {
    const e = document.createElementNS(NS, tag);
    for (const k in attributes) e.setAttribute(k, attributes[k]);
    if (text !== undefined) e.textContent = text;
    parent.appendChild(e);
    return e;
  }
  function show(c, a, b) {
    let top = Infinity, low = -Infinity;
    for (const line of lines(c)) line.x.forEach(function (x, i) { if (x >= a && x <= b) { top = Math.min(top, line.y[i]); low = Math.max(low, line.y[i]); } });
    const all = a <= 0 && b >= SPAN, room = Math.max(0.05 * (low - top), 5);
    if (all || !(low >= top)) { top = 0; low = TALL; } else { top -= room; low += room; }
    c.seen = [a, b];
    c.view.setAttribute("viewBox", [a, top, b - a, low - top].join(" "));
    c.axes.replaceChildren();
    const t0 = time(c, a), t1 = time(c, b), hi = value(c, top), lo = value(c, low);
    for (const t of ticks(t0, t1, 8)) {
      const x = L + w * (t - t0) / (t1 - t0);
      put(c.axes, "line", { x1: x, x2: x, y1: T, y2: T + h });
      put(c.axes, "text", { x: x, y: H - 9, class: "t" }, String(t));
    }
    for (const v of c.log ? logTicks(lo, hi) : ticks(lo, hi, 4)) {
      const y = T + h * (hi - v) / (hi - lo);
      put(c.axes, "line", { x1: L, x2: L + w, y1: y, y2: y });
      put(c.axes, "text", { x: L - 6, y: y + 6, class: "y" }, label(c, v));
    }
  }
  function together(c, a, b) { charts.filter((o) => o.group === c.group).forEach((o) => show(o, a, b)); }
  for (const c of charts) {
    const frame = c.svg.querySelector(".frame");
    const at = function (event) {  // where the pointer is, 0 .. 1 of the plot
      const box = c.svg.getBoundingClientRect();
      return Math.min(1, Math.max(0, ((event.clientX - box.left) / box.width * W - L) / (W - L - R)));
    };
    const inside = (u) => c.seen[0] + u * (c.seen[1] - c.seen[0]);
    let from = null, mark = null, cursor = null;
    frame.addEventListener("pointerdown", function (event) { from = at(event); frame.setPointerCapture(event.pointerId); });
    const read = function (event) {
      const u = at(event), x = inside(u);
      if (!cursor) cursor = put(c.svg, "line", { class: "cursor", y1: T, y2: H - B, "pointer-events": "none" });
      cursor.setAttribute("x1", L + u * (W - L - R)); cursor.setAttribute("x2", L + u * (W - L - R));
      const said = [];
      for (const line of lines(c)) {
        let i = 0, j = line.x.length - 1;
        while (j - i > 1) { const m = (i + j) >> 1; if (line.x[m] <= x) i = m; else j = m; }
        const k = Math.abs(line.x[i] - x) < Math.abs(line.x[j] - x) ? i : j;
        if (line.x[0] <= x + 1 && line.x[line.x.length - 1] >= x - 1) said.push(line.name + " " + at10(c, value(c, line.y[k])).toPrecision(4));
      }
      c.out.textContent = time(c, x).toPrecision(5) + " s: " + said.join(", ");
      if (from !== null) {
        if (!mark) mark = put(c.svg, "rect", { class: "chosen", y: T, height: H - T - B, "pointer-events": "none" });
        mark.setAttribute("x", L + Math.min(u, from) * (W - L - R)); mark.setAttribute("width", Math.abs(u - from) * (W - L - R));
      }
    };
    frame.addEventListener("pointermove", read);
    frame.addEventListener("pointerleave", function () { c.out.textContent = ""; if (cursor) { cursor.remove(); cursor = null; } });
    frame.addEventListener("pointerup", function (event) {
      const u = at(event), a = inside(Math.min(u, from)), b = inside(Math.max(u, from));
      if (mark) { mark.remove(); mark = null; }
      if (from !== null && Math.abs(u - from) > 0.01 && b - a > 20) together(c, a, b);
      from = null;
      read(event);  // another time is below the pointer now
    });
    frame.addEventListener("dblclick", function (event) { together(c, 0, SPAN); read(event); });
  }
  document.addEventListener("film", function (event) {  // a film of the arm shows where it is
    for (const c of charts) {
      const x = (event.detail - c.span[0]) / (c.span[1] - c.span[0]) * SPAN, u = (x - c.seen[0]) / (c.seen[1] - c.seen[0]);
      if (!c.now) c.now = put(c.svg, "line", { class: "now", y1: T, y2: H - B, "pointer-events": "none" });
      c.now.setAttribute("visibility", u >= 0 && u <= 1 ? "visible" : "hidden");
      c.now.setAttribute("x1", L + u * w); c.now.setAttribute("x2", L + u * w);
    }
  });
})();
