'use strict';

// Looks at the page in the frame #page, 360 pixels wide, and writes a line for each check.

const frame = document.getElementById('page');
const results = document.getElementById('results');
const inPage = id => frame.contentDocument.getElementById(id);
const textOf = (id, part) => (part ? inPage(id).querySelector(part) : inPage(id)).textContent;
const numbersIn = (id, parts) => [...inPage(id).querySelectorAll(parts)].map(each => parseFloat(each.textContent));
const numberOf = (id, parts) => inPage(id).querySelectorAll(parts).length;
const say = line => results.append(`${line}\n`);
const pause = milliseconds => new Promise(resolve => setTimeout(resolve, milliseconds));

/** Waits for something to become so; fails when it does not. */
async function until(isSo) {
  for (let tries = 0; !isSo(); ++tries) {
    if (tries === 6000) throw new Error(`waited in vain for ${isSo}`);
    await pause(10);
  }
}

function check(name, found, expected) {
  const [left, right] = [found, expected].map(value => JSON.stringify(value));
  say(left === right ? `ok    ${name}` : `FAIL  ${name}: ${left}, expected ${right}`);
}

/** Checks something of many settings: says how many differ and shows the first of them. */
function checkEach(name, find, expect) {
  const found = expectedTables.map(each => [JSON.stringify(find(each)), JSON.stringify(expect(each)), JSON.stringify(each.setting)]);
  const wrong = found.filter(([left, right]) => left !== right).map(([left, right, setting]) => `${setting}: ${left}, expected ${right}`);
  check(`${name}, of ${found.length} settings`, [wrong.length, wrong[0]?.slice(0, 2000)], [0, undefined]);
}

/** Shows a setting, by the page's address. */
async function open(address) {
  const isRead = new Promise(resolve => frame.contentWindow.addEventListener('hashchange', resolve, {once: true}));
  frame.contentWindow.location.hash = address;
  await isRead;
}

function enter(id, value, event = 'input') {
  inPage(id).value = value;
  inPage(id).dispatchEvent(new Event(event, {bubbles: true}));
}

const press = (key, target = frame.contentDocument.body) => target.dispatchEvent(new KeyboardEvent('keydown', {key, bubbles: true, cancelable: true}));
const stepNow = () => new URLSearchParams(frame.contentWindow.location.hash.slice(1)).get('step');
const problem = () => inPage('problem').textContent;

// ---- the model ----

const ofSteps = ({steps}, keys) => steps.map(step => (step.ranks ?? step).map(rank => keys.map(key => rank[key])));

const rowsSeen = ({pairs}) => pairs.flat().map(pair => pair.seen.map(({first, last}) => [first, last]));

/** By rank, how many messages have keys and how many have gradients. */
function blocksSent({steps}) {
  const messages = (rank, tensor) => steps.filter(step => step.ranks[rank].sends.includes(tensor)).length;
  return steps[0].ranks.map((_, rank) => [messages(rank, 'K'), messages(rank, 'dK')]);
}

/** The table of all steps as it is drawn: of each row the block, kind, work, bytes, and to whom. */
function drawnSteps(setting) {
  const holder = document.createElement('div');
  holder.innerHTML = RingView.everyStep(setting, RingModel.table(setting));
  return [...holder.querySelectorAll('tbody')].map(step => [...step.rows].map(row => {
    const cells = [...row.querySelectorAll('td')].map(cell => cell.textContent.replaceAll(',', ''));
    return [+cells[1], cells[2], +cells[3], +cells[7], cells[6] === '–' ? null : +cells[6]];
  }));
}

function checkModel() {
  const table = each => RingModel.table(each.setting);
  checkEach('positions are those of Layout', each => table(each).positions, each => each.positions);
  checkEach('the rows that each query sees of a block', each => rowsSeen(table(each)), each => each.seen);
  checkEach('the hops that each block has to make', each => table(each).hops, each => each.hops);
  checkEach('how many blocks of keys and of gradients each rank sends', each => blocksSent(table(each)), each => each.sent);
  for (const key of ['block', 'kind', 'work', 'bytes', 'to']) checkEach(`${key} at every step`, each => ofSteps(table(each), [key]), each => ofSteps(each, [key]));
  checkEach('all work, and the time of the slowest', each => [table(each).total, table(each).time], each => [each.total, each.time]);
  checkEach('the table of all steps as it is drawn', each => drawnSteps(each.setting), each => ofSteps(each, ['block', 'kind', 'work', 'bytes', 'to']));
  checkEach('nothing is shown as a number that is none', nonsense, () => []);
}

