'use strict';

/**
 * What takes a ring's place, as numbers: who has which heads, and the bytes from every rank to every other in one forward pass of
 * attention, in float32. Lessons 17 and 18 derive them. It draws nothing; a setting is that of RingModel, with `exchange`, one of
 * `names`, and `node`, how many consecutive ranks are one node: a group of the grid, an inner ring of the double ring.
 */
const ExchangeModel = (() => {
  const {upTo, sum} = RingModel;
  const names = ['ring', 'double ring', 'grid', 'Ulysses'];
  const floatBytes = 4;

  /** Of each of `ranks`: its query heads [first, last), and the key heads [kvFirst, kvLast) that they look at. */
  function headShares({heads, kvHeads}, ranks) {
    const group = heads / kvHeads;
    let first = 0;
    return upTo(ranks).map(rank => {
      const last = first + Math.floor(heads / ranks) + (rank < heads % ranks ? 1 : 0);
      const share = {first, last, kvFirst: Math.floor(first / group), kvLast: last > first ? Math.floor((last - 1) / group) + 1 : Math.floor(first / group)};
      first = last;
      return share;
    });
  }

  const queries = ({first, last}) => last - first;
  const keys = ({kvFirst, kvLast}) => kvLast - kvFirst;
  const none = ranks => upTo(ranks).map(() => upTo(ranks).map(() => 0));

  /** Adds to `bytes` those of the two exchanges among `members`: q, k and v there, o and lse back. */
  function addExchange(bytes, setting, tokens, members) {
    const shares = headShares(setting, members.length), width = setting.headDim;
    members.forEach((from, u) => members.forEach((to, v) => {
      if (u === v) return;
      const there = tokens[from] * width * (queries(shares[v]) + 2 * keys(shares[v]));
      const back = tokens[to] * (width + 1) * queries(shares[u]);
      bytes[from][to] += floatBytes * (there + back);
    }));
  }

  const keysAndValues = ({headDim}, tokens, kvHeads) => 2 * floatBytes * tokens * kvHeads * headDim;

  /** Nodes of `node` ranks: rank = place + node * number. */
  function grid(setting, tokens, node) {
    const {ranks} = setting, nodes = ranks / node, bytes = none(ranks);
    const shares = headShares(setting, node);
    const ofNode = upTo(nodes).map(number => sum(upTo(node).map(u => tokens[u + node * number])));
    for (const number of upTo(nodes)) addExchange(bytes, setting, tokens, upTo(node).map(u => u + node * number));
    for (const rank of upTo(ranks)) {
      const to = (rank + node) % ranks, number = Math.floor(rank / node);
      for (const hop of upTo(nodes - 1)) bytes[rank][to] += keysAndValues(setting, ofNode[(number - hop + nodes) % nodes], keys(shares[rank % node]));
    }
    return bytes;
  }

  /** Whose block a rank holds after so many hops between nodes and in the node. */
  function owner(rank, outer, inner, node, ranks) {
    const nodes = ranks / node;
    return ((rank % node) - inner + node) % node + node * ((Math.floor(rank / node) - outer + nodes) % nodes);
  }

  function doubleRing(setting, tokens, node) {
    const {ranks, kvHeads} = setting, nodes = ranks / node, bytes = none(ranks);
    const block = (rank, outer, inner) => keysAndValues(setting, tokens[owner(rank, outer, inner, node, ranks)], kvHeads);
    for (const rank of upTo(ranks)) {
      const across = (rank + node) % ranks, inside = Math.floor(rank / node) * node + ((rank + 1) % node);
      for (const outer of upTo(nodes)) {
        if (outer + 1 < nodes) bytes[rank][across] += block(rank, outer, 0);
        for (const inner of upTo(node - 1)) bytes[rank][inside] += block(rank, outer, inner);
      }
    }
    return bytes;
  }

  /** bytes[from][to], where each rank has so many tokens. */
  function traffic(setting, tokens) {
    const {exchange, node, ranks} = setting;
    return {
      ring: () => doubleRing(setting, tokens, 1), 'double ring': () => doubleRing(setting, tokens, node),
      grid: () => grid(setting, tokens, node), Ulysses: () => grid(setting, tokens, ranks),
    }[exchange]();
  }

  /** Bytes that leave a node, and the most that one rank sends out of its node: its card carries them. */
  function between(bytes, node) {
    const nodeOf = rank => Math.floor(rank / node);
    const out = bytes.map((row, from) => sum(row.filter((_, to) => nodeOf(to) !== nodeOf(from))));
    return {all: sum(out), most: Math.max(...out), cards: out.filter(each => each > 0).length};
  }

  return {names, headShares, traffic, between};
})();
