// chart.js   curves over steps on a canvas. A curve has a color, the name of a CSS variable, and
// points, [[step, y], ...]
"use strict";

// Draws the curves. log: y on a logarithmic axis; else from 0 to 1, as per cent.
function drawChart(canvas, curves, log) {
  const style = getComputedStyle(canvas),
    scale = devicePixelRatio || 1;
  const width = canvas.clientWidth,
    height = canvas.clientHeight;
  if (!width) return;
  ((canvas.width = width * scale), (canvas.height = height * scale));
  const g = canvas.getContext("2d");
  g.scale(scale, scale);
  const box = { left: 44, right: width - 18, top: 8, bottom: height - 22 };
  const axes = chartAxes(curves, log);
  const x = (step) => box.left + ((box.right - box.left) * step) / axes.steps;
  const y = (value) => box.bottom - (box.bottom - box.top) * axes.place(value);
  g.font = "12px system-ui, sans-serif";
  ((g.fillStyle = style.getPropertyValue("--dim")),
    (g.strokeStyle = style.getPropertyValue("--line")));
  ((g.textAlign = "right"), (g.textBaseline = "middle"));
  for (const mark of axes.marks) {
    (g.beginPath(), g.moveTo(box.left, y(mark)), g.lineTo(box.right, y(mark)), g.stroke());
    g.fillText(log ? String(mark) : `${100 * mark} %`, box.left - 6, y(mark));
  }
  ((g.textAlign = "center"), (g.textBaseline = "top"));
  for (let step = 0; step <= axes.steps; step += axes.stride)
    g.fillText(step, x(step), box.bottom + 6);
  for (const curve of curves) drawCurve(g, curve, style, x, y, log);
}

// Ranges and marks that hold all curves.
function chartAxes(curves, log) {
  let steps = 50,
    low = Infinity,
    high = 0;
  for (const { points } of curves)
    for (const [step, value] of points) {
      steps = Math.max(steps, step);
      if (value > 0) ((low = Math.min(low, value)), (high = Math.max(high, value)));
    }
  const stride =
    [10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000].find((s) => steps / s <= 6) || steps;
  if (!log) return { steps, stride, marks: [0, 0.5, 1], place: (value) => value };
  const from = Math.floor(Math.log10(Math.min(low, 1))),
    to = Math.ceil(Math.log10(Math.max(high, 2)));
  const marks = [];
  for (let e = from; e <= to; e++) marks.push(Number((10 ** e).toPrecision(1)));
  return { steps, stride, marks, place: (value) => (Math.log10(value) - from) / (to - from) };
}

// The losses of single steps jump: they are drawn pale, with a running mean of their logarithms.
function drawCurve(g, { color, points }, style, x, y, smooth) {
  ((g.strokeStyle = style.getPropertyValue(color)), (g.lineJoin = "round"));
  const line = (rows, alpha, width) => {
    ((g.globalAlpha = alpha), (g.lineWidth = width));
    g.beginPath();
    rows.forEach(([step, value], i) =>
      i ? g.lineTo(x(step), y(value)) : g.moveTo(x(step), y(value)),
    );
    g.stroke();
    g.globalAlpha = 1;
  };
  if (!points.length) return;
  if (!smooth) return line(points, 1, 2.2);
  let mean = Math.log(points[0][1]);
  line(points, 0.35, 1);
  line(
    points.map(([step, value]) => [step, Math.exp((mean += 0.35 * (Math.log(value) - mean)))]),
    1,
    2.2,
  );
}

// The same curves as a table: at most 12 steps. names: of the networks.
function chartTable(table, networks, names) {
  const last = Math.max(...networks.map((n) => n.step));
  const steps = [...new Set(Array.from({ length: 12 }, (none, i) => Math.round((last * (i + 1)) / 12)))];
  const cell = (text) => `<td>${text}</td>`;
  const rows = steps.filter(Boolean).map((step) => {
    const cells = networks.map((n) => {
      const loss = n.losses[step - 1];
      const score = valueAt(n.scores, step);
      return cell(loss ? loss[1].toFixed(4) : "") + cell(score ? `${Math.round(100 * score[1])} %` : "");
    });
    return `<tr><th scope="row">${step}</th>${cells.join("")}</tr>`;
  });
  const columns = names.map(
    (name) => `<th scope="col">${name}loss</th><th scope="col">${name}right</th>`,
  );
  table.innerHTML = `<thead><tr><th scope="col">step</th>${columns.join("")}</tr></thead>
    <tbody>${rows.join("")}</tbody>`;
}
// The last point of a curve up to a step.
function valueAt(points, step) {
  return points.filter(([at]) => at <= step).at(-1);
}
