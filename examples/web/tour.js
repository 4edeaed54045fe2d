// tour.js   a guided tour: eight steps, each wants a prediction before it shows what happens
"use strict";

const TOUR_STEPS = 60,
  TOUR_END = 200;

// Each step: title, what is said, a question, options, the right one, and `does`, which does on the
// page what is asked about and returns what was seen.
const TOUR = [
  {
    title: "A network that knows nothing",
    say: "The network reads a date in words and should write it in digits. Its weights are random numbers; it has not seen any example yet.",
    ask: "How many of 100 unseen dates does it answer exactly?",
    options: ["none", "about 10", "about 50"],
    right: 0,
    async does(a) {
      await tour.until(() => a.scores.length);
      return `It answers ${Math.round(100 * a.scores.at(-1)[1])} %. All ten characters must be right: a random answer almost never is.`;
    },
  },
  {
    title: "The first loss",
    say: "At each place of the answer the network gives a probability to each of 15 tokens. If all of them were equal, the loss would be log 15 = 2.7.",
    ask: "What is the loss of the very first step, with random weights?",
    options: ["less than 2.7", "2.7", "more than 2.7"],
    right: 2,
    async does() {
      const a = await tour.train(1);
      return `It is ${a.losses[0][1].toFixed(2)}. Random weights do not give equal probabilities: they prefer some tokens without a reason, and the loss is high where these are wrong.`;
    },
  },
  {
    title: "What is learned first",
    say: `Now the network trains until step ${TOUR_STEPS}.`,
    ask: "Which characters will be right first?",
    options: ["the first two digits of the year", "the month", "the day"],
    right: 0,
    async does() {
      const a = await tour.train(TOUR_STEPS);
      const right = (from, to) =>
        a.look.examples.filter((e) => e.answer.slice(from, to) === e.target.slice(from, to)).length;
      return `In the list of ${a.look.examples.length} examples, ${right(0, 2)} begin with the right two digits; the month is right in ${right(5, 7)}, the day in ${right(8, 10)}. Only 19 and 20 occur as beginnings, but 12 months and 31 days.`;
    },
  },
  {
    title: "Where the network looks",
    say: `It trains on until step ${TOUR_END}. Then the table of attention shows the last layer of the decoder that looks at the source.`,
    ask: "When it writes the last digit of the day, at which words will it look most?",
    options: ["at the words of the day", "at the words of the year", "at all words equally"],
    right: 0,
    async does() {
      const a = await tour.train(TOUR_END);
      const layer = a.look.layers.findLastIndex((l) => l.kind.includes("src_att"));
      ((a.head = -1), (a.table = false), (a.subject = 0));
      a.send({ what: "show", layer, index: 0, source: null, target: null });
      await tour.until(() => a.look.layer === layer);
      const row = meanOfHeads(a.look.heads)[a.look.target.length - 1];
      const best = row.indexOf(Math.max(...row));
      const word = a.look.source[best] ? a.look.source[best].text : "<end>";
      return `In the row of the last digit, “${a.look.target.at(-1).text}”, the largest weight is ${row[best].toFixed(2)}, at “${word}”. Nobody told the network which words matter for which digit.`;
    },
  },
  {
    title: "A word that it has never seen",
    say: "The network has a fixed vocabulary: the words of the training pairs. “floreal” is not among them.",
    ask: "You enter “floreal the fourteenth two thousand eighty seven”. What will it do?",
    options: ["refuse to answer", "leave the word out", "read an unknown token and answer anyway"],
    right: 2,
    async does(a) {
      $("question").value = "floreal the fourteenth two thousand eighty seven";
      readQuestion();
      $("askform").requestSubmit();
      await tour.until(() => $(`answers${a.number}`)?.querySelector("td"));
      const answer = $(`answers${a.number}`).querySelector("td").textContent;
      return `It answers ${answer}. The month can only be a guess: every word outside the vocabulary becomes the same unknown token. The page marks such words below “Ask it”. The bars there show how sure the network is of each character.`;
    },
  },
  {
    title: "The table R",
    say: "The first layer of the encoder is syn_att(R+V). V compares the tokens of this sentence; R is a learned table of places.",
    ask: "If you choose another sentence, what changes?",
    options: ["only the weights that V takes part in", "only the table R", "both"],
    right: 0,
    async does(a) {
      a.table = true;
      a.send({ what: "show", layer: 0, index: 0, source: null, target: null });
      await tour.until(() => a.look.layer === 0);
      const before = JSON.stringify(a.look.table);
      const look = a.look;
      ((a.subject = 3), a.send({ what: "show", index: 3 }));
      await tour.until(() => a.look !== look);
      const same = JSON.stringify(a.look.table) === before;
      return `The heat map under “attention” now shows R. Another sentence was chosen, and the table is ${same ? "exactly the same" : "another one"}. “weights” beside it shows the weights, which are others.`;
    },
  },
  {
    title: "Without residual connections",
    say: "res_nd(X) adds the input of a layer to its output: the line beside each block in the picture. Network B will be the same network with the same layers, but without these lines.",
    ask: `Both race to step ${TOUR_STEPS}. How will the loss of B compare with that of A?`,
    options: ["lower", "about equal", "higher"],
    right: 2,
    async does() {
      const plain = (text) => text.replaceAll(/res_nd\(((?:[^()]|\([^()]*\))*)\)/g, "norm -> $1");
      tour.set({
        race: "1",
        encoder2: plain(DEFAULTS.encoder),
        decoder2: plain(DEFAULTS.decoder),
      });
      await tour.train(TOUR_STEPS);
      const [a, b] = networks.map((n) => n.losses[TOUR_STEPS - 1][1].toFixed(2));
      return `After ${TOUR_STEPS} steps the loss of A is ${a}, that of B ${b}. Through the sums the gradient reaches the first layers unchanged; without them every layer must pass it on.`;
    },
  },
  {
    title: "The same bits",
    say: "Network A starts anew, from the same seed, with the same settings.",
    ask: `How many of its ${TOUR_STEPS} losses will be exactly the same as before?`,
    options: ["none: training is random", "the first few", "all of them"],
    right: 2,
    async does(a) {
      const before = a.hash;
      tour.set({ race: "", encoder2: DEFAULTS.encoder2, decoder2: DEFAULTS.decoder2 });
      await tour.train(TOUR_STEPS);
      return `The hash of the losses was ${before} and is ${networks[0].hash}. Every random choice starts from the seed, and every sum has a fixed order, so each bit of each loss is the same: here, and in a C program on another computer.`;
    },
  },
];

