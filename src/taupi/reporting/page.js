"use strict";
// Charts: drag over one to choose a span, double-click to see everything; the same by keys. Charts of one group move together.
(function () {
  const NS = "http://www.w3.org/2000/svg", WIDE = 960, NARROW = 500, SMALL = 480;  // pixels below which a chart has fewer, larger labels
  const pair = (text) => text.split(" ").map(Number);
  const numberOf = (element, key) => Number(element.getAttribute(key));
  const charts = Array.from(document.querySelectorAll("figure.chart"), function (figure) {
    const svg = figure.querySelector("svg"), view = svg.querySelector(".view"), frame = svg.querySelector(".frame");
    const [, , span, tall] = pair(view.getAttribute("viewBox")), H = pair(svg.getAttribute("viewBox"))[3];
    const left = numberOf(frame, "x"), top = numberOf(frame, "y"), height = numberOf(frame, "height");
    const c = { figure, svg, view, frame, axes: svg.querySelector(".axes"), out: figure.querySelector("output"), group: figure.dataset.group,
      span: pair(figure.dataset.span), range: pair(figure.dataset.range), units: (figure.dataset.units || "|").split("|"), log: figure.dataset.scale === "log",
      SPAN: span, TALL: tall, H, L: left, T: top, h: height, R: WIDE - left - numberOf(frame, "width"), W: WIDE, w: 0, seen: [0, span], lines: null, place: null };
    c.w = c.W - c.L - c.R;
    return c;
  });
  if (!charts.length) return;
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
  function logTicks(low, high) {
    const every = Math.max(1, Math.ceil((high - low) / 6)), tens = [], finer = [];
    for (let k = Math.ceil(low); k <= Math.floor(high); k++) if (k % every === 0) tens.push(k);
    if (tens.length > 2) return tens;
    for (let k = Math.floor(low); k <= Math.floor(high); k++) for (const m of [1, 2, 5]) { const v = k + Math.log10(m); if (v >= low && v <= high) finer.push(v); }
    return finer.length > 1 ? finer : ticks(low, high, 4);
  }
  const time = (c, x) => c.span[0] + (c.span[1] - c.span[0]) * x / c.SPAN;
  const value = (c, y) => c.range[1] - (c.range[1] - c.range[0]) * y / c.TALL;
  const at10 = (c, v) => c.log ? Math.pow(10, v) : v;
  function label(c, v) {  // a number beside the axis, in few characters
    if (!c.log) return String(v);
    const size = Number(Math.pow(10, v).toPrecision(3));
    return size >= 1e-3 && size < 1e5 ? String(size) : size.toExponential().replace("+", "");
  }
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
    const all = a <= 0 && b >= c.SPAN, room = Math.max(0.05 * (low - top), 5);
    if (all || !(low >= top)) { top = 0; low = c.TALL; } else { top -= room; low += room; }
    c.seen = [a, b];
    c.view.setAttribute("viewBox", [a, top, b - a, low - top].join(" "));
    c.axes.replaceChildren();
    const t0 = time(c, a), t1 = time(c, b), hi = value(c, top), lo = value(c, low), across = ticks(t0, t1, c.W < WIDE ? 4 : 8);
    across.forEach(function (t, k) {
      const x = c.L + c.w * (t - t0) / (t1 - t0);
      put(c.axes, "line", { x1: x, x2: x, y1: c.T, y2: c.T + c.h });
      put(c.axes, "text", { x: x, y: c.H - 9, class: "t" }, String(t) + (c.units[0] && k === across.length - 1 ? " " + c.units[0] : ""));
    });
    for (const v of c.log ? logTicks(lo, hi) : ticks(lo, hi, c.h > 200 ? 4 : 3)) {
      const y = c.T + c.h * (hi - v) / (hi - lo);
      put(c.axes, "line", { x1: c.L, x2: c.L + c.w, y1: y, y2: y });
      put(c.axes, "text", { x: c.L - 6, y: y + 6, class: "y" }, label(c, v));
    }
    const middle = c.T + c.h / 2;
    if (c.units[1]) put(c.axes, "text", { x: 18, y: middle, class: "t", transform: "rotate(-90 18 " + middle + ")" }, c.units[1]);
    if (c.now) placeNow(c);
  }
  function fitted(c) {  // on a phone a chart is as high as elsewhere, and its labels stay readable
    const wide = c.svg.getBoundingClientRect().width, W = wide > 0 && wide < SMALL ? NARROW : WIDE;
    if (W === c.W) return;
    c.W = W; c.w = W - c.L - c.R;
    c.svg.setAttribute("viewBox", "0 0 " + W + " " + c.H);
    for (const part of [c.view, c.frame]) part.setAttribute("width", c.w);
    show(c, c.seen[0], c.seen[1]);
  }
  function together(c, a, b) { charts.filter((o) => o.group === c.group).forEach((o) => show(o, a, b)); }
  const mates = (c) => { const box = c.figure.closest(".pair"); return box ? charts.filter((o) => box.contains(o.figure)) : [c]; };
  function read(c, u) {  // the numbers at a place of the plot, 0 .. 1; a chart and the strip below it are read together
    const beside = mates(c), said = beside.flatMap((o) => cursorAt(o, u)), x = c.seen[0] + u * (c.seen[1] - c.seen[0]);
    beside[beside.length - 1].out.textContent = time(c, x).toPrecision(5) + (c.units[0] ? " " + c.units[0] : "") + ": " + said.join(", ");
  }
  function cursorAt(c, u) {  // moves the cursor, and returns what is said of each line
    const x = c.seen[0] + u * (c.seen[1] - c.seen[0]), at = c.L + u * c.w, said = [];
    if (!c.cursor) c.cursor = put(c.svg, "line", { class: "cursor", y1: c.T, y2: c.T + c.h, "pointer-events": "none" });
    c.cursor.setAttribute("x1", at); c.cursor.setAttribute("x2", at);
    c.place = u;
    for (const line of lines(c)) {
      let i = 0, j = line.x.length - 1;
      while (j - i > 1) { const m = (i + j) >> 1; if (line.x[m] <= x) i = m; else j = m; }
      const k = Math.abs(line.x[i] - x) < Math.abs(line.x[j] - x) ? i : j;
      if (line.x[0] <= x + 1 && line.x[line.x.length - 1] >= x - 1) said.push(line.name + " " + at10(c, value(c, line.y[k])).toPrecision(4));
    }
    return said;
  }
  function forget(chart) { mates(chart).forEach(forgotten); }
  function forgotten(c) { c.out.textContent = ""; c.place = null; if (c.cursor) { c.cursor.remove(); c.cursor = null; } }
  for (const c of charts) {
    const at = function (event) {  // where the pointer is, 0 .. 1 of the plot
      const box = c.svg.getBoundingClientRect();
      return Math.min(1, Math.max(0, ((event.clientX - box.left) / box.width * c.W - c.L) / c.w));
    };
    const inside = (u) => c.seen[0] + u * (c.seen[1] - c.seen[0]);
    let from = null, mark = null;
    c.frame.addEventListener("pointerdown", function (event) { from = at(event); c.frame.setPointerCapture(event.pointerId); });
    c.frame.addEventListener("pointermove", function (event) {
      const u = at(event);
      read(c, u);
      if (from === null) return;
      if (!mark) mark = put(c.svg, "rect", { class: "chosen", y: c.T, height: c.h, "pointer-events": "none" });
      mark.setAttribute("x", c.L + Math.min(u, from) * c.w); mark.setAttribute("width", Math.abs(u - from) * c.w);
    });
    const drop = function () { if (mark) { mark.remove(); mark = null; } from = null; };
    c.frame.addEventListener("pointerleave", () => forget(c));
    c.frame.addEventListener("pointercancel", drop);
    c.frame.addEventListener("pointerup", function (event) {
      if (from === null) return;
      const u = at(event), start = from, a = inside(Math.min(u, from)), b = inside(Math.max(u, from));
      drop();
      if (Math.abs(u - start) > 0.01 && b - a > 20) together(c, a, b);
      read(c, u);  // another time is below the pointer now
    });
    c.frame.addEventListener("dblclick", function (event) { together(c, 0, c.SPAN); read(c, at(event)); });
    c.svg.addEventListener("blur", () => forget(c));
    c.svg.addEventListener("keydown", function (event) {
      const u = c.place === null ? 0.5 : c.place, step = event.shiftKey ? 0.1 : 0.01, wide = c.seen[1] - c.seen[0];
      const zoom = function (factor) {
        const next = Math.min(c.SPAN, factor * wide), a = Math.min(c.SPAN - next, Math.max(0, inside(u) - next / 2));
        if (next > 20) together(c, a, a + next);
        return c.seen[1] > c.seen[0] ? (Math.min(c.seen[1], Math.max(c.seen[0], inside0)) - c.seen[0]) / (c.seen[1] - c.seen[0]) : 0.5;
      };
      const inside0 = inside(u);
      if (event.key === "ArrowLeft" || event.key === "ArrowRight") read(c, Math.min(1, Math.max(0, u + (event.key === "ArrowLeft" ? -step : step))));
      else if (event.key === "+" || event.key === "=") read(c, zoom(0.5));
      else if (event.key === "-") read(c, zoom(2));
      else if (event.key === "Escape") { together(c, 0, c.SPAN); read(c, inside0 / c.SPAN); }
      else return;
      event.preventDefault();
    });
    fitted(c);
  }
  window.addEventListener("resize", () => charts.forEach(fitted));
  let shown = 0;
  function placeNow(c) {
    const x = (shown - c.span[0]) / (c.span[1] - c.span[0]) * c.SPAN, u = (x - c.seen[0]) / (c.seen[1] - c.seen[0]);
    c.now.setAttribute("visibility", u >= 0 && u <= 1 ? "visible" : "hidden");
    c.now.setAttribute("x1", c.L + u * c.w); c.now.setAttribute("x2", c.L + u * c.w);
  }
  document.addEventListener("film", function (event) {  // a film of the arm shows where it is
    shown = event.detail;
    for (const c of charts) {
      if (!c.now) c.now = put(c.svg, "line", { class: "now", y1: c.T, y2: c.T + c.h, "pointer-events": "none" });
      placeNow(c);
    }
  });
})();
