// The arithmetic of as2core.cascade in the browser: DropSchedule.count_survivors, CascadeTrace.replay and .cascade_cost.
// tests/e2e/test_replay_script.py compares the two. Candidates are numbered by their place in `record.entered`.

export function countSurvivors(ratio, alive) {
  // the epsilon undoes binary fractions: 0.3 * 10 must floor to 3
  return Math.max(alive - Math.floor(ratio * alive + 1e-9), Math.min(alive, 1));
}

/** Best first; of equal scores the earlier candidate. */
export function orderByScore(alive, scores) {
  return [...alive].sort((a, b) => scores[b] - scores[a] || a - b);
}

/** One ratio for each exit but the last, or one for all. */
export function expandPercents(percents, exits) {
  return Array.from({ length: exits - 1 }, (_, i) => percents[percents.length === 1 ? 0 : i] / 100);
}

/** The exits of a run under these ratios: who entered (best first), how many stay, and `cost`, the share of the whole
 *  model's operations. */
export function replay(record, ratios) {
  let alive = record.entered.map((_, i) => i), below = 0, flops = 0;
  const exits = record.exits.map((exit, e) => {
    const bestFirst = orderByScore(alive, exit.scores);
    const kept = e < ratios.length ? countSurvivors(ratios[e], alive.length) : alive.length;
    const inside = new Set(alive);
    const twice = exit.again.filter((i) => inside.has(i));
    flops += (exit.layer - below) * total(record, alive) + record.head * alive.length;
    flops += exit.layer * total(record, twice) + record.head * twice.length;
    below = exit.layer;
    alive = bestFirst.slice(0, kept).sort((a, b) => a - b);
    return { title: exit.title, bestFirst, kept };
  });
  const everyone = record.entered.map((_, i) => i);
  const full = below * total(record, everyone) + record.head * everyone.length;
  return { exits, flops, cost: full ? flops / full : 1 };
}

function total(record, places) {
  return places.reduce((sum, i) => sum + record.costs[i], 0);
}