const tour = {
  at: 0,
  run: 0, // a tour that was ended or begun anew does nothing more

  begin() {
    this.run++;
    this.at = 0;
    ((settings.pairs = $("pairs").value), (settings.task = "dates"));
    this.set({ ...DEFAULTS, pairs: settings.pairs });
    this.show();
  },
  end() {
    this.run++;
    $("tourcard").hidden = true;
    $("tour").focus();
  },
  // Settings become new networks, and the controls show them.
  set(values) {
    Object.assign(settings, values);
    showControls();
    writeAddress();
    setRace();
    networks.forEach((network) => network.showTexts());
    reset();
  },
  // Waits for something on the page. Ends the step when the tour has ended.
  async until(condition) {
    const run = this.run;
    while (!condition()) {
      await new Promise((done) => setTimeout(done, 50));
      if (run !== this.run) throw new Error("the tour has ended");
    }
  },
  // Trains all networks up to a step; from the start, where they are beyond it.
  async train(step) {
    await this.until(() => networks.every((n) => n.ready && n.look));
    if (networks.some((n) => n.running || n.step > step)) {
      reset();
      await this.until(() => networks.every((n) => n.ready && n.step === 0 && n.look));
    }
    networks.forEach((n) => n.step < step && n.run(step - n.step));
    const there = (n) => n.step === step && !n.running && n.scores.at(-1)?.[0] === step;
    await this.until(() => networks.every((n) => there(n) && n.look.step === step));
    return networks[0];
  },
  show() {
    const { title, say, ask, options } = TOUR[this.at];
    const buttons = options.map(
      (text, i) => `<button type="button" data-option="${i}">${escaped(text)}</button>`,
    );
    const card = $("tourcard");
    card.hidden = false;
    card.innerHTML = `<p class="dim">Guided tour, step ${this.at + 1} of ${TOUR.length}</p>
      <h2>${escaped(title)}</h2><p>${escaped(say)}</p>
      <fieldset><legend>${escaped(ask)} Choose first, then see.</legend>${buttons.join("")}</fieldset>
      <div class="seen" role="status"></div>
      <div class="row"><button type="button" class="main next" hidden></button>
        <button type="button" class="end">End the tour</button></div>`;
    card.querySelector("fieldset").onclick = (event) => {
      const option = event.target.dataset.option;
      if (option !== undefined) this.answer(Number(option));
    };
    card.querySelector(".end").onclick = () => this.end();
    card.querySelector(".next").onclick = () => this.next();
    card.focus();
  },
  async answer(option) {
    const { right, options, does } = TOUR[this.at];
    const card = $("tourcard"),
      run = this.run;
    for (const button of card.querySelectorAll("[data-option]")) {
      button.disabled = true;
      button.classList.toggle("chosen", Number(button.dataset.option) === option);
    }
    const seen = card.querySelector(".seen");
    seen.innerHTML = "<p>One moment …</p>";
    try {
      const text = await does(networks[0]);
      const verdict = option === right ? "Right." : `You chose “${options[option]}”. It is: ${options[right]}.`;
      seen.innerHTML = `<p><b>${escaped(verdict)}</b> ${escaped(text)}</p>`;
    } catch (error) {
      if (run !== this.run) return;
      seen.innerHTML = `<p class="error">${escaped(error.message)}</p>`;
    }
    const next = card.querySelector(".next");
    next.textContent = this.at + 1 < TOUR.length ? "Next step" : "End";
    next.hidden = false;
    next.focus({ preventScroll: true });
  },
  next() {
    this.at++;
    if (this.at < TOUR.length) this.show();
    else this.end();
  },
};
