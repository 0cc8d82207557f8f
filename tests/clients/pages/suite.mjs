// What people see, in a browser. Each check is a function; the last line is "N passed, N failed".
import { execFileSync, spawn } from 'node:child_process';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import { chromium } from 'playwright-core';
import { large } from './large.mjs';

const require = createRequire(import.meta.url);
const seed = JSON.parse(process.env.SEED);
const { url, key } = seed;
const axe = fs.readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types proctor";

const of = (agent, benchmark) => seed.results.find((one) => one.agent === agent && (!benchmark || one.benchmark.startsWith(benchmark)));
const careless = of('careless', 'critical-lab');
const nobody = of('null', 'critical-lab');
const coder = seed.results.find((one) => one.agent === 'null' && !one.benchmark.includes('@'));
const hostileRuns = Object.values(seed.hostile.runs);
const evidenceOf = async (taskRun) => (await api(`/criterion-runs?task_run_id=${taskRun}&limit=100`)).data;
const pages = () => [
  '/ui/', '/ui/runs', '/ui/search?q=critical-lab', `/ui/runs/${careless.run_id}`, `/ui/task-runs/${careless.tasks[0].task_run_id}`, `/ui/task-runs/${nobody.tasks[0].task_run_id}`,
  ...(coder ? [`/ui/runs/${coder.run_id}`, `/ui/task-runs/${coder.tasks[0].task_run_id}`, `/ui/task-runs/${coder.tasks[0].task_run_id}/logs/exec`] : []),
];

function assert(truth, why) { if (!truth) throw new Error(why); }
function equal(one, other, why) { assert(JSON.stringify(one) === JSON.stringify(other), `${why ?? ''} ${JSON.stringify(one)} is not ${JSON.stringify(other)}`); }
async function api(path, options = {}) {
  const answer = await fetch(url + path, { ...options, headers: { authorization: `Bearer ${options.key ?? key}`, 'content-type': 'application/json', ...options.headers } });
  const text = await answer.text();
  try { return JSON.parse(text); } catch { return text; }
}

const browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--no-sandbox', '--disable-background-networking'] });
async function visitor(options = {}, shown = key) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 }, ...options });
  const page = await context.newPage();
  page.problems = [];
  page.foreign = [];
  page.on('console', (line) => { if (line.type() === 'error' && !/status of 40[0-9]/.test(line.text())) page.problems.push(line.text()); });
  page.on('pageerror', (error) => page.problems.push(error.message));
  page.on('dialog', (dialog) => { page.problems.push(`dialog ${dialog.message()}`); dialog.dismiss(); });
  page.on('request', (request) => { if (!request.url().startsWith(url)) page.foreign.push(request.url()); });
  if (shown) {
    await page.goto(`${url}/ui/login`);
    await page.fill('#key', shown);
    await page.click('button.primary');
    await page.waitForURL(`${url}/ui/`);
  }
  return page;
}
async function eventually(what, look, within = 15000) {
  const end = Date.now() + within;
  for (;;) {
    if (await look().catch(() => false)) return;
    assert(Date.now() < end, `not within ${within} ms: ${what}`);
    await new Promise((resolve) => { setTimeout(resolve, 50); });
  }
}

