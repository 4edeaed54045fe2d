// network.js   a network: its card on the page, its worker, its curves
"use strict";

class Network {
  constructor(number, modules) {
    this.number = number;
    Object.assign(this, { running: false, head: -1, table: false, origin: {}, structure: null });
    this.clear();
    this.card = $("network").content.firstElementChild.cloneNode(true);
    this.card.classList.toggle("second", number === 1);
    this.part = (name) => this.card.querySelector(name);
    this.editors = [...this.card.querySelectorAll(".line")].map(
      (line) =>
        new LineEditor(line, {
          changed: () => this.edited(),
          entered: () => this.use(),
          at: (place) => this.picture && this.markBlock(line.dataset.side, place),
        }),
    );
    this.picture = new Picture(this.part(".picture"), {
      pointed: (side, layer) =>
        this.editors.forEach((editor) => editor.point(editor.side === side ? layer : null)),
      opened: (name, block) => explainLayer(name, this.part(".picture"), block),
    });
    this.wire();
    this.showTexts();
    addQuestions(this.card);
    $("networks").append(this.card);
    this.worker = new Worker(URL.createObjectURL(new Blob([$("worker").textContent])));
    this.worker.onmessage = (event) => this.heard[event.data.what].call(this, event.data);
    this.worker.onerror = (event) => this.fail(event.message);
    this.send({ what: "start", modules });
  }
  send(message) {
    this.worker.postMessage(message);
  }
  close() {
    this.worker.terminate();
    this.card.remove();
  }
  wire() {
    const preset = this.part(".preset");
    preset.innerHTML =
      '<option value="">as written</option>' +
      PRESETS.map(
        (p, i) => `<option value="${i}" title="${p.paper}">${escaped(p.name)}</option>`,
      ).join("");
    preset.onchange = () => {
      if (preset.value === "") return;
      this.editors.forEach((editor) => (editor.text = PRESETS[preset.value][editor.side]));
      this.use();
    };
    this.part(".use").onclick = () => this.use();
    this.part(".partial").onclick = () => this.demand({ what: "graph", settings: this.written() });
    this.part(".safetensors").onclick = () => this.demand({ what: "file", kind: "safetensors" });
    this.part(".array").onclick = () => this.demand({ what: "file", kind: "h" });
    this.part(".layer").onchange = (event) =>
      this.demand({ what: "show", layer: Number(event.target.value) });
    this.part(".heads").onclick = (event) => {
      if (!event.target.dataset.head) return;
      this.head = Number(event.target.dataset.head);
      this.drawLook();
    };
    this.part(".kind").onclick = (event) => {
      if (!event.target.dataset.table) return;
      this.table = event.target.dataset.table === "1";
      this.drawLook();
    };
    this.part(".examples tbody").onclick = (event) => {
      const row = event.target.closest("tr");
      if (row) networks.forEach((network) => network.choose(Number(row.dataset.i)));
    };
  }
  // Sends the request of a click; an error of the click before goes.
  demand(message) {
    complain(this.place(message.what), "");
    this.send(message);
  }
  // Where an error of a message is shown: where the click was.
  place(what) {
    const mine = { graph: ".changed", file: ".files", show: ".views" };
    if (what in mine) return this.part(mine[what]);
    const others = { answer: "askform", read: "askform", trace: "lookrow", run: "bar", pause: "bar" };
    return $(others[what] || "bar");
  }
  choose(index) {
    this.subject = index;
    this.demand({ what: "show", index, source: null, target: null });
  }

  // -- its two lines --

  written() {
    const [encoder, decoder] = this.editors.map((editor) => editor.text);
    return { encoder, decoder };
  }
  showTexts() {
    const { encoder, decoder } = settingsOf(this.number);
    ((this.editors[0].text = encoder), (this.editors[1].text = decoder));
    this.showPreset();
  }
  showPreset() {
    const { encoder, decoder } = this.written();
    const found = PRESETS.findIndex((p) => p.encoder === encoder && p.decoder === decoder);
    this.part(".preset").value = found < 0 ? "" : String(found);
  }
  edited() {
    this.part(".changed").hidden = false;
    this.showPreset();
    this.send({ what: "check", settings: this.written() });
  }
  showError(message) {
    this.part(".error").hidden = !message;
    this.part(".error").textContent = message || "";
    this.editors.forEach((editor) => editor.mark(message));
  }
  // The written lines become the settings, and a new network.
  use() {
    const { encoder, decoder } = this.written(),
      mark = this.number ? "2" : "";
    this.showPreset();
    change({ [`encoder${mark}`]: encoder, [`decoder${mark}`]: decoder }, `lines${this.number}`);
  }

