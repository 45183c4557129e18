const FIELD = "input:not([type=checkbox]):not([type=radio]):not([type=hidden]),textarea";
const CONTROL = "button,summary,[type=checkbox],[type=radio],[role=switch]";

function late(state, keys = 1, what = "key") {
  if (!state.late) {
    state.late = document.createElement("div");
    state.late.setAttribute("role", "status");
    state.late.dataset.testid = "as2-late";
    state.late.style.cssText = "position:fixed;z-index:999;left:50%;bottom:1.5rem;transform:translateX(-50%);" +
      "padding:.4rem .9rem;border-radius:.5rem;font:600 .9rem sans-serif;color:#fff;background:#31333f;" +
      "border:1px solid #fff;pointer-events:none;visibility:hidden";
    document.body.append(state.late);
  }
  clearTimeout(state.hide);
  state.missed = (state.data.list && state.missed || 0) + keys;
  state.late.textContent = `Too fast: ${state.missed === 1 ? `that ${what} was` : `${state.missed} ${what}s were`} not taken`;
  state.late.style.visibility = "visible";
  state.hide = setTimeout(() => {
    state.late.style.visibility = "hidden";
    state.late.textContent = "";
    state.missed = 0;
  }, 1500);
}

// In a list a press may come while the page is at the one before it. It waits for that one to be done, and is sent for the
// row that is in front then. It can wait only behind an act of `ahead`, after which it is certain which row that is. Once
// one was not taken, those that follow would be for rows they were not meant for: none is taken until no key has come for
// as long as the word about it stands.
function take(state, act) {
  const { doc, list, ahead } = state.data;
  if (list && state.missed) return late(state);
  if (!state.waiting.length && state.sent.doc !== doc) return send(state, act);
  if (list && ahead.includes(state.waiting.at(-1) ?? state.sent.act)) state.waiting.push(act);
  else late(state);
}

function send(state, act) {
  const { doc, list, breaks } = state.data;
  state.sent = { act, doc, list, breaks };
  state.send("key", { act, doc });
}

function sendNext(state) {
  const { doc, list, breaks, map } = state.data, [next] = state.waiting;
  if (window.__as2keys !== state || !next || state.sent.doc === doc) return;
  const isCertain = list === state.sent.list && breaks === state.sent.breaks;
  if (isCertain && next.row && !isAtRest()) setTimeout(() => sendNext(state), SETTLING_MS);
  else if (isCertain && next.row && findButton(next)) clickNext(state);
  else if (isCertain && Object.values(map).includes(next)) send(state, state.waiting.shift());
  else dropWaiting(state);
}

function dropWaiting(state) {
  const dropped = state.waiting.splice(0);
  if (dropped.length) late(state, dropped.length, dropped[0].row ? "click" : "key");
}

// A click on a button of Label counts as a key does: once for what is shown. Streamlit sends it for whatever the server has
// drawn last, which the browser may not show yet. One on another row of a list waits until the page is at rest, and is then
// for the row of that number wherever it is.
const ANSWER_MS = 1000, SETTLING_MS = 50;

function isAtRest() {
  return document.querySelector("[data-testid=stApp]")?.dataset.testScriptState === "notRunning";
}

function findAct(state, target) {
  const holder = target.closest?.("button") && target.closest('[class*="st-key-label_"]');
  const act = /(?:^|\s)st-key-label_(?:row_\d+_|act_)?([a-z]+)/.exec(holder?.className)?.[1];
  return state.data?.clicks?.includes(act) ? act : undefined;
}

function findRow(state, target) {
  const row = /, candidate (\d+)$/.exec(target.closest?.("button")?.textContent)?.[1];
  return state.data.list && row ? { label: findLabel(target), row } : undefined;
}

function findButton({ label, row }) {
  const buttons = document.querySelectorAll(`[class*="st-key-label_row_"][class*="_${label}"] button`);
  return [...buttons].find((b) => b.textContent.endsWith(`, candidate ${row}`) && b.offsetParent);
}

