// Accessibility of HTML pages by axe-core, in light and dark and at two widths; with --pictures also screenshots and prints.
//
//   npm install axe-core puppeteer-core          (in any folder, named by NODE_MODULES)
//   NODE_MODULES=folder/node_modules node tests/browser/accessibility.mjs [--pictures folder] page.html ...
//
// Prints a line for each page and view, and a JSON summary at the end; exits with 1 if there is a violation, or if the
// text of a figure is smaller than ten pixels on a page 420 pixels wide.
import { createRequire } from "node:module";
import { basename, resolve } from "node:path";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const require = createRequire(resolve(process.env.NODE_MODULES ?? "node_modules") + "/");
const puppeteer = require("puppeteer-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const SMALLEST_TEXT = 10; // pixels on the screen

const words = process.argv.slice(2);
const at = words.indexOf("--pictures");
const pictures = at < 0 ? null : words.splice(at, 2)[1];
const browser = await puppeteer.launch({
  executablePath: process.env.MERCER_BROWSER ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND"],
});

function figures() {
  const texts = [...document.querySelectorAll("main figure svg text, figure svg text")];
  const sizes = texts.filter(t => t.getBoundingClientRect().width > 0 && t.textContent.trim()).map(t => {
    const scale = t.ownerSVGElement.getScreenCTM().a;
    return { size: parseFloat(getComputedStyle(t).fontSize) * scale, text: t.textContent.trim() };
  });
  sizes.sort((a, b) => a.size - b.size);
  return { smallest: sizes[0] ?? null, overflow: document.documentElement.scrollWidth - innerWidth };
}

const summary = [];
for (const file of words) {
  for (const [width, scheme] of [[420, "light"], [420, "dark"], [1280, "light"], [1280, "dark"]]) {
    const page = await browser.newPage();
    await page.setBypassCSP(true);
    await page.setViewport({ width, height: 900, deviceScaleFactor: 1 });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
    const url = file.includes("://") ? file : pathToFileURL(resolve(file)).href;
    await page.goto(url, { waitUntil: "load" });
    await page.evaluate(() => document.querySelectorAll("details").forEach(d => (d.open = true)));
    await page.evaluate(axe);
    const result = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
    const violations = result.violations.map(v => ({
      rule: v.id, impact: v.impact, nodes: v.nodes.length, example: v.nodes[0].target.join(" "), why: v.nodes[0].failureSummary,
    }));
    const look = await page.evaluate(figures);
    const small = width === 420 && look.smallest && look.smallest.size < SMALLEST_TEXT;
    const name = basename(file);
    summary.push({ page: name, width, scheme, violations, smallest: look.smallest, overflow: look.overflow, small: Boolean(small) });
    const told = violations.map(v => `${v.rule} (${v.nodes})`).join(", ") || "no violation";
    const text = look.smallest ? `; smallest text of a figure ${look.smallest.size.toFixed(1)} px` : "";
    console.log(`${name}, ${width} px, ${scheme}: ${told}${text}${look.overflow > 0 ? `; sticks out by ${look.overflow} px` : ""}`);
    if (pictures) {
      await page.evaluate(() => document.querySelectorAll("details").forEach(d => (d.open = false)));
      const stem = `${pictures}/${name.replace(/\.html$/, "")}_${width}_${scheme}`;
      await page.screenshot({ path: `${stem}.png`, fullPage: true });
      if (width === 1280 && scheme === "light") await page.pdf({ path: `${stem}.pdf`, format: "A4", margin: { top: "15mm", bottom: "15mm", left: "15mm", right: "15mm" } });
    }
    await page.close();
  }
}
await browser.close();
const failed = summary.some(s => s.violations.length > 0 || s.small || s.overflow > 0);
console.log(JSON.stringify({ pages: words.length, views: summary.length, failed, summary }));
process.exit(failed ? 1 : 0);
