// Walks the payer portal as a clinic does, in a real browser: both faces, from the login to the decision.
//
// PORTALS is a list of {skin, url, username, password}. Ends with "N passed, N failed".

import assert from "node:assert/strict";
import { chromium } from "playwright-core";

const portals = Object.fromEntries(JSON.parse(process.env.PORTALS).map((portal) => [portal.skin, portal]));

const browser = await chromium.launch({
  executablePath: "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync"],
});

async function visit(skin, walk) {
  const context = await browser.newContext();
  const page = await context.newPage();
  page.setDefaultTimeout(20_000);
  const wrong = [];
  // The browser also reports the status of a page that refuses something; the page itself says why.
  page.on("console", (message) => {
    if (message.type() === "error" && !/status of 4\d\d/.test(message.text())) wrong.push(message.text());
  });
  page.on("pageerror", (error) => wrong.push(String(error)));
  await page.goto(portals[skin].url);
  await walk(page, portals[skin]);
  if (process.env.PICTURES) await page.screenshot({ path: `${process.env.PICTURES}/${skin}.png`, fullPage: true });
  await context.close();
  assert.deepEqual(wrong, [], "the browser's console");
}

async function signIn(page, { username, password }) {
  await page.getByLabel("User name").fill(username);
  await page.getByLabel("Password").fill(password);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("heading", { name: /requests/i }).waitFor();
}

const SEND = /^(Submit request|Send to plan)$/;
const go = (page, name = "Continue") => page.getByRole("button", { name }).click();
const title = (page) => page.getByRole("heading", { level: 1 }).innerText();

/** Chooses the member and the provider, which both faces ask for in their own order. */
async function fill(page, procedure) {
  for (let steps = 0; steps < 8; steps += 1) {
    if (await page.getByRole("button", { name: SEND }).count()) return;
    if (await page.getByRole("search", { name: "Find a patient" }).count()) {
      await page.getByLabel("Last name").fill("Quintero");
      await go(page, "Find patient");
      await page.getByRole("radio", { name: /Paula Quintero|Quintero/ }).check();
    } else if (await page.getByRole("search", { name: "Find a provider" }).count()) {
      await page.getByLabel("Provider name").fill("Northside");
      await go(page, "Find provider");
      await page.getByRole("radio", { name: /Northside Imaging/ }).check();
    } else {
      const code = page.locator("#procedure_code");
      if (await code.count()) await code.fill(procedure);
      const quantity = page.getByLabel("Quantity");
      if (await quantity.count()) {
        await quantity.fill("30");
        await page.getByLabel("Days supply").fill("30");
      }
      const diagnosis = page.getByLabel("Diagnosis codes");
      if (await diagnosis.count()) {
        await diagnosis.fill("M54.16");
        await page.getByLabel("Clinical notes").fill("Eight weeks of therapy without relief.");
        for (const group of await page.getByRole("group").all()) await group.getByRole("radio").first().check();
      }
    }
    await go(page);
  }
  assert.fail(`the request has no end: "${await title(page)}"`);
}

async function ask(page, procedure) {
  await page.getByRole("link", { name: "New request" }).first().click();
  await fill(page, procedure);
  await go(page, SEND);
  return page.getByRole("main").innerText();
}

const tests = {
  async "a wrong password is refused in words"() {
    await visit("radmd", async (page, portal) => {
      await page.getByLabel("User name").fill(portal.username);
      await page.getByLabel("Password").fill("guessed");
      await go(page, "Sign in");
      assert.match(await page.getByRole("alert").innerText(), /password is wrong/);
    });
  },
  async "imaging is asked for and approved"() {
    await visit("radmd", async (page, portal) => {
      await signIn(page, portal);
      assert.match(await ask(page, "72148"), /approved/i);
    });
  },
  async "imaging is denied with the payer's reason"() {
    await visit("radmd", async (page, portal) => {
      await signIn(page, portal);
      const told = await ask(page, "73721");
      assert.match(told, /denied/i);
      assert.match(told, /Plain films first/);
    });
  },
  async "a medication is asked for and approved"() {
    await visit("covermymeds", async (page, portal) => {
      await signIn(page, portal);
      assert.match(await ask(page, "J0129"), /approved/i);
    });
  },
  async "an empty step says what is missing and keeps the request"() {
    await visit("radmd", async (page, portal) => {
      await signIn(page, portal);
      await page.getByRole("link", { name: "New request" }).first().click();
      await go(page);
      assert.match(await page.getByRole("alert").innerText(), /cannot be saved/);
    });
  },
  async "who signs out is out"() {
    await visit("radmd", async (page, portal) => {
      await signIn(page, portal);
      await go(page, "Sign out");
      // A page that is still being left has no history to ask for.
      await page.getByRole("button", { name: "Sign in" }).waitFor();
      await page.goBack();
      await page.reload();
      await page.getByLabel("Password").waitFor();
    });
  },
};

let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  try {
    await test();
    console.log(`ok ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED ${name}: ${error.stack}`);
  }
}
await browser.close();
console.log(`${Object.keys(tests).length - failed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
