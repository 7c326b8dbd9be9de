'use strict';

/**
 * Ring attention as numbers: who owns which positions, who holds whose block at which step, what is computed there and what
 * is sent. It draws nothing and knows no page. tests/docs compares it with common/ring and common/reference.
 *
 * A setting is {ranks, layout, causal, backward, tokens, heads, kvHeads, headDim, window, documents, stops}: heads of queries
 * and of keys, how many keys a causal query sees (0: all), the documents' lengths (none: one document), and whether a block stops
 * where nobody ahead sees it.
 */
const RingModel = (() => {
  const layouts = ['contiguous', 'striped', 'zigzag', 'documents'];
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

  const documentsOf = ({documents, tokens}) => (documents.length > 0 ? documents : [tokens]);

  /** The positions that each rank owns, ascending. A row in zigzag is one document. */
  function positions(setting) {
    const {layout, ranks, tokens} = setting;
    if (layout === 'striped') return upTo(ranks).map(rank => upTo(tokens).filter(position => position % ranks === rank));
    if (layout === 'contiguous') return consecutive(evenParts(tokens, ranks));
    const documents = layout === 'documents' ? documentsOf(setting) : [tokens];
    const chunks = consecutive(documents.flatMap(length => evenParts(length, 2 * ranks)));
    const isOf = (rank, chunk) => chunk === rank || chunk === 2 * ranks - 1 - rank;
    return upTo(ranks).map(rank => chunks.filter((_, chunk) => isOf(rank, chunk % (2 * ranks))).flat());
  }

  /** Of each query, by its position: the positions [first, last) that it sees. */
  function ranges(setting) {
    const {causal, window} = setting;
    const first = (query, document) => Math.max(document[0], window > 0 ? query - window + 1 : 0);
    const last = (query, document) => (causal ? query : document.at(-1)) + 1;
    const documents = consecutive(documentsOf(setting));
    return documents.flatMap(document => document.map(query => ({first: first(query, document), last: last(query, document)})));
  }

  /** Of these queries' ranges, ascending: the rows [first, last) that each sees of a block; 0, 0 where that is none. */
  function rowsSeen(rangesOfQueries, keys) {
    let first = 0, last = 0; // both grow with the query's position
    return rangesOfQueries.map(range => {
      while (first < keys.length && keys[first] < range.first) ++first;
      while (last < keys.length && keys[last] < range.last) ++last;
      return first < last ? {first, last} : {first: 0, last: 0};
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
  function pair(queries, keys, rangeOf) {
    const seen = rowsSeen(queries.map(query => rangeOf[query]), keys);
    const work = sum(seen.map(({first, last}) => last - first));
    return {queries: queries.length, keys: keys.length, seen, work, kind: kindOf(work, queries.length * keys.length)};
  }

  /** By block, how many hops take it to the last rank that sees a key of it. */
  function hopsNeeded(pairs) {
    const ranks = pairs.length;
    return upTo(ranks).map(block => Math.max(...upTo(ranks).filter(hop => hop === 0 || pairs[(block + hop) % ranks][block].work > 0)));
  }

  /**
   * What leaves a rank after the work of a step, and to whom, where its block makes so many hops. Keys and values go to
   * rank + 1. Their gradients travel along, and go home, to the block's owner, from where it stops.
   */
  function message({ranks, backward}, hops, rank, step) {
    const gradients = backward ? ['dK', 'dV'] : [];
    if (step < hops) return {sends: ['K', 'V', ...gradients], to: (rank + 1) % ranks};
    if (step === hops && hops > 0 && backward) return {sends: gradients, to: blockAt(rank, step, ranks)};
    return {sends: [], to: undefined};
  }

  /** Steps with work, and in the backward pass the moment when the gradients have come home. */
  const stepCount = ({ranks, backward}) => ranks + (backward && ranks > 1 ? 1 : 0);

  /**
   * One step: of each rank its block, the pair's kind, work in scores of one head, what it sends then, to whom, in bytes, and
   * `ahead`, how many hops more its block has to make: below 0 where nobody sees it, here or further on.
   */
  function stepTable(setting, pairs, hops, step) {
    const atHome = step === setting.ranks;
    const ranks = upTo(setting.ranks).map(rank => {
      const block = blockAt(rank, step, setting.ranks);
      const {keys, work, kind} = pairs[rank][block];
      const made = setting.stops ? hops[block] : setting.ranks - 1;
      const sent = message(setting, made, rank, step);
      const bytes = sent.sends.length * setting.kvHeads * keys * setting.headDim * floatBytes;
      const state = step > made ? 'stopped' : kind;
      return {block, kind: atHome ? 'home' : state, work: atHome ? 0 : work, ...sent, bytes, ahead: hops[block] - step};
    });
    return {ranks, slowest: Math.max(...ranks.map(rank => rank.work))};
  }

  /**
   * Everything about a setting: `positions` by rank, `pairs[rank][block]`, `hops` that each block has to make, `steps`, `total`
   * scores, and `time`, the slowest ranks' scores of all steps added up, since no rank goes on before its neighbour has sent.
   */
  function table(setting) {
    const owned = positions(setting), rangeOf = ranges(setting);
    const pairs = owned.map(queries => owned.map(keys => pair(queries, keys, rangeOf)));
    const hops = hopsNeeded(pairs);
    const steps = upTo(stepCount(setting)).map(step => stepTable(setting, pairs, hops, step));
    return {
      positions: owned, pairs, hops, steps,
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
