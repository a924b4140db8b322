// Accessibility of HTML pages by axe-core, in light and dark and at two widths; with --pictures also screenshots and prints.
//
//   npm install axe-core puppeteer-core          (in any folder, named by NODE_MODULES)
//   NODE_MODULES=folder/node_modules node tests/browser/accessibility.mjs [--pictures folder] [--quiet] page.html folder ...
//
// A folder stands for all pages in it. Prints a line for each page and view (with --quiet only for those where something is
// wrong), and a JSON summary at the end. Wrong are violations, text of figures smaller than ten pixels on a page 420 pixels
// wide, pages wider than the window, images that are not shown, and requests to other hosts; then it exits with 1.
import { createRequire } from "node:module";
import { basename, relative, resolve } from "node:path";
import { readFileSync, readdirSync, statSync } from "node:fs";
import { pathToFileURL } from "node:url";

const require = createRequire(resolve(process.env.NODE_MODULES ?? "node_modules") + "/");
const puppeteer = require("puppeteer-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
const SMALLEST_TEXT = 10; // pixels on the screen
const VIEWS = [[420, "light"], [420, "dark"], [1280, "light"], [1280, "dark"]];

const words = process.argv.slice(2);
const at = words.indexOf("--pictures");
const pictures = at < 0 ? null : words.splice(at, 2)[1];
const quiet = words.includes("--quiet") && words.splice(words.indexOf("--quiet"), 1).length > 0;
const folder = words.length === 1 && isFolder(words[0]) ? words[0] : null; // of a site, whose pages have the same names
const files = words.flatMap(word => (isFolder(word) ? pagesOf(word) : [word]));
const browser = await puppeteer.launch({
  executablePath: process.env.MERCER_BROWSER ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--host-resolver-rules=MAP * ~NOTFOUND"],
});

function isFolder(word) {
  return !word.includes("://") && statSync(word).isDirectory();
}

function pagesOf(place) {
  const names = readdirSync(place, { recursive: true }).filter(name => name.endsWith(".html"));
  return names.sort().map(name => resolve(place, name));
}

function look() {
  const texts = [...document.querySelectorAll("main figure svg text, figure svg text")];
  const sizes = texts.filter(t => t.getBoundingClientRect().width > 0 && t.textContent.trim()).map(t => {
    const scale = t.ownerSVGElement.getScreenCTM().a;
    return { size: parseFloat(getComputedStyle(t).fontSize) * scale, text: t.textContent.trim() };
  });
  sizes.sort((a, b) => a.size - b.size);
  const lost = [...document.images].filter(i => i.complete && i.naturalWidth === 0).map(i => i.getAttribute("src"));
  return { smallest: sizes[0] ?? null, overflow: document.documentElement.scrollWidth - innerWidth, lost };
}

async function viewed(page, width, scheme) {
  await page.setViewport({ width, height: 900, deviceScaleFactor: 1 });
  await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
  const result = await page.evaluate(() => axe.run(document, { resultTypes: ["violations"] }));
  const violations = result.violations.map(v => ({
    rule: v.id, impact: v.impact, nodes: v.nodes.length, example: v.nodes[0].target.join(" "), why: v.nodes[0].failureSummary,
  }));
  const seen = await page.evaluate(look);
  const small = Boolean(width === 420 && seen.smallest && seen.smallest.size < SMALLEST_TEXT);
  return { width, scheme, violations, ...seen, small };
}

function inWords(view) {
  const text = view.smallest ? `; smallest text of a figure ${view.smallest.size.toFixed(1)} px` : "";
  const parts = [
    view.violations.map(v => `${v.rule} (${v.nodes})`).join(", ") || "no violation",
    view.overflow > 0 ? `; sticks out by ${view.overflow} px` : "",
    view.lost.length ? `; not shown: ${view.lost.join(" ")}` : "",
    view.outside.length ? `; asks for ${view.outside.join(" ")}` : "",
  ];
  return `${view.page}, ${view.width} px, ${view.scheme}: ${parts[0]}${text}${parts.slice(1).join("")}`;
}

async function pictured(page, stem, width, scheme) {
  await page.evaluate(() => document.querySelectorAll("details").forEach(d => (d.open = false)));
  await page.screenshot({ path: `${stem}_${width}_${scheme}.png`, fullPage: true });
  const margin = { top: "15mm", bottom: "15mm", left: "15mm", right: "15mm" };
  if (width === 1280 && scheme === "light") await page.pdf({ path: `${stem}.pdf`, format: "A4", margin });
  await page.evaluate(() => document.querySelectorAll("details").forEach(d => (d.open = true)));
}

const isWrong = view => view.violations.length > 0 || view.small || view.overflow > 0 || view.lost.length > 0 || view.outside.length > 0;
const summary = [];
for (const file of files) {
  const page = await browser.newPage();
  const outside = [];
  page.on("request", request => { if (/^https?:/.test(request.url()) && !file.includes("://")) outside.push(request.url()); });
  await page.setBypassCSP(true);
  await page.setViewport({ width: 1280, height: 900, deviceScaleFactor: 1 });
  const url = file.includes("://") ? file : pathToFileURL(resolve(file)).href;
  await page.goto(url, { waitUntil: "load" });
  await page.evaluate(() => document.querySelectorAll("details").forEach(d => (d.open = true)));
  await page.evaluate(() => [...document.images].forEach(i => (i.loading = "eager")));
  await page.evaluate(axe);
  const name = folder === null ? basename(file) : relative(folder, file);
  for (const [width, scheme] of VIEWS) {
    const view = { page: name, ...(await viewed(page, width, scheme)), outside };
    summary.push(view);
    if (!quiet || isWrong(view)) console.log(inWords(view));
    if (pictures) await pictured(page, `${pictures}/${name.replace(/\.html$/, "").replaceAll(/[/\\]/g, "_")}`, width, scheme);
  }
  await page.close();
}
await browser.close();
const failed = summary.some(isWrong);
console.log(JSON.stringify({ pages: files.length, views: summary.length, failed, summary }));
process.exit(failed ? 1 : 0);
