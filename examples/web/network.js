// network.js   a network: its card on the page, its worker, its curves
"use strict";

class Network {
  constructor(number, modules) {
    this.number = number;
    ((this.step = 0),
      (this.losses = []),
      (this.scores = []),
      (this.hash = ""),
      (this.running = false));
    ((this.look = null), (this.head = -1), (this.subject = 0));
    this.card = $("network").content.firstElementChild.cloneNode(true);
    this.card.classList.toggle("second", number === 1);
    this.part = (name) => this.card.querySelector(name);
    this.editors = [...this.card.querySelectorAll(".line")].map(
      (line) =>
        new LineEditor(
          line,
          () => this.edited(),
          () => this.use(),
        ),
    );
    this.wire();
    this.showTexts();
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
    this.part(".partial").onclick = () => this.send({ what: "graph", settings: this.written() });
    this.part(".safetensors").onclick = () => this.send({ what: "file", kind: "safetensors" });
    this.part(".array").onclick = () => this.send({ what: "file", kind: "h" });
    this.part(".layer").onchange = (event) =>
      this.send({ what: "show", layer: Number(event.target.value) });
    this.part(".heads").onclick = (event) => {
      if (!event.target.dataset.head) return;
      this.head = Number(event.target.dataset.head);
      this.drawLook();
    };
    this.part(".examples tbody").onclick = (event) => {
      const row = event.target.closest("tr");
      if (row) networks.forEach((network) => network.choose(Number(row.dataset.i)));
    };
  }
  choose(index) {
    this.subject = index;
    this.send({ what: "show", index, source: null, target: null });
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
    ((settings[`encoder${mark}`] = encoder), (settings[`decoder${mark}`] = decoder));
    this.showPreset();
    writeAddress();
    const training = networks.some((network) => network.running);
    networks.forEach((network) => network.create());
    if (training) train();
  }

  // -- training --

  create() {
    ((this.step = 0), (this.losses = []), (this.scores = []), (this.hash = ""), (this.look = null));
    ((this.subject = 0), (this.ready = false));
    this.part(".changed").hidden = true;
    this.showError("");
    this.send({ what: "create", settings: settingsOf(this.number) });
  }
  run(steps) {
    this.running = true;
    this.send({ what: "run", steps, speed: Number(settings.speed) });
  }
  pause() {
    this.send({ what: "pause" });
  }
  fail(message) {
    this.running = false;
    this.showError(message);
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
  created({ parameters, tests, unseen }) {
    Object.assign(this, { parameters, tests, unseen, ready: true });
    showState();
  },
  progress({ step, losses, running, hash, exact, fastest }) {
    const first = step - losses.length;
    losses.forEach((loss, i) => this.losses.push([first + i + 1, loss]));
    Object.assign(this, { step, running, hash, exact, fastest });
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
  },
  checked({ settings: of, message }) {
    const { encoder, decoder } = this.written();
    if (of.encoder === encoder && of.decoder === decoder) this.showError(message);
  },
  answers({ answers, message }) {
    drawAnswers(this, answers, message);
  },
  trace({ data }) {
    showTrace(this, data);
  },
  file({ kind, bytes, message }) {
    if (message) return this.showError(message);
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([bytes]));
    link.download = `${settings.task}.${kind}`;
    link.click();
  },
  error({ message }) {
    this.fail(message);
  },
};

// -- drawing --

Network.prototype.drawLook = function () {
  const look = this.look;
  if (!look) return;
  const rows = look.examples.map((e, i) => {
    const right = e.answer === e.target;
    return `<tr data-i="${i}" aria-selected="${i === this.subject}"><td>${escaped(e.source)}</td>
      <td class="answer">${answerHtml(e.answer, e.target)}${
        right
          ? ""
          : `
        <small>${escaped(e.target)}</small>`
      }</td>
      <td class="mark ${right ? "right" : "miss"}">${right ? "✓" : "✗"}</td></tr>`;
  });
  this.part(".examples").classList.toggle(
    "long",
    look.examples.some((e) => e.target.length > 24),
  );
  this.part(".examples tbody").innerHTML = rows.join("");
  this.part(".attention").hidden = !look.layers.length;
  if (!look.layers.length) return;
  const select = this.part(".layer");
  const names = look.layers
    .map((l, i) => `<option value="${i}">${l.path} ${l.kind}</option>`)
    .join("");
  if (select.dataset.names !== names) select.innerHTML = select.dataset.names = names;
  select.value = look.layer;
  if (this.head >= look.heads.length) this.head = -1;
  this.part(".heads").innerHTML = [-1, ...look.heads.keys()]
    .map(
      (h) =>
        `<button data-head="${h}" aria-pressed="${h === this.head}">
          ${h < 0 ? "mean" : h + 1}</button>`,
    )
    .join("");
  drawAttention(this.part(".weights"), this.part(".caption"), look, this.head);
};

// An answer with the characters that differ from the wanted one marked.
function answerHtml(answer, target) {
  if (answer === target) return `<span class="right">${escaped(answer)}</span>`;
  const marked = [...answer].map((ch, i) =>
    ch === target[i] ? escaped(ch) : `<span class="false">${escaped(ch)}</span>`,
  );
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
