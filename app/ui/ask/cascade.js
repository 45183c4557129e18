// The picture of a question's cascade and the slider that replays it, as a Streamlit component.
//
// `data` is the record (app/ui/ask/record.py), sent once a question. cascade_state.js brings what may change after that:
// { id, percents, seq, chosen, correct, answer }. A release of the slider is sent as "drop" with a number; a state that
// has not heard of the newest one leaves the slider alone.

const ANIMATION_MS = 3000, HEIGHT_PIXELS = 326, NARROW_HEIGHT_PIXELS = 300, REACH_PIXELS = 26, KEY_DELAY_MS = 400;

function formatShare(share) {
  if (share > 0 && share < 0.01) return "< 1 %";
  return share > 0.99 && share < 1 ? "> 99 %" : `${(share * 100).toFixed(0)} %`;
}

const isStill = () => matchMedia("(prefers-reduced-motion: reduce)").matches;

class Cascade {
  constructor(root) {
    this.root = root;
    this.find = (selector) => root.querySelector(selector);
    this.plot = this.find(".plot");
    this.seq = 0;
    this.step = null;  // the column that the arrow keys stopped at
    this.listen();
    this.watch = new ResizeObserver(() => this.draw());
    this.watch.observe(this.plot);
  }

  isDrawnIn(plot) {
    return this.plot === plot;
  }

  stop() {
    this.watch.disconnect();
    cancelAnimationFrame(this.frame);
    clearTimeout(this.wait);
  }

  setRecord(record, send) {
    this.send = send;
    if (this.record?.id === record.id) return;
    Object.assign(this, { record, state: null, percents: null, chosen: null, step: null, isDragged: false });
    clearTimeout(this.wait);  // a release of the last question's slider
    cancelAnimationFrame(this.frame);
    this.frame = null;
  }

  setState(state) {
    if (!this.record || state.id !== this.record.id) return;
    const isNew = !this.state;
    const before = JSON.stringify([this.percents, this.chosen, this.state?.correct]);
    if (isNew || state.seq >= this.seq) {
      if (!this.isDragged) this.percents = state.percents;
      this.chosen = state.chosen;
      this.seq = Math.max(this.seq, state.seq);
    }
    this.state = state;
    if (isNew || JSON.stringify([this.percents, this.chosen, state.correct]) !== before) {
      this.drawControls();
      if (!this.frame) this.draw();
    }
    const seen = (window.__as2cascade.seen ??= new Set());
    if (isNew && !seen.has(this.record.id)) {
      seen.add(this.record.id);
      if (!isStill()) this.play();
    }
  }

  // --- what is drawn

  model() {
    const { record } = this, width = this.plot.clientWidth;
    const height = width < 520 ? NARROW_HEIGHT_PIXELS : HEIGHT_PIXELS;
    const run = replay(record, expandPercents(this.percents, record.exits.length));
    const at = place(record, width, height), correct = new Set(this.state.correct);
    return { record, run, at, correct, stages: listStages(record, run), ways: listWays(record, run, at, correct), chosen: this.chosen };
  }

  draw() {
    if (!this.state || !this.plot.clientWidth) return;
    const m = (this.drawn = this.model());
    const svg = this.find("svg.picture");
    svg.setAttribute("viewBox", `0 0 ${m.at.width} ${m.at.height}`);
    svg.setAttribute("height", m.at.height);
    svg.innerHTML = drawPicture(m);
    this.plot.setAttribute("aria-label", `${describeRun(m.stages)} Left and right arrow keys step through it.`);
    this.showLeft(m.stages.at(-1).kept, "reach the end");
    this.find(".all").textContent = m.stages[0].entered.toLocaleString("en");
    const saved = 1 - m.run.cost;
    this.find(".saved").innerHTML = saved > 0 ? `<b>${formatShare(saved)}</b> of the cascade's compute saved` : "nothing saved";
    this.find(".winners").innerHTML = m.at.isNarrow ? this.listWinners(m) : "";
    this.hover(null);
    if (this.step !== null) this.showStep(this.step); else this.say(null);
  }

