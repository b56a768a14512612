// Makes the pictures in docs/images that show pages and a terminal, with the programs themselves, so that they stay true:
//
//   npm run examples && node scripts/pictures.mjs [--check] [names]
//
// docs/images/pictures.json keeps what each of them shows: its text without times, ports and tokens, and a digest of its style. With --check, no
// picture is made: the command prints which of them no longer show what the programs do. The dashboard is compared by what it is drawn from.
//
// It needs Chromium (CHROMIUM_PATH, or on the PATH), `script` of util-linux and, to make pictures, Prometheus and port 3000. Diagrams are made by
// diagrams.mjs.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { chromium } from 'playwright-core'
import { WebSocket } from 'ws'

import { dashboardPictures, dashboardSources } from './pictures/dashboard.mjs'

const ROOT = join(import.meta.dirname, '..')
// Of the instances of the local tool: none that runs already.
process.env.XDG_RUNTIME_DIR = mkdtempSync(join(tmpdir(), 'weir-pictures-'))
process.env.XDG_STATE_HOME = process.env.XDG_RUNTIME_DIR
const IMAGES = join(ROOT, 'docs/images')
const SCHEMES = ['light', 'dark']
/** Text of 13 pixels stays legible where a page shows the picture at two thirds of its width. */
const VIEW = { width: 1200, height: 750 }
const SCALE = 1.5
const MOST_BYTES = 120_000
/** Of the terminal: those of the pages. */
const COLOURS = {
  light: {
    ground: '#fbfdfc',
    line: '#d6dfdc',
    ink: '#16211f',
    dim: '#53625e',
    red: '#b3261e',
    green: '#17693a',
    yellow: '#8a5300',
    cyan: '#0f6b63',
  },
  dark: {
    ground: '#101716',
    line: '#2b3835',
    ink: '#e2eae8',
    dim: '#9dada8',
    red: '#ff9a90',
    green: '#7dd39b',
    yellow: '#e9b25c',
    cyan: '#63cdbf',
  },
}

/** A folder that is the same whenever the picture is made: names, and sizes in KiB. */
const FILES = {
  'Photos/Lisbon': { 'tram.jpg': 1900, 'harbour.jpg': 1600, 'market.jpg': 1300, 'roofs.jpg': 1100, 'azulejos.png': 800 },
  'Photos/Garden': { 'peonies.jpg': 1500, 'pond.jpg': 1200, 'bees.jpg': 700 },
  Films: { 'tram-ride.mp4': 5200, 'first-steps.mp4': 3600 },
  Music: { 'fado.flac': 2800, 'waltz.mp3': 1400, 'rain.ogg': 900 },
  Letters: { 'insurance.pdf': 620, 'lease.pdf': 480, 'recipes.txt': 60 },
  '': { 'backup.zip': 4300, 'notes.md': 40 },
}

const isCheck = process.argv.includes('--check')
const names = process.argv.slice(2).filter((name) => !name.startsWith('--'))
const FACTS = join(IMAGES, 'pictures.json')
const facts = JSON.parse(readFileSync(FACTS, 'utf8'))
/** Names of pictures that show something else than their program. */
const outdated = []
/** Pictures are made of port 3000, which readers know. */
const PORT = isCheck ? await freePort() : 3000
const isWanted = (name) => names.length === 0 || names.includes(name)
const children = []
const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM_PATH ?? '/usr/bin/chromium',
  args: ['--no-sandbox', '--disable-gpu'],
})
try {
  if (['inspector', 'inspector-sockets', 'debug-page', 'not-found', 'openapi', 'weir-dev', 'weir-explain'].some(isWanted))
    await development()
  if (isWanted('demo')) await demo()
  if (['local', 'local-tool'].some(isWanted)) await local()
  if (isWanted('inbox')) await inbox()
  if (isWanted('compiler')) await compiler()
  if (isWanted('dashboard')) await dashboard()
} finally {
  await browser.close()
  for (const child of children) child.kill()
  rmSync(process.env.XDG_RUNTIME_DIR, { recursive: true, force: true })
  if (!isCheck) writeFileSync(FACTS, `${JSON.stringify(Object.fromEntries(Object.entries(facts).sort()), null, 2)}\n`)
}
if (outdated.length > 0) {
  console.log(`make them again: node scripts/pictures.mjs ${outdated.join(' ')}`)
  process.exitCode = 1
}

