// Which lines of packages/weirjs/src its tests reach: `npm run coverage`, or `npm run coverage -- src/app/` for what is in that folder. Figures for
// each folder, then the lines that nothing has reached. Coverage is V8's own, of every process that the tests start.
//
//   node scripts/coverage.mjs                   runs the tests of weirjs, and reports
//   node scripts/coverage.mjs src/app/ --unit   the same with the unit tests alone
//   node scripts/coverage.mjs src/app/ --again  reports once more on the last run
import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { SourceMap } from 'node:module'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

process.chdir(join(import.meta.dirname, '..'))
const given = process.argv.slice(2)
const within = given.find((one) => !one.startsWith('-')) ?? ''
const BUILT = 'build/packages/weirjs/'
const COLLECTED = 'build/coverage'

if (!given.includes('--again')) {
  rmSync(COLLECTED, { recursive: true, force: true })
  const which = given.includes('--unit') ? ['--one-process', '--within=weirjs/src/'] : ['--gathered', 'weirjs/src/', 'weirjs/test/']
  const env = { ...process.env, NODE_V8_COVERAGE: COLLECTED }
  const run = spawnSync(process.execPath, ['scripts/test.mjs', '--test-reporter=dot', '--test-timeout=3600000', ...which], {
    env,
    stdio: 'inherit',
  })
  if (run.status !== 0) console.error('Tests have failed. What only they would have reached is missing below.')
}

/** Whether each character of a file was reached, by its path in `BUILT`. */
const reached = new Map()
for (const file of readdirSync(COLLECTED)) {
  for (const { url, functions } of JSON.parse(readFileSync(join(COLLECTED, file), 'utf8')).result) {
    if (!url.includes(`/${BUILT}src/`) || url.endsWith('.test.js')) continue
    // A range within another one says more, whatever function it belongs to.
    const ranges = functions.flatMap((one) => one.ranges).sort((a, b) => a.startOffset - b.startOffset || b.endOffset - a.endOffset)
    const here = new Uint8Array(ranges.at(0)?.endOffset ?? 0)
    for (const { startOffset, endOffset, count } of ranges) here.fill(count > 0 ? 1 : 0, startOffset, endOffset)
    const path = fileURLToPath(url).slice(fileURLToPath(url).indexOf(BUILT) + BUILT.length)
    const before = reached.get(path)
    reached.set(path, before === undefined ? here : before.map((one, i) => one | here[i]))
  }
}

const folders = new Map()
const missing = []
for (const file of readdirSync(`${BUILT}src`, { recursive: true }).sort()) {
  const path = `src/${file.replaceAll('\\', '/')}`
  if (!path.endsWith('.js') || path.endsWith('.test.js') || !path.startsWith(within)) continue
  const hit = reached.get(path)
  const map = new SourceMap(JSON.parse(readFileSync(`${BUILT}${path}.map`, 'utf8')))
  const folder = path
    .split('/')
    .slice(0, 3)
    .join('/')
    .replace(/\/[^/]*\.js$/, '')
  const total = folders.get(folder) ?? { lines: 0, reached: 0 }
  folders.set(folder, total)
  let offset = 0
  readFileSync(BUILT + path, 'utf8')
    .split('\n')
    .forEach((text, line) => {
      const column = text.search(/\S/)
      const isCode = column !== -1 && !/^(?:\/\/|\/\*|\*|[\])};,]+$|import |export (?:\{|\*))/.test(text.slice(column))
      if (isCode) total.lines++
      if (isCode && hit?.[offset + column] === 1) total.reached++
      else if (isCode) missing.push(`${path.replace('.js', '.ts')}:${map.findEntry(line, column).originalLine + 1} ${text.trim()}`)
      offset += text.length + 1
    })
}
const all = [...folders.values()].reduce((sum, one) => ({ lines: sum.lines + one.lines, reached: sum.reached + one.reached }))
for (const [name, { lines, reached: hit }] of [...folders, ['all', all]])
  console.log(`${((100 * hit) / lines).toFixed(1)} % of ${lines} lines: ${name}`)
console.log(missing.join('\n'))
