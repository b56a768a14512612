// Runs the cases of the public board Http11Probe against a server. The cases are read from a checkout of the board, or from a git
// directory; nothing of the board is kept here.
//
//   node bench/probe/run.mjs <checkout or git directory> [--port 8080] [--only ID,ID] [--json results.json]
//
// Without --port, it starts server.mjs of this folder. With it, it drives what listens on that port of this machine.
import { spawn } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { connect, createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'

import { declaredCases, loadCases, runCase, versionOf } from './cases.mjs'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: { port: { type: 'string' }, only: { type: 'string' }, json: { type: 'string' } },
})
const [place] = positionals
if (place === undefined) throw new Error('usage: node bench/probe/run.mjs <checkout or git directory of Http11Probe> [--port 8080]')

const HOST = 'localhost'
const { cases, failures } = loadCases(place)
const declared = declaredCases(place)
const only = values.only?.split(',')

const own = values.port === undefined ? await startOwn() : null
const port = own?.port ?? Number(values.port)
const results = []
try {
  for (const test of cases) if (only === undefined || only.includes(test.Id)) results.push(await runCase(test, HOST, port))
} finally {
  own?.stop()
}

/** Cuts what is long, and shows line ends. */
const shown = (text) => JSON.stringify(text.length > 300 ? `${text.slice(0, 300)}… (${text.length})` : text)

for (const verdict of ['Error', 'Fail', 'Warn'])
  for (const result of results.filter((one) => one.verdict === verdict)) {
    const parts = [result.scored ? verdict : `${verdict}, not scored`, result.id, result.status ?? 'no response', result.state]
    console.log(
      `${parts.join(' · ')}${result.note === null ? '' : ` · ${result.note}`}${result.error === null ? '' : ` · ${result.error}`}`,
    )
    for (const [i, sent] of result.sent.entries()) console.log(`    sent ${shown(sent)}\n    got  ${shown(result.got[i] ?? '')}`)
  }
for (const { id, reason } of failures) console.log(`not translated · ${id} · ${reason}`)

const count = (verdict, scored) => results.filter((one) => one.verdict === verdict && one.scored === scored).length
const line = (scored) => ['Pass', 'Warn', 'Fail', 'Error'].map((verdict) => `${count(verdict, scored)} ${verdict.toLowerCase()}`).join(', ')
const missing = declared - cases.length
console.log(`cases: commit ${versionOf(place)}, ${declared} declared, ${cases.length} translated, ${results.length} run`)
console.log(`scored: ${count('Pass', true)} of ${results.filter((one) => one.scored).length} passed (${line(true)})`)
console.log(`not scored: ${line(false)}`)
if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(results, null, 1))
if (missing !== 0 || failures.length > 0) {
  console.log(`${missing} cases were not translated`)
  process.exitCode = 1
}

async function startOwn() {
  const free = await freePort()
  const folder = stage()
  const child = spawn(process.execPath, [join(folder, 'server.mjs'), String(free)], { stdio: 'inherit' })
  const stop = () => {
    child.kill('SIGTERM')
    rmSync(folder, { recursive: true })
  }
  for (let i = 0; i < 200 && child.exitCode === null; i++) {
    if (await accepts(free)) return { stop, port: free }
    await pause(50)
  }
  stop()
  throw new Error('the server did not start')
}

/** A folder with the program and the built package, as in the image of the Dockerfile. */
function stage() {
  const folder = mkdtempSync(join(tmpdir(), 'weir-probe-'))
  mkdirSync(join(folder, 'node_modules'))
  symlinkSync(fileURLToPath(new URL('../../packages/weirjs', import.meta.url)), join(folder, 'node_modules/weirjs'))
  copyFileSync(new URL('server.mjs', import.meta.url), join(folder, 'server.mjs'))
  return folder
}

function freePort() {
  return new Promise((resolve) => {
    const probe = createServer().listen(0, '127.0.0.1', () => {
      const { port: free } = probe.address()
      probe.close(() => resolve(free))
    })
  })
}

function accepts(port) {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy()
      resolve(true)
    })
    socket.on('error', () => resolve(false))
  })
}
