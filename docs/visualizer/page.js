'use strict';

/** The page's state is in its address, behind #; controls and keys change it, and every change draws everything anew. */
(() => {
  const byId = id => document.getElementById(id);
  const pauseBetweenSteps = 1200; // milliseconds

  const whole = (least, most) => ({
    read: text => (/^\d+$/.test(text.trim()) && +text >= least && +text <= most ? +text : undefined),
    expected: `a whole number from ${least} to ${most}`,
  });
  const optional = field => ({read: text => (text.trim() === '' ? '' : field.read(text)), expected: `${field.expected}, or nothing`});
  const lengths = {
    read: text => (/^\d{1,4}( *, *\d{1,4})*$/.test(text.trim()) ? text.replaceAll(' ', '') : undefined),
    expected: 'lengths between commas, such as 5,3,8',
  };
  const word = words => ({read: text => (words.includes(text) ? text : undefined), expected: words.join(', ')});

  /** What the address may hold: its default, how it is read (undefined where it is wrong), and what is expected. */
  const fields = {
    ranks: {initial: '4', ...whole(1, 8)},
    layout: {initial: 'contiguous', ...word(RingModel.layouts)},
    mask: {initial: 'causal', ...word(['causal', 'none'])},
    direction: {initial: 'forward', ...word(['forward', 'backward'])},
    tokens: {initial: '16', ...whole(0, 1024)},
    heads: {initial: '8', ...whole(1, 1024)},
    kv_heads: {initial: '', ...optional(whole(1, 1024))},
    head_dim: {initial: '64', ...whole(1, 1024)},
    window: {initial: '0', ...whole(0, 1024)},
    documents: {initial: '', ...optional(lengths)},
    ring: {initial: 'all the way', ...word(['all the way', 'stops'])},
    exchange: {initial: 'ring', ...word(ExchangeModel.names)},
    node: {initial: '', ...optional(whole(1, 8))},
    step: {initial: '0', ...whole(0, 8)},
  };
  const lengthsOf = documents => (documents === '' ? [] : documents.split(',').map(Number));

  /** What fields say of each other: the one that is left out where it is wrong, whether it is, and the complaint. */
  const agreements = [
    ['kv_heads', ({kv_heads, heads}) => heads % (kv_heads || heads) !== 0,
      ({kv_heads, heads}) => `kv_heads is ${kv_heads}, expected a number that divides heads, which is ${heads}`],
    ['node', ({ranks, node}) => ranks % (node || 1) !== 0, ({ranks, node}) => `node is ${node}, expected a number that divides ranks, which is ${ranks}`],
    ['window', ({window, mask}) => window > 0 && mask !== 'causal', ({window}) => `window is ${window}, expected 0 without a causal mask`],
    ['documents', ({documents, tokens}) => documents !== '' && RingModel.sum(lengthsOf(documents)) !== tokens,
      ({documents, tokens}) => `documents have ${RingModel.sum(lengthsOf(documents))} tokens, the row has ${tokens}`],
  ];
  /** Pairs of ranks, where nothing is said and the ranks are even. */
  const nodeOf = ({node, ranks}) => node || (ranks % 2 === 0 ? 2 : 1);
  const controls = Object.keys(fields).filter(name => name !== 'step');

  let state = {}; // the values of fields
  let table; // of the model, for this state
  let timer; // runs while it plays
  let trace; // timelines of the file that was opened

  const setting = () => ({
    ranks: state.ranks, layout: state.layout, causal: state.mask === 'causal', backward: state.direction === 'backward',
    tokens: state.tokens, heads: state.heads, kvHeads: state.kv_heads || state.heads, headDim: state.head_dim,
    window: state.window, documents: lengthsOf(state.documents), stops: state.ring === 'stops',
    exchange: state.exchange, node: nodeOf(state),
  });
  const lastStep = () => table.steps.length - 1;

  const complain = problems => { byId('problem').textContent = problems.join('; '); };

  /** The fields that `given` has rightly; adds to `problems` what it has wrongly. */
  function readFields(given, problems) {
    const found = {};
    for (const [name, text] of given) {
      const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
      if (!field) problems.push(`there is no ${name}, expected ${Object.keys(fields).join(', ')}`);
      else if (field.read(text) === undefined) problems.push(`${name} is ${text || 'empty'}, expected ${field.expected}`);
      else found[name] = field.read(text);
    }
    return found;
  }

  /** The initial values of fields that do not agree with others; adds to `problems` why. */
  function leftOut(wanted, problems) {
    const wrong = agreements.filter(([, disagrees]) => disagrees(wanted));
    problems.push(...wrong.map(([, , complaint]) => complaint(wanted)));
    return Object.fromEntries(wrong.map(([name]) => [name, fields[name].read(fields[name].initial)]));
  }

  // ---- drawing ----

  const parts = {
    picture: RingView.ring, matrix: RingView.matrix, 'rank-cards': RingView.rankCards, figures: RingView.figures, 'work-table': RingView.workTable,
    sheet: ExchangeView.sheet, nodes: ExchangeView.nodes, bytes: ExchangeView.matrix,
    'model-timeline': RingView.modelTimeline, 'every-step': RingView.everyStep, ownership: RingView.ownership,
  };

  function draw(isNextStep = false) {
    for (const [id, part] of Object.entries(parts)) byId(id).innerHTML = part(setting(), table, state.step);
    byId('sentence').textContent = RingView.sentence(setting(), table, state.step);
    byId('traffic').textContent = RingView.traffic(setting(), table);
    byId('between').textContent = ExchangeView.sentence(setting(), table);
    byId('bound').textContent = RingView.bound(setting(), table);
    byId('setting').textContent = Object.entries(state).filter(([, value]) => value !== '').map(([name, value]) => `${name} ${value}`).join(', ');
    byId('recorded').innerHTML = trace ? RingView.trace(trace, state.ranks) : '';
    byId('step').max = lastStep();
    byId('step').value = state.step;
    byId('play').textContent = timer ? 'Pause' : 'Play';
    if (isNextStep) slideBlocks();
  }

  /** Lets the blocks come from the rank that held them, unless the reader wants no motion (style.css). */
  function slideBlocks() {
    for (const block of byId('picture').querySelectorAll('.block')) {
      block.style.setProperty('--dx', `${block.dataset.dx}px`);
      block.style.setProperty('--dy', `${block.dataset.dy}px`);
      block.classList.add('arrives');
    }
  }

  function show(wanted) {
    const isNextStep = wanted.step === state.step + 1 && Object.keys(wanted).length === 1;
    state = {...state, ...wanted};
    table = RingModel.table(setting());
    state.step = Math.min(state.step, lastStep());
    draw(isNextStep);
    history.replaceState(null, '', `#${String(new URLSearchParams(state)).replaceAll('%2C', ',')}`); // last: browsers refuse it when it comes too often
  }

  function goTo(step) {
    show({step: Math.max(0, Math.min(step, lastStep()))});
  }

  // ---- what the reader does ----

  function pause() {
    clearInterval(timer);
    timer = undefined;
    draw();
  }

  function playOrPause() {
    if (timer) return pause();
    timer = setInterval(() => (state.step < lastStep() ? goTo(state.step + 1) : pause()), pauseBetweenSteps);
    goTo(state.step < lastStep() ? state.step : 0);
  }

  const actions = {
    ArrowLeft: () => goTo(state.step - 1), ArrowRight: () => goTo(state.step + 1),
    Home: () => goTo(0), End: () => goTo(lastStep()), ' ': playOrPause,
  };

  function onKey(event) {
    const isTaken = event.target.closest?.(event.key === ' ' ? 'button, input, select' : 'input, select');
    if (isTaken || event.ctrlKey || event.altKey || event.metaKey || !Object.hasOwn(actions, event.key)) return;
    event.preventDefault();
    actions[event.key]();
  }

  function onControl() {
    const problems = [];
    const found = readFields(controls.map(name => [name, byId(name).value]), problems);
    const wrong = leftOut({...state, ...found}, problems);
    const isRight = name => Object.hasOwn(found, name) && !Object.hasOwn(wrong, name);
    for (const name of controls) byId(name).setAttribute('aria-invalid', String(!isRight(name)));
    complain(problems);
    show({...found, ...wrong});
  }

  function readAddress() {
    const problems = [];
    const initial = Object.entries(fields).map(([name, field]) => [name, field.initial]);
    const given = readFields(new URLSearchParams(location.hash.slice(1)), problems);
    const wanted = {...readFields(initial, []), ...given};
    state = {};
    show({...wanted, ...leftOut(wanted, problems)});
    if (given.step > state.step) problems.push(`step is ${given.step}, expected a whole number from 0 to ${lastStep()}`);
    for (const name of controls) {
      byId(name).value = state[name];
      byId(name).setAttribute('aria-invalid', 'false');
    }
    complain(problems);
  }

  async function openTrace(file) {
    if (!file) return;
    byId('recorded').setAttribute('aria-busy', 'true');
    trace = undefined;
    let problem = '';
    try {
      trace = RingTrace.parse(await file.text());
    } catch (error) {
      problem = `${file.name}: ${error.message}`;
    }
    byId('trace-problem').textContent = problem;
    draw();
    byId('recorded').setAttribute('aria-busy', 'false');
  }

  function toggleEveryStep() {
    const isHidden = byId('every-step').toggleAttribute('hidden');
    byId('every-step-button').setAttribute('aria-expanded', String(!isHidden));
  }

  for (const name of controls) byId(name).addEventListener('input', onControl);
  byId('step').addEventListener('input', () => goTo(+byId('step').value));
  byId('first').addEventListener('click', actions.Home);
  byId('back').addEventListener('click', actions.ArrowLeft);
  byId('play').addEventListener('click', playOrPause);
  byId('forth').addEventListener('click', actions.ArrowRight);
  byId('last').addEventListener('click', actions.End);
  byId('every-step-button').addEventListener('click', toggleEveryStep);
  byId('trace').addEventListener('change', () => openTrace(byId('trace').files[0]));
  document.addEventListener('keydown', onKey);
  window.addEventListener('hashchange', readAddress);
  readAddress();
})();