async function checkLesson14() {
  const said = {
    contiguous: ['58', 'full: no mask needed'], striped: ['40', 'mixed: needs a mask'], zigzag: ['34', 'mixed: a full rectangle, no mask on it'],
  };
  for (const layout of Object.keys(said)) {
    await open(`ranks=4&tokens=16&layout=${layout}&step=1`);
    const shown = [textOf('work-table', 'tfoot td:last-child'), textOf('rank-cards', 'li:last-child strong')];
    check(`${layout}: the slowest of lesson 14's table, and its masks`, shown, said[layout]);
  }
}

async function checkLesson15() {
  const width = () => +inPage('picture').querySelector('.moves').getAttribute('stroke-width');
  await open('ranks=4&heads=8');
  check('as many heads of keys as of queries', textOf('traffic').startsWith('As many heads of keys as of queries: 8.'), true);
  const whole = width();
  await open('ranks=4&heads=8&kv_heads=2');
  check('a quarter of the bytes, in words', textOf('traffic').startsWith('8 heads share 2 of keys: a quarter of the bytes.'), true);
  check('and thinner arrows', width() < whole / 2, true);
  await open('ranks=4&heads=6&kv_heads=2&head_dim=4&tokens=12');
  check('576 bytes a rank, as the lesson says', RingModel.sum(numbersIn('every-step', 'td:last-child')), 4 * 576);
}

async function checkLesson16() {
  await open('ranks=4&tokens=16&documents=2,11,3&window=6&step=2');
  check('the scores of the lesson\'s example', numbersIn('work-table', 'tbody td'),
    [[6, 0, 0, 0, 6], [10, 8, 0, 0, 18], [10, 13, 1, 0, 24], [7, 4, 1, 0, 12]].flat());
  check('a block that nobody ahead sees is hollow', [...inPage('picture').querySelectorAll('.hollow text')].map(text => text.textContent), ['K2 V2', 'K3 V3']);
  check('hops in words', textOf('traffic').endsWith('Hops of blocks: 5 needed of 12; 7 brought what nobody sees.'), true);
  enter('ring', 'stops');
  check('hops that are not made', textOf('traffic').endsWith('Hops of blocks: 5 needed of 12; 7 are not made.'), true);
  check('a block that stopped is not there', [...inPage('picture').querySelectorAll('.place, .block')].map(each => each.textContent.trim()), ['none', 'none', 'K0 V0', 'K1 V1']);
  const hops = {'window=8': [3, 12, 10], 'window=18': [5, 12, 12], 'documents=40,4,4,16': [3, 12, 7, 12], 'documents=16,16,16,16': [0, 12, 8, 12]};
  for (const [mask, needed] of Object.entries(hops)) {
    const found = [];
    for (const layout of RingModel.layouts.slice(0, needed.length)) {
      await open(`ranks=4&tokens=64&layout=${layout}&${mask}`);
      found.push(+/(\d+) needed/.exec(textOf('traffic'))[1]);
    }
    check(`the lesson's hops, ${mask}`, found, needed);
  }
  await open('ranks=4&tokens=24&window=7&heads=2&head_dim=3&direction=backward&ring=stops&step=1');
  check('gradients go straight home', inPage('sentence').textContent.endsWith('Then dK and dV of blocks 0, 1 and 2 go straight home, 864 B in all.'), true);
  check('three arrows home', numberOf('picture', '.moves'), 3);
}

