// explain.js   what the words of the page mean: a panel under the "?" that was pressed
"use strict";

const EXPLAIN = {
  loss: [
    "Loss",
    "The mean of −log p over all tokens of the batch, where p is the probability that the network gave to the right next token. 0 means that every right token had probability 1. A network that gives all V tokens the same probability has the loss log V: about 2.7 for the 15 tokens of the dates. The pale line is the loss of single batches, which differ in difficulty; the strong line is their running mean.",
  ],
  unseen: [
    "Unseen examples",
    "Pairs that the network never learns from. An answer counts only if every character is right. The network can know its training pairs by heart; only unseen pairs show that it has learned the rule.",
  ],
  task: [
    "Task",
    "What is learned: pairs of a source text and a target text. The encoder reads the source, the decoder writes the target token by token.",
  ],
  speed: [
    "Speed",
    "How many steps are made in a second. The result of the training does not depend on it. A slow speed shows how loss and attention change from step to step.",
  ],
  race: [
    "A race of two networks",
    "Both networks start from the same seed and see the same batches. They are compared at equal steps: the faster one waits for the other. Time for a step is shown beside each network.",
  ],
  network: [
    "The two lines",
    "A network is a chain of layers; → in the picture is -> in the text. Each token is a row of numbers, as many as the width. A layer reads all rows and writes new ones. The encoder reads the source; the decoder reads the tokens that are already written, and looks at the rows of the encoder through layers such as mh_dot_att. The last rows become probabilities of the next token.",
  ],
  "R+V": [
    "R+V, V, R, D …: where attention scores come from",
    "V compares a query with each key (dot product): scores depend on the tokens. R is a learned table with a score for each pair of places: it is the same for every sentence. D computes all scores of a row from its token alone. R+V adds both, with shares that each head learns (Tay et al. 2021).",
  ],
  attention: [
    "Attention",
    "A row is a token that is written (or read), a column a token that it may look at. The weights of a row are positive and add up to 1: the head takes the mean of the columns' values with these weights. In a decoder, a token cannot look at later tokens of its own side (causal mask).",
  ],
  head: [
    "Head",
    "A layer attends several times side by side, each time with its own small queries, keys and values: a head. Width and number of heads give the size of a head: width / heads. Heads often look at different tokens; \"mean\" shows their mean.",
  ],
  table: [
    "R as a heat map",
    "The scores that R has learned, before softmax: row i, column j is the score of place j for a query at place i. It does not depend on the sentence. Blue is above 0, orange below. Fix shows its random table, which never changes.",
  ],
  seed: [
    "Seed",
    "The number from which all random choices start: first weights, order of the batches, dropout. The same seed gives the same losses, bit for bit.",
  ],
  width: [
    "Width",
    "How many numbers describe a token inside the network (d_model). The time of a step grows about with its square. The number of heads must divide it.",
  ],
  heads: [
    "Heads",
    "In how many parts attention layers divide the width, unless a layer says its own number: mh_dot_att(heads=2).",
  ],
  rate: [
    "Learning rate",
    "How far Adam moves the weights in one step, at most. Too small: learning is slow. Too large: the loss jumps or stays high. It rises for 50 steps and then falls to 0 along a cosine. At rate 0 nothing would be learned.",
  ],
  batch: [
    "Batch",
    "Tokens from which one step computes its gradient. A larger batch has a less noisy gradient, and needs more time and memory for each step.",
  ],
  steps: [
    "Steps",
    "The step at which the learning rate has fallen to 0 and the training ends.",
  ],
  dropout: [
    "Dropout",
    "The share of numbers that are set to 0 at random while training, so that the network does not depend on single ones. It helps if there are few training pairs.",
  ],
  beam: [
    "Beam",
    "How many unfinished outputs (hypotheses) are kept after each token. 1 is greedy decoding: always the most probable token. A larger beam can find an output whose whole is more probable though its first token is not.",
  ],
  temperature: [
    "Temperature",
    "0 takes the most probable token. Above 0 a token is drawn at random: the logits are divided by the temperature first, so 1 draws with the network's probabilities, more makes them more equal.",
  ],
  top_k: [
    "Top-k",
    "Draw only from the k most probable tokens. 0: from all. It has an effect only with a temperature above 0.",
  ],
  next: [
    "Probabilities of the next token",
    "For each place of the answer, what the network holds probable after the tokens before. Choose a place to see the five most probable tokens. These are the network's own probabilities, without temperature. Fixed tokens such as <begin> can appear here; an output never contains them.",
  ],
  tree: [
    "The beam as a tree",
    "Every hypothesis that the search kept at some step. Branches that are crossed out were dropped later, because others had a better score. The number behind an output is its score: log probability divided by a length penalty.",
  ],
  hash: [
    "Hash",
    "A number of 64 bits made from the bits of all losses. Two programs with the same hash have computed exactly the same losses.",
  ],
};

const panel = document.createElement("div");
panel.className = "panel";
panel.setAttribute("role", "region");
panel.tabIndex = -1;
let opener = null; // the control that opened the panel

function closePanel() {
  panel.remove();
  if (opener) opener.setAttribute("aria-expanded", "false");
  opener = null;
}
// Shows a title and a text behind `after`; once more with the same opener closes it.
function openPanel(title, text, after, from) {
  const again = opener === from;
  closePanel();
  if (again) return;
  opener = from;
  opener.setAttribute("aria-expanded", "true");
  panel.setAttribute("aria-label", title);
  panel.innerHTML = `<b>${escaped(title)}</b><p>${escaped(text)}</p>
    <button type="button" class="close">Close</button>`;
  panel.querySelector(".close").onclick = leavePanel;
  after.after(panel);
  panel.focus({ preventScroll: true });
  panel.scrollIntoView({ block: "nearest" });
}
function leavePanel() {
  const back = opener;
  closePanel();
  if (back) back.focus();
}
// Puts a "?" behind every element that has data-what, the name of an explanation.
function addQuestions(root) {
  for (const element of root.querySelectorAll("[data-what]")) {
    const [title, text] = EXPLAIN[element.dataset.what];
    const button = document.createElement("button");
    button.type = "button";
    button.className = "what";
    button.textContent = "?";
    button.setAttribute("aria-label", `What is this: ${title}`);
    button.setAttribute("aria-expanded", "false");
    const after = () => element.closest(".row, figcaption, h3, summary, p") || button;
    button.onclick = () => openPanel(title, text, after(), button);
    element.after(button);
  }
}
document.addEventListener("keydown", (event) => {
  if (event.key !== "Escape" || !opener) return;
  event.stopPropagation();
  leavePanel();
});
// Explains a layer of the network, named as in the text.
function explainLayer(name, host, from) {
  const says = LineEditor.words[name] || "no layer of this name is known";
  const more = name.startsWith("syn_att") ? ` ${EXPLAIN["R+V"][1]}` : "";
  openPanel(name, `${says}.${more}`, host, from);
}
