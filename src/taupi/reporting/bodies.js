// Bodies of an arm: ellipsoids seen from far away are ellipses; a drag, or the arrow keys, turn the arm.
(function () {
  for (const figure of document.querySelectorAll("figure.bodies")) {
    const data = JSON.parse(figure.querySelector("script").textContent), svg = figure.querySelector("svg");
    const tubes = svg.querySelectorAll(".tube"), shapes = svg.querySelectorAll("ellipse");
    let [azimuth, elevation] = data.view, from = null;
    function draw() {
      const ca = Math.cos(azimuth), sa = Math.sin(azimuth), ce = Math.cos(elevation), se = Math.sin(elevation);
      const project = (p) => [-sa * p[0] + ca * p[1], se * (ca * p[0] + sa * p[1]) - ce * p[2]];
      data.tubes.forEach((t, k) => tubes[k].setAttribute("d", "M" + t.map((p) => project(p).map((v) => v.toFixed(0)).join(" ")).join("L")));
      data.bodies.forEach(function (body, k) {
        const [x, y] = project(body.centre), A = body.shape, columns = [0, 1, 2].map((j) => project([A[0][j], A[1][j], A[2][j]]));
        let xx = 0, xy = 0, yy = 0;
        for (const [u, v] of columns) { xx += u * u; xy += u * v; yy += v * v; }
        const mean = (xx + yy) / 2, spread = Math.hypot((xx - yy) / 2, xy), turn = 0.5 * Math.atan2(2 * xy, xx - yy) * 180 / Math.PI;
        shapes[k].setAttribute("rx", Math.sqrt(mean + spread).toFixed(0));
        shapes[k].setAttribute("ry", Math.sqrt(Math.max(0, mean - spread)).toFixed(0));
        shapes[k].setAttribute("transform", "translate(" + x.toFixed(0) + " " + y.toFixed(0) + ") rotate(" + turn.toFixed(1) + ")");
      });
    }
    function turn(a, e) { azimuth = a; elevation = Math.max(-1.5, Math.min(1.5, e)); draw(); }
    svg.addEventListener("pointerdown", function (event) { from = [event.clientX, event.clientY, azimuth, elevation]; svg.setPointerCapture(event.pointerId); });
    svg.addEventListener("pointermove", (event) => { if (from) turn(from[2] - (event.clientX - from[0]) / 120, from[3] + (event.clientY - from[1]) / 120); });
    for (const end of ["pointerup", "pointercancel"]) svg.addEventListener(end, () => { from = null; });
    svg.addEventListener("keydown", function (event) {
      const step = { ArrowLeft: [0.1, 0], ArrowRight: [-0.1, 0], ArrowUp: [0, 0.1], ArrowDown: [0, -0.1] }[event.key];
      if (step) { turn(azimuth + step[0], elevation + step[1]); event.preventDefault(); }
    });
    draw();
  }
})();
