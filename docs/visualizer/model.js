'use strict';

/**
 * Ring attention as numbers: who owns which positions, who holds whose block at which step, what is computed there and what
 * is sent. It draws nothing and knows no page. tests/docs compares it with common/ring and common/reference.
 *
 * A setting is {ranks, layout, causal, backward, tokens, heads, headDim}.
 */
const RingModel = (() => {
  const layouts = ['contiguous', 'striped', 'zigzag'];
  const floatBytes = 4;

  const sum = numbers => numbers.reduce((total, number) => total + number, 0);
  const upTo = count => Array.from({length: count}, (_, index) => index);

  /** Lengths of `parts` contiguous parts: the first tokens % parts of them hold one token more. */
  function evenParts(tokens, parts) {
    return upTo(parts).map(part => Math.floor(tokens / parts) + (part < tokens % parts ? 1 : 0));
  }

  /** Positions 0, 1, 2, ... in lists of these lengths. */
  function consecutive(lengths) {
    let next = 0;
    return lengths.map(length => upTo(length).map(() => next++));
  }

  /** The positions that each rank owns, ascending. */
  function positions({layout, ranks, tokens}) {
    if (layout === 'striped') return upTo(ranks).map(rank => upTo(tokens).filter(position => position % ranks === rank));
    if (layout === 'contiguous') return consecutive(evenParts(tokens, ranks));
    const chunks = consecutive(evenParts(tokens, 2 * ranks));
    return upTo(ranks).map(rank => chunks[rank].concat(chunks[2 * ranks - 1 - rank]));
  }

  /** How many of a block's keys, counted from its first, each query sees: those at its own position and before. */
  function keysSeen(queries, keys, causal) {
    if (!causal) return queries.map(() => keys.length);
    let seen = 0; // grows with the query's position
    return queries.map(query => {
      while (seen < keys.length && keys[seen] <= query) ++seen;
      return seen;
    });
  }

  /** Whether `work` of all the scores of a pair is none, some or all; a pair without scores is empty. */
  function kindOf(work, scores) {
    if (work === 0) return 'empty';
    return work === scores ? 'full' : 'mixed';
  }

  /** Whose block a rank holds after `step` hops, since every rank sends to rank + 1. */
  const blockAt = (rank, step, ranks) => (((rank - step) % ranks) + ranks) % ranks;

  /** The queries of one rank and the keys of one block: what is seen, in scores of one head. */
  function pair(owned, rank, block, causal) {
    const seen = keysSeen(owned[rank], owned[block], causal);
    const work = sum(seen);
    return {queries: owned[rank].length, keys: owned[block].length, seen, work, kind: kindOf(work, seen.length * owned[block].length)};
  }

  /**
   * What leaves every rank after the work of a step. Keys and values make P - 1 hops. Their gradients travel along and make
   * one more, home.
   */
  function travellers({ranks, backward}, step) {
    if (ranks === 1 || step >= ranks) return [];
    const gradients = backward ? ['dK', 'dV'] : [];
    return step < ranks - 1 ? ['K', 'V', ...gradients] : gradients;
  }

  /** Steps with work, and in the backward pass the moment when the gradients have come home. */
  const stepCount = ({ranks, backward}) => ranks + (backward && ranks > 1 ? 1 : 0);

  /** One step: of each rank its block, the pair's kind, work in scores of one head, and the bytes that it sends then. */
  function stepTable(setting, pairs, step) {
    const sends = travellers(setting, step);
    const atHome = step === setting.ranks;
    const ranks = upTo(setting.ranks).map(rank => {
      const block = blockAt(rank, step, setting.ranks);
      const {keys, work, kind} = pairs[rank][block];
      const bytes = sends.length * setting.heads * keys * setting.headDim * floatBytes;
      return {block, kind: atHome ? 'home' : kind, work: atHome ? 0 : work, bytes};
    });
    return {ranks, sends, slowest: Math.max(...ranks.map(rank => rank.work))};
  }

  /**
   * Everything about a setting: `positions` by rank, `pairs[rank][block]`, `steps`, `total` scores, and `time`, the slowest
   * ranks' scores of all steps added up, since no rank goes on before its neighbour has sent.
   */
  function table(setting) {
    const owned = positions(setting);
    const pairs = upTo(setting.ranks).map(rank => upTo(setting.ranks).map(block => pair(owned, rank, block, setting.causal)));
    const steps = upTo(stepCount(setting)).map(step => stepTable(setting, pairs, step));
    return {
      positions: owned, pairs, steps,
      total: sum(pairs.flat().map(each => each.work)),
      time: sum(steps.map(step => step.slowest)),
    };
  }

  /** What has happened up to a step, that step included: time, work in scores, and bytes sent. */
  function progress(steps, last) {
    const past = steps.slice(0, last + 1);
    const all = past.flatMap(step => step.ranks);
    return {time: sum(past.map(step => step.slowest)), work: sum(all.map(rank => rank.work)), bytes: sum(all.map(rank => rank.bytes))};
  }

  /** The share of ranks' time in which they compute, 1 where nobody has anything to do. */
  const busyShare = (work, time, ranks) => (time === 0 ? 1 : work / (time * ranks));

  return {layouts, upTo, sum, table, progress, busyShare};
})();
