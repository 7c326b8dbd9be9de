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

  /** Whether a rank sends its block on, and not gradients home. */
  const goesOn = ({to}, rank, ranks) => to === (rank + 1) % ranks;
  const noKeysNeeded = ({sends, ahead}) => sends.includes('K') && ahead <= 0;
  const isHollow = ({kind, ahead}) => kind !== 'home' && ahead < 0;

  /** An arrow's width: the fewer key heads the thinner. */
  const thickness = ({heads: queryHeads, kvHeads}) => 1 + (4 * kvHeads) / queryHeads;

  function hop(rank, setting, each) {
    const {ranks} = setting;
    const gap = 0.24;
    const [x, y] = point(angleOf(rank, ranks) + gap, nodeRadius);
    const [toX, toY] = point(angleOf(rank + 1, ranks) - gap, nodeRadius);
    const state = goesOn(each, rank, ranks) ? `moves ${noKeysNeeded(each) ? 'unseen' : ''}` : '';
    const width = state === '' ? 2 : thickness(setting);
    return `<path class="hop ${state}" stroke-width="${width}" d="M${x} ${y}A${nodeRadius} ${nodeRadius} 0 0 1 ${toX} ${toY}"/>`;
  }

  /** A straight arrow home, for gradients of a block that stops before the last rank. */
  function wayHome(rank, setting, each) {
    const {ranks} = setting;
    if (each.to === undefined || goesOn(each, rank, ranks)) return '';
    const [from, to] = [rank, each.to].map(one => point(angleOf(one, ranks), nodeRadius).map(Number));
    const apart = Math.hypot(to[0] - from[0], to[1] - from[1]);
    const at = length => from.map((start, axis) => (start + (length / apart) * (to[axis] - start)).toFixed(1)).join(' ');
    return `<path class="hop moves" stroke-width="${thickness(setting)}" d="M${at(30)}L${at(apart - 32)}"/>`;
  }

  function node(rank, ranks, waits) {
    const [x, y] = point(angleOf(rank, ranks), nodeRadius);
    return `<g class="node rank${rank} ${waits ? 'waits' : ''}"><circle cx="${x}" cy="${y}" r="27"/>
      <text x="${x}" y="${y - 3}">rank ${rank}</text><text class="small" x="${x}" y="${+y + 12}">${waits ? 'waits' : `Q${rank}`}</text></g>`;
  }

  /** The tensors of a block, or an empty place where it stopped before; where it came from tells the animation. */
  function heldBlock(rank, each, {ranks, backward, stops}) {
    const {block, kind, ahead} = each;
    const [x, y] = point(angleOf(rank, ranks), blockRadius);
    const box = height => `<rect x="${x - 33}" y="${y - height / 2}" width="66" height="${height}" rx="5"/>`;
    if (kind === 'stopped') return `<g class="place">${box(24)}<text x="${x}" y="${+y + 5}">none</text></g>`;
    const came = !stops || ahead >= -1;
    const [fromX, fromY] = point(angleOf(came ? rank - 1 : rank, ranks), blockRadius);
    const lines = [`K${block} V${block}`, `dK${block} dV${block}`].slice(kind === 'home' ? 1 : 0, backward ? 2 : 1);
    const words = lines.map((line, index) => `<text x="${x}" y="${+y + 5 + 14 * (index - (lines.length - 1) / 2)}">${line}</text>`);
    return `<g class="block rank${block} ${isHollow(each) ? 'hollow' : ''}" data-dx="${fromX - x}" data-dy="${fromY - y}">
      ${box(10 + 14 * lines.length)}${words.join('')}</g>`;
  }

  /** Who sends a message on at a step, and who sends one home. */
  function senders(ranks) {
    const all = upTo(ranks.length).filter(rank => ranks[rank].sends.length > 0);
    const on = all.filter(rank => goesOn(ranks[rank], rank, ranks.length));
    return {on, home: all.filter(rank => !on.includes(rank))};
  }

  function nextInWords(ranks) {
    const {on, home} = senders(ranks);
    const tensors = (words, who) => (who.length > 0 ? [words, ranks[who[0]].sends.join(' ')] : []);
    const lines = [...tensors('next, to rank + 1:', on), ...tensors('straight home:', home)];
    if (lines.length > 0) return lines;
    return ['nothing moves', ranks.length > 1 ? 'any more' : 'on one rank'];
  }

  const held = ({block, kind}) => (kind === 'stopped' ? 'no block' : `block ${block}`);

  function ring(setting, table, step) {
    const {ranks, slowest} = table.steps[step];
    const holders = ranks.map((each, rank) => `rank ${rank} holds ${held(each)}`).join(', ');
    return `<svg viewBox="0 0 400 400" role="img" aria-label="Ring of ${plural(ranks.length, 'rank')}: ${holders}.">
      ${ranks.length > 1 ? ranks.map((each, rank) => hop(rank, setting, each) + wayHome(rank, setting, each)).join('') : ''}
      ${ranks.map((each, rank) => node(rank, ranks.length, each.work === 0 && slowest > 0)).join('')}
      ${ranks.map((each, rank) => heldBlock(rank, each, setting)).join('')}
      <g class="middle"><text x="200" y="190">step ${step}</text>
        ${nextInWords(ranks).map((line, index) => `<text class="small" x="200" y="${208 + 15 * index}">${line}</text>`).join('')}</g></svg>`;
  }

  /** What shared key heads and hops that nobody needs mean for the bytes. */
  function traffic({ranks, heads: queryHeads, kvHeads, stops}, {hops}) {
    const group = queryHeads / kvHeads;
    const share = {2: 'half', 3: 'a third', 4: 'a quarter', 8: 'an eighth'}[group] ?? `1/${count(group)}`;
    const shared = `${count(queryHeads)} heads share ${count(kvHeads)} of keys: ${share} of the bytes`;
    const keys = group === 1 ? `As many heads of keys as of queries: ${count(kvHeads)}` : shared;
    const all = ranks * (ranks - 1), needed = sum(hops), rest = all - needed;
    const useless = rest === 0 ? '' : `; ${rest} ${stops ? 'are not made' : 'brought what nobody sees'}`;
    return `${keys}. Hops of blocks: ${needed} needed of ${all}${useless}.`;
  }

  // ---- masks ----

  /** Rows [begin, end) that see the same keys [first, last), together; none of those that see nothing. */
  function rectangles({seen}) {
    const found = [];
    seen.forEach(({first, last}, row) => {
      const above = found.at(-1);
      if (above && above.end === row && above.first === first && above.last === last) ++above.end;
      else if (first < last) found.push({begin: row, end: row + 1, first, last});
    });
    return found;
  }

  /** The scores that are seen; `x`, `y` the corner, `scale` the length of a token. Rectangles that touch have one outline. */
  function seenArea(pair, x, y, scale) {
    const areas = [];
    for (const each of rectangles(pair)) {
      const above = areas.at(-1)?.at(-1);
      if (above && above.end === each.begin && each.first < above.last) areas.at(-1).push(each);
      else areas.push([each]);
    }
    const line = (column, row) => `H${x + scale * column}V${y + scale * row}`;
    const path = areas.map(area => {
      const down = area.map(({last, end}) => line(last, end)), up = area.map(({first, begin}) => line(first, begin));
      return `M${x + scale * area[0].first} ${y + scale * area[0].begin}${down.join('')}${up.reverse().join('')}Z`;
    });
    return `<path class="seen ${pair.kind}" d="${path.join('')}"/>`;
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

  /** Whether a rank has a block whose scores it may compute. */
  const hasPair = kind => kind !== 'home' && kind !== 'stopped';

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
      const now = table.steps[step].ranks[rank];
      const isNow = now.block === block && hasPair(now.kind);
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
  function kindInWords(each, pair, ranks, hops) {
    const mixed = rectangles(pair).length === 1 ? 'mixed: a full rectangle, no mask on it' : 'mixed: needs a mask';
    const empty = each.ahead < 0 ? 'empty: nobody ahead sees it either' : 'empty: skipped';
    const stopped = `block ${each.block} stopped on rank ${(each.block + hops[each.block]) % ranks}`;
    return {full: 'full: no mask needed', mixed, empty, stopped, home: 'gradients are home'}[each.kind];
  }

  function bar(work, slowest) {
    const width = slowest === 0 ? 0 : (100 * work) / slowest;
    return `<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true"><rect class="compute" width="${width}" height="10"/>
      <rect class="wait" x="${width}" width="${slowest === 0 ? 0 : 100 - width}" height="10"/></svg>`;
  }

  function sentInWords({block, sends, to, bytes: amount}) {
    return sends.length === 0 ? 'sends nothing' : `sends ${bytes(amount)} to rank ${to}: ${list(sends)} of block ${block}`;
  }

  function rankCard(setting, table, step, rank) {
    const {slowest, ranks} = table.steps[step];
    const {block, kind, work} = ranks[rank];
    const pair = table.pairs[rank][block];
    const waits = slowest === 0 ? '' : `, waits ${percent(1 - work / slowest)} of the step`;
    const scores = hasPair(kind) ? `<br>${count(work)} of ${count(pair.queries * pair.keys)} scores${waits}` : '';
    const chip = kind === 'stopped' ? '' : `<span class="chip rank${block} ${isHollow(ranks[rank]) ? 'hollow' : ''}">block ${block}</span>`;
    return `<li class="${kind}"><h3><span class="chip rank${rank}">rank ${rank}</span> ${chip}</h3>
      ${hasPair(kind) ? maskPicture(pair) : ''}<p><strong>${kindInWords(ranks[rank], pair, setting.ranks, table.hops)}</strong>${scores}</p>
      ${bar(work, slowest)}<p>${sentInWords(ranks[rank])}</p></li>`;
  }

  const rankCards = (setting, table, step) => upTo(setting.ranks).map(rank => rankCard(setting, table, step, rank)).join('');

  // ---- words and numbers of the whole run ----

  /** "K and V of block 2 go to the next rank"; of all blocks where every rank sends. */
  function goingInWords(who, ranks, whither) {
    const blocks = who.map(rank => ranks[rank].block).sort();
    const of = who.length === ranks.length ? '' : ` of ${who.length === 1 ? 'block' : 'blocks'} ${list(blocks)}`;
    return who.length === 0 ? [] : [`${list(ranks[who[0]].sends)}${of} go ${whither}`];
  }

  function sentence(setting, table, step) {
    const {ranks, slowest} = table.steps[step];
    const holds = ranks.map((each, rank) => `rank ${rank} ${held(each)}${each.kind === 'stopped' ? '' : ` (${each.kind})`}`).join(', ');
    const busy = busyShare(sum(ranks.map(each => each.work)), slowest, ranks.length);
    const waiting = slowest === 0 ? 'Nobody computes' : `${percent(1 - busy)} of the ranks' time is spent waiting`;
    const {on, home} = senders(ranks);
    const going = [...goingInWords(on, ranks, 'to the next rank'), ...goingInWords(home, ranks, 'straight home')].join(', ');
    const sent = going === '' ? 'Nothing is sent' : `Then ${going}, ${bytes(sum(ranks.map(each => each.bytes)))} in all`;
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
    const {ranks, tokens, window, documents} = setting;
    const ratio = table.total === 0 ? 1 : (table.time * ranks) / table.total;
    const here = `The slowest ranks of all steps take ${decimal(ratio)} times the mean of the ranks' work`;
    const ofWindow = `In a long row most queries see ${plural(window, 'key')}. That leaves little to balance; contiguous shards save hops (lesson 16).`;
    if (window > 0) return `${here}. ${ofWindow}`;
    if (documents.length > 1) return `${here}. Zigzag of each document is even but for what 2P = ${2 * ranks} chunks leave over (lesson 16).`;
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
    const row = ({ranks, slowest}, step, rank) => {
      const {block, kind, work, sends, to, bytes: amount} = ranks[rank];
      const name = rank === 0 ? `<th scope="rowgroup" rowspan="${ranks.length}">step ${step}</th>` : '';
      const cells = [rank, block, kind, count(work), count(slowest - work), sends.join(' ') || '–', to ?? '–', count(amount)];
      return `<tr>${name}${cells.map(cell => `<td>${cell}</td>`).join('')}</tr>`;
    };
    const rows = table.steps.map((each, step) => `<tbody>${upTo(setting.ranks).map(rank => row(each, step, rank)).join('')}</tbody>`);
    const names = ['step', 'rank', 'block', 'pair', 'scores', 'waits', 'sends', 'to', 'bytes'];
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

  return {ring, traffic, matrix, rankCards, sentence, figures, bound, workTable, everyStep, modelTimeline, trace, ownership};
})();
