// Runs Express's own tests with every server inside weir, by `mountNode`, and writes docs/guests-express.md.
//
//   git clone --branch v5.2.1 --depth 1 https://github.com/expressjs/express /tmp/express && (cd /tmp/express && npm install)
//   npm run test:express -- /tmp/express
//
// The tarball of Express on npm has no tests, hence the clone. Fails if a test fails that is not explained below, if one is explained that
// passes, or if the tests fail under Node alone.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const REFUSED_PATH =
  'weir refuses paths with dot segments or malformed percent-encoding with 400, before any route sees them ([what weir refuses](http.md)). Express gets as far as its own 403 or 404.'
const REFUSED_HOST = 'The test sends `Host: http://example.com`, which is not a host. weir refuses it with 400.'
const SWITCHING =
  'weir sends 101 only when it switches protocols. Node sends it as the final response, and the connection is then unusable.'

/** Why a test fails, by its full title. */
const REASONS = {
  'express.static() basic operations should support ../': REFUSED_PATH,
  'express.static() fallthrough when true should fall-through when URL malformed': REFUSED_PATH,
  'express.static() fallthrough when true should fall-through when traversing past root': REFUSED_PATH,
  'express.static() fallthrough when false should 400 when URL malformed': REFUSED_PATH,
  'express.static() fallthrough when false should 403 when traversing past root': REFUSED_PATH,
  'express.static() when traversing past root should catch urlencoded ../': REFUSED_PATH,
  'express.static() when traversing past root should not allow root path disclosure': REFUSED_PATH,
  'downloads GET /files/../index.js should respond with 403': REFUSED_PATH,
  'res when accepting html should escape the url': REFUSED_HOST,
  'res when accepting html should not render evil javascript links in anchor href (prevent XSS)': REFUSED_HOST,
  'res when accepting text should encode the url': REFUSED_HOST,
  'res .status(code) accept valid ranges should set the response status code to 101': SWITCHING,
}

const PAGE = fileURLToPath(new URL('../../docs/guests-express.md', import.meta.url))
const PRELOAD = new URL('./inside-weir.mjs', import.meta.url).href
const MOCHA = 'node_modules/mocha/bin/mocha.js'
const ARGUMENTS = ['--require', 'test/support/env', '--reporter', 'json', '--check-leaks', 'test/', 'test/acceptance/']

/** @returns the report of mocha */
function run(folder, preload) {
  const temporary = mkdtempSync(join(tmpdir(), 'weir-express-'))
  const report = join(temporary, 'report.json')
  const nodeOptions = preload === null ? [] : ['--import', preload]
  const { status, stderr } = spawnSync(process.execPath, [...nodeOptions, MOCHA, ...ARGUMENTS, '--reporter-option', `output=${report}`], {
    cwd: folder,
    env: { ...process.env, NODE_ENV: 'test' },
    encoding: 'utf8',
  })
  if (!existsSync(report)) throw new Error(`mocha ended with ${status} and no report: ${stderr}`)
  const read = JSON.parse(readFileSync(report, 'utf8'))
  rmSync(temporary, { recursive: true })
  return read
}

const folder = process.argv[2] === undefined ? null : resolve(process.argv[2])
if (folder === null || !existsSync(join(folder, MOCHA))) {
  console.error('usage: npm run test:express -- <a clone of Express, with its packages installed>')
  process.exit(2)
}
const { version } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
const alone = run(folder, null)
const inside = run(folder, PRELOAD)
const failed = [...new Set(inside.failures.map(({ fullTitle }) => fullTitle))].sort()
const unexplained = failed.filter((title) => REASONS[title] === undefined)
const stale = Object.keys(REASONS).filter((title) => !failed.includes(title))
const rows = failed.map((title) => `| ${title.replaceAll('|', '\\|')} | ${REASONS[title] ?? '?'} |`)
const { passes, failures } = inside.stats
const tests = passes + failures // without those that Express itself skips
const share = ((100 * passes) / tests).toFixed(1)

console.log(`Express ${version} alone: ${alone.stats.passes} of ${tests}; inside weir: ${passes} of ${tests} (${share} %)`)
for (const title of unexplained)
  console.error(`not explained: ${title}\n  ${inside.failures.find((one) => one.fullTitle === title).err.message}`)
for (const title of stale) console.error(`explained, but it passes: ${title}`)
for (const { fullTitle } of alone.failures) console.error(`fails under Node alone: ${fullTitle}`)
if (unexplained.length > 0 || stale.length > 0 || alone.failures.length > 0) process.exit(1)

writeFileSync(
  PAGE,
  `# Express's own tests inside weir

<!-- Written by \`npm run test:express\`. -->

The tests of Express ${version} create their servers with \`http.createServer(app)\`. Here, each of these servers is weir with
\`mountNode(server, '/', app, { next: false })\`, and nothing else is changed. **${passes} of ${tests} tests pass (${share} %)**. Under
\`node:http\` (Node ${process.versions.node}), ${alone.stats.passes} pass. Each of the others fails for a reason:

| Test | Why |
| --- | --- |
${rows.join('\n')}

To repeat it, follow the comment at the top of \`test/express/run.mjs\` in the repository.
`,
)
