'use strict';

/** Draws what ExchangeModel computes, as RingView draws the ring: every function returns HTML and changes nothing. */
const ExchangeView = (() => {
  const {upTo, sum} = RingModel;
  const count = number => number.toLocaleString('en-US');
  const decimal = number => number.toFixed(2).replace(/\.?0+$/, '');

  // ---- the sheet: rows are tokens in the order of the sequence, columns are heads ----

  const sheetHeight = 190;

  /** Runs of neighbours for which `of` says the same: {first, last, value}. */
  function runs(length, of) {
    const found = [];
    for (const index of upTo(length)) {
      const value = of(index);
      if (found.length > 0 && String(found.at(-1).value) === String(value)) found.at(-1).last = index + 1;
      else found.push({first: index, last: index + 1, value});
    }
    return found;
  }

  function piece(rank, x, y, width, height) {
    const label = width >= 18 && height >= 15 ? `<text x="${x + width / 2}" y="${y + height / 2 + 5}">${rank}</text>` : '';
    return `<g class="piece rank${rank}"><rect x="${x}" y="${y}" width="${width}" height="${height}"/>${label}</g>`;
  }

  /** Each rank has rows, which are its tokens with all heads. */
  function rows(positions, x, width) {
    const ranks = [];
    positions.forEach((own, rank) => own.forEach(position => { ranks[position] = rank; }));
    const scale = sheetHeight / Math.max(ranks.length, 1);
    return runs(ranks.length, token => ranks[token]).map(({first, last, value}) => piece(value, x, 30 + scale * first, width, scale * (last - first))).join('');
  }

  /** Each rank has columns: some heads, with all tokens. A head that several ranks have is cut among them. */
  function columns(heads, ranksOf, x, width) {
    const scale = width / heads;
    return runs(heads, ranksOf).flatMap(({first, last, value}) => value.map((rank, index) => {
      const height = sheetHeight / value.length;
      return piece(rank, x + scale * first, 30 + height * index, scale * (last - first), height);
    })).join('');
  }

  const whoHas = (shares, from, to) => head => upTo(shares.length).filter(rank => shares[rank][from] <= head && head < shares[rank][to]);

  function sheet(setting, {positions}) {
    const {heads, kvHeads, ranks} = setting;
    const shares = ExchangeModel.headShares(setting, ranks);
    const idle = shares.filter(({first, last}) => first === last).length;
    const wide = 150, narrow = Math.max(40, (wide * kvHeads) / heads), gap = 12, arrow = 46;
    const half = wide + gap + narrow, right = 8 + half + arrow;
    const title = (x, width, words) => `<text x="${x + width / 2}" y="20">${words}</text>`;
    const side = (x, query, key) => title(x, wide, 'Q, O') + query(x, wide) + title(x + wide + gap, narrow, 'K, V') + key(x + wide + gap, narrow);
    const before = side(8, (x, width) => rows(positions, x, width), (x, width) => rows(positions, x, width));
    const after = side(right, (x, width) => columns(heads, whoHas(shares, 'first', 'last'), x, width), (x, width) => columns(kvHeads, whoHas(shares, 'kvFirst', 'kvLast'), x, width));
    const middle = 8 + half + arrow / 2, words = 'Tokens by heads: each rank has rows before the exchange, and columns after it.';
    const copies = Math.max(...upTo(kvHeads).map(head => whoHas(shares, 'kvFirst', 'kvLast')(head).length));
    const notes = [copies > 1 ? `A column of K, V with several ranks is whole on each of them, as many as ${copies}; their gradients add up.` : '', idle > 0 ? `${idle} of ${ranks} ranks have no heads.` : ''];
    return `<svg viewBox="0 0 ${right + half + 8} 250" role="img" aria-label="${words}">${before}${after}
      <path class="hop moves" stroke-width="3" d="M${middle - 16} 105H${middle + 12}"/><path class="hop moves" stroke-width="3" d="M${middle + 16} 145H${middle - 12}"/>
      <text x="${8 + half / 2}" y="240">tokens of a rank, all heads</text><text x="${right + half / 2}" y="240">all tokens, heads of a rank</text></svg>
      <p>${notes.filter(note => note !== '').join(' ')}</p>`;
  }

  // ---- nodes, and who sends to whom ----

  const across = 96, down = 84, margin = 26;
  const place = (rank, node) => [margin + across * (rank % node) + across / 2, margin + down * Math.floor(rank / node) + 34];

  const nodeOf = (rank, node) => Math.floor(rank / node);

  /** A line from rank to rank, bent where others stand between them. Two that exchange have one line for both ways. */
  function link(from, to, {node, exchange}, bytes, most) {
    const inside = nodeOf(from, node) === nodeOf(to, node), mutual = (inside || exchange === 'Ulysses') && bytes[to][from] > 0;
    if (bytes[from][to] === 0 || (mutual && to < from)) return '';
    const [x, y] = place(from, node), [toX, toY] = place(to, node);
    const apart = Math.hypot(toX - x, toY - y), [alongX, alongY] = [(toX - x) / apart, (toY - y) / apart];
    const between = Math.max(Math.abs(toX - x) / across, Math.abs(toY - y) / down) - 1; // ranks that stand there
    const bend = (alongX > 0 ? -1 : 1) * Math.min(26, 11 * between), side = mutual ? 0 : 5;
    const at = (length, off) => `${(x + alongX * length - alongY * off).toFixed(1)} ${(y + alongY * length + alongX * off).toFixed(1)}`;
    const width = (1 + (3 * bytes[from][to]) / most).toFixed(1);
    return `<path class="hop moves ${inside ? 'inside' : 'between'} ${mutual ? 'mutual' : ''}" stroke-width="${width}" d="M${at(20, side)}Q${at(apart / 2, 2 * bend + side)} ${at(apart - (mutual ? 20 : 23), side)}"/>`;
  }

  function nodes(setting, {positions}) {
    const {ranks, node, exchange} = setting;
    const bytes = ExchangeModel.traffic(setting, positions.map(own => own.length));
    const most = Math.max(1, ...bytes.flat());
    const borders = upTo(ranks / node).map(number => `<rect class="border" x="${margin - 10}" y="${margin + down * number + 4}" width="${across * node + 20}" height="${down - 22}" rx="9"/>`);
    const links = bytes.flatMap((row, from) => row.map((_, to) => link(from, to, setting, bytes, most)));
    const circles = upTo(ranks).map(rank => {
      const [x, y] = place(rank, node);
      return `<g class="node rank${rank}"><circle cx="${x}" cy="${y}" r="17"/><text x="${x}" y="${y + 4}">${rank}</text></g>`;
    });
    const words = `${exchange}: ${ranks} ranks in nodes of ${node}, with an arrow from each rank to those that it sends to; a line without a head goes both ways.`;
    const width = 2 * margin + across * node;
    return `<svg width="${1.3 * width}" viewBox="0 0 ${width} ${2 * margin + (down * ranks) / node - 10}" role="img" aria-label="${words}">${borders.join('')}${links.join('')}${circles.join('')}</svg>`;
  }

  function matrix(setting, {positions}) {
    const {ranks, node} = setting;
    const bytes = ExchangeModel.traffic(setting, positions.map(own => own.length));
    const edge = (from, to) => [nodeOf(from, node) === nodeOf(to, node) ? '' : 'between', to % node === 0 && to > 0 ? 'left-edge' : '', from % node === 0 && from > 0 ? 'top-edge' : ''].join(' ');
    const row = (amounts, from) => `<tr><th scope="row">from ${from}</th>${amounts.map((amount, to) => `<td class="${edge(from, to)}">${amount === 0 ? '–' : count(amount)}</td>`).join('')}<td>${count(sum(amounts))}</td></tr>`;
    return `<table class="bytes"><thead><tr><th scope="col">bytes</th>${upTo(ranks).map(rank => `<th scope="col">to ${rank}</th>`).join('')}<th scope="col">all</th></tr></thead>
      <tbody>${bytes.map(row).join('')}</tbody></table>`;
  }

  /** Whether Ulysses sends less than a ring where shards and shares are equal. A key head that several ranks need is copied. */
  function lessThanARing(ranks, heads, kvHeads) {
    if (kvHeads === 1) return 'With one key head Ulysses never sends less than a ring (lesson 17).';
    const copies = ranks > kvHeads;
    const [threshold, name] = copies ? [heads / (kvHeads - 1), 'heads / (kv_heads − 1)'] : [1 + heads / kvHeads, '1 + heads / kv_heads'];
    const than = ranks > threshold ? 'less than' : ranks < threshold ? 'more than' : 'as much as';
    return `With equal shards and shares Ulysses sends ${than} a ring, but for lse: P is ${ranks}, ${name} is ${decimal(threshold)} (lesson 17).`;
  }

  /** What the lessons say of this setting. */
  function sentence(setting, {positions}) {
    const {ranks, node, heads, kvHeads} = setting;
    const {all, most, cards} = ExchangeModel.between(ExchangeModel.traffic(setting, positions.map(own => own.length)), node);
    const leaving = all === 0 ? 'Nothing leaves its node' : `${count(all)} bytes leave their node, ${count(most)} of them at most from one rank, through the cards of ${cards} of ${ranks} ranks (lesson 18)`;
    return `${leaving}. ${lessThanARing(ranks, heads, kvHeads)}`;
  }

  return {sheet, nodes, matrix, sentence};
})();