  listWinners({ ways, record }) {
    const best = ways.filter((w) => w.stays && w.kind !== "dropped").sort((a, b) => a.stops.at(-1).rank - b.stops.at(-1).rank);
    return best.map((w) => `<li class="${w.kind}">${w.kind === "right" ? "✓ " : ""}${escapeText(cut(record.texts[w.inner], 90))}</li>`).join("");
  }

  drawControls() {
    const exits = this.record.exits, each = this.percents.length > 1;
    const common = this.find(".common");
    common.disabled = each;
    if (!each) common.value = this.percents[0];
    common.setAttribute("aria-valuetext", `${common.value} %`);
    this.find(".common-value").textContent = each ? "by exit" : `${common.value} %`;
    this.find(".each").checked = each;
    const row = this.find(".by-exit");
    row.hidden = !each;
    if (row.childElementCount !== exits.length - 1) {
      row.innerHTML = exits.slice(0, -1).map((e, i) =>
        `<label><span>after ${e.title}</span> <b></b><input type="range" min="0" max="70" data-exit="${i}"></label>`).join("");
    }
    if (each) row.querySelectorAll("input").forEach((input, i) => {
      input.value = this.percents[i];
      input.setAttribute("aria-valuetext", `${input.value} %`);
      input.previousElementSibling.textContent = `${input.value} %`;
    });
  }

  /** The sentence under the picture: of a column, or of the whole run. */
  say(column) {
    const { stages, correct } = this.drawn;
    const last = stages.at(-1), first = stages.find((s) => s.isFirst);
    const read = (first ? first.kept : stages[0].entered).toLocaleString("en");
    const whole = `${first ? `Of ${first.entered.toLocaleString("en")} sentences, ` : ""}the cascade read ${read}, layer by `
      + `layer; ${last.kept.toLocaleString("en")} reached the end.`;
    const text = column === null ? whole[0].toUpperCase() + whole.slice(1) : describeStage(stages[column], correct);
    if (this.find(".say").textContent !== text) this.find(".say").textContent = text;
    this.root.querySelectorAll("g.stage").forEach((g) => g.classList.toggle("here", Number(g.dataset.column) === column));
  }

  // --- the animation: a picture drawn in full, of which a part is shown

  columnX(column) {
    const { record, at } = this.drawn;
    if (column < 0) return record.first ? at.left : at.start;
    return record.first && column === 0 ? at.bandEnd : at.exits[column - (record.first ? 1 : 0)];
  }

  /** Show the picture as far as `progress` columns; `since` is how long ago each was passed, in steps. */
  reveal(progress) {
    const { at, stages } = this.drawn, column = Math.min(Math.floor(progress), stages.length) - 1;
    const from = this.columnX(column), to = column + 1 < stages.length ? this.columnX(column + 1) : from;
    const x = from + (to - from) * (progress - column - 1);
    const svg = this.find("svg.picture");
    const clip = `inset(-9px calc(100% - ${(x - this.columnX(-1) + 4).toFixed(1)}px) -9px -9px)`;
    for (const part of svg.querySelectorAll(".ways,.alive")) part.style.clipPath = clip;
    for (const g of svg.querySelectorAll("[data-column]")) {
      const own = Number(g.dataset.column), since = progress - own - 1;
      if (g.matches(".stage")) {
        g.style.setProperty("--swept", Math.max(0, Math.min(1, since / 0.35)));
        g.classList.toggle("ahead", since < 0);
      } else if (g.matches(".lost-here")) g.style.opacity = since < 0 ? 0 : 1;
    }
    const labels = svg.querySelector(".labels");
    if (labels) labels.style.opacity = progress >= stages.length ? 1 : 0;
    this.count(progress, column);
  }

