// Starts the program once, and writes the code that V8 has compiled by then: node compile.js <program> <file for the code>
//
// The `useCodeCache` of Node has only what V8 compiles before anything runs, which is a third of what a start needs.

import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import { Script } from 'node:vm'

const [program, file] = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'inbox-'))
process.on('exit', () => rmSync(folder, { recursive: true }))
Object.assign(process.env, { PORT: '0', INTERNAL_PORT: '0', DATA: join(folder, 'inbox.db') })

const script = new Script(readFileSync(program, 'utf8'), { filename: 'main.js' })
script.runInThisContext()(createRequire(import.meta.url), import.meta.filename)
while (process.listenerCount('SIGTERM') === 0) {
  if (process.exitCode) process.exit()
  await setTimeout(10)
}
writeFileSync(file, script.createCachedData())
process.emit('SIGTERM')
