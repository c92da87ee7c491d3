// Films of arms: points in whole numbers about the middle, turned, lit and painted from far to near; play, stop, a slider, and a drag to turn.
(function () {
  const SIDES = 10, RING = Array.from({ length: SIDES }, (_, k) => [Math.cos(2 * Math.PI * k / SIDES), Math.sin(2 * Math.PI * k / SIDES)]);
  const dot = (a, b) => a[0] * b[0] + a[1] * b[1] + a[2] * b[2], plus = (a, b, s) => [a[0] + s * b[0], a[1] + s * b[1], a[2] + s * b[2]];
  const cross = (a, b) => [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]];
  const unit = (a) => { const n = Math.hypot(a[0], a[1], a[2]) || 1; return [a[0] / n, a[1] / n, a[2] / n]; };
  for (const figure of document.querySelectorAll("figure.film")) {
    const film = JSON.parse(figure.querySelector("script").textContent), still = figure.querySelector("svg");
    const button = figure.querySelector("button"), slider = figure.querySelector("input"), out = figure.querySelector("output");
    const size = Number(still.getAttribute("viewBox").split(" ")[2]), canvas = document.createElement("canvas"), pen = canvas.getContext("2d");
    let [azimuth, elevation] = film.view, now = 0, playing = false, before = null, right, up, near, light;
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", still.getAttribute("aria-label"));
    canvas.tabIndex = 0;
    still.replaceWith(canvas);
    function look() {  // right and up on the page, and towards the eye
      if (film.plane) { const e = [[1, 0, 0], [0, 1, 0], [0, 0, 1]]; right = e[film.plane[0]]; up = e[film.plane[1]]; near = cross(right, up); } else {
        const ca = Math.cos(azimuth), sa = Math.sin(azimuth), ce = Math.cos(elevation), se = Math.sin(elevation);
        right = [-sa, ca, 0]; up = [-se * ca, -se * sa, ce]; near = [ce * ca, ce * sa, se];
      }
      light = unit(plus(plus([0.9 * near[0], 0.9 * near[1], 0.9 * near[2]], up, 0.6), right, -0.35));
    }
    const flat = (p) => [dot(right, p), -dot(up, p)];
    function colour(name) {  // of the style sheet, as numbers
      const text = getComputedStyle(figure).getPropertyValue("--" + name).trim();
      return [1, 3, 5].map((k) => parseInt(text.slice(k, k + 2), 16));
    }
    const shaded = (rgb, f) => "rgb(" + rgb.map((v) => Math.round(f < 1 ? v * f : v + (255 - v) * (f - 1))).join(",") + ")";
    function at(arm, t) {  // all points at a time, interpolated between frames
      const u = t / film.stop * (arm.frames.length - 1), i = Math.min(Math.floor(u), arm.frames.length - 2), w = u - i;
      const a = arm.frames[i], b = arm.frames[i + 1], points = [];
      for (let k = 0; k < a.length; k += 3) points.push([a[k] + w * (b[k] - a[k]), a[k + 1] + w * (b[k + 1] - a[k + 1]), a[k + 2] + w * (b[k + 2] - a[k + 2])]);
      return points;
    }
    function face(faces, corners, rgb, bright) {
      const normal = unit(cross(plus(corners[1], corners[0], -1), plus(corners[2], corners[0], -1)));
      let depth = 0;
      for (const p of corners) depth += dot(near, p);
      faces.push({ depth: depth / corners.length, corners: corners.map(flat), ink: shaded(rgb, bright * (0.42 + 0.68 * Math.abs(dot(normal, light)))) });
    }
    function tube(faces, a, b, r, rgb, bright) {  // in pieces, so that depth is sorted along it
      const axis = plus(b, a, -1), length = Math.hypot(axis[0], axis[1], axis[2]);
      if (length < 1) return;
      const z = unit(axis), x = unit(cross(z, Math.abs(z[2]) < 0.9 ? [0, 0, 1] : [1, 0, 0])), y = cross(z, x), pieces = Math.max(1, Math.ceil(length / (6 * r)));
      const ring = (s) => RING.map(([c, d]) => plus(plus(plus(a, z, s * length), x, r * c), y, r * d));
      for (let k = 0, low = ring(0); k < pieces; k++) {
        const high = ring((k + 1) / pieces);
        for (let i = 0; i < SIDES; i++) { const j = (i + 1) % SIDES; face(faces, [low[i], low[j], high[j], high[i]], rgb, bright); }
        low = high;
      }
    }
    function solid(faces, arm, points) {
      const rgb = colour(arm.style), r = film.tube;
      if (film.surfaces.length) {
        for (const s of film.surfaces) {
          const o = points[s.at[0]], x = plus(points[s.at[1]], o, -1), y = plus(points[s.at[2]], o, -1), ex = unit(x), ey = unit(plus(y, ex, -dot(y, ex))), ez = cross(ex, ey);
          const placed = [];
          for (let k = 0; k < s.vertices.length; k += 3) placed.push(plus(plus(plus(o, ex, s.vertices[k]), ey, s.vertices[k + 1]), ez, s.vertices[k + 2]));
          for (let k = 0; k < s.faces.length; k += 3) face(faces, [placed[s.faces[k]], placed[s.faces[k + 1]], placed[s.faces[k + 2]]], rgb, 1);
        }
        return;
      }
      for (const link of film.links) for (let k = 1; k < link.length; k++) tube(faces, points[link[k - 1]], points[link[k]], r, rgb, 1.05);
      for (const link of film.links) for (const k of link) faces.push({ depth: dot(near, points[k]), ball: flat(points[k]), r: r, rgb: rgb });
      for (const k of film.joints) faces.push({ depth: dot(near, points[k]) + 2 * r, ball: flat(points[k]), r: 1.5 * r, rgb: rgb });
    }
    function path(points, width, ink, alpha, closed) {
      pen.beginPath();
      points.forEach((p, k) => k ? pen.lineTo(p[0], p[1]) : pen.moveTo(p[0], p[1]));
      if (closed) pen.closePath();
      pen.globalAlpha = alpha; pen.lineWidth = width; pen.strokeStyle = ink; pen.stroke(); pen.globalAlpha = 1;
    }
    function paint(faces, fine) {
      faces.sort((a, b) => a.depth - b.depth);
      for (const f of faces) {
        if (f.ball) {
          const [x, y] = f.ball, g = pen.createRadialGradient(x - 0.35 * f.r, y - 0.45 * f.r, 0.1 * f.r, x, y, f.r);
          g.addColorStop(0, shaded(f.rgb, 1.25)); g.addColorStop(1, shaded(f.rgb, 0.62));
          pen.fillStyle = g; pen.beginPath(); pen.arc(x, y, f.r, 0, 7); pen.fill();
          continue;
        }
        pen.beginPath();
        f.corners.forEach((p, k) => k ? pen.lineTo(p[0], p[1]) : pen.moveTo(p[0], p[1]));
        pen.closePath(); pen.fillStyle = pen.strokeStyle = f.ink; pen.lineWidth = fine; pen.fill(); pen.stroke();  // the stroke closes the seams
      }
    }
    function floorLines() {
      if (film.floor === null) return;
      const r = film.fine, step = r / 3, [bx, by] = film.base, ink = getComputedStyle(figure).getPropertyValue("--rule");
      for (let k = -3; k <= 3; k++) {
        path([flat([bx + k * step, by - r, film.floor]), flat([bx + k * step, by + r, film.floor])], 8, ink, 1);
        path([flat([bx - r, by + k * step, film.floor]), flat([bx + r, by + k * step, film.floor])], 8, ink, 1);
      }
    }
    function trail(arm) {
      const line = [], last = Math.round(now / film.stop * (arm.frames.length - 1)), first = Math.max(0, last - Math.ceil(1.5 / film.stop * (arm.frames.length - 1)));
      for (let i = first; i <= last; i++) { const f = arm.frames[i], k = 3 * film.tip; line.push(flat([f[k], f[k + 1], f[k + 2]])); }
      if (line.length > 1) path(line, 18, "rgb(" + colour(arm.style) + ")", 0.55);
    }
    function show() {
      const box = canvas.getBoundingClientRect(), side = Math.max(1, Math.round((box.width || 500) * (window.devicePixelRatio || 1)));
      if (canvas.width !== side) canvas.width = canvas.height = side;
      look();
      pen.setTransform(1, 0, 0, 1, 0, 0); pen.clearRect(0, 0, side, side);
      pen.setTransform(side / size, 0, 0, side / size, side / 2, side / 2);
      pen.lineCap = pen.lineJoin = "round";
      floorLines();
      const faces = [], capsules = [];
      for (const arm of film.arms) {
        if (now > arm.end) continue;
        const points = at(arm, now);
        trail(arm);
        if (arm.style === "ghost") film.links.forEach((l) => path(l.map((k) => flat(points[k])), 1.1 * film.tube, "rgb(" + colour("ghost") + ")", 0.8));
        else solid(faces, arm, points);
        for (const c of film.capsules) capsules.push([flat(points[c[0]]), flat(points[c[1]]), c[2]]);
      }
      paint(faces, size / side);
      for (const [a, b, wide] of capsules) path([a, b], wide, "rgb(" + colour("residual") + ")", 0.22);
      slider.value = now;
      out.textContent = now.toFixed(2) + " s";
      document.dispatchEvent(new CustomEvent("film", { detail: now }));
    }
    function tick(stamp) {
      if (!playing) return;
      now = Math.min(film.stop, now + (before === null ? 0 : (stamp - before) / 1000));
      before = stamp;
      show();
      if (now >= film.stop) set(false); else requestAnimationFrame(tick);
    }
    function set(on) {
      playing = on;
      before = null;
      button.textContent = on ? "stop" : "play";
      if (on) { if (now >= film.stop) now = 0; requestAnimationFrame(tick); }
    }
    function turn(a, e) { if (film.plane) return; azimuth = a; elevation = Math.max(-1.5, Math.min(1.5, e)); show(); }
    button.addEventListener("click", () => set(!playing));
    slider.addEventListener("input", function () { set(false); now = Number(slider.value); show(); });
    let from = null;
    canvas.addEventListener("pointerdown", function (event) { from = [event.clientX, event.clientY, azimuth, elevation]; canvas.setPointerCapture(event.pointerId); });
    canvas.addEventListener("pointermove", (event) => { if (from) turn(from[2] - (event.clientX - from[0]) / 120, from[3] + (event.clientY - from[1]) / 120); });
    for (const end of ["pointerup", "pointercancel"]) canvas.addEventListener(end, () => { from = null; });
    canvas.addEventListener("keydown", function (event) {
      const step = { ArrowLeft: [0.1, 0], ArrowRight: [-0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] }[event.key];
      if (step) { turn(azimuth + step[0], elevation + step[1]); event.preventDefault(); }
    });
    window.addEventListener("resize", show);
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", show);
    show();
  }
})();