function clickNext(state) {
  state.next = new MouseEvent("click", { bubbles: true, cancelable: true, composed: true, detail: 1 });
  findButton(state.waiting.shift()).dispatchEvent(state.next);
}

function takeClick(state, event) {
  if (!findAct(state, event.target)) return;
  const { doc, list, breaks } = state.data, row = findRow(state, event.target);
  if (state.sent.doc === doc || (state.waiting.length && event !== state.next)) return holdClick(state, event, row);
  const sent = (state.sent = { act: "click", doc, list, breaks, row });
  const release = () => {  // an act that failed leaves what is shown
    if (state.sent !== sent || state.data.doc !== doc) return;
    if (!isAtRest()) return setTimeout(release, ANSWER_MS);
    state.sent = {};
    dropWaiting(state);
  };
  setTimeout(release, ANSWER_MS);
}

function holdClick(state, event, row) {
  const rows = [state.sent.row, ...state.waiting].map((other) => other?.row);
  if (!row || state.missed || state.sent.list !== state.data.list || rows.includes(row.row)) return refuseClick(state, event);
  event.preventDefault();
  event.stopImmediatePropagation();
  state.waiting.push(row);
}

function refuseClick(state, event) {
  event.preventDefault();
  event.stopImmediatePropagation();
  if (findAct(state, event.target) || event.target.closest?.(OF_ANSWER)) late(state, 1, "click");
}

// The second click of a double click that finds something else in its place than the first, such as the next sentence, the
// opposite of what was done, or a dialog to close, is for nothing that was seen.
const DOUBLE_MS = 500, DOUBLE_PX = 6;
const GESTURE = ["pointerdown", "mousedown", "pointerup", "mouseup", "click"];
const DELIBERATE = ["undo", "back", "forward", "find", "up", "down"];  // acts that are done several times in a row

// On Ask, while another question is being answered and its answer is not here yet, a label would be for a sentence that
// nobody has seen.
const OF_ANSWER = '[class*="st-key-as2_label_"],[class*="st-key-as2_queue__"]';

function isOfEarlierAnswer(state, target) {
  if (!target.closest?.("button") || !target.closest(OF_ANSWER)) return false;
  const shown = document.querySelector(".as2-answer")?.dataset.address, search = new URLSearchParams(location.search);
  const now = ["corpus", "q", "model"].map((name) => search.get(name) ?? "").join("|");
  if (shown === undefined || shown === now) return false;
  const isKnown = state.unanswered?.shown === shown && state.unanswered.now === now;
  if (!isKnown || !isAtRest()) {  // a run that has ended may not be drawn yet: the time counts from its end
    state.unanswered = { shown, now, since: performance.now() };
  }
  return performance.now() - state.unanswered.since < ANSWER_MS;
}

function namePlace(state, target) {
  const control = target.closest?.("button,a,label,[role=option]"), box = (control ?? target).closest?.(KEY);
  const name = [...(box?.classList ?? [])].find((c) => c.startsWith("st-key-"));
  const text = control && findOnly(box) !== control ? control.textContent : "";
  const act = findAct(state, target);
  const shown = act && !DELIBERATE.includes(act) ? state.data.doc : "";
  return [name, text, shown, document.querySelectorAll("[role=dialog]:not([data-testid=stToast])").length].join("/");
}

function noteGesture(state, event) {
  if (event.type === "pointerdown") {
    const { timeStamp, clientX, clientY, target } = event, last = state.down, place = namePlace(state, target);
    const isSecond = last && timeStamp - last.timeStamp < DOUBLE_MS &&
      Math.hypot(clientX - last.clientX, clientY - last.clientY) < DOUBLE_PX;
    state.isStray = Boolean(isSecond && place !== last.place);
    state.down = { timeStamp, clientX, clientY, place };
  }
  if (event === state.next) return takeClick(state, event);
  const isKey = event.type === "click" && event.detail === 0;
  if (state.isStray && !isKey || event.type === "click" && isOfEarlierAnswer(state, event.target)) refuseClick(state, event);
  else if (event.type === "click") takeClick(state, event);
}