  // -- the picture --

  markBlock(side, place) {
    const block = this.picture.mark(side, place);
    const layer = block && block.layer;
    this.editors.forEach((editor) => editor.point(editor.side === side ? layer : null));
  }
  drawPicture() {
    if (this.structure) this.picture.draw(this.written(), this.structure);
  }

  // -- training --

  clear() {
    Object.assign(this, { step: 0, losses: [], scores: [], hash: "", look: null, subject: 0 });
  }
  // A new network from the settings. origin: {at, before}: the control that was changed, and the
  // settings that return when they are refused.
  create(origin = {}) {
    ((this.origin = origin), (this.was = this.ready), (this.ready = false));
    this.send({ what: "create", settings: settingsOf(this.number) });
  }
  run(steps) {
    this.running = true;
    const limit = settings.race ? nextLimit() : 0;
    this.send({ what: "run", steps, speed: Number(settings.speed), limit });
  }
  pause() {
    this.send({ what: "pause" });
  }
  // Trains on to a step, where the other network of a race has stopped.
  catchUp(step) {
    this.running = true;
    this.send({ what: "run", steps: step - this.step, speed: 0 });
  }
  fail(message, what) {
    if (what === "run" || what === "create") this.running = false;
    if (what === "create" || !what) this.showError(message);
    else if (what === "check") this.showError(message);
    else complain(this.place(what), message);
    if (what === "answer") answersOf(this).replaceChildren();
    showState();
  }
}

// What a worker says, by the `what` of its messages; `this` is the network.
Network.prototype.heard = {
  started({ fused, kinds }) {
    LineEditor.learn(kinds);
    this.fused = fused;
    this.editors.forEach((editor) => editor.draw());
    $("exactbox").hidden = fused;
    this.create();
  },
  // The network before is gone, and what was shown of it.
  emptied() {
    this.clear();
    ((this.running = false), (this.was = false));
    this.part(".changed").hidden = true;
    this.card.classList.add("empty");
    this.showError("");
    for (const what of ["graph", "file", "show", "run", "answer"]) complain(this.place(what), "");
    if ($(`answers${this.number}`)) $(`answers${this.number}`).remove();
    showState();
  },
  created({ parameters, tests, unseen, structure }) {
    Object.assign(this, { parameters, tests, unseen, structure, ready: true });
    this.card.classList.remove("empty");
    this.drawPicture();
    readQuestion();
    if (this.origin.refused) this.create({});
    else accepted(this.origin);
    showState();
  },
  refused({ message }) {
    this.ready = this.was;
    refuse(this, message);
    showState();
  },
  progress({ step, losses, running, hash, exact, fastest }) {
    const first = step - losses.length;
    losses.forEach((loss, i) => this.losses.push([first + i + 1, loss]));
    Object.assign(this, { step, running, hash, exact, fastest });
    keepTogether();
    showState();
  },
  score({ step, right, tests }) {
    if (step === 0) this.scores = [];
    this.scores.push([step, right / tests]);
    showState();
  },
  look(look) {
    this.look = look;
    this.drawLook();
    if (this.number === 0 && !$("question").value && look.examples.length)
      $("question").value = look.examples[0].source;
    if (this.number === 0) readQuestion();
  },
  checked({ settings: of, message, structure }) {
    const { encoder, decoder } = this.written();
    if (of.encoder !== encoder || of.decoder !== decoder) return;
    this.showError(message);
    this.structure = structure;
    this.drawPicture();
  },
  answers(data) {
    drawAnswers(this, data);
  },
  read({ text, tokens }) {
    if (this.number === 0 && text === $("question").value) drawQuestion(tokens);
  },
  trace({ data }) {
    showTrace(this, data);
  },
  file({ kind, bytes }) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([bytes]));
    link.download = `${settings.task}.${kind}`;
    link.click();
  },
  error({ message, asked }) {
    this.fail(message, asked);
  },
};