/** The program of the pictures under `weir dev`: the terminal, and the pages that it shows. */
async function development() {
  const folder = join(ROOT, 'build/pictures')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  // As npm installs them: the pages show no code of packages.
  for (const [name, from] of [
    ['weirjs', 'weirjs'],
    ['@weirjs/dev', 'dev'],
    ['@weirjs/openapi', 'openapi'],
  ])
    for (const part of ['package.json', 'dist'])
      cpSync(join(ROOT, 'packages', from, part), join(folder, 'node_modules', name, part), { recursive: true })
  const file = join(folder, 'orders.js')
  writeFileSync(file, readFileSync(join(ROOT, 'scripts/pictures/orders.js'), 'utf8').replace('3000', PORT))
  // In a terminal, where it has keys.
  const dev = [process.execPath, join(folder, 'node_modules/@weirjs/dev/dist/cli/main.js'), 'dev', 'orders.js']
  const weir = start('script', ['--quiet', '--command', dev.map((word) => `'${word}'`).join(' '), '/dev/null'], folder, {
    FORCE_COLOR: '1',
  })
  await weir.says(/for help/)
  const token = /#token=([\w.~-]+)/.exec(weir.text())[1]
  const origin = `http://127.0.0.1:${PORT}`
  const source = readFileSync(file, 'utf8')
  writeFileSync(file, source.replace("server.post('/orders'", "server.get('/orders', () => [])\n\nserver.post('/orders'"))
  await weir.says(/\+ .*GET/)
  await sleep(300)
  type('weir-dev', 'weir dev orders.js', weir.text().replaceAll(token, '6Vw0…'))
  const question = `weir explain orders.js POST /orders -d '{"customer":"Ada","items":["tea"]}'`
  type('weir-explain', question, await printed(question, folder))

  const json = (body) => ({ method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) })
  const order = { customer: 1, items: ['tea', 'milk'] }
  for (const [path, init] of [
    ['/customers/1'],
    ['/orders', json(order)],
    ['/orders', json({ ...order, customer: 'Ada' })],
    ['/customers/9'],
    ['/customers/Ada'],
    ['/orders', json({ customer: 7, items: ['coffee'] })],
    ['/customers/1'],
  ])
    await (await fetch(origin + path, init)).text()
  await shoot('inspector', `${origin}/_weir#token=${token}`, (page) => page.locator('.frame').first().waitFor())
  if (isWanted('inspector-sockets')) await talk(`${origin.replace('http', 'ws')}/kitchen`)
  await shoot('inspector-sockets', `${origin}/_weir#token=${token}`, async (page) => {
    await page.getByText('101').first().click()
    await page.getByText('ready').first().scrollIntoViewIfNeeded()
  })

  await shoot('not-found', `${origin}/custommers/1`, () => {})
  // A form sends the wrong order as a browser does, so that the response is a page.
  const form = {
    method: 'POST',
    headers: { ...json().headers, accept: 'text/html' },
    body: JSON.stringify({ customer: 7, items: ['coffee'] }),
  }
  await shoot('debug-page', `${origin}/orders`, () => {}, form)

  await shoot('openapi', `${origin}/docs`, async (page) => {
    await page.getByText('Places an order').click()
    await page.getByText('Example Value').first().waitFor()
  })
}

async function demo() {
  const run_ = run([join(ROOT, 'build/examples/demo/main.js')], ROOT, { PORT: '0' })
  await run_.says(/listening on \S+/)
  await shoot('demo', /listening on (\S+)/.exec(run_.text())[1], async (page) => {
    await sleep(2_000)
    await page.getByRole('button', { name: 'Send the note' }).click() // again: of the first time, the picture would show how long it loads
    await sleep(500)
  })
}

function filled(folder) {
  rmSync(folder, { recursive: true, force: true })
  for (const [below, files] of Object.entries(FILES)) {
    mkdirSync(join(folder, below), { recursive: true })
    for (const [name, size] of Object.entries(files)) writeFileSync(join(folder, below, name), Buffer.alloc(size * 1024, 'x'))
  }
  return folder
}