const checks = {
  async 'without a session every page leads to sign-in, and a deep link returns to its target'() {
    for (const path of pages()) {
      const answer = await fetch(url + path, { redirect: 'manual' });
      equal(answer.status, 303, path);
      assert(answer.headers.get('location').startsWith('/ui/login?next='), path);
    }
    const page = await visitor({}, null);
    const target = `${url}/ui/runs/${careless.run_id}?show=fail&sort=name`;
    await page.goto(target);
    await page.fill('#key', key);
    await page.click('button.primary');
    await page.waitForURL(target);
    await page.context().close();
  },

  async 'a one-time link works once, and looking at it does not spend it'() {
    const link = execFileSync(seed.open[0], [...seed.open.slice(1), careless.run_id], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }).trim();
    await fetch(link);
    await fetch(link);
    const page = await visitor({}, null);
    await page.goto(link);
    await page.click('button.primary');
    await page.waitForURL(`${url}/ui/runs/${careless.run_id}`);
    const second = await visitor({}, null);
    await second.goto(link);
    await second.click('button.primary');
    assert((await second.textContent('[role=alert]')).includes('used before'), 'the second use is refused');
    await page.context().close();
    await second.context().close();
  },

  async 'a session ends when its key is revoked'() {
    const made = await api('/api-keys', { method: 'POST', body: JSON.stringify({ name: 'short' }) });
    const page = await visitor({}, made.key);
    await api(`/api-keys/${made.id}`, { method: 'DELETE' });
    await page.goto(`${url}/ui/runs`);
    assert(page.url().includes('/ui/login'), page.url());
    await page.context().close();
  },

  async 'the cookie is for pages only'() {
    const page = await visitor();
    const [cookie] = (await page.context().cookies()).filter((one) => one.name.endsWith('proctor'));
    assert(cookie.httpOnly && cookie.sameSite === 'Lax', JSON.stringify(cookie));
    for (const path of ['/benchmark-runs', '/v1/devboxes']) {
      const answer = await fetch(url + path, { headers: { cookie: `${cookie.name}=${cookie.value}` } });
      equal(answer.status, 401, path);
    }
    await page.context().close();
  },

  async 'a form from elsewhere, without its token or without an origin changes nothing'() {
    const page = await visitor();
    const [cookie] = (await page.context().cookies()).filter((one) => one.name.endsWith('proctor'));
    const token = await page.getAttribute('input[name=token]', 'value');
    const port = new URL(url).port;
    const send = (headers, body) => fetch(`${url}/ui/logout`, { method: 'POST', redirect: 'manual', body, headers: { cookie: `${cookie.name}=${cookie.value}`, 'content-type': 'application/x-www-form-urlencoded', ...headers } });
    const good = `token=${token}`;
    for (const [headers, body] of [
      [{ origin: 'http://evil.example' }, good], [{ origin: `http://127.0.0.1:${Number(port) + 1}` }, good], [{ 'sec-fetch-site': 'same-site', origin: url }, good],
      [{ 'sec-fetch-site': 'cross-site' }, good], [{}, good], [{ origin: url }, 'token=wrong'],
    ]) {
      equal((await send(headers, body)).status, 403, JSON.stringify([headers, body]));
    }
    assert([400, 403, 422].includes((await send({ origin: url }, 'x=1')).status), 'no token');
    equal((await page.goto(`${url}/ui/runs`)).status(), 200);
    assert(!page.url().includes('login'), 'still signed in');
    equal((await send({ origin: url }, good)).status, 303);
    await page.goto(`${url}/ui/runs`);
    assert(page.url().includes('login'), 'signed out');
    await page.context().close();
  },

  async 'a name that somebody else made point here is refused'() {
    const { request } = await import('node:http');
    const status = await new Promise((resolve, reject) => {
      const asked = request(`${url}/ui/login`, { headers: { host: 'rebound.example' } }, (answer) => { answer.resume(); resolve(answer.statusCode); });
      asked.on('error', reject);
      asked.end();
    });
    equal(status, 421);
  },

  async 'every page has the policy, no violation, no style or handler attribute, and asks nobody else'() {
    const page = await visitor();
    for (const path of [...pages(), ...hostileRuns.map((one) => `/ui/task-runs/${one.task_run}`)]) {
      const answer = await page.goto(url + path);
      equal(answer.status(), 200, path);
      equal(answer.headers()['content-security-policy'], POLICY, path);
      equal(answer.headers()['x-content-type-options'], 'nosniff', path);
      const html = await answer.text();
      assert(!/<[^>]+\s(style|on[a-z]+)\s*=/i.test(html), `${path} has a style or handler attribute`);
    }
    equal(page.problems, []);
    equal(page.foreign, []);
    await page.context().close();
  },

  async 'hostile text is text, in every protocol'() {
    const page = await visitor();
    for (const one of hostileRuns) {
      const { data: events } = await api(`/task-runs/${one.task_run}/events?limit=100`);
      for (const path of [`/ui/runs/${one.run}`, `/ui/task-runs/${one.task_run}`, `/ui/task-runs/${one.task_run}?tab=raw`, ...events.map((event) => `/ui/task-runs/${one.task_run}?event=${event.id}`)]) {
        await page.goto(url + path);
        const made = await page.evaluate(() => ({
          scripts: document.querySelectorAll('script:not([src]):not([type="application/json"])').length,
          images: document.querySelectorAll('img, iframe, object, embed, [onload], [onerror], [hx-get], a[href^="javascript:"]').length,
          hacked: Boolean(window.hacked),
          bidi: /[\u202a-\u202e\u200b]/.test(document.body.textContent),
        }));
        equal(made, { scripts: 0, images: 0, hacked: false, bidi: false }, path);
      }
    }
    equal(page.problems, []);
    equal(page.foreign, []);
    await page.context().close();
  },

  async 'a file that an agent wrote is served in a sandbox, and everything outside the pages has a policy'() {
    const files = hostileRuns.map((one) => one.file).filter((file) => file.status === 200 && file.type.startsWith('text/html'));
    assert(files.length > 0, `no file was served: ${JSON.stringify(hostileRuns.map((one) => one.file))}`);
    for (const file of files) assert(file.policy.includes('sandbox') && !file.policy.includes('allow-scripts') && file.sniff === 'nosniff', JSON.stringify(file));
    for (const path of ['/docs', '/healthz', '/metrics', '/openapi.json', '/solvers', '/no/such/page', '/v1/nothing', '/']) {
      const answer = await fetch(url + path, { redirect: 'manual' });
      equal(answer.headers.get('x-content-type-options'), 'nosniff', path);
      assert(answer.headers.get('content-security-policy').includes('sandbox'), path);
    }
  },

  async 'each failed criterion leads to the event that did it, or says that none did'() {
    const page = await visitor();
    for (const run of seed.results.filter((one) => one.benchmark.includes('@') && one.agent !== 'oracle')) {
      const task = run.tasks[0].task_run_id;
      await page.goto(`${url}/ui/task-runs/${task}`);
      const failed = await page.$$eval('.crit[data-failed]', (all) => all.map((one) => one.dataset.criterion));
      assert(failed.length > 0, `${run.benchmark} ${run.agent}`);
      for (const criterion of failed) {
        await page.goto(`${url}/ui/task-runs/${task}?criterion=${criterion}#${criterion}`);
        const link = await page.$(`[id="${criterion}"] .links a[data-event]`);
        const none = await page.$(`[id="${criterion}"] .links .none`);
        assert(link || none, `${run.benchmark} ${criterion}`);
        if (!link) continue;
        const event = await link.getAttribute('data-event');
        await page.keyboard.press('e');
        await page.waitForURL((to) => to.searchParams.get('event') === event);
        assert(await page.$(`li[id="${event}"] .drawer`), 'the event is open');
        await eventually('the event has the focus', () => page.evaluate((id) => document.activeElement.closest('li')?.id === id, event));
        await page.keyboard.press('e');
        await page.waitForURL((to) => to.searchParams.has('criterion') && !to.searchParams.has('event'));
      }
    }
    await page.goto(`${url}/ui/task-runs/${careless.tasks[0].task_run_id}`);
    await page.keyboard.press('f');
    await page.waitForURL((to) => to.searchParams.has('criterion'));
    assert((await page.textContent('.ev.hit.bad .what')).startsWith('DELETE Patient/'), 'the harm is marked');
    equal(page.problems, []);
    await page.context().close();
  },

  async 'evidence on the page is what the API has'() {
    const page = await visitor();
    for (const one of (await evidenceOf(nobody.tasks[0].task_run_id)).slice(0, 5)) {
      await page.goto(`${url}/ui/criterion-runs/${one.id}`);
      const sort = (value) => (Array.isArray(value) ? value.map(sort) : value && typeof value === 'object' ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, member]) => [name, sort(member)])) : value);
      equal(sort(JSON.parse(await page.textContent('#raw'))), sort(one.evidence), one.id);
    }
    await page.context().close();
  },

  async 'marks follow the verdict of the API'() {
    const page = await visitor();
    for (const run of seed.results) {
      await page.goto(`${url}/ui/runs/${run.run_id}`);
      const tag = (await page.textContent('#head .tag')).trim();
      assert(tag.endsWith(run.verdict), `${run.benchmark} ${run.agent}: ${tag} is not ${run.verdict}`);
    }
    await page.context().close();
  },

  async 'an address restores what it showed'() {
    const task = careless.tasks[0].task_run_id;
    const [first] = await evidenceOf(task);
    const { data } = await api(`/task-runs/${task}/events?limit=100`);
    const addresses = [`/ui/runs/${careless.run_id}?show=fail`, `/ui/runs/${careless.run_id}?sort=name&q=potassium`, `/ui/runs/${careless.run_id}?loss=0`, `/ui/runs?status=completed`, `/ui/runs?q=a%2Fb%25%23%C3%BC`, `/ui/task-runs/${task}?show=writes`, `/ui/task-runs/${task}?lane=hl7`, `/ui/task-runs/${task}?q=potassium`, `/ui/task-runs/${task}?tab=prompt`, `/ui/task-runs/${task}?event=${data[0].id}#${data[0].id}`, `/ui/task-runs/${task}?criterion=${first.id}#${first.id}`, `/ui/task-runs/${task}?from=5`];
    const [one, other] = [await visitor(), await visitor()];
    for (const address of addresses) {
      await one.goto(url + address);
      await other.goto(url + address);
      equal(await one.evaluate(() => document.querySelector('main').textContent), await other.evaluate(() => document.querySelector('main').textContent), address);
      if (address.includes('event=')) assert(await one.$('.drawer'), address);
      if (address.includes('criterion=')) assert(await one.$('.crit[aria-current]'), address);
    }
    equal(one.problems, []);
    await one.context().close();
    await other.context().close();
  },

  async 'everything works without JavaScript'() {
    const page = await visitor({ javaScriptEnabled: false });
    await page.goto(`${url}/ui/runs`);
    await page.click('table tbody a >> nth=0');
    assert(page.url().includes('/ui/runs/br_'), page.url());
    await page.goto(`${url}/ui/runs/${careless.run_id}`);
    await page.click('#tasks .chip >> text=fail');
    await page.click('#tasks tbody a >> nth=0');
    await page.click('.crit[data-failed] .links a[data-event]');
    assert(await page.$('.drawer'), 'the event is open');
    await page.click('.crit[data-failed] .links a >> text=all evidence');
    assert((await page.textContent('main')).includes('Events behind it'), 'evidence');
    await page.context().close();
  },

  async 'a Solver sees its own runs only, and of a scored run nothing but scores'() {
    const page = await visitor({}, seed.hostile.key);
    equal((await page.goto(`${url}/ui/runs/${hostileRuns[0].run}`)).status(), 200);
    equal((await page.goto(`${url}/ui/runs/${careless.run_id}`)).status(), 404);
    equal((await page.goto(`${url}/ui/task-runs/${careless.tasks[0].task_run_id}`)).status(), 404);
    const [evidence] = await evidenceOf(careless.tasks[0].task_run_id);
    equal((await page.goto(`${url}/ui/criterion-runs/${evidence.id}`)).status(), 404);
    assert(!(await (await page.goto(`${url}/ui/runs`)).text()).includes(careless.run_id), 'the list');
    equal((await page.goto(`${url}/ui/live?of=run:${careless.run_id}`)).status(), 404);
    // What the owner sees of the scored run, its taker must not.
    const found = await evidenceOf(seed.scored.task_run);
    const hidden = found.map((one) => one.details).concat(found.flatMap((one) => [...(one.evidence.fieldResults ?? []), ...(one.evidence.field_results ?? [])].map((row) => row.path)));
    const { data: events } = await api(`/task-runs/${seed.scored.task_run}/events?limit=100`);
    assert(hidden.length > 3 && events.length > 0, 'there is something to hide');
    for (const path of [`/ui/runs/${seed.scored.run}`, `/ui/task-runs/${seed.scored.task_run}`, `/ui/task-runs/${seed.scored.task_run}?tab=raw`, `/ui/task-runs/${seed.scored.task_run}?tab=prompt`]) {
      const answer = await page.goto(url + path);
      equal(answer.status(), 200, path);
      const html = await answer.text();
      assert(html.includes('scores only'), path);
      for (const secret of [...hidden.filter((text) => text.length > 8), ...events.map((event) => event.id), ...found.map((one) => one.id)]) assert(!html.includes(secret), `${path} shows ${secret}`);
    }
    equal((await page.goto(`${url}/ui/criterion-runs/${found[0].id}`)).status(), 404);
    await page.context().close();
  },

  async 'axe finds nothing, light and dark'() {
    for (const colorScheme of ['light', 'dark']) {
      const page = await visitor({ colorScheme });
      for (const path of [...pages(), '/ui/login', '/ui/nothing-here']) {
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

  async 'nothing scrolls sideways on a small screen, and a first visit is light'() {
    const page = await visitor({ viewport: { width: 360, height: 640 } });
    for (const path of [...pages(), ...hostileRuns.map((one) => `/ui/task-runs/${one.task_run}`)]) {
      await page.goto(url + path);
      const over = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      assert(over <= 0, `${path} is ${over} px too wide`);
      if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/${path.replace(/\W+/g, '-')}.png` });
    }
    let bytes = 0;
    const fresh = await visitor();
    const cdp = await fresh.context().newCDPSession(fresh);
    await cdp.send('Network.enable');
    await cdp.send('Network.setCacheDisabled', { cacheDisabled: true });
    cdp.on('Network.loadingFinished', (event) => { bytes += event.encodedDataLength; });
    await fresh.goto(`${url}/ui/runs/${careless.run_id}`, { waitUntil: 'networkidle' });
    assert(bytes > 0 && bytes <= 150_000, `${bytes} bytes`);
    console.log(`  first visit: ${bytes} bytes`);
    await page.context().close();
    await fresh.context().close();
  },

  async 'a run under way follows by itself, also over a crash of the server'() {
    const page = await visitor();
    const { run, token, tasks } = seed.live;
    await page.goto(`${url}/ui/runs/${run}`);
    assert((await page.textContent('#head')).includes('0 of 4'), 'nothing is done');
    await page.evaluate(() => { window.kept = true; });
    await api(tasks[0].complete_url, { key: token, method: 'POST', body: '{}' });
    await eventually('the first task is done', async () => (await page.textContent('#head')).includes('1 of 4'));
    process.kill(seed.pid, 'SIGKILL');
    // Until the process is gone it has its address and its locks.
    await eventually('the server is gone', async () => {
      try { process.kill(seed.pid, 0); } catch { return true; }
      return false;
    }, 60000);
    const again = spawn(seed.restart[0], seed.restart.slice(1), { stdio: ['ignore', 'ignore', 'inherit'] });
    restarted = again;
    await eventually('the server is back', async () => (await fetch(`${url}/healthz`)).ok, 60000);
    await api(tasks[1].start_url, { key: token, method: 'POST', body: '{}' });
    await api(tasks[1].complete_url, { key: token, method: 'POST', body: '{}' });
    await eventually('the second task is done', async () => (await page.textContent('#head')).includes('2 of 4'), 40000);
    assert(await page.evaluate(() => window.kept), 'the page was not loaded again');
    equal(await page.$$eval('#tasks tbody tr', (rows) => rows.length), 4);
    await page.context().close();
  },
};

// The crash of the server comes last, so that it takes no other check with it.
const [crash] = Object.entries(checks).slice(-1);
delete checks[crash[0]];
Object.assign(checks, large({ seed, browser, visitor, eventually, assert, equal, api, of, axe, POLICY }));
checks[crash[0]] = crash[1];

let [passed, failed] = [0, 0];
let restarted;
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
restarted?.kill('SIGTERM');
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
