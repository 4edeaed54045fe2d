// picture.js   the network as a picture: blocks, widths, streams. The text of a side is read here, so
// that every block knows its place in the text; numbers of the layers come from the library.
"use strict";

const CONTAINERS = ["res", "res_d", "res_nd", "highway", "repeat", "universal", "share"].concat([
  "concat",
  "parallel",
  "parallel_add",
]);

// A text as a tree: a list of layers {name, args, chains, from, to}, chains being lists of layers.
// An error ends it: the layers before the error stay.
function readChain(text) {
  const words = [...text.matchAll(/#[^\n]*|\s+|->|[\w$.]+|./gs)]
    .map((m) => ({ word: m[0], from: m.index, to: m.index + m[0].length }))
    .filter(({ word }) => !/^[#\s]/.test(word));
  let at = 0;
  const peek = () => (words[at] || { word: "" }).word;
  const chain = () => {
    const layers = [];
    while (/^[A-Za-z_$]/.test(peek())) {
      layers.push(layer());
      if (peek() !== "->") break;
      at++;
    }
    return layers;
  };
  const layer = () => {
    const { word: name, from, to } = words[at++];
    const found = { name, args: [], chains: [], from, to };
    if (peek() !== "(") return found;
    at++;
    if (CONTAINERS.includes(name)) chains(found);
    else args(found);
    found.to = (words[at] || words.at(-1)).to;
    if (peek() === ")") at++;
    return found;
  };
  const chains = (found) => {
    while (peek() && peek() !== ")") {
      if (/^[A-Za-z_$]/.test(peek())) found.chains.push(chain());
      else if (/^\d/.test(peek())) found.args.push(words[at++].word);
      else at++;
    }
  };
  const args = (found) => {
    for (let depth = 0; peek() && (depth || peek() !== ")"); at++) {
      depth += peek() === "(" ? 1 : peek() === ")" ? -1 : 0;
      found.args.push(peek());
    }
    found.args = [found.args.join("").replaceAll(",", ", ")];
  };
  return chain();
}

// -- what the library says of a layer --

// Widths behind each operation of the layer, heads, parameters of all its copies.
function layerFacts(layer, side, text, { nodes, sizes }) {
  const place = new TextEncoder().encode(text.slice(0, layer.from)).length;
  const mine = nodes.filter((n) => n.side === side && n.place === place && n.kind !== "add");
  const again = mine.findIndex((n, i) => mine.findIndex((m) => m.kind === n.kind) < i);
  const first = again < 0 ? mine : mine.slice(0, again);
  const params = new Set(mine.flatMap((n) => n.params));
  return {
    widths: first.map((n) => n.width),
    heads: Math.max(0, ...first.map((n) => n.heads)),
    copies: first.length ? mine.length / first.length : 0,
    parameters: [...params].reduce((sum, i) => sum + sizes[i], 0),
    source: first.some((n) => n.kind.includes("src_att")),
  };
}
function saysLayer(layer, facts) {
  const { widths, heads, parameters, copies } = facts;
  const args = layer.args.length ? `(${layer.args.join(", ")})` : "";
  const parts = [WORDS[layer.name]];
  if (widths.length) parts.push(`writes rows of ${widths.join(", then ")} numbers`);
  if (heads) parts.push(`${heads} heads`);
  if (parameters) parts.push(`${parameters.toLocaleString("en")} parameters`);
  if (copies > 1) parts.push(`used ${copies} times`);
  return `${layer.name}${args}: ${parts.filter(Boolean).join("; ")}`;
}

// -- places: each function returns the y below what it has placed --

const GAP = 14,
  BLOCK = 30,
  PAD = 12;

class Picture {
  // pointed(side, layer or null): a block was pointed at; opened(name, block): it was chosen.
  constructor(host, { pointed, opened }) {
    Object.assign(this, { host, pointed, opened, drawn: "" });
    host.innerHTML = `<div class="plan"></div><p class="dim says"></p>`;
    this.plan = host.querySelector(".plan");
    this.says = host.querySelector(".says");
    const layerOf = (event) => event.target.closest("[data-side]");
    this.plan.addEventListener("pointerover", (event) => this.choose(layerOf(event)));
    this.plan.addEventListener("pointerleave", () => this.choose(null));
    this.plan.addEventListener("focusin", (event) => this.choose(layerOf(event)));
    this.plan.addEventListener("focusout", () => this.choose(null));
    this.plan.addEventListener("click", (event) => layerOf(event) && this.open(layerOf(event)));
    this.plan.addEventListener("keydown", (event) => this.key(event));
  }
  draw(texts, structure) {
    const width = Math.max(240, this.plan.clientWidth);
    const wanted = JSON.stringify([texts, structure, width]);
    if (wanted === this.drawn) return;
    this.drawn = wanted;
    this.structure = structure;
    ((this.blocks = []), (this.readers = []));
    this.shapes = [];
    this.stacked = width < 520;
    const { src_vocab: reads, tgt_vocab: writes } = structure.config || {};
    const column = this.stacked ? width - 2 * PAD : (width - 4 * PAD) / 2;
    const left = this.stacked ? 2 * PAD : 0;
    const below = this.side("encoder", texts.encoder, left, 0, column, [
      "source tokens",
      reads && `embedding: ${reads} tokens`,
    ]);
    const top = this.stacked ? below.end + 2 * GAP : 0;
    const x = this.stacked ? left : column + 4 * PAD;
    const written = this.side("decoder", texts.decoder, x, top, column, [
      "target tokens so far",
      writes && `embedding: ${writes} tokens`,
    ]);
    const out = this.end(x, written.end, column, writes);
    this.stream(below, this.stacked ? PAD - 2 : column + 2 * PAD);
    const height = Math.max(below.end, out) + 4;
    this.plan.innerHTML = `<svg viewBox="0 0 ${width} ${height}" width="${width}" height="${height}"
      role="group" aria-label="The network as a picture. Arrow keys go from block to block."
      >${this.shapes.join("")}</svg>`;
    const first = this.plan.querySelector("[data-i='0']");
    if (first) first.setAttribute("tabindex", "0");
    this.show(null);
  }
  side(side, text, x, y, w, [given, table]) {
    const color = side === "encoder" ? "source" : "target";
    this.now = { side, text, color };
    this.shapes.push(
      `<text class="title" x="${x + w / 2}" y="${y + 14}">${side}</text>`,
      `<text class="io" x="${x + w / 2}" y="${y + 32}">${given}</text>`,
    );
    let at = this.arrow(x + w / 2, y + 38);
    at = this.still(table || "embedding", x, at, w);
    const layers = readChain(text);
    const end = this.chain(layers, x, at, w);
    return { end, middle: x + w / 2 };
  }
  // A block that no text names.
  still(name, x, y, w) {
    this.shapes.push(
      `<rect class="still" x="${x}" y="${y}" width="${w}" height="26" rx="6"></rect>`,
      `<text class="io" x="${x + w / 2}" y="${y + 17}">${escaped(fitted(name, w))}</text>`,
    );
    return y + 26;
  }
  end(x, y, w, classes) {
    const at = this.still(classes ? `output: ${classes} logits` : "output", x, this.arrow(x + w / 2, y), w);
    this.shapes.push(
      `<text class="io" x="${x + w / 2}" y="${at + 18}">probability of the next token</text>`,
    );
    return at + 26;
  }
  arrow(x, y) {
    this.shapes.push(
      `<path class="flow ${this.now.color}" d="M${x} ${y}v${GAP - 5}m-4 -4l4 5l4 -5"></path>`,
    );
    return y + GAP;
  }
  chain(layers, x, y, w) {
    for (const layer of layers) {
      const at = this.arrow(x + w / 2, y);
      y = layer.chains.length ? this.container(layer, x, at, w) : this.block(layer, x, at, w);
    }
    return y;
  }
  block(layer, x, y, w) {
    const { side, text } = this.now;
    const facts = layerFacts(layer, side, text, this.structure);
    const args = layer.args.length ? `(${layer.args.join(", ")})` : "";
    const numbers = facts.widths.join("→");
    const i = this.blocks.push({ layer, side, facts }) - 1;
    if (facts.source) this.readers.push({ x, y: y + BLOCK / 2 });
    const call = fitted(layer.name + args, w - 20 - 7 * numbers.length);
    this.shapes.push(`<g class="block${this.bad(layer, facts)}" data-i="${i}" data-side="${side}" role="button"
      tabindex="-1" aria-label="${escaped(`${call} ${numbers}, ${side}; ${saysLayer(layer, facts)}`)}">
      <rect x="${x}" y="${y}" width="${w}" height="${BLOCK}" rx="7"></rect>
      <text class="call" x="${x + 8}" y="${y + 20}">${escaped(call)}</text>
      <text class="width" x="${x + w - 8}" y="${y + 20}">${numbers}</text></g>`);
    return y + BLOCK;
  }
  // A layer of which the library knows nothing: an error is here, or before.
  bad(layer, facts) {
    return facts.widths.length || layer.chains.length || layer.name === "id" ? "" : " unknown";
  }
  container(layer, x, y, w) {
    const { side, text, color } = this.now;
    const copies = /^(repeat|universal|share)$/.test(layer.name);
    const bypass = /^(res|highway)/.test(layer.name);
    const i = this.blocks.push({ layer, side, facts: layerFacts(layer, side, text, this.structure) });
    const shape = this.shapes.push("") - 1;
    const inside = w - 2 * PAD - (bypass ? PAD : 0);
    const top = y + 26;
    let bottom = top;
    const n = layer.chains.length;
    if (n > 1 && inside / n >= 90)
      layer.chains.forEach((chain, c) => {
        const each = (inside - (n - 1) * 8) / n;
        bottom = Math.max(bottom, this.chain(chain, x + PAD + c * (each + 8), top - 6, each));
      });
    else for (const chain of layer.chains) bottom = this.chain(chain, x + PAD, bottom - 6, inside) + 8;
    bottom += bypass ? 30 : 10;
    const middle = x + PAD + inside / 2;
    if (bypass) {
      const right = x + w - PAD;
      this.shapes.push(
        `<path class="flow ${color}" d="M${middle} ${top - 4}H${right}V${bottom - 16}H${middle + 9}"></path>`,
        `<path class="flow ${color}" d="M${middle} ${bottom - 32}v8"></path>`,
        `<circle class="plus" cx="${middle}" cy="${bottom - 16}" r="8"></circle>`,
        `<path class="sum" d="M${middle - 4} ${bottom - 16}h8m-4 -4v8"></path>`,
      );
    }
    const called = copies && layer.args[0] ? `${layer.name}: ${layer.args[0]} times` : layer.name;
    const name = fitted(called, w - 16);
    this.shapes[shape] = `<g class="block around" data-i="${i - 1}" data-side="${side}" role="button" tabindex="-1"
      aria-label="${escaped(`${name}, ${side}; ${saysLayer(layer, this.blocks[i - 1].facts)}`)}">
      <rect x="${x}" y="${y}" width="${w}" height="${bottom - y}" rx="9"></rect>
      <text class="call" x="${x + 8}" y="${y + 14}">${escaped(name)}</text></g>`;
    return bottom;
  }
  // What the encoder writes goes to every layer that attends to the source.
  stream({ end, middle }, x) {
    const readers = this.readers;
    if (!readers.length) return;
    const y = end + GAP / 2;
    const ys = [...readers.map((r) => r.y), y];
    const [top, bottom] = [Math.min(...ys), Math.max(...ys)];
    this.shapes.push(
      `<path class="flow source" d="M${middle} ${end}V${y}H${x}"></path>`,
      `<path class="flow source" d="M${x} ${top}V${bottom}"></path>`,
      ...readers.map(
        (r) => `<path class="flow source" d="M${x} ${r.y}H${r.x}m-5 -4l5 4l-5 4"></path>`,
      ),
    );
  }

  // -- pointing --

  find(element) {
    return element ? this.blocks[element.dataset.i] : null;
  }
  choose(element) {
    const block = this.find(element);
    this.show(block);
    this.pointed(block && block.side, block && block.layer);
  }
  show(block) {
    for (const group of this.plan.querySelectorAll(".block"))
      group.classList.toggle("on", Boolean(block) && this.blocks[group.dataset.i] === block);
    this.says.textContent = block
      ? saysLayer(block.layer, block.facts)
      : "Point at a block, or go to it by Tab and the arrow keys: the line above marks it. Enter explains it.";
  }
  // The innermost block at a character of the text of a side; -1: none.
  mark(side, at) {
    const around = (this.blocks || []).filter(
      (b) => b.side === side && b.layer.from <= at && at < b.layer.to,
    );
    this.show(around.at(-1) || null);
    return around.at(-1);
  }
  open(element) {
    this.opened(this.find(element).layer.name, element);
  }
  key(event) {
    const step = { ArrowDown: 1, ArrowRight: 1, ArrowUp: -1, ArrowLeft: -1 }[event.key];
    const all = [...this.plan.querySelectorAll("[data-i]")];
    const order = all.sort((a, b) => a.dataset.i - b.dataset.i);
    const now = order.indexOf(event.target);
    if (now < 0) return;
    if (event.key === "Enter" || event.key === " ") this.open(event.target);
    else if (!step || !order[now + step]) return;
    else {
      event.target.setAttribute("tabindex", "-1");
      order[now + step].setAttribute("tabindex", "0");
      order[now + step].focus();
    }
    event.preventDefault();
    event.stopPropagation();
  }
}
// A text that fits into so many pixels, or its beginning.
function fitted(text, room) {
  const most = Math.max(1, Math.floor(room / 7.6));
  return text.length <= most ? text : `${text.slice(0, most - 1)}…`;
}
