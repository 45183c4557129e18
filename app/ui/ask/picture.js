// The cascade picture as SVG markup: one line a candidate, its rank at every exit, ending where it was dropped.
//
// y: rank, downwards on a log axis, so a constant share is a straight edge. The first stage is a narrow band at the left
// with an axis of its own; from the upright on, the axis is that of the candidates which entered the encoder. Its numbers
// stand behind the last exit, where no line crosses them. Pale: who remains. Bar: the cut. Grey lines end in a tick where the candidate was dropped. Green diamond: correct and returned;
// blue: returned; orange dashes with a cross: a correct answer dropped.

export const RETURNED = 5;
const MAX_BAND_LINES = 200;
const HEAD_PIXELS = 18, FOOT_PIXELS = 40, LOST_GAP_PIXELS = 16, LABEL_GAP_PIXELS = 34, LINE_PIXELS = 14, CHAR_PIXELS = 6.5,
  AXIS_PIXELS = 26, LOST_ASIDE_PIXELS = 16, LOST_DOWN_PIXELS = 20;
const COLOURS = { right: "var(--as2-green)", returned: "var(--as2-blue)", lost: "var(--as2-orange)", dropped: "#7d818a" };

export function escapeText(text) {
  return text.replace(/[&<>"]/g, (c) => ({ "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" })[c]);
}

export function cut(text, characters) {
  return text.length <= characters ? text : text.slice(0, Math.max(1, characters - 1)).trimEnd() + "…";
}

/** Two lines of at most so many characters; a word is broken only where the first line would lose two thirds. */
function breakLines(text, characters) {
  if (text.length <= characters) return [text];
  const space = text.lastIndexOf(" ", characters), end = space >= characters / 3 ? space : characters;
  return [text.slice(0, end), cut(text.slice(end).trim(), characters)];
}

/** The stages of a run, for words and columns: the first stage, if there is one, and the exits. */
export function listStages(record, run) {
  const first = record.first && {
    title: record.first.title, entered: record.candidates, kept: record.entered.length, isFirst: true,
    dropped: listOutside(record),
  };
  const exits = run.exits.map((exit, i) => ({
    title: exit.title, entered: exit.bestFirst.length, kept: exit.kept, isLast: i === run.exits.length - 1,
    dropped: exit.bestFirst.slice(exit.kept).map((c) => record.entered[c]),
  }));
  return first ? [first, ...exits] : exits;
}

function listOutside(record) {
  const inside = new Set(record.entered);
  return record.retrieved.map((_, candidate) => candidate).filter((c) => !inside.has(c));
}

/** What happened at a stage, in one sentence. `correct`: the positions of correct candidates. */
export function describeStage(stage, correct) {
  const leave = stage.entered - stage.kept, n = stage.entered.toLocaleString("en");
  if (stage.isLast) {
    const shown = stage.kept > RETURNED ? `The best ${RETURNED} are shown.` : "All are shown.";
    return `After ${stage.title}, the last one, ${n === "1" ? "one is" : `${n} are`} left and ranked. ${shown}`;
  }
  const weakest = leave === 0 ? "none leaves" : leave === 1 ? "the weakest leaves" : `the ${leave.toLocaleString("en")} weakest leave`;
  const lost = stage.dropped.filter((c) => correct.has(c)).length;
  const also = lost ? ` ${lost === 1 ? "One of them is a correct answer" : `${lost} of them are correct answers`}.` : "";
  if (stage.isFirst) {
    return `The first stage compares words and meaning: the best ${stage.kept.toLocaleString("en")} of ${n} go on.${also}`;
  }
  return `After ${stage.title} the model is ${stage.entered > 1 ? `unsure between ${n}` : "left with one"}; ${weakest}.${also}`;
}

export function describeRun(stages) {
  const steps = stages.map((s) => `${s.title}: ${s.entered.toLocaleString("en")} to ${s.kept.toLocaleString("en")}`);
  const all = stages[0].entered.toLocaleString("en");
  return `Rank of ${all} candidates at each exit. ${steps.join("; ")}. The table of candidates on this page shows the same.`;
}

/** Where columns and ranks are, in pixels. */
export function place(record, width, height) {
  const isNarrow = width < 520, entered = record.entered.length;
  const left = isNarrow ? 8 : 12, band = record.first ? (isNarrow ? 36 : 62) : 0;
  const bottom = height - FOOT_PIXELS;
  const start = left + band + (record.first ? (isNarrow ? 18 : 28) : 0);  // where the encoder's axis begins
  const right = isNarrow ? AXIS_PIXELS : Math.min(340, Math.max(190, width * 0.34));
  const step = (width - right - start) / record.exits.length;
  const scale = (most) => (rank) => HEAD_PIXELS + (Math.log(rank) / Math.log(Math.max(most, 2) * 1.12)) * (bottom - HEAD_PIXELS);
  return {
    width, height, bottom, isNarrow, left, bandEnd: left + band, start, step, right,
    exits: record.exits.map((_, e) => start + step * (e + 1)), all: scale(record.candidates), inner: scale(entered),
  };
}

/** Each candidate's way: `stops` with place, rank and column, and what became of it. Those whom the first stage dropped
 *  follow, `inner` null. */
export function listWays(record, run, at, correct) {
  const entered = record.entered;
  const ways = entered.map((candidate, i) => ({ candidate, inner: i, stops: startWay(record, at, candidate, true) }));
  run.exits.forEach((exit, e) => exit.bestFirst.forEach((i, rank) => {
    const isLast = e === run.exits.length - 1, stays = rank < (isLast ? RETURNED : exit.kept);
    ways[i].stops.push({ x: at.exits[e], y: at.inner(rank + 1), rank: rank + 1, stays });
    ways[i].end = e + (record.first ? 1 : 0);
    ways[i].stays = stays;
    ways[i].fate = stays && isLast ? `returned, rank ${rank + 1}` : isLast ? `rank ${rank + 1} at the end` : `dropped after ${exit.title}`;
    ways[i].kind = correct.has(record.entered[i]) ? (stays ? "right" : "lost") : stays ? "returned" : "dropped";
  }));
  if (!record.first) return ways;
  return [...ways, ...listOutside(record).map((candidate) => ({
    candidate, inner: null, stops: startWay(record, at, candidate, false), end: 0, stays: false,
    kind: correct.has(candidate) ? "lost" : "dropped", fate: `dropped by the ${record.first.title}`,
  }))];
}

function startWay(record, at, candidate, isIn) {
  const rank = record.retrieved[candidate];
  if (!record.first) return [{ x: at.start, y: at.inner(rank), rank, stays: true }];
  const first = record.first.ranks[candidate];
  const stops = [
    { x: at.left, y: at.all(rank), rank, stays: true }, { x: at.bandEnd, y: at.all(first), rank: first, stays: isIn },
  ];
  return isIn ? [...stops, { x: at.start, y: at.inner(first), rank: first, stays: true }] : stops;
}

/** Heights for labels, pushed apart downwards and then back up, as app/ui/charts/labels.py does. */
export function spread(heights, floor, gap) {
  const order = heights.map((_, i) => i).sort((a, b) => heights[a] - heights[b]);
  const out = [];
  let last = -Infinity;
  for (const i of order) last = out[i] = Math.max(heights[i], last + gap);
  let ceiling = floor;
  for (const i of order.reverse()) {
    if (out[i] <= ceiling) break;
    out[i] = ceiling;
    ceiling -= gap;
  }
  return out;
}

const round = (x) => Math.round(x * 10) / 10;

export function drawLine(stops) {
  return stops.map(({ x, y }, i) => {
    if (!i) return `M${round(x)} ${round(y)}`;
    const middle = round((stops[i - 1].x + x) / 2);
    return `C${middle} ${round(stops[i - 1].y)} ${middle} ${round(y)} ${round(x)} ${round(y)}`;
  }).join("");
}

const ranksOf = (way) => way.stops.map((s) => s.rank).join(" ");

/** The whole drawing, but for what hovers over it. `chosen` is a candidate's position. */
export function drawPicture({ record, run, at, ways, stages, chosen }) {
  return [
    drawGround(record, run, at), `<g class="ways">${drawGrey(ways, at)}${drawBright(ways)}${drawChosen(ways, chosen)}</g>`,
    ...stages.map((stage, column) => drawStage(record, at, ways, stage, column)), drawLost(ways, at),
    at.isNarrow ? "" : drawLabels(record, ways, at),
  ].join("");
}

function drawGround(record, run, at) {
  const edge = [[at.start, at.inner(record.entered.length)]];
  run.exits.forEach((exit, e) => edge.push([at.exits[e], at.inner(Math.min(exit.kept + 0.5, record.entered.length))]));
  if (record.first) edge.unshift([at.left, at.all(record.candidates)], [at.bandEnd, at.all(record.entered.length + 0.5)]);
  const top = [[at.exits.at(-1), at.inner(1)], [edge[0][0], at.inner(1)]];
  const ticks = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000].filter((t) => t <= record.entered.length);
  const lines = ticks.map((t) => `<path class="grid" d="M${at.start} ${round(at.inner(t))}H${round(at.exits.at(-1))}"/>`
    + `<text class="tick" x="${round(at.exits.at(-1) + 8)}" y="${round(at.inner(t) + 4)}">${t}</text>`);
  // each part says among how many it ranks; a narrow one has no room for it
  const among = (n) => `rank of ${n.toLocaleString("en")}`, end = round(at.exits.at(-1));
  lines.push(at.isNarrow ? `<text class="tick" x="${end + 2}" y="5">rank</text>`
    : `<text class="tick" x="${end + 8}" y="5">${among(record.entered.length)}</text>`);
  if (record.first && !at.isNarrow) lines.push(`<text class="tick" x="${at.left}" y="5">${among(record.candidates)}</text>`);
  return `<path class="alive" d="M${[...edge, ...top].map((p) => p.map(round).join(" ")).join("L")}Z"/>`
    + `<path class="upright" d="M${at.start} ${HEAD_PIXELS - 6}V${round(at.inner(record.entered.length))}"/>${lines.join("")}`;
}

function drawGrey(ways, at) {
  const grey = ways.filter((w) => w.kind === "dropped");
  const outside = grey.filter((w) => w.inner === null), every = Math.ceil(outside.length / MAX_BAND_LINES);
  const columns = new Map();
  for (const w of [...grey.filter((w) => w.inner !== null), ...outside.filter((_, i) => i % every === 0)]) {
    columns.set(w.end, [...(columns.get(w.end) ?? []), w]);
  }
  return [...columns].map(([column, there]) => `<g class="grey" data-column="${column}">${there.map((w) =>
    `<path data-candidate="${w.candidate}" data-ranks="${ranksOf(w)}" d="${drawLine(w.stops)}"/>`).join("")}</g>`).join("");
}

function drawBright(ways) {
  return ways.filter((w) => w.kind !== "dropped").map((w) => {
    const dots = w.stops.filter((s) => s.stays).map((s) => w.kind === "returned"
      ? `<circle cx="${round(s.x)}" cy="${round(s.y)}" r="4"/>` : `<path d="M${round(s.x)} ${round(s.y) - 5.5}l5.5 5.5-5.5 5.5-5.5-5.5z"/>`);
    const win = w.stays && w.stops.at(-1).rank === 1 ? " win" : "";
    return `<g class="bright ${w.kind}${win}" style="--ink:${COLOURS[w.kind]}" data-candidate="${w.candidate}" data-ranks="${ranksOf(w)}">`
      + `<path class="line" d="${drawLine(w.stops)}"/>${dots.join("")}</g>`;
  }).join("");
}

function drawChosen(ways, chosen) {
  const way = ways.find((w) => w.candidate === chosen);
  if (!way) return "";
  const dots = way.stops.map((s) => `<circle cx="${round(s.x)}" cy="${round(s.y)}" r="4.5"/>`).join("");
  return `<g class="bright chosen" style="--ink:var(--as2-violet)"><path class="line" d="${drawLine(way.stops)}"/>${dots}</g>`;
}

/** The bar and the ticks of a column, and the words under it. */
function drawStage(record, at, ways, stage, column) {
  const x = stage.isFirst ? at.bandEnd : at.exits[column - (record.first ? 1 : 0)], y = stage.isFirst ? at.all : at.inner;
  const half = stage.isFirst ? 9 : at.step * 0.22;
  const ticks = ways.filter((w) => w.end === column && w.kind === "dropped")
    .map((w) => `M${round(x - 3.5)} ${round(w.stops.at(-1).y)}h7`);
  const cutLine = `<path class="cut" d="M${round(x - half)} ${round(y(stage.kept + 0.5))}h${round(2 * half)}"/>`;
  const bar = stage.kept < stage.entered ? cutLine : "";
  const flow = stage.isLast && stage.kept > RETURNED ? [`best ${RETURNED}`, `of ${stage.kept.toLocaleString("en")}`]
    : [stage.entered.toLocaleString("en"), stage.kept < stage.entered ? `→ ${stage.kept.toLocaleString("en")}` : ""];
  const middle = stage.isFirst ? (at.left + x) / 2 : x;
  const words = at.isNarrow ? [stage.isFirst ? "first" : stage.title, ...flow] : [stage.title, flow.join(" ")];
  const [top, line] = at.isNarrow ? [11, 12] : [15, 16];
  const foot = words.map((word, i) => `<text x="${round(middle)}" y="${at.bottom + top + i * line}">${word}</text>`).join("");
  return `<g class="stage" data-column="${column}"><path class="ticks" d="${ticks.join("")}"/>${bar}<g class="foot">${foot}</g></g>`;
}

function drawLost(ways, at) {
  const lost = ways.filter((w) => w.kind === "lost");
  const free = at.isNarrow ? 0 : Math.max(0, ...placeLabels(ways, at).heights) + 2.5 * LINE_PIXELS;  // below the labels
  const heights = spread(lost.map((w) => {
    const { x, y } = w.stops.at(-1);
    return x === at.exits.at(-1) ? Math.max(y + LOST_DOWN_PIXELS, free) : y + LOST_DOWN_PIXELS;
  }), at.bottom, LOST_GAP_PIXELS);
  return lost.map((w, i) => {
    const { x, y, rank } = w.stops.at(-1);
    const what = w.fate.endsWith("at the end") ? `correct, but rank ${rank}` : `correct answer dropped here, rank ${rank}`;
    const words = at.isNarrow ? "" : what;
    const gap = x === at.exits.at(-1) ? AXIS_PIXELS + 6 : LOST_ASIDE_PIXELS;  // beside the numbers of the axis
    const isLeft = x + 2 + gap + words.length * CHAR_PIXELS > at.width;
    return `<g class="lost-here" data-column="${w.end}">`
      + `<path class="cross" d="M${round(x) - 5} ${round(y) - 5}l10 10m0-10l-10 10"/>`
      + `<text x="${round(x + (isLeft ? -LOST_ASIDE_PIXELS : gap))}" y="${round(heights[i])}"${isLeft ? ' text-anchor="end"' : ""}>${words}</text></g>`;
  }).join("");
}

/** Who ends in a label at the right edge, and its height. */
function placeLabels(ways, at) {
  const ends = ways.filter((w) => w.stays && w.kind !== "dropped");
  return { ends, heights: spread(ends.map((w) => w.stops.at(-1).y), at.bottom - LINE_PIXELS, LABEL_GAP_PIXELS) };
}

function drawLabels(record, ways, at) {
  const { ends, heights } = placeLabels(ways, at);
  const from = at.exits.at(-1) + AXIS_PIXELS + 2, to = from + 16, room = Math.floor((at.width - to - 4) / CHAR_PIXELS);
  return `<g class="labels">${ends.map((w, i) => {
    const win = w.stops.at(-1).rank === 1 ? " win" : "";
    const lines = breakLines((w.kind === "right" ? "✓ " : "") + record.texts[w.inner], room).map((line, row) =>
      `<tspan x="${round(to)}" dy="${row * LINE_PIXELS}">${escapeText(line)}</tspan>`);
    return `<g class="label${win}" style="--ink:${COLOURS[w.kind]}" data-candidate="${w.candidate}">`
      + `<path d="M${round(from)} ${round(w.stops.at(-1).y)}`
      + `L${round(to - 3)} ${round(heights[i])}"/><text x="${round(to)}" y="${round(heights[i] + 4)}">${lines.join("")}</text></g>`;
  }).join("")}</g>`;
}
