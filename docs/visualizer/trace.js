'use strict';

/** Reads a timeline in the Chrome trace event format, as `./course trace` writes it. Throws Error with what is wrong in the file. */
const RingTrace = (() => {
  const kinds = ['compute', 'transfer', 'wait'];

  function fail(number, found, expected) {
    throw new Error(`event ${number}: ${found}, expected ${expected}`);
  }

  function parseJson(text) {
    try {
      return JSON.parse(text);
    } catch (error) {
      throw new Error(`this is not JSON (${error.message}), expected the .json file of ./course trace`);
    }
  }

  function eventsOf(text) {
    const file = parseJson(text);
    const events = Array.isArray(file) ? file : file?.traceEvents;
    if (!Array.isArray(events)) throw new Error('there is no array of trace events, expected [{"ph": "X", ...}, ...]');
    return events;
  }

  function spanOf(event, number) {
    const microseconds = ['ts', 'dur'].map(key => {
      const value = event[key];
      if (!Number.isFinite(value) || value < 0) fail(number, `${key} is ${JSON.stringify(value)}`, 'a number of microseconds, 0 or more');
      return value;
    });
    if (!kinds.includes(event.cat)) fail(number, `cat is ${JSON.stringify(event.cat)}`, kinds.join(', '));
    const [begin, length] = microseconds;
    return {kind: event.cat, begin, end: begin + length, label: String(event.name)};
  }

  /** Finds or makes what a map has under a key. */
  function entry(map, key, make) {
    if (!map.has(key)) map.set(key, make());
    return map.get(key);
  }

  function add(timelines, event, number) {
    if (typeof event !== 'object' || event === null) fail(number, `it is ${JSON.stringify(event)}`, 'an object');
    if (!['X', 'M'].includes(event.ph)) return; // what other programs record besides
    const timeline = entry(timelines, event.pid, () => ({name: '', lanes: new Map()}));
    if (event.ph === 'M' && event.name === 'process_name') timeline.name = String(event.args?.name);
    if (event.ph === 'M' && event.name !== 'thread_name') return;
    const lane = entry(timeline.lanes, event.tid, () => ({name: `rank ${event.tid}`, tid: event.tid, spans: []}));
    if (event.ph === 'M') lane.name = String(event.args?.name);
    else lane.spans.push(spanOf(event, number));
  }

  /**
   * Returns one {name, length, lanes: [{name, spans: [{kind, begin, end, label}]}]} for each process of the trace, times in
   * microseconds since its first span.
   */
  function parse(text) {
    const timelines = new Map();
    eventsOf(text).forEach((event, index) => add(timelines, event, index + 1));
    const found = [...timelines.values()].map(({name, lanes}) => {
      const sorted = [...lanes.values()].sort((a, b) => a.tid - b.tid);
      const ends = sorted.flatMap(lane => lane.spans.map(span => span.end));
      return {name, lanes: sorted, length: ends.reduce((a, b) => Math.max(a, b), 0)};
    });
    if (!found.some(({lanes}) => lanes.some(lane => lane.spans.length > 0))) throw new Error('it has no span (event with "ph": "X")');
    return found;
  }

  /** How many ranks a timeline is of; a lane "rank 2/1" is stream 1 of rank 2's GPU. */
  const ranksOf = timeline => new Set(timeline.lanes.map(lane => lane.name.split('/')[0])).size;

  /** The share of `length` that a lane spends in spans of a kind. */
  function share(lane, kind, length) {
    const spans = lane.spans.filter(span => span.kind === kind);
    return length === 0 ? 0 : spans.reduce((total, span) => total + span.end - span.begin, 0) / length;
  }

  return {kinds, parse, ranksOf, share};
})();
