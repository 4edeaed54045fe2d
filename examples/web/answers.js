// answers.js   what the network answers: the outputs, probabilities of the next token, the beam
"use strict";

const shown = (token) => (token === " " ? "␣" : token);

function drawAnswers(network, data) {
  network.answered = data;
  const box = answersOf(network);
  const { answers, next, written, beams } = data;
  const rows = answers.map(
    ({ points, text, ended }) => `<tr><td>${escaped(text) || "(nothing)"}${ended ? "" : " …"}</td>
      <td class="dim">${points ? `score ${points.toFixed(3)}` : ""}</td></tr>`,
  );
  const name = networks.length > 1 ? `<b class="now ab">Network ${"AB"[network.number]}</b>` : "";
  box.classList.toggle("second", network.number === 1);
  box.innerHTML = `${name}
    <table class="answers"><tbody>${rows.join("")}</tbody></table>
    <div class="next"><h3><span data-what="next">probability of the next token</span></h3>
      <div class="places" role="group" aria-label="places of the answer"></div>
      <table class="bars"><thead><tr><th scope="col">token</th><th scope="col">probability</th></tr>
      </thead><tbody></tbody></table></div>
    ${beams.length ? treeHtml(beams) : ""}`;
  drawPlaces(box, next, [...written.map((token) => token.text), "<end>"].slice(0, next.length));
  addQuestions(box);
}
function answersOf(network) {
  const id = `answers${network.number}`;
  if (!$(id)) {
    const box = document.createElement("div");
    ((box.id = id), (box.className = "answer-of"));
    $("answers").append(box);
  }
  return $(id);
}
function unknownNote(unknown) {
  if (!unknown.length) return "";
  const words = unknown.map((word) => `<mark class="unknown">${escaped(shown(word))}</mark>`);
  return `<p class="note">Not in the vocabulary, so the network reads an unknown token: ${words.join(" ")}</p>`;
}

// -- the next token --

function drawPlaces(box, next, written) {
  const places = box.querySelector(".places");
  const choose = (place) => {
    for (const button of places.children)
      button.setAttribute("aria-pressed", String(Number(button.dataset.place) === place));
    box.querySelector(".bars tbody").innerHTML = next[place]
      .map(({ p, text }) => {
        const percent = `${(100 * p).toFixed(p < 0.1 ? 1 : 0)} %`;
        return `<tr${text === written[place] ? ' class="chosen"' : ""}><th scope="row">${escaped(shown(text))}</th>
          <td><span class="bar-of" style="--p:${p}"></span>${percent}</td></tr>`;
      })
      .join("");
  };
  places.innerHTML = written
    .map(
      (token, i) => `<button type="button" data-place="${i}" aria-label="place ${i + 1}: ${escaped(shown(token))}"
        >${escaped(shown(token))}</button>`,
    )
    .join("");
  places.onclick = (event) => {
    const button = event.target.closest("button");
    if (button) choose(Number(button.dataset.place));
  };
  // the place where the network is least sure shows most
  const sure = next.map((row) => row[0].p);
  if (next.length) choose(sure.indexOf(Math.min(...sure)));
}

// -- the beam as a tree --

// Hypotheses of all steps as a tree of tokens: {token, kept, points, children}.
function beamTree(beams) {
  const root = { token: "", children: [] };
  beams.forEach((hypotheses, step) => {
    for (const { tokens, points } of hypotheses) {
      let node = root;
      for (const token of tokens) {
        let child = node.children.find((c) => c.token === token);
        if (!child) node.children.push((child = { token, children: [] }));
        node = child;
        if (step === beams.length - 1) node.kept = true;
      }
      if (step === beams.length - 1) node.points = points;
    }
  });
  return root;
}
// A chain of tokens without a branch is one line; a branch begins a list.
function branchHtml(node) {
  const tokens = [];
  let last = node;
  for (;;) {
    tokens.push(last.token);
    const only = last.children.length === 1 && last.children[0];
    if (!only || last.points !== undefined || only.kept !== last.kept) break;
    last = only;
  }
  const text = tokens.map((token) => `<code>${escaped(shown(token))}</code>`).join("");
  const end = last.points === undefined ? "" : ` <span class="dim">score ${last.points.toFixed(3)}</span>`;
  const line = node.kept
    ? `<span class="kept">${text}</span>${end}`
    : `<s>${text}</s> <span class="dim">dropped</span>`;
  return `<li>${line}${branchesHtml(last)}</li>`;
}
function branchesHtml(node) {
  const order = [...node.children].sort((a, b) => Boolean(b.kept) - Boolean(a.kept));
  return order.length ? `<ul>${order.map(branchHtml).join("")}</ul>` : "";
}
function treeHtml(beams) {
  return `<div class="tree"><h3><span data-what="tree">the beam as a tree</span></h3>
    <div class="scroll" tabindex="0" role="region" aria-label="the beam as a tree">${branchesHtml(beamTree(beams))}</div></div>`;
}

// -- the question: words outside the vocabulary are marked in the field --

function drawQuestion(tokens) {
  let at = 0,
    html = "";
  const text = $("question").value;
  for (const token of tokens) {
    if (!token.unknown) continue;
    const from = text.indexOf(token.text, at);
    if (from < 0) continue;
    html += `${escaped(text.slice(at, from))}<mark class="unknown">${escaped(token.text)}</mark>`;
    at = from + token.text.length;
  }
  $("questionmirror").innerHTML = html + escaped(text.slice(at));
  const unknown = tokens.filter((token) => token.unknown).map((token) => token.text);
  $("questionnote").innerHTML = unknownNote(unknown);
  $("questionmirror").scrollLeft = $("question").scrollLeft;
}