/** Lesson 18's settings: bytes from rank to rank, and in n H d numbers what rank 0 sends. */
async function checkExchanges() {
  const traffic = (setting, tokens) => ExchangeModel.traffic({headDim: 8, ...setting}, tokens);
  const small = {ranks: 4, heads: 4, kvHeads: 2, node: 2};
  check('a grid of 2 x 2', traffic({...small, exchange: 'grid'}, [4, 4, 4, 4]), [[0, 800, 512, 0], [800, 0, 0, 512], [512, 0, 0, 800], [0, 512, 800, 0]]);
  check('a ring', traffic({...small, exchange: 'ring'}, [5, 0, 4, 3]), [[0, 1536, 0, 0], [0, 0, 1024, 0], [0, 0, 0, 1152], [896, 0, 0, 0]]);
  check('a double ring', traffic({...small, exchange: 'double ring'}, [4, 4, 4, 4]), [[0, 1024, 512, 0], [1024, 0, 0, 512], [512, 0, 0, 1024], [0, 512, 1024, 0]]);
  const sent = (kvHeads, exchange, node) => {
    const heads = 32, tokens = 5, headDim = 64, group = {ring: 1, grid: node, Ulysses: 8}[exchange];
    const [first] = traffic({ranks: 8, heads, kvHeads, headDim, exchange, node}, Array(8).fill(tokens));
    return (RingModel.sum(first) / 4 - (tokens * heads * (group - 1)) / group) / (tokens * heads * headDim);
  };
  check('8 ranks, 32/8 heads', [sent(8, 'ring', 2), sent(8, 'grid', 2), sent(8, 'grid', 4), sent(8, 'Ulysses', 2)], [3.5, 2.75, 2.375, 2.1875]);
  check('8 ranks, 32/32 heads', [sent(32, 'ring', 2), sent(32, 'grid', 2), sent(32, 'grid', 4), sent(32, 'Ulysses', 2)], [14, 8, 5, 3.5]);
  check('a share may run over a group\'s end', ExchangeModel.headShares({heads: 10, kvHeads: 2}, 3).map(Object.values), [[0, 4, 0, 1], [4, 7, 0, 2], [7, 10, 1, 2]]);
  await open('ranks=4&tokens=16&heads=4&kv_heads=2&head_dim=8&exchange=grid&node=2');
  check('bytes as they are drawn', [...inPage('bytes').querySelectorAll('tbody tr:first-child td')].map(cell => cell.textContent), ['–', '800', '512', '–', '1,312']);
  check('a border for each node, a line for each exchange', [numberOf('nodes', '.border'), numberOf('nodes', '.mutual'), numberOf('nodes', '.between')], [2, 2, 4]);
  check('what leaves a node', textOf('between').startsWith('2,048 bytes leave their node, 512 of them at most from one rank, through the cards of 4 of 4 ranks'), true);
  check('key heads with copies', textOf('sheet', 'p'), 'A column of K, V with several ranks is whole on each of them, as many as 2; their gradients add up.');
  enter('exchange', 'ring');
  check('a ring leaves a node through one card', /through the cards of 2 of 4 ranks/.test(textOf('between')), true);
  await open('ranks=4&heads=2&tokens=16');
  check('ranks without heads', textOf('sheet', 'p'), '2 of 4 ranks have no heads.');
}

/** What is shown of a setting's first and last step that is no number, by the part of the page. */
function nonsense({setting}) {
  const {trace, ...parts} = RingView;
  const table = RingModel.table(setting);
  return Object.entries(parts).flatMap(([name, part]) => [0, table.steps.length - 1].map(step => [name, part(setting, table, step)]))
    .filter(([, html]) => /NaN|undefined|Infinity/.test(html));
}

// ---- what a reader does ----

async function checkKeys() {
  await open('ranks=4&direction=backward');
  const after = key => (press(key), stepNow());
  check('keys step', ['ArrowRight', 'ArrowRight', 'ArrowLeft', 'End', 'ArrowRight', 'Home', 'ArrowLeft'].map(after), ['1', '2', '1', '4', '4', '0', '0']);
  press('ArrowRight');
  check('the step is said', inPage('sentence').textContent.startsWith('Step 1 of 0 to 4: rank 0 block 3 (empty), rank 1 block 0 (full)'), true);
  check('the sentence is a live region', inPage('sentence').getAttribute('aria-live'), 'polite');
  press('ArrowRight', inPage('tokens'));
  check('an arrow in a field is the field\'s', stepNow(), '1');
  press(' ');
  check('space plays', inPage('play').textContent, 'Pause');
  await until(() => stepNow() === '2');
  press(' ');
  await pause(3000);
  check('space pauses', [inPage('play').textContent, stepNow()], ['Play', '2']);
}

