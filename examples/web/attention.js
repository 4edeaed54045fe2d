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
  const own = decoder ? ["‹begin›", ...look.target] : [...look.source, "‹end›"];
  const keys = kind.includes("src_att")
    ? [...look.source, "‹end›"]
    : weights[0].length === own.length
      ? own
      : weights[0].map((w, k) => String(k + 1));
  const queries = decoder ? [...look.target, "‹end›"] : own;
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
