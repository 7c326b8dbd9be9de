'use strict';

/** Draws what RingModel computes: every function returns the HTML of one part of the page and changes nothing. */
const RingView = (() => {
  const {upTo, sum, busyShare, progress} = RingModel;

  const escape = text => String(text).replace(/[&<>"']/g, found => `&#${found.charCodeAt(0)};`);
  const count = number => number.toLocaleString('en-US');
  const percent = share => `${(100 * share).toFixed(1).replace('.0', '')} %`;
  const plural = (number, word) => `${count(number)} ${word}${number === 1 ? '' : 's'}`;
  const decimal = number => number.toFixed(4).replace(/\.?0+$/, '');
  const heads = names => names.map(name => `<th scope="col">${name}</th>`).join('');
  const lastStep = steps => steps.length - 1;

  function bytes(number) {
    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
    const power = number < 1024 ? 0 : Math.min(4, Math.floor(Math.log2(number) / 10));
    return `${count(Math.round(10 * number / 1024 ** power) / 10)} ${units[power]}`;
  }

  /** "K, V, dK and dV". */
  const list = names => (names.length < 2 ? names.join('') : `${names.slice(0, -1).join(', ')} and ${names.at(-1)}`);

  /** Ascending positions in runs: "0–3, 12–15". */
  function runs(positions) {
    const found = [];
    for (const position of positions) {
      if (found.length > 0 && found.at(-1)[1] === position) found.at(-1)[1] = position + 1;
      else found.push([position, position + 1]);
    }
    return found;
  }

  function runsInWords(positions) {
    const words = runs(positions).map(([first, end]) => (end - first === 1 ? `${first}` : `${first}–${end - 1}`));
    return words.length > 12 ? `${words.slice(0, 10).join(', ')}, … ${words.at(-1)}` : words.join(', ') || 'none';
  }

  // ---- the ring ----

  const centre = 200, nodeRadius = 168, blockRadius = 98;
  const angleOf = (rank, ranks) => (2 * Math.PI * rank) / ranks - Math.PI / 2;
  const point = (angle, radius) => [centre + radius * Math.cos(angle), centre + radius * Math.sin(angle)].map(x => x.toFixed(1));

  function hop(rank, ranks, moves) {
    const gap = 0.24;
    const [x, y] = point(angleOf(rank, ranks) + gap, nodeRadius);
    const [toX, toY] = point(angleOf(rank + 1, ranks) - gap, nodeRadius);
    return `<path class="hop ${moves ? 'moves' : ''}" d="M${x} ${y}A${nodeRadius} ${nodeRadius} 0 0 1 ${toX} ${toY}" marker-end="url(#arrow)"/>`;
  }

  function node(rank, ranks, waits) {
    const [x, y] = point(angleOf(rank, ranks), nodeRadius);
    return `<g class="node rank${rank} ${waits ? 'waits' : ''}"><circle cx="${x}" cy="${y}" r="27"/>
      <text x="${x}" y="${y - 3}">rank ${rank}</text><text class="small" x="${x}" y="${+y + 12}">${waits ? 'waits' : `Q${rank}`}</text></g>`;
  }

  /** The tensors of a block; where it came from tells the animation. */
  function heldBlock(rank, {block, kind}, {ranks, backward}) {
    const [x, y] = point(angleOf(rank, ranks), blockRadius);
    const [fromX, fromY] = point(angleOf(rank - 1, ranks), blockRadius);
    const lines = [`K${block} V${block}`, `dK${block} dV${block}`].slice(kind === 'home' ? 1 : 0, backward ? 2 : 1);
    const height = 10 + 14 * lines.length;
    const words = lines.map((line, index) => `<text x="${x}" y="${+y + 5 + 14 * (index - (lines.length - 1) / 2)}">${line}</text>`);
    return `<g class="block rank${block}" data-dx="${fromX - x}" data-dy="${fromY - y}">
      <rect x="${x - 33}" y="${y - height / 2}" width="66" height="${height}" rx="5"/>${words.join('')}</g>`;
  }

  function ring(setting, table, step) {
    const {ranks, sends, slowest} = table.steps[step];
    const moves = sends.length > 0;
    const next = moves ? ['next, to rank + 1:', sends.join(' ')] : ['nothing moves', ranks.length > 1 ? 'any more' : 'on one rank'];
    const holders = ranks.map((each, rank) => `rank ${rank} holds block ${each.block}`).join(', ');
    return `<svg viewBox="0 0 400 400" role="img" aria-label="Ring of ${plural(ranks.length, 'rank')}: ${holders}.">
      ${ranks.length > 1 ? upTo(ranks.length).map(rank => hop(rank, ranks.length, moves)).join('') : ''}
      ${ranks.map((each, rank) => node(rank, ranks.length, each.work === 0 && slowest > 0)).join('')}
      ${ranks.map((each, rank) => heldBlock(rank, each, setting)).join('')}
      <g class="middle"><text x="200" y="190">step ${step}</text>
        ${next.map((line, index) => `<text class="small" x="200" y="${208 + 15 * index}">${line}</text>`).join('')}</g></svg>`;
  }

  // ---- masks ----

  /** The scores that are seen, as one area: row i has seen[i] of them; `x`, `y` the corner, `scale` the length of a token. */
  function seenArea(pair, x, y, scale) {
    let row = pair.seen.filter(seen => seen === 0).length; // those come first
    let path = `M${x} ${y + scale * row}`;
    while (row < pair.queries) {
      let end = row;
      while (end < pair.queries && pair.seen[end] === pair.seen[row]) ++end;
      path += `H${x + scale * pair.seen[row]}V${y + scale * end}`;
      row = end;
    }
    return `<path class="seen ${pair.kind}" d="${path}H${x}Z"/>`;
  }

  function tokenLines(pair, scale) {
    if (scale < 6) return '';
    const rows = upTo(pair.queries + 1).map(row => `M0 ${scale * row}H${scale * pair.keys}`);
    const columns = upTo(pair.keys + 1).map(column => `M${scale * column} 0V${scale * pair.queries}`);
    return `<path class="lines" d="${rows.concat(columns).join('')}"/>`;
  }

  function maskPicture(pair) {
    const size = 120, scale = size / Math.max(pair.queries, pair.keys, 1);
    return `<svg class="mask" viewBox="-1 -1 122 122" aria-hidden="true">
      <rect class="cell ${pair.kind}" width="${scale * pair.keys}" height="${scale * pair.queries}"/>
      ${seenArea(pair, 0, 0, scale)}${tokenLines(pair, scale)}</svg>`;
  }

  /** All scores, queries and keys in the order of ranks; the pairs of this step are framed. */
  function matrix(setting, table, step) {
    const lengths = table.positions.map(each => each.length);
    const gap = 5, left = 30, ofEmpty = 18; // an empty shard needs room for its name
    const room = 370 - gap * lengths.length - ofEmpty * lengths.filter(length => length === 0).length;
    const scale = room / Math.max(sum(lengths), 1);
    const sides = lengths.map(length => (length === 0 ? ofEmpty : scale * length));
    const starts = sides.map((_, rank) => left + sum(sides.slice(0, rank)) + gap * rank);
    const middle = rank => starts[rank] + sides[rank] / 2;
    const cell = (rank, block) => {
      const pair = table.pairs[rank][block];
      const isNow = table.steps[step].ranks[rank].block === block && step < setting.ranks;
      const frame = `x="${starts[block]}" y="${starts[rank]}" width="${sides[block]}" height="${sides[rank]}"`;
      return `<g class="${isNow ? 'now' : 'later'}"><rect class="cell ${pair.kind}" ${frame}/>
        ${seenArea(pair, starts[block], starts[rank], scale)}<rect class="frame" ${frame}/></g>`;
    };
    const cells = upTo(setting.ranks ** 2).map(each => cell(Math.floor(each / setting.ranks), each % setting.ranks));
    const labels = upTo(setting.ranks).map(rank => `<text x="${middle(rank)}" y="20">K${rank}</text>
      <text x="14" y="${middle(rank) + 5}">Q${rank}</text>`);
    const words = `The score matrix, cut into ${setting.ranks ** 2} pairs of a query shard and a key shard; those of step ${step} are framed.`;
    return `<svg viewBox="0 0 400 400" role="img" aria-label="${words}">${labels.join('')}${cells.join('')}</svg>`;
  }

  // ---- ranks at a step ----

  /** A mixed pair whose queries see the same keys, or none, is a smaller full one (lesson 14's zigzag). */
  function kindInWords(kind, pair) {
    const isRectangle = new Set(pair.seen.filter(seen => seen > 0)).size === 1;
    const mixed = isRectangle ? 'mixed: a full rectangle, no mask on it' : 'mixed: needs a mask';
    return {full: 'full: no mask needed', mixed, empty: 'empty: skipped', home: 'gradients are home'}[kind];
  }

  function bar(work, slowest) {
    const width = slowest === 0 ? 0 : (100 * work) / slowest;
    return `<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="compute" width="${width}" height="10"/>
      <rect class="wait" x="${width}" width="${slowest === 0 ? 0 : 100 - width}" height="10"/></svg>`;
  }

  function sentInWords(rank, ranks, sends, amount) {
    return sends.length === 0 ? 'sends nothing' : `sends ${bytes(amount)} to rank ${(rank + 1) % ranks}: ${list(sends)} of block`;
  }

  function rankCard(setting, table, step, rank) {
    const {sends, slowest, ranks} = table.steps[step];
    const {block, kind, work, bytes: amount} = ranks[rank];
    const pair = table.pairs[rank][block];
    const waits = slowest === 0 ? '' : `, waits ${percent(1 - work / slowest)} of the step`;
    const sent = sentInWords(rank, setting.ranks, sends, amount);
    const scores = `<br>${count(work)} of ${count(pair.queries * pair.keys)} scores${waits}`;
    return `<li class="${kind}"><h3><span class="chip rank${rank}">rank ${rank}</span> <span class="chip rank${block}">block ${block}</span></h3>
      ${kind === 'home' ? '' : maskPicture(pair)}<p><strong>${kindInWords(kind, pair)}</strong>${kind === 'home' ? '' : scores}</p>
      ${bar(work, slowest)}<p>${sent}${sends.length === 0 ? '' : ` ${block}`}</p></li>`;
  }

  const rankCards = (setting, table, step) => upTo(setting.ranks).map(rank => rankCard(setting, table, step, rank)).join('');

  // ---- words and numbers of the whole run ----

  function sentence(setting, table, step) {
    const {ranks, sends, slowest} = table.steps[step];
    const holds = ranks.map(({block, kind}, rank) => `rank ${rank} block ${block} (${kind})`).join(', ');
    const busy = busyShare(sum(ranks.map(each => each.work)), slowest, ranks.length);
    const waiting = slowest === 0 ? 'Nobody computes' : `${percent(1 - busy)} of the ranks' time is spent waiting`;
    const sent = sends.length === 0 ? 'Nothing is sent' : `Then ${list(sends)} go to the next rank, ${bytes(sum(ranks.map(each => each.bytes)))} in all`;
    return `Step ${step} of 0 to ${lastStep(table.steps)}: ${holds}. ${waiting}. ${sent}.`;
  }

  function figures(setting, table, step) {
    const now = progress(table.steps, step), all = progress(table.steps, lastStep(table.steps));
    const row = (name, {time, work, bytes: amount}) => {
      const busy = busyShare(work, time, setting.ranks);
      const cells = [count(time), count(work), percent(busy), percent(1 - busy), bytes(amount)];
      return `<tr><th scope="row">${name}</th>${cells.map(cell => `<td>${cell}</td>`).join('')}</tr>`;
    };
    const names = ['', 'time, in scores of the slowest', 'scores, all ranks', 'share of the ideal', 'waiting', 'sent, all ranks'];
    return `<table><thead><tr>${heads(names)}</tr></thead>
      <tbody>${row(`up to step ${step}`, now)}${row('the whole ring', all)}</tbody></table>`;
  }

  /** What the lessons derive about this setting's time over the mean of the ranks' work. */
  function bound(setting, table) {
    const {ranks, tokens} = setting;
    const ratio = table.total === 0 ? 1 : (table.time * ranks) / table.total;
    const here = `The slowest ranks of all steps take ${decimal(ratio)} times the mean of the ranks' work`;
    if (!setting.causal) return `${here}. Without a mask only shards of unequal length make a difference.`;
    if (setting.layout === 'contiguous') return `${here}; as shards grow that tends to 2 − 1/P = ${decimal(2 - 1 / ranks)} (lesson 13).`;
    if (setting.layout === 'striped') return `${here}; stripes of c tokens each take P (c + 1) / (P c + 1) times it: the diagonal (lesson 14).`;
    if (tokens % (2 * ranks) === 0) return `${here}: 2P equal chunks are even at every step (lesson 14).`;
    return `${here}, since 2P = ${2 * ranks} does not divide ${tokens} (lesson 14).`;
  }

  function workTable(setting, table, step) {
    const steps = table.steps.slice(0, setting.ranks);
    const now = index => (index === step ? 'now' : '');
    const cells = values => values.map((value, index) => `<td class="${now(index)}">${count(value)}</td>`).join('');
    const names = steps.map((_, index) => `<th scope="col" class="${now(index)}">step ${index}</th>`).join('');
    const row = (name, values) => `<tr><th scope="row">${name}</th>${cells(values)}<td>${count(sum(values))}</td></tr>`;
    const rows = upTo(setting.ranks).map(rank => row(`rank ${rank}`, steps.map(each => each.ranks[rank].work)));
    return `<table class="work"><thead><tr>${heads([''])}${names}${heads(['all'])}</tr></thead>
      <tbody>${rows.join('')}</tbody><tfoot>${row('the slowest', steps.map(each => each.slowest))}</tfoot></table>`;
  }

  function everyStep(setting, table) {
    const row = ({ranks, sends, slowest}, step, rank) => {
      const {block, kind, work, bytes: amount} = ranks[rank];
      const name = rank === 0 ? `<th scope="rowgroup" rowspan="${ranks.length}">step ${step}</th>` : '';
      const cells = [rank, block, kind, count(work), count(slowest - work), sends.join(' ') || '–', count(amount)];
      return `<tr>${name}${cells.map(cell => `<td>${cell}</td>`).join('')}</tr>`;
    };
    const rows = table.steps.map((each, step) => `<tbody>${upTo(setting.ranks).map(rank => row(each, step, rank)).join('')}</tbody>`);
    const names = ['step', 'rank', 'block', 'pair', 'scores', 'waits', 'sends', 'bytes'];
    return `<table><thead><tr>${heads(names)}</tr></thead>${rows.join('')}</table>`;
  }

  // ---- lanes: timelines, and who owns what ----

  /** One row: a name, spans {begin, end, kind, label} on an axis of `length`, and what stands at its end. */
  function lane(name, spans, length, end) {
    const width = 1000 / Math.max(length, 1e-9);
    const rects = spans.map(({begin, end: stop, kind, label}) => {
      const seen = Math.max((stop - begin) * width, kind === 'now' ? 0 : 1); // a short span is still to be seen
      const place = `x="${(begin * width).toFixed(2)}" width="${seen.toFixed(2)}" height="20"`;
      return `<rect class="${kind}" ${place}><title>${escape(label)}</title></rect>`;
    });
    const bars = `<svg viewBox="0 0 1000 20" preserveAspectRatio="none" aria-hidden="true">${rects.join('')}</svg>`;
    return `<div class="lane"><span>${escape(name)}</span>${bars}<span>${end}</span></div>`;
  }

  const axis = (length, unit) => `<div class="lane axis"><span></span>
    <span class="ticks"><span>0</span><span>${length} ${unit}</span></span><span></span></div>`;

  function modelSpans(steps, rank, step) {
    let begin = 0;
    return steps.flatMap(({ranks, slowest}, index) => {
      const {work, block} = ranks[rank];
      const middle = begin + work, end = begin + slowest;
      const spans = [{kind: 'compute', begin, end: middle, label: `step ${index}: block ${block}, ${count(work)} scores`},
        {kind: 'wait', begin: middle, end, label: `step ${index}: waits for the slowest rank`}].filter(span => span.end > span.begin);
      if (index === step) spans.push({kind: 'now', begin, end, label: `step ${index}`});
      begin = end;
      return spans;
    });
  }

  function modelTimeline(setting, table, step) {
    const lanes = upTo(setting.ranks).map(rank => {
      const work = sum(table.steps.map(each => each.ranks[rank].work));
      return lane(`rank ${rank}`, modelSpans(table.steps, rank, step), table.time, percent(busyShare(work, table.time, 1)));
    });
    return `<div class="lanes" role="img" aria-label="Predicted timeline: each rank computes or waits for the slowest of a step.">
      <div class="lane heads"><span></span><span></span><span>computes</span></div>${lanes.join('')}${axis(count(table.time), 'scores')}</div>`;
  }

  function duration(microseconds) {
    const [divisor, unit] = microseconds >= 1e6 ? [1e6, 's'] : microseconds >= 1e3 ? [1e3, 'ms'] : [1, 'µs'];
    return [(microseconds / divisor).toPrecision(3), unit];
  }

  function traceTimeline(timeline, length) {
    const label = span => `${span.label}: ${span.kind}, ${duration(span.end - span.begin).join(' ')}`;
    const lanes = timeline.lanes.map(each => lane(each.name, each.spans.map(span => ({...span, label: label(span)})), length,
      RingTrace.kinds.map(kind => percent(RingTrace.share(each, kind, timeline.length))).join(' · ')));
    return `<div class="lanes trace" role="img" aria-label="Recorded timeline ${escape(timeline.name)}"><h3>${escape(timeline.name)}</h3>
      <div class="lane heads"><span></span><span></span><span>${RingTrace.kinds.join(' · ')}</span></div>${lanes.join('')}${axis(...duration(length))}</div>`;
  }

  /** A recorded run, its timelines on one axis, and a remark where it has another number of ranks than the model. */
  function trace(timelines, ranks) {
    const length = Math.max(...timelines.map(each => each.length));
    const others = timelines.map(RingTrace.ranksOf).find(number => number !== ranks);
    const remark = `<p>The trace is of ${plural(others ?? 0, 'rank')} and the model of ${ranks}: set ranks to ${others} to compare them.</p>`;
    return (others === undefined ? '' : remark) + timelines.map(each => traceTimeline(each, length)).join('');
  }

  function ownership(setting, table) {
    return table.positions.map((owned, rank) => {
      const spans = runs(owned).map(([begin, end]) => ({begin, end, kind: `chip rank${rank}`, label: `positions ${begin} to ${end - 1}`}));
      return `${lane(`rank ${rank}`, spans, setting.tokens, '')}<p class="owned">${plural(owned.length, 'token')}: ${runsInWords(owned)}</p>`;
    }).join('');
  }

  return {ring, matrix, rankCards, sentence, figures, bound, workTable, everyStep, modelTimeline, trace, ownership};
})();