async function local() {
  const command = [join(ROOT, 'examples/local-tool/main.js'), '--no-open', filled(join(ROOT, 'build/pictures/Home'))]
  const tool = run(command, ROOT)
  await tool.says(/http:\S+/)
  const launched = /http:\S+/.exec(tool.text())[0]
  await shoot('local', new URL('/', launched).href, () => {})
  // A launch URL works once, so each picture starts the tool again, which opens the one that runs.
  await shoot('local-tool', null, async (page) => {
    const again = run(command, ROOT)
    await again.says(/http:\S+/)
    await page.goto(/http:\S+/.exec(again.text())[0])
    await page.getByText('Complete').waitFor()
  })
}

async function inbox() {
  const folder = join(ROOT, 'build/pictures')
  mkdirSync(folder, { recursive: true })
  const main = join(ROOT, 'build/examples/inbox/main.js')
  const run_ = run([main], ROOT, { PORT: '0', INTERNAL_PORT: '0', FOLDER: join(folder, 'attachments'), ADMIN_PASSWORD: 'a long password' })
  await run_.says(/http:\S+/)
  const url = /http:\S+/.exec(run_.text())[0]
  const enter = async (page, name, button) => {
    await page.goto(url)
    await page.getByLabel('Name').fill(name)
    await page.getByLabel('Password').fill('a long password')
    await page.getByRole('button', { name: button }).click()
    await page.getByText(`You are ${name}.`).waitFor()
  }
  const send = async (page, to, text) => {
    await page.getByLabel('To').fill(to)
    await page.getByLabel('Text').fill(text)
    await page.getByRole('button', { name: 'Send' }).click()
    await page.getByRole('status').getByText('Sent.').waitFor()
  }
  const [ada, grace] = await Promise.all([browser.newPage(), browser.newPage()])
  await enter(ada, 'ada', 'Create an account')
  await enter(grace, 'grace', 'Create an account')
  await send(grace, 'ada', 'The notes on the engine are attached to my last letter.')
  await send(grace, 'ada', 'Shall we meet on Tuesday?')
  await Promise.all([ada.close(), grace.close()])
  await shoot('inbox', null, async (page) => {
    await enter(page, 'ada', 'Sign in')
    await page.getByText('Tuesday').waitFor()
  })
}

/** The panels of the dashboard, drawn from what Prometheus knows of the program of its page. */
async function dashboard() {
  if (note('dashboard', dashboardSources(ROOT), '')) return
  const folder = join(ROOT, 'build/pictures/dashboard')
  rmSync(folder, { recursive: true, force: true })
  mkdirSync(folder, { recursive: true })
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  for (const part of ['package.json', 'dist'])
    cpSync(join(ROOT, 'packages/weirjs', part), join(folder, 'node_modules/weirjs', part), { recursive: true })
  for (const [scheme, svg] of Object.entries(await dashboardPictures(ROOT, folder, COLOURS))) write(`dashboard-${scheme}.svg`, svg)
}

/** What the compiler says of a handler that does not fit its route. */
async function compiler() {
  const folder = join(ROOT, 'build/pictures/compiler')
  mkdirSync(folder, { recursive: true })
  copyFileSync(join(ROOT, 'scripts/pictures/users.ts'), join(folder, 'users.ts'))
  const options = ['--ignoreConfig', '--noEmit', '--pretty', '--strict', '--target', 'es2023', '--module', 'nodenext', '--types', 'node']
  const tsc = run([join(ROOT, 'node_modules/typescript/bin/tsc'), ...options, '--skipLibCheck', 'users.ts'], folder)
  await tsc.ended()
  type('compiler', 'npx tsc', tsc.text())
}

/** Says something on a WebSocket, and waits for what comes back. */
async function talk(url) {
  const socket = new WebSocket(url)
  const says = (text) =>
    new Promise((resolve) => {
      socket.once('message', resolve)
      socket.send(JSON.stringify(text))
    })
  await new Promise((resolve) => socket.once('open', resolve))
  await says({ order: 1 })
  await says({ order: 2 })
  socket.close()
}

