// attention.js   attention weights as a table: a row for each target token, a column for each key
"use strict";

// `look` is what the worker sends: heads [head][query][key], source and target tokens, layers.
// head -1: the mean of all heads.
function drawAttention(table, caption, look, head) {
  const { path, kind } = look.layers[look.layer],
    all = look.heads;
  const weights = head >= 0 ? all[head] : meanOfHeads(all);
  if (!weights.length) return table.replaceChildren();
  const decoder = path.startsWith("decoder");
  const [source, target] = [look.source, look.target].map((side) => side.map((t) => t.text));
  const own = decoder ? ["‹begin›", ...target] : [...source, "‹end›"];
  const keys = kind.includes("src_att")
    ? [...source, "‹end›"]
    : weights[0].length === own.length
      ? own
      : weights[0].map((w, k) => String(k + 1));
  const queries = decoder ? [...target, "‹end›"] : own;
  const label = (text) => (text === undefined ? "" : text === " " ? "␣" : text);
  let html = "<thead><tr><td></td>";
  weights[0].forEach(
    (w, k) => (html += `<th scope="col"><span>${escaped(label(keys[k]))}</span></th>`),
  );
  html += "</tr></thead><tbody>";
  weights.forEach((row, q) => {
    html += `<tr><th scope="row">${escaped(label(queries[q]))}</th>`;
    row.forEach((w, k) => {
      const title = `${label(queries[q])} ← ${label(keys[k])}: ${w.toFixed(3)}`;
      html += `<td style="--w:${w.toFixed(3)}" title="${escaped(title)}"></td>`;
    });
    html += "</tr>";
  });
  table.innerHTML = `${html}</tbody>`;
  caption.textContent =
    (decoder
      ? "A row for each token that is written, a column for each that it may look at."
      : "A row for each token of the source, a column for each that it looks at.") +
    " The stronger the color, the larger the weight; a row adds up to 1.";
}
// The learned table of a layer as a heat map: blue above 0, orange below.
function drawTable(table, caption, look, head) {
  const rows = head >= 0 ? look.table[head] : meanOfHeads(look.table);
  const most = Math.max(...rows.flat().map(Math.abs), 1e-9);
  const columnHeads = rows[0].map((x, k) => `<th scope="col"><span>${k + 1}</span></th>`).join("");
  const lines = rows.map((row, q) => {
    const cells = row.map((x, k) => {
      const color = x < 0 ? "below" : "above";
      return `<td class="${color}" style="--w:${(Math.abs(x) / most).toFixed(3)}"
        title="place ${q + 1} ← place ${k + 1}: ${x.toFixed(3)}"></td>`;
    });
    return `<tr><th scope="row">${q + 1}</th>${cells.join("")}</tr>`;
  });
  table.innerHTML = `<thead><tr><td></td>${columnHeads}</tr></thead><tbody>${lines.join("")}</tbody>`;
  caption.textContent =
    `The table of this layer: scores of places, from −${most.toFixed(2)} (orange) to ` +
    `${most.toFixed(2)} (blue). It is the same for every sentence.`;
}
function meanOfHeads(heads) {
  if (!heads.length) return [];
  return heads[0].map((row, q) =>
    row.map((w, k) => heads.reduce((sum, head) => sum + head[q][k], 0) / heads.length),
  );
}
function escaped(text) {
  return text.replace(
    /[&<>"]/g,
    (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c],
  );
}