  count(progress, column) {
    const { stages } = this.drawn, stage = stages[Math.max(0, column)];
    const share = column < 0 ? 0 : Math.min(1, (progress - column - 1) / 0.5);
    this.showLeft(Math.round(stage.entered + (stage.kept - stage.entered) * share), "remain");
  }

  showLeft(number, fate) {
    this.find(".left").textContent = number.toLocaleString("en");
    this.find(".fate").textContent = fate;
  }

  play() {
    cancelAnimationFrame(this.frame);
    this.step = null;
    this.draw();
    const steps = this.drawn.stages.length + 1;  // the last one is the winner's
    let start = null, fallen = -1;
    const next = (now) => {
      if (!this.root.host?.isConnected) return;
      start ??= now;
      const progress = ((now - start) / ANIMATION_MS) * steps;
      if (progress >= steps) return this.finish();
      this.reveal(Math.min(progress, this.drawn.stages.length + 0.999));
      const passed = Math.min(Math.floor(progress), this.drawn.stages.length) - 1;
      if (passed > fallen) {
        fallen = passed;
        this.say(passed);
        this.fall(passed);
      }
      this.find("svg.picture").classList.toggle("won", passed === this.drawn.stages.length - 1);
      this.frame = requestAnimationFrame(next);
    };
    this.frame = requestAnimationFrame(next);
  }

  /** Who was dropped here falls out of the picture, as a copy that fades. */
  fall(column) {
    const group = this.find(`g.grey[data-column="${column}"]`);
    if (!group) return;
    const ghost = group.cloneNode(true);
    ghost.setAttribute("class", "grey ghost");
    ghost.addEventListener("animationend", () => ghost.remove());
    group.parentNode.append(ghost);
  }

  /** The final frame is the picture as it is drawn without an animation. */
  finish() {
    cancelAnimationFrame(this.frame);
    this.frame = null;
    this.find("svg.picture").classList.remove("won");
    this.draw();
  }

  showStep(column) {
    this.step = column;
    this.reveal(column + 1.6);
    this.find("svg.picture").classList.remove("won");
    this.say(column);
  }

  moveStep(by) {
    const wasPlaying = Boolean(this.frame), last = this.drawn.stages.length - 1;
    cancelAnimationFrame(this.frame);
    this.frame = null;
    const from = this.step ?? (wasPlaying ? -1 : by > 0 ? -1 : last + 1);
    const to = from + by;
    if (to < 0 || to > last) {
      this.step = null;
      this.draw();
    } else {
      if (wasPlaying) this.draw();
      this.showStep(to);
    }
  }

  // --- what people do

  listen() {
    const { plot } = this;
    this.root.addEventListener("input", ({ target }) => {
      if (target.matches(".each")) return this.setPercents(target.checked
        ? this.record.exits.slice(1).map(() => this.percents[0]) : [Number(this.find(".common").value)], 0);
      if (!target.matches("[type=range]")) return;
      const value = Number(target.value);
      this.isDragged = true;
      this.setPercents(target.dataset.exit === undefined ? [value] : this.percents.map((p, i) => (i === Number(target.dataset.exit) ? value : p)), null);
    });
    this.root.addEventListener("change", ({ target }) => {
      if (target.matches("[type=range]")) this.release(this.isPointed ? 0 : KEY_DELAY_MS);
    });
    this.root.addEventListener("pointerdown", () => { this.isPointed = true; });
    this.root.addEventListener("keydown", () => { this.isPointed = false; });
    plot.addEventListener("keydown", (event) => {
      const steps = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (!this.drawn || event.ctrlKey || event.metaKey || event.altKey || !(steps || event.key === "Escape")) return;
      event.preventDefault();
      if (steps) this.moveStep(steps);
      else { this.step = null; this.finish(); }
    });
    plot.addEventListener("pointermove", (event) => this.drawn && !this.frame && this.hover(event));
    plot.addEventListener("pointerleave", () => this.drawn && this.hover(null));
    plot.addEventListener("click", (event) => {
      const way = this.drawn && this.nearest(event);
      if (!way) return;
      this.chosen = way.candidate;
      this.finish();
      this.send("pick", { id: this.record.id, candidate: way.candidate });
    });
    this.find(".toolbar").addEventListener("click", ({ target }) => {
      const act = target.closest("button")?.dataset.act;
      if (act && this.drawn) this.act(act, target.closest("button"));
    });
  }