/** What a command of weir prints. */
async function printed(command, folder) {
  const words = [...command.matchAll(/'([^']*)'|(\S+)/g)].map(([, quoted, bare]) => quoted ?? bare)
  const ran = run([join(folder, 'node_modules/@weirjs/dev/dist/cli/main.js'), ...words.slice(1)], folder, { FORCE_COLOR: '1' })
  await ran.ended()
  return ran.text()
}

function type(name, command, output) {
  if (!isWanted(name)) return
  const ofLight = terminal(command, output, COLOURS.light)
  const text = `$ ${command}\n${output.trimEnd()}`.replace(/\x1b\[\d+m|\r/g, '')
  if (note(name, text, ofLight.replace(/<text[\s\S]*<\/text>|\d+/g, ''))) return
  for (const scheme of SCHEMES) write(`${name}-${scheme}.svg`, terminal(command, output, COLOURS[scheme]))
}

/**
 * Keeps what a picture shows, or compares it with what was kept.
 * @param style whatever else it looks like
 * @returns whether no picture is made
 */
function note(name, text, style) {
  const lines = masked(text).split('\n')
  const digest = createHash('sha256').update(style).digest('base64url').slice(0, 12)
  if (!isCheck) {
    facts[name] = { style: digest, text: lines }
    return false
  }
  const kept = facts[name] ?? { text: [] }
  const missing = kept.text.filter((line) => !lines.includes(line)).map((line) => `- ${line}`)
  const added = lines.filter((line) => !kept.text.includes(line)).map((line) => `+ ${line}`)
  if (missing.length + added.length === 0 && kept.text.join('\n') !== lines.join('\n')) added.push('+ the same lines in another order')
  if (kept.style !== digest) added.push('+ another style')
  if (missing.length + added.length > 0) {
    outdated.push(name)
    console.log([`${name} is not what docs/images has:`, ...missing, ...added].join('\n'))
  }
  return true
}

/** Without what differs between runs and versions of Node. */
function masked(text) {
  return text
    .replaceAll(ROOT, '')
    .replace(/\d[\d.,]* ?(?:ms|µs|s)\b/g, '# ms')
    .replace(/(?<=127\.0\.0\.1:)\d+/g, '#')
    .replace(/\d+ \w+ \d{4},/g, '#')
    .replace(/\b\d\d:\d\d(?::\d\d)?/g, '#:#')
    .replace(/\b[\da-z]{6,12}-[\da-z]{1,3}-[\da-z]{3}\b/g, '#')
    .replace(/(?<=WebSocket-Key: )\S+/g, '#')
    .replace(/:\d+:\d+/g, ':#')
    .replace(/\d+ calls in/g, '# calls in')
    .replace(/[\d,.]+ (?=KiB|MiB|B\b|bytes|requests)/g, '# ')
}

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1')
  await new Promise((resolve) => server.once('listening', resolve))
  const { port } = server.address()
  await new Promise((resolve) => server.close(resolve))
  return port
}

function run(args, cwd, more = {}) {
  return start(process.execPath, args, cwd, more)
}

function start(command, args, cwd, more) {
  const child = spawn(command, args, { cwd, env: { ...process.env, NODE_ENV: '', ...more } })
  children.push(child)
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream.setEncoding('utf8').on('data', (some) => (text += some))
  return {
    text: () => text,
    ended: () => new Promise((resolve) => child.once('close', resolve)),
    async says(words) {
      for (const end = Date.now() + 60_000; !words.test(text); await sleep(50))
        if (Date.now() > end || child.exitCode !== null) throw new Error(`it did not say ${words}: ${text}`)
    },
  }
}

/** @param url null if `ready` opens the page @param request what is sent in place of the browser's request for the page */
async function shoot(name, url, ready, request = null) {
  if (!isWanted(name)) return
  for (const colorScheme of SCHEMES) {
    const context = await browser.newContext({ viewport: VIEW, deviceScaleFactor: SCALE, colorScheme, locale: 'en-GB', timezoneId: 'UTC' })
    const page = await context.newPage()
    if (request !== null)
      await page.route(url, (route) => route.continue({ method: request.method, headers: request.headers, postData: request.body }))
    if (url !== null) await page.goto(url)
    await ready(page)
    await sleep(300)
    if (colorScheme === 'light' && note(name, await page.evaluate(visibleText), await styleOf(page))) return context.close()
    const session = await context.newCDPSession(page)
    const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 80 })
    write(`${name}-${colorScheme}.webp`, Buffer.from(data, 'base64'))
    await context.close()
  }
}

