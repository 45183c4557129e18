const LOOK_MS = 300;  // until what is new on the page is complete, and the voice is known to a screen reader

// A screen reader says what changes in here: the focus stays where it is while a key brings the next sentence in front. It
// has to be on the page before something is written into it.
function makeVoice(state) {
  state.voice = document.createElement("div");
  state.voice.setAttribute("role", "status");
  state.voice.dataset.testid = "as2-voice";
  state.voice.style.cssText = "position:fixed;width:1px;height:1px;overflow:hidden;clip-path:inset(50%);white-space:nowrap";
  document.body.append(state.voice);
}

function announce(state) {
  const { doc, say } = state.data;
  if (say === undefined) return;
  const isFirst = state.spoken === undefined;
  if (isFirst) setTimeout(() => { if (state.spoken === doc) state.voice.textContent = say; }, LOOK_MS);
  else if (state.spoken !== doc) state.voice.textContent = say;
  state.spoken = doc;
}

// What comes by itself, or below what was pressed, is read out, too: an answer, what became of a retrain, the outcome of a
// comparison, the report of an import. Each with its main part, which is new where all of it is: a label that is given to
// an answer is told elsewhere.
const REPORTS = ["compare_headline", "data_report", "data_import_report", "data_import_unknown"].map((key) => `.st-key-${key}`);
const NEWS = {
  ".as2-answer": [".as2-mark", (card) => `${card.getAttribute("aria-label")}: ${readText(card, ".as2-verdict")}.`],
  ".as2-outcome": ["b", (outcome) => `Retrained: ${readText(outcome, "span")}.`],
  [REPORTS]: ["p", () => ""],
};

function readText(element, selector) {
  return element.querySelector(selector)?.textContent.trim() ?? "";
}

function findNews() {
  return Object.entries(NEWS).flatMap(([selector, [main, introduce]]) =>
    [...document.querySelectorAll(selector)].map((e) => ({ main: readText(e, main), start: introduce(e) })));
}

function tellNews(state) {
  const all = findNews().filter((piece) => piece.main);
  const news = all.filter((piece) => !state.told.includes(piece.main));
  state.told = all.map((piece) => piece.main);
  if (news.length) state.voice.textContent = news.map(({ start, main }) => `${start} ${main}`.trim()).join(" ");
}

// The picture of a cascade changes the page at every frame.
function awaitNews(state) {
  state.looking ??= setTimeout(() => {
    state.looking = undefined;
    if (state.voice.isConnected) tellNews(state);
  }, LOOK_MS);
}
