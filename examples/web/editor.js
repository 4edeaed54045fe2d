// editor.js   an editable line of the architecture language: colors, errors at their place, and
// completion
"use strict";

class LineEditor {
  // changed(text): after each edit; entered(): Enter without a list of completions; at(place): the
  // character under the pointer or the cursor, -1: none.
  constructor(host, { changed, entered, at }) {
    this.side = host.dataset.side;
    Object.assign(this, { changed, entered, at });
    host.innerHTML = `<label>${this.side}</label><div class="box"><pre aria-hidden="true"></pre>
      <textarea rows="1" spellcheck="false" autocapitalize="off" autocomplete="off" wrap="soft"
        aria-label="${this.side}: a chain of layers" aria-autocomplete="list"></textarea>
      <ul role="listbox" hidden></ul></div>`;
    this.mirror = host.querySelector("pre");
    this.area = host.querySelector("textarea");
    this.list = host.querySelector("ul");
    this.error = null; // {from, to}: characters of the text
    this.pointed = null; // the same, of the layer that the picture marks
    ((this.choices = []), (this.chosen = 0));
    this.area.addEventListener("input", () => this.edited());
    this.area.addEventListener("keydown", (event) => this.key(event));
    this.area.addEventListener("blur", () => {
      this.close();
      this.at(-1);
    });
    for (const what of ["keyup", "click", "focus"])
      this.area.addEventListener(what, () => this.at(this.area.selectionStart));
    this.area.addEventListener("pointermove", (event) => this.at(this.under(event)));
    this.area.addEventListener("pointerleave", () => this.at(-1));
    this.list.addEventListener("pointerdown", (event) => {
      event.preventDefault(); // the focus stays in the line
      const item = event.target.closest("li");
      if (item) this.complete(Number(item.dataset.i));
    });
  }
  get text() {
    return this.area.value;
  }
  set text(value) {
    this.area.value = value;
    this.error = null;
    this.draw();
  }
  // Marks what an error of the library names, "encoder line 1 column 5: ..."; null: nothing.
  mark(message) {
    const place = /(encoder|decoder) line (\d+) column (\d+)/.exec(message || "");
    this.error = null;
    if (place && place[1] === this.side) {
      const before = this.text.split("\n").slice(0, place[2] - 1);
      const from = before.reduce((sum, line) => sum + line.length + 1, 0) + Number(place[3]) - 1;
      const word = /^[\w$]+|^->|^./s.exec(this.text.slice(from));
      this.error = { from, to: from + (word ? word[0].length : 0) };
    }
    this.draw();
  }

  // The character under the pointer: the mirror has the same text at the same places. -1: none.
  under({ clientX: x, clientY: y }) {
    const spans = [...this.mirror.children];
    const hit = spans.find((span) =>
      [...span.getClientRects()].some(
        (r) => x >= r.left && x <= r.right && y >= r.top - 2 && y <= r.bottom + 2,
      ),
    );
    return hit ? Number(hit.dataset.at) : -1;
  }
  // Marks the layer that the picture shows; null: none.
  point(range) {
    this.pointed = range;
    this.draw();
  }

  // -- colors: the text once more behind the transparent text of the field --

  draw() {
    let html = "",
      at = 0;
    const { from, to } = this.error || { from: -1, to: -1 };
    const pointed = this.pointed || { from: -1, to: -1 };
    for (const [word] of this.text.matchAll(/[A-Za-z_]\w*|\d[\d.]*|->|\s+|./gs)) {
      const kind = /^[A-Za-z_]/.test(word)
        ? LineEditor.known(word)
          ? "name"
          : "word"
        : /^\d/.test(word)
          ? "number"
          : "sign";
      const wrong = at < to && at + word.length > from ? " wrong" : "";
      const mark = at < pointed.to && at >= pointed.from ? " pointed" : "";
      html += `<span class="${kind}${wrong}${mark}" data-at="${at}">${escaped(word)}</span>`;
      at += word.length;
    }
    if (from >= at) html += '<span class="wrong">&nbsp;&nbsp;</span>';
    this.mirror.innerHTML = `${html}\n`;
    this.area.style.height = "auto";
    this.area.style.height = `${this.area.scrollHeight}px`;
  }
  edited() {
    ((this.error = null), (this.pointed = null));
    this.draw();
    this.suggest();
    this.changed(this.text);
  }

  // -- completion --

  static words = { ...WORDS };
  static known(word) {
    return word in LineEditor.words;
  }
  // Adds the layers of the library, lines "ff n:i act:w", to what can be completed.
  static learn(kinds) {
    for (const line of kinds) {
      const [name, ...args] = line.split(" ");
      const list = args
        .filter(Boolean)
        .map((arg) => arg.replace(/:.*/, ""))
        .join(", ");
      const says = WORDS[name] || "";
      if (/^[a-z_]+$/.test(name))
        LineEditor.words[name] = says && list ? `${says} (${list})` : says || list;
    }
  }
  // The word before the cursor, and whether it stands in the parentheses of syn_att.
  prefix() {
    const before = this.area.value.slice(0, this.area.selectionStart);
    const word = /[A-Za-z_]\w*$/.exec(before);
    return { word: word ? word[0] : "", scores: /syn_att\([\w+]*$/.test(before) };
  }
  suggest() {
    const { word, scores } = this.prefix();
    const names = scores
      ? SCORES
      : Object.keys(LineEditor.words).filter((name) => !SCORES.includes(name));
    this.choices = word
      ? names.filter((name) => name.toLowerCase().startsWith(word.toLowerCase()) && name !== word)
      : [];
    this.chosen = 0;
    this.drawList();
  }
  drawList() {
    this.list.hidden = !this.choices.length;
    this.list.innerHTML = this.choices
      .map(
        (name, i) =>
          `<li role="option" data-i="${i}" aria-selected="${i === this.chosen}">
             <b>${name}</b> ${escaped(LineEditor.words[name])}</li>`,
      )
      .join("");
    const item = this.list.children[this.chosen];
    if (item) this.list.scrollTop = item.offsetTop - this.list.clientHeight / 2;
  }
  close() {
    this.choices = [];
    this.drawList();
  }
  complete(i) {
    const { word } = this.prefix(),
      end = this.area.selectionStart;
    this.area.setRangeText(this.choices[i], end - word.length, end, "end");
    this.close();
    this.error = null;
    this.draw();
    this.changed(this.text);
  }
  key(event) {
    const open = this.choices.length > 0,
      move = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (open && move)
      this.chosen = (this.chosen + move + this.choices.length) % this.choices.length;
    else if (open && (event.key === "Enter" || event.key === "Tab"))
      return (event.preventDefault(), this.complete(this.chosen));
    else if (open && event.key === "Escape") return (event.stopPropagation(), this.close());
    else if (event.key === "Enter") return (event.preventDefault(), this.entered());
    else return;
    event.preventDefault();
    this.drawList();
  }
}