// The key as it is named in the map. A layout of another alphabet than the Latin has none of its letters: there the place
// of the key counts.
function nameKey({ key, code }) {
  const letter = key.length === 1 && key > "\x7f" && /^Key([A-Z])$/.exec(code)?.[1];
  return (letter || key).toLowerCase();
}

// Streamlit's toasts are dialogs without a name that nothing reads out.
function nameToasts() {
  for (const text of document.querySelectorAll("[data-testid=stToastText]:not([role])")) {
    text.closest("[data-testid=stToast]")?.setAttribute("aria-label", text.innerText);
    text.setAttribute("role", "alert");
  }
}

// Whoever presses a row's button by Enter goes on at the row in front: in the place of the button there may be one of
// another row by then. The rows come one after the other, so it is looked for until they have settled.
function findLabel(element) {
  return /st-key-label_row_\d+_(\w+)/.exec(element.closest('[class*="st-key-label_row_"]')?.className)?.[1];
}

function noteRow(state, { detail, target }) {
  state.follow = detail === 0 ? findLabel(target) : undefined;
}

function followRow(state, tries) {
  const front = findButton({ label: state.follow, row: Number(state.data.doc.split("/")[1]) + 1 });
  if (front && document.activeElement !== front) front.focus({ preventScroll: true });
  if (tries && state.follow) setTimeout(() => followRow(state, tries - 1), 50);
  else state.follow = undefined;
}

function focusField(dialog, tries) {
  const field = dialog.querySelector(FIELD);
  const elsewhere = dialog.contains(document.activeElement) && document.activeElement.matches("button,a,select");
  if (field && !elsewhere && document.activeElement !== field) field.focus();
  if (tries && dialog.isConnected) setTimeout(() => focusField(dialog, tries - 1), 50);
}

// The field has the focus when the page opens, if nothing is typed in it yet and no keyboard has to unfold for it. The
// page says whether it is empty: a field with a value is drawn without it for a moment. It may come late: the first
// start reads a corpus before.
function focusEmpty(selector, page, tries) {
  if (page !== window.__as2page) return;
  const field = document.querySelector(selector);
  if (field?.value === "" && document.activeElement === document.body) field.focus({ preventScroll: true });
  if (!field && tries) setTimeout(() => focusEmpty(selector, page, tries - 1), 100);
}

// Whoever goes by Tab keeps the focus, on pages without keys of their own: on Label the next key is for the next sentence.
function holdsFocus(state) {
  return Boolean(state.data?.page && state.tabbed);
}

// A button that changes its look is made anew; without the focus one would be back at the top of the page. The one of the
// same key gets it.
const KEY = '[class*="st-key-"]';

function findOnly(box) {
  const controls = [...(box?.querySelectorAll("button,input,textarea") ?? [])].filter((c) => c.offsetParent);
  return controls.length === 1 ? controls[0] : undefined;
}

function noteFocus(state, element) {
  const box = element.closest(KEY);
  const name = [...(box?.classList ?? [])].find((c) => c.startsWith("st-key-"));
  const [stem, stage] = name?.split("__") ?? [];  // behind it, what a button of several stages is for at present
  const selector = stage ? `[class*="${CSS.escape(stem)}__"]` : `.${CSS.escape(name)}`;
  state.focus = findOnly(box) === element ? { element, selector } : undefined;
}

function restoreFocus(state) {
  if (!holdsFocus(state) || !state.focus || state.focus.element.isConnected) return;
  if (document.activeElement !== document.body) return;
  findOnly(document.querySelector(state.focus.selector))?.focus({ preventScroll: true });
}

// A button that is pressed by a key and disabled meanwhile, as one that makes a file, gets back the focus that this takes.
function keepFocus(button, tries) {
  const isLost = document.activeElement === document.body;
  if (isLost && button.isConnected && !button.disabled) button.focus({ preventScroll: true });
  else if (tries && (isLost || document.activeElement === button)) setTimeout(() => keepFocus(button, tries - 1), 100);
}

