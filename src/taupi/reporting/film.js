// Films of arms: points in whole numbers about the middle, turned and drawn as paths; play, stop, a slider, and a drag to turn.
(function () {
  for (const figure of document.querySelectorAll("figure.film")) {
    const film = JSON.parse(figure.querySelector("script").textContent), svg = figure.querySelector("svg");
    const button = figure.querySelector("button"), slider = figure.querySelector("input"), out = figure.querySelector("output");
    let [azimuth, elevation] = film.view, now = film.stop, playing = false, before = null;
    const NS = "http://www.w3.org/2000/svg";
    svg.replaceChildren();
    function path(style) { const p = document.createElementNS(NS, "path"); p.setAttribute("class", style); svg.appendChild(p); return p; }
    function tube(group, width) { const p = document.createElementNS(NS, "path"); p.setAttribute("stroke-width", width); group.appendChild(p); return p; }
    function tubes() {  // seen from far away, a capsule is a line as broad as it is thick
      const group = document.createElementNS(NS, "g");
      group.setAttribute("class", "capsules");
      svg.appendChild(group);
      return film.capsules.map((c) => tube(group, c[2]));
    }
    const floor = path("floor");
    const drawn = film.arms.map((arm) => ({ frames: arm.frames, end: arm.end, tubes: tubes(), trail: path("trail " + arm.style),
      link: path("link " + arm.style), joint: arm.style === "ghost" ? null : path("joint " + arm.style), hub: arm.style === "ghost" ? null : path("hub") }));
    function project(x, y, z) {
      if (film.plane) { const p = [x, y, z]; return [p[film.plane[0]], -p[film.plane[1]]]; }
      const ca = Math.cos(azimuth), sa = Math.sin(azimuth), ce = Math.cos(elevation), se = Math.sin(elevation);
      return [-sa * x + ca * y, se * (ca * x + sa * y) - ce * z];
    }
    const coordinates = (p) => p[0].toFixed(0) + " " + p[1].toFixed(0);
    function at(arm, t) {  // all points at a time, between frames evenly
      const u = t / film.stop * (arm.frames.length - 1), i = Math.min(Math.floor(u), arm.frames.length - 2), w = u - i;
      const a = arm.frames[i], b = arm.frames[i + 1], points = [];
      for (let k = 0; k < a.length; k += 3) points.push(project(a[k] + w * (b[k] - a[k]), a[k + 1] + w * (b[k + 1] - a[k + 1]), a[k + 2] + w * (b[k + 2] - a[k + 2])));
      return points;
    }
    function show() {
      for (const arm of drawn) {
        for (const part of [...arm.tubes, arm.trail, arm.link, arm.joint, arm.hub]) if (part) part.setAttribute("visibility", now <= arm.end ? "visible" : "hidden");
        const points = at(arm, now);
        arm.link.setAttribute("d", film.links.map((l) => "M" + l.map((k) => coordinates(points[k])).join("L")).join(""));
        film.capsules.forEach((c, k) => arm.tubes[k].setAttribute("d", "M" + coordinates(points[c[0]]) + "L" + coordinates(points[c[1]])));
        const dots = film.joints.map((k) => "M" + coordinates(points[k]) + "h0").join("");
        if (arm.joint) { arm.joint.setAttribute("d", dots); arm.hub.setAttribute("d", dots); }
        const trail = [], last = Math.round(now / film.stop * (arm.frames.length - 1)), first = Math.max(0, last - Math.ceil(1.5 / film.stop * (arm.frames.length - 1)));
        for (let i = first; i <= last; i++) { const f = arm.frames[i], k = 3 * film.tip; trail.push(coordinates(project(f[k], f[k + 1], f[k + 2]))); }
        arm.trail.setAttribute("d", trail.length > 1 ? "M" + trail.join("L") : "");
      }
      if (film.floor !== null) {
        const lines = [], r = film.fine, step = r / 3, [bx, by] = film.base;
        for (let k = -3; k <= 3; k++) {
          lines.push("M" + coordinates(project(bx + k * step, by - r, film.floor)) + "L" + coordinates(project(bx + k * step, by + r, film.floor)));
          lines.push("M" + coordinates(project(bx - r, by + k * step, film.floor)) + "L" + coordinates(project(bx + r, by + k * step, film.floor)));
        }
        floor.setAttribute("d", lines.join(""));
      }
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
    button.addEventListener("click", () => set(!playing));
    slider.addEventListener("input", function () { set(false); now = Number(slider.value); show(); });
    let from = null;
    svg.addEventListener("pointerdown", function (event) { if (!film.plane) { from = [event.clientX, event.clientY, azimuth, elevation]; svg.setPointerCapture(event.pointerId); } });
    svg.addEventListener("pointermove", function (event) {
      if (!from) return;
      azimuth = from[2] - (event.clientX - from[0]) / 120;
      elevation = Math.max(-1.5, Math.min(1.5, from[3] + (event.clientY - from[1]) / 120));
      show();
    });
    svg.addEventListener("pointerup", () => { from = null; });
    show();
  }
})();