async function checkControls() {
  const nameOf = control => control.getAttribute('aria-label') ?? control.labels[0]?.textContent ?? control.textContent;
  const controls = [...frame.contentDocument.querySelectorAll('input, select, button')];
  check('every control has a name', controls.filter(control => !/[a-z]/i.test(nameOf(control))).map(control => control.id), []);
  inPage('play').focus();
  check('focus is seen', frame.contentWindow.getComputedStyle(inPage('play')).outlineStyle, 'solid');
  await open('ranks=4');
  enter('ranks', '9');
  check('a wrong number is named', problem(), 'ranks is 9, expected a whole number from 1 to 8');
  enter('ranks', '');
  check('an empty field is named', problem(), 'ranks is empty, expected a whole number from 1 to 8');
  enter('ranks', '5');
  check('a right one ends that', [problem(), inPage('rank-cards').children.length], ['', 5]);
  await open('ranks=4&layout=spiral&colour=red');
  check('a wrong address is named', problem(), 'layout is spiral, expected contiguous, striped, zigzag, documents; '
    + 'there is no colour, expected ranks, layout, mask, direction, tokens, heads, kv_heads, head_dim, window, documents, ring, exchange, node, step');
  for (const [address, said] of [
    ['heads=8&kv_heads=3', 'kv_heads is 3, expected a number that divides heads, which is 8'],
    ['heads=8&kv_heads=0', 'kv_heads is 0, expected a whole number from 1 to 1024, or nothing'],
    ['mask=none&window=4', 'window is 4, expected 0 without a causal mask'],
    ['documents=5,3,7', 'documents have 15 tokens, the row has 16'],
    ['documents=5,,11', 'documents is 5,,11, expected lengths between commas, such as 5,3,8, or nothing'],
    ['ranks=4&node=3', 'node is 3, expected a number that divides ranks, which is 4'],
    ['exchange=gossip', 'exchange is gossip, expected ring, double ring, grid, Ulysses'],
    ['ring=rests', 'ring is rests, expected all the way, stops'],
    ['tokens=0&documents=0,0', ''], ['heads=8&kv_heads=', ''], ['documents=5, 3,8&ring=all the way', ''],
  ]) {
    await open(address);
    check(`what is said of ${address}`, problem(), said);
  }
  enter('tokens', '17');
  check('documents that do not fit any more', [problem(), inPage('documents').getAttribute('aria-invalid')], ['documents have 16 tokens, the row has 17', 'true']);
  await open('tokens=16&documents=8,8');
  check('another address ends that', [problem(), inPage('documents').getAttribute('aria-invalid')], ['', 'false']);
  enter('tokens', '17');
  enter('documents', '5,3,9');
  check('documents in the address', [problem(), new URLSearchParams(frame.contentWindow.location.hash.slice(1)).get('documents')], ['', '5,3,9']);
  await open('ranks=3&step=7');
  check('a step that is not there is named', problem(), 'step is 7, expected a whole number from 0 to 2');
}

// ---- recorded runs ----

async function openTrace(text) {
  const files = new DataTransfer();
  files.items.add(new File([text], 'run.json'));
  inPage('trace').files = files.files;
  inPage('trace').dispatchEvent(new Event('change'));
  await until(() => inPage('recorded').getAttribute('aria-busy') === 'false');
  return inPage('trace-problem').textContent;
}

async function checkTraces() {
  await open('ranks=2');
  check('a trace of the course is read', await openTrace(recordedTrace), '');
  const runs = [...inPage('recorded').querySelectorAll('.trace')];
  check('each run is drawn', runs.map(run => run.querySelector('h3').textContent), ['blocking ring', 'overlapped ring']);
  check('each lane and span is drawn', [numberOf('recorded', 'svg'), numberOf('recorded', 'rect')], [4, 6]);
  check('shares are those recorded', textOf('recorded', '.lane:not(.heads) > :last-child'), '50 % · 25 % · 25 %');
  check('a label is no HTML', [numberOf('recorded', 'i'), textOf('recorded', 'title')], [0, '<i>block</i> of rank 0: compute, 2.00 ms']);
  await open('ranks=4');
  check('another number of ranks is named', textOf('recorded', 'p'), 'The trace is of 2 ranks and the model of 4: set ranks to 2 to compare them.');
  for (const [broken, message] of [
    ['[{]', 'this is not JSON'], ['{}', 'there is no array of trace events'], ['[]', 'it has no span'], ['[7]', 'event 1: it is 7, expected an object'],
    ['[{"ph":"X","cat":"sleep","ts":0,"dur":1}]', 'event 1: cat is "sleep", expected compute, transfer, wait'],
    ['[{"ph":"M"},{"ph":"X","cat":"wait","ts":0,"dur":-1}]', 'event 2: dur is -1, expected a number of microseconds, 0 or more'],
  ]) check(`a broken trace is refused: ${broken}`, (await openTrace(broken)).slice(0, 10 + message.length), `run.json: ${message}`);
  check('and nothing is drawn of it', inPage('recorded').innerHTML, '');
}