// Which label a row, a candidate or a pair has is shown by the colour of its button; this says it to a screen reader.
const CHOICE = /(?:^|\s)st-key-(?:label_row|as2_label|agreement)_\S+_(?:correct|incorrect|unsure)(?:\s|$)/;

function tellChoices() {
  for (const holder of document.querySelectorAll('[class*="_correct"],[class*="_incorrect"],[class*="_unsure"]')) {
    if (!CHOICE.test(holder.className)) continue;
    for (const button of holder.querySelectorAll("button")) {  // with a tooltip there is one for a phone, too
      const isPressed = String(button.dataset.testid === "stBaseButton-primary");
      if (button.getAttribute("aria-pressed") !== isPressed) button.setAttribute("aria-pressed", isPressed);
    }
  }
}

// The entries of a list have buttons of the same names; a screen reader is told of which entry each is.
const ENTRY = ["data_question_", "data_corpus_", "agreement_conflict_", "as2-act-"].map((key) => `[class*="st-key-${key}"]`);

function tellEntries() {
  for (const entry of document.querySelectorAll(ENTRY.join())) {
    const text = !entry.matches(".stElementContainer") && entry.querySelector(".as2-act, p")?.textContent.trim();
    for (const control of text ? entry.querySelectorAll("button,a") : []) {
      if (control.textContent.toLowerCase().includes(text.toLowerCase())) continue;
      if (control.getAttribute("aria-description") !== text) control.setAttribute("aria-description", text);
    }
  }
}

// What became of a label given on Ask stands below its buttons, which keep the focus.
function tellStates() {
  for (const state of document.querySelectorAll('[class*="st-key-as2-state-"]:not([role])')) state.setAttribute("role", "status");
}

// Streamlit writes the Markdown of a field's title into its name, with the backslashes that keep a foreign name as it is.
function nameFields() {
  for (const field of document.querySelectorAll('[aria-label*="\\\\"]')) {
    field.setAttribute("aria-label", field.getAttribute("aria-label").replace(/\\([^a-z0-9\s])/gi, "$1"));
  }
}

function tellRows() {
  nameFields();
  tellChoices();
  tellEntries();
  tellStates();
}

function open({ page = "", field, focus }) {
  if (page === window.__as2page) return;
  window.__as2page = page;
  if (focus && !matchMedia("(pointer: coarse)").matches) focusEmpty(field, page, 1200);
}

// `target`: what had the focus when the key was pressed.
function hear(state, event, target) {
  if (event.altKey || event.isComposing || !state.data) return;
  const chord = event.ctrlKey || event.metaKey;
  if (event.shiftKey && (chord || event.key.length > 1)) return;
  const isMenu = holdsFocus(state) && event.target.matches("[role=combobox]");
  if (event.key === "Enter" && event.target.matches("input") && !isMenu) setTimeout(() => event.target.blur(), 0);
  const act = state.data.map[(chord ? "ctrl+" : "") + nameKey(event)];
  const field = event.key === "/" && !chord && !state.data.silent && state.data.field;
  if (!act && !field) return;
  if (target.isContentEditable) return;
  // not :focus-visible, which any key makes of a control that was clicked
  if (event.key === " " && state.tabbed && target.matches && target.matches(CONTROL)) return;
  if (target.matches && target.matches("input:not([type=checkbox]):not([type=radio]),textarea,select,[role=combobox],[role=slider]")) return;
  const open = document.querySelectorAll("[role=dialog],[role=alertdialog],[role=listbox],[role=menu]");
  if ([...open].some((e) => e.ariaModal !== "false" && !e.closest("[data-testid=stToastContainer]"))) return;
  event.preventDefault();
  event.stopImmediatePropagation();
  if (field) return document.querySelector(field)?.select();
  if (event.repeat) return;
  take(state, act);
}

