// Comparisons, benchmarks, leaderboards, gates and the list of runs, in a browser. The last line is "N passed, N failed".
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';

const require = createRequire(import.meta.url);
const seed = JSON.parse(process.env.SEED);
const { url, key } = seed;
const { runs, gate, comparison } = seed.compared;
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

const of = (agent, benchmark) => seed.results.find((one) => one.agent === agent && one.benchmark.startsWith(benchmark));
const [oracle, careless, nobody] = ['oracle', 'careless', 'null'].map((agent) => of(agent, 'critical-lab'));
const compare = (a, b, more = '') => `/ui/compare?a=${a}&b=${b}${more}`;
const pages = () => [
  '/ui/', '/ui/runs', '/ui/compare', compare(runs.a, runs.b), compare(oracle.run_id, careless.run_id), compare(runs.a, runs.other_version), compare(runs.a, runs.void),
  `/ui/compare?run=${runs.a}&run=${runs.b}&run=${runs.star}`, `/ui/comparisons`, `/ui/comparisons/${comparison.id}`, '/ui/gates', `/ui/gates/${gate.id}`,
  '/ui/benchmarks', '/ui/benchmarks/filing', '/ui/benchmarks/critical-lab', '/ui/benchmarks/filing/leaderboard', '/ui/leaderboards', '/ui/benchmarks/filing/trend', '/ui/benchmarks/filing/trend?agent=filing-one',
  sideBySide(oracle, careless), `/ui/runs/${runs.b}`,
];
const sideBySide = (one, other) => `/ui/compare/task-runs?a=${one.tasks[0].task_run_id}&b=${other.tasks[0].task_run_id}`;

function assert(truth, why) { if (!truth) throw new Error(why); }
function equal(one, other, why) { assert(JSON.stringify(one) === JSON.stringify(other), `${why ?? ''} ${JSON.stringify(one)} is not ${JSON.stringify(other)}`); }
async function api(path, options = {}) {
  const answer = await fetch(url + path, { ...options, headers: { authorization: `Bearer ${options.key ?? key}`, 'content-type': 'application/json' } });
  return answer.json();
}

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-background-networking'] });
async function visitor(options = {}, shown = key) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  page.problems = [];
  page.on('console', (line) => { if (line.type() === 'error' && !/status of 40[0-9]/.test(line.text())) page.problems.push(line.text()); });
  page.on('pageerror', (error) => page.problems.push(error.message));
  page.on('request', (request) => { if (!request.url().startsWith(url)) page.problems.push(request.url()); });
  await page.goto(`${url}/ui/login`);
  await page.fill('#key', shown);
  await page.click('button.primary');
  await page.waitForURL(`${url}/ui/`);
  return page;
}
const text = (page, selector) => page.textContent(selector).then((found) => found.replace(/\s+/g, ' ').trim());
const names = (page) => page.$$eval('.flips tbody td.name', (cells) => cells.map((cell) => cell.textContent.match(/File note \d+/)?.[0]));