/** In the page: the lines of text that can be seen, in reading order. */
function visibleText() {
  const lines = new Map()
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let node = walker.nextNode(); node !== null; node = walker.nextNode()) {
    const text = node.data.replace(/\s+/g, ' ').trim()
    const range = document.createRange()
    range.selectNodeContents(node)
    const isSeen = ({ bottom, top, width }) => width > 0 && bottom > 0 && top < innerHeight
    const element = node.parentElement
    if (text === '' || ![...range.getClientRects()].some(isSeen) || !element.checkVisibility({ visibilityProperty: true })) continue
    const block = element.closest('p, li, td, th, dt, dd, h1, h2, h3, h4, pre, button, a, label, summary, div') ?? element
    lines.set(block, `${lines.get(block) ?? ''} ${text}`.trim())
  }
  return [...lines.values()].join('\n')
}

async function styleOf(page) {
  const links = page.locator('link[rel=stylesheet]')
  const hrefs = await links.evaluateAll((all) => all.map(({ href }) => href))
  const sheets = await Promise.all(hrefs.map(async (href) => (await page.request.get(href)).text()))
  return [...(await page.locator('style').allTextContents()), ...sheets].join('\n')
}

function write(name, content) {
  if (content.length > MOST_BYTES) throw new Error(`${name} has ${content.length} bytes, more than ${MOST_BYTES}`)
  writeFileSync(join(IMAGES, name), content)
  console.log(`${name} ${content.length}`)
}

function escaped(text) {
  return text.replace(/[&<"]/g, (one) => ({ '&': '&amp;', '<': '&lt;', '"': '&quot;' })[one])
}

/** A line as a terminal of 120 columns breaks it. Sequences for styles take no column. */
function wrapped(line) {
  return line.match(/(?:(?:\x1b\[\d+m)*[^\x1b](?:\x1b\[\d+m)*){1,120}/g) ?? ['']
}

/** What a terminal shows, as a picture. @param output with escape sequences for styles */
function terminal(command, output, colours) {
  const styles = { 1: 'bold', 2: 'dim', 7: 'dim', 31: 'red', 32: 'green', 33: 'yellow', 36: 'cyan', 90: 'dim' }
  Object.assign(styles, { 91: 'red', 93: 'yellow', 96: 'cyan' })
  const lines = output.trimEnd().split(/\r?\n/).flatMap(wrapped)
  const [size, height, left, top] = [13, 20, 20, 34]
  const plain = (line) => line.replace(/\x1b\[\d+m/g, '')
  const width = Math.ceil(Math.max(...lines.map((line) => plain(line).length), 60) * size * 0.602) + 2 * left
  const rows = [`\x1b[2m$ \x1b[22m${command}`, ...lines].map((line, i) => {
    const on = new Set()
    const spans = line.split(/\x1b\[(\d+)m/).map((part, j) => {
      if (j % 2 === 0) return part === '' ? '' : `<tspan class="${[...on].join(' ')}">${escaped(part)}</tspan>`
      const style = styles[part]
      if (style !== undefined) on.add(style)
      else if (part === '0') on.clear()
      else for (const one of [...on]) if ((part === '22') === /^(?:bold|dim)$/.test(one)) on.delete(one)
      return ''
    })
    return `<text x="${left}" y="${top + i * height}" xml:space="preserve">${spans.join('')}</text>`
  })
  const total = top + rows.length * height
  return `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${total}" viewBox="0 0 ${width} ${total}" role="img" aria-label="${escaped(command)} in a terminal">
<style>
text{font:${size}px ui-monospace,"SF Mono","Cascadia Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:${colours.ink}}
.bold{font-weight:700}${['dim', 'red', 'green', 'yellow', 'cyan'].map((name) => `.${name}{fill:${colours[name]}}`).join('')}
</style>
<rect x=".5" y=".5" width="${width - 1}" height="${total - 1}" rx="10" fill="${colours.ground}" stroke="${colours.line}"/>
${rows.join('\n')}
</svg>
`
}