// -- drawing --

Network.prototype.drawLook = function () {
  const look = this.look;
  if (!look) return;
  const rows = look.examples.map((e, i) => {
    const right = e.answer === e.target;
    const answer = look.step
      ? `<td class="answer">${answerHtml(e.answer, e.target)}${right ? "" : `<small>${escaped(e.target)}</small>`}</td>
        <td class="mark ${right ? "right" : "miss"}">${right ? "✓" : "✗"}</td>`
      : `<td class="answer"><span class="dim">${escaped(e.target)}</span></td><td></td>`;
    return `<tr data-i="${i}" aria-selected="${i === this.subject}"><td>
      <button type="button" class="pick" data-i="${i}" aria-pressed="${i === this.subject}">${escaped(e.source)}</button></td>
      ${answer}</tr>`;
  });
  this.part(".wanted").hidden = look.step > 0;
  this.part(".examples").classList.toggle(
    "long",
    look.examples.some((e) => e.target.length > 24),
  );
  redraw(this.part(".examples tbody"), rows.join(""));
  this.part(".attention").hidden = !look.layers.length;
  if (!look.layers.length) return;
  const select = this.part(".layer");
  const names = look.layers
    .map((l, i) => `<option value="${i}">${l.path} ${l.kind}</option>`)
    .join("");
  if (select.dataset.names !== names) select.innerHTML = select.dataset.names = names;
  select.value = look.layer;
  if (this.head >= look.heads.length) this.head = -1;
  const heads = [-1, ...look.heads.keys()].map(
    (h) => `<button type="button" data-head="${h}" aria-pressed="${h === this.head}"
      aria-label="${h < 0 ? "mean of the heads" : `head ${h + 1}`}">${h < 0 ? "mean" : h + 1}</button>`,
  );
  redraw(this.part(".heads"), heads.join(""));
  const table = this.table && look.table.length > 0;
  this.part(".kind").hidden = !look.table.length;
  for (const button of this.part(".kind").querySelectorAll("[data-table]"))
    button.setAttribute("aria-pressed", String((button.dataset.table === "1") === table));
  const draw = table ? drawTable : drawAttention;
  draw(this.part(".weights"), this.part(".caption"), look, this.head);
};

// New contents of an element; the focus stays on the control of the same number.
function redraw(element, html) {
  const old = element.contains(document.activeElement) ? document.activeElement.dataset : null;
  element.innerHTML = html;
  if (!old) return;
  const same = [...element.querySelectorAll("button")].find(
    (button) => button.dataset.i === old.i && button.dataset.head === old.head,
  );
  if (same) same.focus({ preventScroll: true });
}

// An answer with the characters that differ from the wanted one marked.
function answerHtml(answer, target) {
  if (answer === target) return `<span class="right">${escaped(answer)}</span>`;
  const marked = [...answer].map((ch, i) => {
    if (ch === "\ufffd") return '<span class="false" title="the unknown token">‹unknown›</span>';
    return ch === target[i] ? escaped(ch) : `<span class="false">${escaped(ch)}</span>`;
  });
  return marked.join("") || '<span class="false">(nothing)</span>';
}

// What the tested pairs are: of few pairs of one's own all are learned, none is kept.
function testedName(network) {
  return network.unseen === false ? "examples that it learns (none is kept)" : "unseen examples";
}
Network.prototype.showFacts = function () {
  const speed = Number.isFinite(this.fastest) ? `, fastest ${this.fastest.toFixed(1)} ms` : "";
  const count = this.parameters ? this.parameters.toLocaleString("en") : "";
  this.part("h2").textContent =
    networks.length > 1 ? `Network ${"AB"[this.number]}` : "The network";
  this.part(".tested").textContent = testedName(this);
  this.part(".facts").textContent = this.ready
    ? `${count} parameters; step ${this.step}${speed}`
    : "";
};