const checks = {
  async 'every page answers with its policy, without style or handler attributes, and asks nobody else'() {
    const page = await visitor();
    for (const path of pages()) {
      const answer = await page.goto(url + path);
      equal(answer.status(), 200, path);
      assert(answer.headers()['content-security-policy'].includes("trusted-types proctor"), path);
      const html = await answer.text();
      assert(!/<[^>]+\s(style|on[a-z]+)\s*=/i.test(html), `${path} has a style or handler attribute`);
    }
    equal(page.problems, []);
    await page.context().close();
  },

  async 'a run compared with itself shows no difference'() {
    const page = await visitor();
    await page.goto(url + compare(runs.a, runs.a));
    equal(await text(page, '.answer .word'), 'No difference can be seen');
    assert((await text(page, '.answer .sentence')).includes('no difference seen'), 'the sentence');
    assert((await text(page, 'main')).includes('Every task came to the same score on both sides.'), 'no task differs');
    await page.context().close();
  },

  async 'planted flips are all listed, worse first, and the sentence is the API\'s'() {
    const page = await visitor();
    await page.goto(url + compare(runs.a, runs.b));
    // Worse: nothing instead of everything; better: everything instead of the note alone. Harm leaves the score as it was.
    equal(await names(page), ['File note 00', 'File note 03']);
    equal(await text(page, '.answer .sentence'), comparison.sentence);
    const criteria = await page.$$eval('.flips .crits', (cells) => cells.map((cell) => cell.textContent));
    assert(criteria[0].includes('The note is filed') && criteria[0].includes('The copy is filed'), criteria[0]);
    assert(criteria[1].includes('The copy is filed'), criteria[1]);
    assert((await text(page, 'main')).includes('B misses something critical in 1 task'), 'the harm is said');
    for (const [sort, first] of [['best', 'File note 03'], ['name', 'File note 00'], ['size', 'File note 00']]) {
      await page.goto(url + compare(runs.a, runs.b, `&sort=${sort}`));
      equal((await names(page))[0], first, sort);
    }
    await page.goto(url + compare(runs.a, runs.b, '&axis=accuracy'));
    equal(await names(page), ['File note 00']);
    const settings = await text(page, '[aria-label="Settings that differ"]');
    assert(settings.includes('filing-two') && settings.includes('feature/<b>') && settings.includes('main'), settings);
    assert((await text(page, '[aria-label="The two sides"]')).includes('not reported'), 'no cost was reported');
    equal(page.problems, []);
    await page.context().close();
  },

  async 'swapping the sides mirrors every number'() {
    const page = await visitor();
    const read = async () => {
      const numbers = (value) => [...value.matchAll(/[+−±]?\d+\.\d+/g)].map(([one]) => Number(one.replace('−', '-').replace(/[+±]/, '')));
      const [difference, low, high] = numbers(await page.textContent('[aria-label=Difference] .big'));
      const legend = await page.$$eval('[aria-label=Difference] .legend b', (all) => all.map((one) => Number(one.textContent)));
      const axes = await page.$$eval('.axes-table tbody tr', (rows) => rows.map((row) => [...row.cells].map((cell) => cell.textContent.trim())));
      return { difference, low, high, legend, axes };
    };
    await page.goto(url + compare(runs.a, runs.b));
    const one = await read();
    await page.click('text=Swap A and B');
    await page.waitForURL((to) => to.searchParams.get('a') === runs.b && to.searchParams.get('b') === runs.a);
    const other = await read();
    equal([other.difference, other.low, other.high], [-one.difference, -one.high, -one.low], 'the difference');
    equal(other.legend, [...one.legend].reverse(), 'worse and better');
    one.axes.forEach((row, place) => equal([other.axes[place][1], other.axes[place][2], other.axes[place].at(-1)], [row[2], row[1], row.at(-1)], row[0]));
    equal(await names(page), ['File note 03', 'File note 00']);
    await page.context().close();
  },

  async 'other versions say what is not comparable, and can be compared all the same'() {
    const page = await visitor();
    const answer = await page.goto(url + compare(runs.a, runs.other_version));
    equal(answer.status(), 200);
    const said = await text(page, 'main');
    assert(said.includes('Not comparable') && said.includes('File note 16') && said.includes('File note 00'), said.slice(0, 600));
    await page.click('text=Compare them all the same');
    assert((await text(page, 'main')).includes('Not the same exam'), 'the page says so');
    assert((await text(page, '#unpaired')).includes('File note 16'), 'the further task is on one side only');
    await page.context().close();
  },

  async 'a missing task and a void one are no zeros'() {
    const page = await visitor();
    await page.goto(url + compare(runs.a, runs.few));
    assert((await text(page, '#unpaired')).includes('File note 15'), 'tasks of one side');
    equal(await text(page, '.answer .word'), 'No difference can be seen');
    equal(await page.$$eval('.flips tbody tr', (rows) => rows.length), 0, 'flips');
    await page.goto(url + compare(runs.a, runs.void));
    const apart = await text(page, '#void');
    assert(apart.includes('File note 01') && apart.includes('File note 02') && apart.includes('cancelled'), apart);
    equal(await page.$$eval('.flips tbody tr', (rows) => rows.length), 0, 'void is no flip');
    assert((await text(page, '[aria-label="The two sides"]')).includes('14 of 16'), 'n shrinks');
    assert((await text(page, '[aria-label=Difference]')).includes('14 tasks'), 'pairs shrink');
    await page.goto(`${url}/ui/runs/${runs.void}`);
    assert((await text(page, '#head')).includes('2 void, not counted'), 'the run says so');
    await page.context().close();
  },

  async 'side by side aligns criteria and timelines and marks where they part'() {
    const page = await visitor();
    await page.goto(url + compare(oracle.run_id, careless.run_id));
    await page.click('.flips .go a >> nth=0');
    assert(page.url().includes('/ui/compare/task-runs'), page.url());
    assert(await page.$('.beside tr.flipped'), 'a criterion flipped');
    equal(await page.$$eval('#divergence', (all) => all.length), 1, 'they part once');
    assert(await page.$('.twin tr.other'), 'events differ');
    await page.goto(url + sideBySide(oracle, oracle));
    equal(await page.$$eval('#divergence', (all) => all.length), 0, 'nothing parts');
    equal(page.problems, []);
    await page.context().close();
  },

  async 'three to eight runs are a grid, one and nine are not'() {
    const page = await visitor();
    const several = [runs.a, runs.b, runs.star].map((run) => `run=${run}`).join('&');
    await page.goto(`${url}/ui/compare?${several}`);
    equal(await page.$$eval('.matrix thead tr:first-child th', (all) => all.length), 4);
    equal(await page.$$eval('.matrix tbody tr', (all) => all.length), 16);
    assert((await text(page, '.matrix tbody')).includes('critical'), 'the harm is said');
    await page.goto(`${url}/ui/compare?${several}&show=differ`);
    assert((await page.$$eval('.matrix tbody tr', (all) => all.length)) < 16, 'only where they differ');
    const nine = [...Object.values(runs), oracle.run_id, nobody.run_id].map((run) => `run=${run}`).join('&');
    await page.goto(`${url}/ui/compare?${nine}`);
    assert((await text(page, 'main')).includes('at most 8'), 'too many are refused in words');
    await page.goto(`${url}/ui/compare?run=${runs.b}&run=${runs.a}`);
    equal(new URL(page.url()).search, `?a=${runs.a}&b=${runs.b}`, 'the older run is A');
    await page.context().close();
  },

  async 'files of a comparison and of the list have what the page has, and no formula'() {
    const page = await visitor();
    const get = (path) => page.context().request.get(url + path);
    const csv = await (await get(`/ui/compare.csv?a=${runs.a}&b=${runs.few}`)).text();
    equal(csv.trim().split('\r\n').length, 17);
    assert(csv.includes('no: only A has it') && csv.includes('File note 03,yes,0.600000,0.600000,0.000000'), csv.slice(0, 900));
    const markdown = await (await get(`/ui/compare.md?a=${runs.a}&b=${runs.b}`)).text();
    assert(markdown.includes(comparison.sentence) && markdown.includes('`File note 00`'), markdown);
    equal((await get(`/ui/compare.csv?a=${runs.a}&b=${runs.other_version}`)).status(), 409);
    const list = await (await get('/ui/runs.csv?benchmark=filing')).text();
    equal(list.trim().split('\r\n').length, 1 + Object.keys(runs).length);
    const hostile = await (await get('/ui/runs.csv')).text();
    assert(!/(^|,)[=+@]/m.test(hostile), 'a cell begins a formula');
    const json = await (await get('/ui/runs.json?benchmark=filing&agent=star')).json();
    equal(json.runs.map((run) => [run.id, run.verdict, run.score]), [[runs.star, 'pass', 1]]);
    await page.context().close();
  },

  async 'the list of runs is filtered, sorted and turned over by its address'() {
    const page = await visitor();
    const listed = async (query) => {
      await page.goto(`${url}/ui/runs?${query}`);
      return page.$$eval('table.runs tbody tr', (rows) => rows.map((row) => row.dataset.href.split('/').at(-1)));
    };
    const filing = Object.values(runs);
    equal((await listed('benchmark=filing')).length, filing.length);
    equal((await listed('benchmark=filing%401')).includes(runs.other_version), false);
    equal(await listed('benchmark=filing%402'), [runs.other_version]);
    equal(await listed('label=branch%3Dmain'), [runs.a]);
    equal(await listed('label=branch%3Dfeature%2F%3Cb%3E'), [runs.b]);
    equal(await listed('benchmark=filing&void=yes'), [runs.void]);
    equal(await listed('benchmark=filing&agent=star'), [runs.star]);
    equal((await listed('benchmark=filing&sort=best'))[0], runs.star);
    equal((await listed('benchmark=filing&sort=void'))[0], runs.void);
    const worst = await listed('benchmark=filing&sort=worst');
    equal(worst.at(-1), runs.star);
    equal((await listed('since=2999-01-01')).length, 0);
    assert((await text(page, '#runs')).includes('Nothing matches'), 'the empty list says why');
    const failed = await listed('benchmark=filing&verdict=fail');
    assert(failed.includes(runs.b), 'harm fails a run');
    equal((await page.goto(`${url}/ui/runs?verdict=lovely`)).status(), 400);
    const all = await listed('benchmark=filing&sort=best');
    const after = await listed(`benchmark=filing&sort=best&after=${all[2]}`);
    equal(after, all.slice(3), 'paging by key in another order');
    equal(await listed(`benchmark=filing&sort=best&before=${all[2]}`), all.slice(0, 2));
    equal(page.problems, []);
    await page.context().close();
  },

  async 'runs are marked and compared by keys alone'() {
    const page = await visitor();
    await page.goto(`${url}/ui/runs?benchmark=filing&sort=best`);
    const boxes = await page.$$eval('input[data-mark]', (all) => all.map((one) => one.value));
    await page.keyboard.press('c');
    assert((await text(page, '#announce')).includes('Mark two runs'), 'one is not enough');
    for (const press of ['j', 'x', 'j', 'x']) await page.keyboard.press(press);
    equal(await text(page, '[data-compare]'), 'Compare 2 runs');
    await page.keyboard.press('c');
    await page.waitForURL((to) => to.pathname === '/ui/compare' && to.searchParams.has('a'));
    equal([new URL(page.url()).searchParams.get('a'), new URL(page.url()).searchParams.get('b')].sort(), boxes.slice(0, 2).sort());
    equal(page.problems, []);
    await page.context().close();
  },

  async 'comparing works without JavaScript'() {
    const page = await visitor({ javaScriptEnabled: false });
    await page.goto(`${url}/ui/runs?benchmark=filing`);
    await page.check(`input[name=run][value="${runs.a}"]`);
    await page.check(`input[name=run][value="${runs.b}"]`);
    await page.click('text=Compare marked');
    equal(new URL(page.url()).search, `?a=${runs.a}&b=${runs.b}`);
    equal(await names(page), ['File note 00', 'File note 03']);
    await page.goto(`${url}/ui/compare`);
    await page.check(`input[name=a][value="${runs.a}"]`);
    await page.check(`input[name=b][value="${runs.star}"]`);
    await page.click('main button.primary');
    equal(await text(page, '.answer .word'), 'B is better');
    await page.click('.flips .go a >> nth=0');
    assert((await text(page, 'main')).includes('Here they part.'), 'side by side');
    await page.context().close();
  },

  async 'a comparison is kept by a form only, and read again as it was'() {
    const page = await visitor();
    const before = (await api('/comparisons')).data.length;
    await page.goto(url + compare(runs.a, runs.star));
    equal((await api('/comparisons')).data.length, before, 'looking keeps nothing');
    await page.click('text=Keep');
    await page.waitForURL(/\/ui\/comparisons\/cmp_|\/ui\/comparisons\//);
    equal((await api('/comparisons')).data.length, before + 1);
    equal(await text(page, '.answer .word'), 'B is better');
    await page.context().close();
  },

  async 'agents of equal ability share a rank, a better one stands alone, and what was removed is in the log'() {
    const page = await visitor();
    await page.goto(`${url}/ui/benchmarks/filing/leaderboard`);
    const rows = await page.$$eval('.ranks tbody tr', (all) => all.map((row) => [row.querySelector('.rank').textContent.trim(), row.querySelector('.name').textContent.trim(), row.querySelector('.letters').textContent.trim()]));
    equal(rows[0].slice(0, 2), ['1', 'star']);
    equal(rows.slice(1).map(([rank]) => rank), ['2–4', '2–4', '2–4']);
    equal(new Set(rows.slice(1).map(([, , letters]) => letters)).size, 1);
    assert(rows[0][2] !== rows[1][2], 'letters differ');
    const log = await text(page, '#log ~ .scroll');
    assert(log.includes('removed') && log.includes('measured by mistake'), log);
    await page.context().close();
  },

  async 'a run is ranked and taken off from its page, with a reason'() {
    const page = await visitor();
    await page.goto(`${url}/ui/runs/${runs.b}`);
    await page.click('summary:has-text("Rank")');
    await page.fill('input[name=reason]', 'a <b>try</b>');
    await page.click('text=Put it on the leaderboard');
    await page.waitForURL(`${url}/ui/runs/${runs.b}`);
    await page.goto(`${url}/ui/benchmarks/filing/leaderboard`);
    assert((await text(page, '.ranks')).includes('filing-two'), 'it is on the board');
    await page.goto(`${url}/ui/runs/${runs.b}`);
    await page.click('summary:has-text("Ranked")');
    await page.click('text=Take it off the leaderboard');
    await page.goto(`${url}/ui/benchmarks/filing/leaderboard`);
    assert(!(await text(page, '.ranks')).includes('filing-two'), 'it is off the board');
    assert((await text(page, '#log ~ .scroll')).includes('a <b>try</b>'), 'the reason is text');
    const cookie = (await page.context().cookies()).find((one) => one.name.endsWith('proctor'));
    const forged = await fetch(`${url}/ui/runs/${runs.b}/rank`, { method: 'POST', body: 'ranked=yes&token=wrong', headers: { cookie: `${cookie.name}=${cookie.value}`, origin: url, 'content-type': 'application/x-www-form-urlencoded' } });
    equal(forged.status, 403);
    await page.context().close();
  },

  async 'scoring again shows both and writes nothing'() {
    const page = await visitor();
    await page.goto(`${url}/ui/runs/${careless.run_id}`);
    await page.click('text=Score again');
    assert((await text(page, '.lead')).includes('is what is on record'), await text(page, '.lead'));
    equal(await page.$$eval('main tbody tr', (all) => all.length), careless.tasks.length);
    await page.context().close();
  },

  async 'critical misses are said wherever the run is'() {
    const page = await visitor();
    await page.goto(`${url}/ui/runs/${runs.b}`);
    assert((await text(page, '.notice.fail')).includes('1 critical criterion was missed') && (await text(page, '.notice.fail')).includes('Nothing reaches the wrong folder'), 'the run');
    for (const path of ['/ui/runs?benchmark=filing', '/ui/benchmarks/filing@1', '/ui/']) {
      await page.goto(url + path);
      assert(/critical/.test(await text(page, 'main')), path);
    }
    await page.context().close();
  },

  async 'a benchmark says what its tasks tell, what changed, and keeps its rubric from Solvers'() {
    const page = await visitor();
    await page.goto(`${url}/ui/benchmarks/filing@1`);
    equal(await page.$$eval('#tasks tbody tr', (all) => all.length), 16);
    await page.goto(`${url}/ui/benchmarks/filing`);
    const changed = await text(page, '#changes');
    assert(changed.includes('added File note 16') && changed.includes('File note 00'), changed);
    await page.goto(`${url}/ui/benchmarks/filing@1?sort=hard`);
    await page.click('#tasks tbody a >> nth=0');
    assert((await text(page, 'main')).includes('The copy is filed'), 'criteria are shown to their owner');
    const task = page.url();
    const solver = await visitor({}, seed.hostile.key);
    const answer = await solver.goto(task);
    equal(answer.status(), 200);
    const html = await answer.text();
    for (const secret of ['The copy is filed', 'wrong-folder', 'outbound/copy.txt', 'sftp-file-present']) assert(!html.includes(secret), secret);
    for (const path of ['/ui/benchmarks/filing@1', '/ui/benchmarks/critical-lab']) {
      const shown = await (await solver.goto(url + path)).text();
      for (const run of Object.values(runs)) assert(!shown.includes(run), `${path} shows ${run}`);
    }
    for (const path of ['/ui/gates', `/ui/gates/${gate.id}`, `/ui/comparisons/${comparison.id}`, '/ui/benchmarks/filing/leaderboard']) equal((await solver.goto(url + path)).status(), 403, path);
    for (const path of [compare(runs.a, runs.b), `/ui/compare.csv?a=${runs.a}&b=${runs.b}`, sideBySide(oracle, careless), `/ui/compare?run=${runs.a}&run=${runs.b}&run=${runs.star}`]) equal((await solver.goto(url + path)).status(), 404, path);
    await solver.context().close();
    await page.context().close();
  },

  async 'a scored run compared by its Solver shows no criterion'() {
    const page = await visitor({}, seed.hostile.key);
    const other = seed.hostile.runs['critical-lab@1'].run;
    const answer = await page.goto(url + compare(seed.scored.run, other));
    equal(answer.status(), 200);
    const html = await answer.text();
    const { data } = await api(`/criterion-runs?task_run_id=${seed.scored.task_run}&limit=100`);
    for (const one of data.filter((one) => one.details.length > 8)) assert(!html.includes(one.details), one.details);
    assert(!html.includes('Criteria that flipped') && !html.includes('/ui/compare/task-runs'), 'no way to evidence');
    await page.context().close();
  },

  async 'gates and trends are pages, and what failed is on the overview'() {
    const page = await visitor();
    await page.goto(`${url}/ui/gates/${gate.id}`);
    equal(await text(page, '.answer .word'), gate.verdict);
    assert((await text(page, '.answer')).includes(gate.sentences[0].replace(/\s+/g, ' ')), 'its sentence');
    await page.goto(`${url}/ui/`);
    if (gate.verdict === 'FAIL') assert((await text(page, '[aria-labelledby=needs]')).includes('Gate: equal one'), 'it needs somebody');
    assert((await text(page, 'main')).includes('Filing'), 'the benchmark is there');
    await page.goto(`${url}/ui/benchmarks/filing/trend?agent=filing-one`);
    const dots = await page.$$eval('.trend .dot', (all) => all.length);
    equal(dots, await page.$$eval('table.runs tbody tr', (all) => all.length));
    assert(await page.$('.trend .step'), 'the new version is marked');
    await page.context().close();
  },

  async 'addresses restore what they showed'() {
    const [one, other] = [await visitor(), await visitor()];
    for (const path of [compare(runs.a, runs.b, '&sort=best'), compare(runs.a, runs.b, '&axis=accuracy'), '/ui/runs?benchmark=filing&sort=best', '/ui/runs?label=branch%3Dfeature%2F%3Cb%3E', '/ui/benchmarks/filing@1?sort=hard', '/ui/benchmarks/filing?from=1&to=2', '/ui/benchmarks?q=filing', '/ui/gates?verdict=FAIL', '/ui/benchmarks/filing/trend?agent=equal%20one']) {
      await one.goto(url + path);
      await other.goto(url + path);
      equal(await text(one, 'main'), await text(other, 'main'), path);
    }
    for (const path of ['/ui/benchmarks/no-such', '/ui/benchmarks/filing@99', '/ui/benchmarks/%2F%25%23%C3%BC', '/ui/gates/x', '/ui/comparisons/x', '/ui/compare?a=x&b=y', `/ui/compare/task-runs?a=x&b=y`]) equal((await one.goto(url + path)).status(), 404, path);
    await one.context().close();
    await other.context().close();
  },

  async 'axe finds nothing, light and dark'() {
    for (const colorScheme of ['light', 'dark']) {
      const page = await visitor({ colorScheme });
      for (const path of pages()) {
        await page.goto(url + path);
        const session = await page.context().newCDPSession(page);
        await session.send('Runtime.evaluate', { expression: axe });
        const { result } = await session.send('Runtime.evaluate', {
          expression: "axe.run({ runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa'] }).then((r) => JSON.stringify(r.violations.map((v) => [v.id, v.nodes.slice(0, 3).map((n) => n.html.slice(0, 160))])))",
          awaitPromise: true,
        });
        equal(JSON.parse(result.value), [], `${colorScheme} ${path}`);
      }
      await page.context().close();
    }
  },

  async 'nothing scrolls sideways on a small screen'() {
    const page = await visitor({ viewport: { width: 360, height: 640 } });
    for (const path of pages()) {
      await page.goto(url + path);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      assert(over <= 0, `${path} is ${over} px too wide`);
    }
    await page.context().close();
  },
};

if (process.env.PICTURES) {
  for (const [width, height] of [[1440, 900], [1024, 768], [360, 640]]) {
    for (const colorScheme of ['light', 'dark']) {
      const page = await visitor({ viewport: { width, height }, colorScheme });
      for (const path of pages()) {
        await page.goto(url + path);
        const name = path.replace(/(br|tr|gate|cmp)_?[0-9A-Za-z]{20,}/g, '').replace(/\W+/g, '-');
        await page.screenshot({ path: `${process.env.PICTURES}/${width}-${colorScheme}${name}-${pages().indexOf(path)}.png`, fullPage: true });
      }
      await page.context().close();
    }
  }
}

let [passed, failed] = [0, 0];
for (const [name, check] of Object.entries(checks)) {
  if (process.env.ONLY && !name.includes(process.env.ONLY)) continue;
  try {
    await check();
    passed += 1;
    console.log(`ok    ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAIL  ${name}\n      ${error.message}`);
  }
}
await browser.close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