// ---- looks ----

async function checkWidth() {
  await openTrace(recordedTrace);
  inPage('every-step-button').click();
  const large = 'ranks=8&layout=striped&direction=backward&tokens=1024&heads=1024&head_dim=1024&step=3';
  for (const address of [large, 'ranks=1&tokens=0', 'ranks=8&layout=zigzag&tokens=37&step=2',
    'ranks=8&layout=documents&documents=500,24,500&tokens=1024&window=40&direction=backward&ring=stops&heads=1024&kv_heads=1&step=3']) {
    await open(address);
    check(`no scrolling sideways at 360 pixels: ${address}`, frame.contentDocument.documentElement.scrollWidth <= frame.contentWindow.innerWidth, true);
  }
  inPage('every-step-button').click();
}

/** Makes the style sheet's rules for a medium hold here. */
function hold(medium) {
  for (const rule of frame.contentDocument.styleSheets[0].cssRules) {
    if (rule.media?.mediaText.includes(medium)) rule.media.mediaText = 'all';
  }
}

/** The contrast of two colours #rrggbb or #rgb. Source: WCAG 2.2, "relative luminance" and "contrast ratio". */
function contrast(one, other) {
  const channel = value => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
  const luminance = colour => {
    const digits = colour.length === 4 ? [...colour.slice(1)].map(digit => digit + digit) : colour.slice(1).match(/../g);
    const [red, green, blue] = digits.map(digit => channel(parseInt(digit, 16) / 255));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [low, high] = [luminance(one), luminance(other)].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
}

function checkContrast(scheme) {
  const colour = (name, of = frame.contentDocument.documentElement) => frame.contentWindow.getComputedStyle(of).getPropertyValue(name).trim();
  const onGrounds = ink => ['--ground', '--panel', '--now'].map(ground => [ink, ground, contrast(colour(ink), colour(ground))]);
  const ranks = [...inPage('picture').querySelectorAll('.node')].map((node, rank) => ['white', rank, contrast('#fff', colour('--rank', node))]);
  const pairs = [...['--ink', '--pale-ink', '--problem'].flatMap(onGrounds), ...ranks];
  check(`text is legible, ${scheme}`, pairs.filter(pair => !(pair[2] >= 4.5)), []);
}

async function checkMedia() {
  await open('ranks=8');
  const style = element => frame.contentWindow.getComputedStyle(element);
  const ground = () => style(frame.contentDocument.documentElement).getPropertyValue('--ground').trim();
  check('there is a light scheme', contrast(ground(), '#fff') < 1.5, true);
  checkContrast('light');
  hold('dark');
  check('there is a dark scheme', contrast(ground(), '#000') < 1.5, true);
  checkContrast('dark');
  press('ArrowRight');
  check('blocks slide', style(inPage('picture').querySelector('.block')).animationName, 'arrive');
  hold('reduced-motion');
  check('blocks do not slide for who wants no motion', style(inPage('picture').querySelector('.block')).animationName, 'none');
  hold('print');
  const printed = [inPage('every-step'), inPage('tokens').form, inPage('setting')].map(each => style(each).display);
  check('every step is printed, and no control', printed, ['block', 'none', 'block']);
}

async function checkAll() {
  await until(() => frame.contentWindow.location.href !== 'about:blank' && frame.contentDocument.readyState === 'complete');
  checkModel();
  for (const part of [checkLesson14, checkLesson15, checkLesson16, checkExchanges, checkKeys, checkControls, checkTraces, checkWidth, checkMedia]) await part();
  say('every check was made');
}

checkAll()
  .catch(error => say(`FAIL  ${error.stack}`))
  .finally(() => document.getElementById('until-the-end').contentDocument.close());