  setPercents(percents, delay) {
    this.percents = percents;
    this.drawControls();
    this.finish();
    if (delay !== null) this.release(delay);
  }

  /** Tell Python; keys that follow each other closely count as one change. */
  release(delay) {
    clearTimeout(this.wait);
    this.wait = setTimeout(() => {
      this.isDragged = false;
      this.seq += 1;
      this.send("drop", { id: this.record.id, percents: this.percents, seq: this.seq });
    }, delay);
  }

  position(event) {
    const box = this.find("svg.picture").getBoundingClientRect();
    return { x: event.clientX - box.left, y: event.clientY - box.top };
  }

  /** The stop under the pointer; lines are reached at their columns. */
  nearest(event) {
    const label = event.composedPath().find((e) => e.dataset?.candidate && e.matches?.(".label"));
    if (label) return this.drawn.ways.find((w) => w.candidate === Number(label.dataset.candidate));
    const { x, y } = this.position(event);
    let best = null, least = REACH_PIXELS ** 2;
    for (const way of this.drawn.ways) for (const stop of way.stops) {
      const distance = (stop.x - x) ** 2 + (stop.y - y) ** 2 + (way.kind === "dropped" ? 4 : 0);
      if (distance < least) { least = distance; best = { ...way, stop }; }
    }
    return best;
  }

  hover(event) {
    const way = event && this.nearest(event), tip = this.find(".tip");
    tip.hidden = !way;
    this.find(".over").setAttribute("d", way ? drawLine(way.stops) : "");
    this.find(".over").setAttribute("transform", "");
    if (way) {
      const stop = way.stop ?? way.stops.at(-1), text = way.inner === null ? "" : `<p>${escapeText(this.record.texts[way.inner])}</p>`;
      tip.innerHTML = `${text}<small>rank ${stop.rank.toLocaleString("en")} here; ${way.fate}. Click for details.</small>`;
      const width = Math.min(280, this.drawn.at.width);
      tip.style.width = `${width}px`;
      tip.style.left = `${Math.max(0, Math.min(this.drawn.at.width - width, stop.x + 14))}px`;
      tip.style.top = `${stop.y + 16}px`;
    }
    if (event && this.step === null) {
      const { x } = this.position(event), { stages } = this.drawn;
      const column = stages.findIndex((_, i) => Math.abs(this.columnX(i) - x) < (stages[i].isFirst ? 14 : this.drawn.at.step / 2));
      this.say(column < 0 ? null : column);
    } else if (!event && this.step === null && !this.frame) this.say(null);
  }

  async act(act, button) {
    if (act === "replay") return this.play();
    if (act === "svg" || act === "png") {
      const svg = exportPicture(this);
      return act === "svg" ? save(new Blob([svg], { type: "image/svg+xml" }), "cascade.svg") : save(await paint(svg), "cascade.png");
    }
    const text = act === "link" ? location.href : `${this.state.answer}\n${location.href}`;
    await copy(text);
    const name = button.textContent;
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = name; }, 1500);
  }
}

export default function (component) {
  const shared = (window.__as2cascade ??= { calls: [], states: [] });
  const root = component.parentElement;
  if (!root.__as2?.isDrawnIn(root.querySelector(".plot"))) root.__as2 = new Cascade(root);
  const call = { at: root.host, view: root.__as2, record: component.data, send: component.setTriggerValue };
  const use = ({ view, record, send }) => {
    view.setRecord(record, send);
    shared.view = view;
    if (shared.state) view.setState(shared.state);
  };
  return newest(shared.calls, call, use, () => {
    root.__as2?.stop();
    root.__as2 = undefined;
    shared.view = null;
  });
}