// The keys that start.js has from before the page listened. They count if the item that they were for is still shown.
const EARLY_MS = 3000;

function hearEarly(state) {
  if (window.__as2keys !== state || state.data.page) return;
  const item = document.querySelector("[data-testid=as2-item]")?.textContent;
  for (const key of window.__as2early?.splice(0) ?? []) {
    if (performance.now() - key.event.timeStamp > EARLY_MS) continue;
    if (key.item === item) hear(state, key.event, key.target);
    else if (state.data.map[nameKey(key.event)]) late(state);
  }
}

export default function (component) {
  const state = (window.__as2keys = window.__as2keys || { calls: [], waiting: [], sent: {}, told: [] });
  if (!state.listen) {
    makeVoice(state);
    state.listen = (event) => {
      if (event.key === "Tab") state.tabbed = true;
      leavePopover(state, event);
      state.follow = undefined;
      hear(state, event, event.composedPath()[0]);
    };
    window.addEventListener("keydown", state.listen, true);
    state.gesture = (event) => noteGesture(state, event);
    for (const type of GESTURE) window.addEventListener(type, state.gesture, true);
    state.pointed = ({ target }) => {
      state.tabbed = false;
      const { cancels, doc } = state.data ?? {};
      if (cancels && state.sent.doc !== doc && !target.closest("button")) send(state, "cancel");
    };
    window.addEventListener("pointerdown", state.pointed, true);
    state.chosen = (event) => {
      noteRow(state, event);
      const button = event.detail === 0 && holdsFocus(state) && event.target.closest("button");
      if (button) keepFocus(button, 30);
      if (event.target.closest("[role=option]")) setTimeout(() => document.activeElement.blur(), 100);
    };
    window.addEventListener("click", state.chosen, true);
    state.focused = (event) => noteFocus(state, event.target);
    window.addEventListener("focusin", state.focused, true);
    state.left = ({ target }) => setTimeout(() => {
      if (state.focus?.element === target && target.isConnected && document.activeElement !== target) state.focus = undefined;
    }, 0);
    window.addEventListener("focusout", state.left, true);
    state.opened = new MutationObserver(() => {
      restoreFocus(state);
      nameToasts();
      enterPopover(state);
      const dialog = document.querySelector("[role=dialog]");
      if (dialog === state.dialog || (dialog && !dialog.querySelector(FIELD))) return;
      state.dialog = dialog;
      if (dialog) focusField(dialog, 8);  // the dialog itself takes the focus once more when it is drawn
    });
    state.opened.observe(document.body, { childList: true, subtree: true });
    state.drawn = new MutationObserver(() => {
      tellRows();
      awaitNews(state);
    });
    state.drawn.observe(document.body, { childList: true, subtree: true, attributeFilter: ["data-testid"] });
    tellRows();
    awaitNews(state);
  }
  const call = { at: component.parentElement, data: component.data, send: component.setTriggerValue };
  const use = ({ data, send }) => {
    const isNext = state.data && state.data.doc !== data.doc;
    Object.assign(state, { data, send });
    open(data);
    announce(state);
    if (isNext && state.tabbed) state.follow ??= findLabel(document.activeElement);
    if (isNext && state.follow) followRow(state, 20);
    setTimeout(() => {  // of two updates the older one may come last, and is cleaned up at once
      hearEarly(state);
      sendNext(state);
    }, 0);
  };
  return newest(state.calls, call, use, () => {
    window.removeEventListener("keydown", state.listen, true);
    for (const type of GESTURE) window.removeEventListener(type, state.gesture, true);
    window.removeEventListener("pointerdown", state.pointed, true);
    window.removeEventListener("click", state.chosen, true);
    window.removeEventListener("focusin", state.focused, true);
    window.removeEventListener("focusout", state.left, true);
    state.opened.disconnect();
    state.drawn.disconnect();
    clearTimeout(state.hide);
    clearTimeout(state.looking);
    state.late?.remove();
    state.voice.remove();
    window.__as2keys = undefined;
  });
}
