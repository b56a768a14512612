// The keys of `weir dev`, in a terminal that `script` of util-linux makes.

import assert from 'node:assert/strict'
import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, existsSync, readFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { eventually } from '../../../weirjs/test/support/serving.ts'
import { programFolder, RunningWeir, write } from '../support/command.ts'

const hasScript = process.platform === 'linux' && /util-linux/.test(spawnSync('script', ['--version'], { encoding: 'utf8' }).stdout ?? '')
const skip = !hasScript && 'no script of util-linux on this machine'
const COMMAND = fileURLToPath(new URL('../../src/cli/main.js', import.meta.url))
const INSPECTOR = new URL('../../src/index.js', import.meta.url).href
const HELP = /weir: press h and Enter for help\n/

const APP = `import { HttpServer } from 'weirjs'
  const server = new HttpServer('127.0.0.1', 0)
  server.get('/', () => 'hello')
  process.stdin.on('data', (text) => console.log('program got', JSON.stringify(String(text))))
  process.stdin.on('end', () => console.log('program got the end'))
  await server.run()`

/** A command in a terminal of its own. */
class InTerminal {
  readonly #script: ChildProcess
  #text = ''

  /** @param command for a shell */
  constructor(t: TestContext, folder: string, command: string) {
    const path = [join(folder, 'bin'), process.env['PATH']].join(delimiter)
    const env = { ...process.env, PATH: path, FOLDER: folder, NO_COLOR: '1', FORCE_COLOR: undefined, SHELL: '/bin/bash' }
    this.#script = spawn('script', ['--quiet', '--return', '--command', command, '/dev/null'], { cwd: folder, env })
    this.#script.stdout!.on('data', (text) => (this.#text += String(text).replaceAll('\r\n', '\n')))
    t.after(() => this.#script.kill('SIGKILL')) // what runs in the terminal gets SIGHUP
  }

  get text(): string {
    return this.#text
  }

  type(text: string): void {
    this.#script.stdin!.write(text)
  }

  async shows(pattern: RegExp, times = 1): Promise<RegExpMatchArray> {
    const found = () => [...this.#text.matchAll(new RegExp(pattern, `${pattern.flags}g`))]
    await eventually(() => {
      assert.ok(found().length >= times || this.#script.exitCode === null, `it has ended:\n${this.#text}`)
      return found().length >= times
    }, `${pattern} in ${this.#text}`)
    return found().at(-1)!
  }

  async ended(): Promise<number | null> {
    if (this.#script.exitCode === null) await once(this.#script, 'exit')
    return this.#script.exitCode
  }
}

const weirDev = (...options: string[]) => [process.execPath, COMMAND, 'dev', 'app.js', ...options].map((word) => `'${word}'`).join(' ')

test('in a terminal the banner ends with a hint, h lists the keys, r restarts, c clears and q quits', { skip }, async (t) => {
  const terminal = new InTerminal(t, programFolder(t, { 'app.js': APP }), weirDev())
  await terminal.shows(/ready in \d+ ms\nweir: press h and Enter for help\n/)
  terminal.type('h\n')
  const [, help] = await terminal.shows(/((?:weir: {3}\w {2}.*\n)+weir: {3}q {2}.*\n)/)
  assert.match(
    help!,
    /^weir: {3}r {2}restarts the program\nweir: {3}o {2}opens http:\/\/127\.0\.0\.1:\d+\nweir: {3}c {2}clears the terminal\nweir: {3}q {2}quits, as Ctrl\+C does\n$/,
  )
  terminal.type('r\n')
  await terminal.shows(/weir: it restarts\n/)
  await terminal.shows(/ready in/, 2)
  terminal.type('\n \nx\n')
  await terminal.shows(/there is no such key/)
  terminal.type('c\n')
  await terminal.shows(/\x1b\[2J\x1b\[3J\x1b\[H/)
  assert.equal(terminal.text.match(new RegExp(HELP, 'g'))?.length, 1)
  assert.equal(terminal.text.match(/no such key/g)?.length, 1)
  terminal.type('q\n')
  assert.equal(await terminal.ended(), 0)
  assert.doesNotMatch(terminal.text, /program got/, 'its input is open, and empty')
})

test('r starts a program again that has ended', { skip }, async (t) => {
  const folder = programFolder(t, { 'app.js': `import { existsSync } from 'node:fs'\nif (!existsSync('go')) process.exit(3)\n${APP}` })
  const terminal = new InTerminal(t, folder, weirDev())
  await terminal.shows(/the program has ended \(exit code 3\)/)
  write(folder, { go: '' })
  terminal.type('r\n')
  await terminal.shows(HELP)
  terminal.type('q\n')
  assert.equal(await terminal.ended(), 0)
})

test('o, i and d open pages in the browser, which gets a ticket in place of the token', { skip }, async (t) => {
  const folder = programFolder(t, {
    'app.js': APP.replace('server.get', `server.use((await import(${JSON.stringify(INSPECTOR)})).inspector())\nserver.get`),
    'bin/xdg-open': '#!/bin/sh\nprintf "%s" "$1" > "$FOLDER/opening" && mv "$FOLDER/opening" "$FOLDER/opened"',
  })
  chmodSync(join(folder, 'bin/xdg-open'), 0o755)
  const opened = async (number: number) => {
    await eventually(() => existsSync(join(folder, 'opened')), `page ${number}`)
    return readFileSync(join(folder, 'opened'), 'utf8')
  }
  const terminal = new InTerminal(t, folder, weirDev())
  const [, origin, token] = await terminal.shows(/inspector: (\S+)\/_weir#token=(\S+)\n/)
  await terminal.shows(HELP)
  assert.ok(!existsSync(join(folder, 'opened')), 'by itself it opens nothing')
  terminal.type('o\n')
  assert.equal(await opened(1), origin)
  write(folder, { 'bin/xdg-open': readFileSync(join(folder, 'bin/xdg-open'), 'utf8').replaceAll('opened', 'opened-2') })
  chmodSync(join(folder, 'bin/xdg-open'), 0o755)
  terminal.type('i\n')
  await eventually(() => existsSync(join(folder, 'opened-2')), 'the page of the inspector')
  const [page, ticket] = readFileSync(join(folder, 'opened-2'), 'utf8').split('#token=')
  assert.equal(page, `${origin}/_weir`)
  assert.ok(!ticket!.includes(token!))
  const enter = (bearer: string) =>
    fetch(`${page}/enter`, { method: 'POST', headers: { authorization: `Bearer ${bearer}`, connection: 'close' } })
  assert.equal((await enter(ticket!)).status, 204)
  assert.equal((await enter(ticket!)).status, 401, 'it is good once')
  assert.equal((await enter(token!)).status, 204)
  terminal.type('d\n')
  await terminal.shows(/there is no such key/)
  terminal.type('q\n')
  assert.equal(await terminal.ended(), 0)
})

test('a browser that does not open is one line, and the program goes on', { skip }, async (t) => {
  const folder = programFolder(t, { 'app.js': APP, 'bin/xdg-open': '#!/bin/sh\nexit 3' })
  chmodSync(join(folder, 'bin/xdg-open'), 0o755)
  const terminal = new InTerminal(t, folder, weirDev())
  await terminal.shows(HELP)
  terminal.type('o\n')
  await terminal.shows(/weir: no browser has opened: xdg-open has failed; open http:\/\/127\.0\.0\.1:\d+\n/)
  terminal.type('q\n')
  assert.equal(await terminal.ended(), 0)
})

test('with --stdin the program gets what is typed, and there are no keys', { skip }, async (t) => {
  const terminal = new InTerminal(t, programFolder(t, { 'app.js': APP }), weirDev('--stdin'))
  await terminal.shows(/ready in/)
  terminal.type('q\n')
  await terminal.shows(/program got "q\\n"/)
  assert.doesNotMatch(terminal.text, HELP)
  terminal.type('\x03')
  assert.equal(await terminal.ended(), 0)
})

test('without a terminal there are no keys, and the program gets the input of the command', { skip }, async (t) => {
  const terminal = new InTerminal(t, programFolder(t, { 'app.js': APP }), `printf 'q\\n' | ${weirDev()}`)
  await terminal.shows(/program got "q\\n"/)
  await terminal.shows(/ready in/)
  assert.doesNotMatch(terminal.text, HELP)
  terminal.type('\x03')
  await terminal.ended()
  const weir = new RunningWeir(t, programFolder(t, { 'app.js': APP }), 'dev', 'app.js')
  await weir.prints(/ready in/)
  assert.doesNotMatch(weir.printed, HELP)
})

test('the terminal is as it was after Ctrl+C, a signal and a kill', { skip }, async (t) => {
  for (const end of ['\x03', 'SIGTERM', 'SIGKILL'] as const) {
    const folder = programFolder(t, { 'app.js': `console.log('command', process.ppid)\n${APP}` })
    const terminal = new InTerminal(t, folder, `stty -a > before; ${weirDev()}; stty -a > after; cmp before after && echo same`)
    await terminal.shows(HELP)
    if (end === '\x03') terminal.type(end)
    else process.kill(Number((await terminal.shows(/command (\d+)\n/))[1]), end)
    await terminal.shows(/same\n/)
    await terminal.ended()
  }
})

test('a job in the background is not stopped for its terminal, and has keys when it is in the foreground', { skip }, async (t) => {
  const terminal = new InTerminal(t, programFolder(t, { 'app.js': APP }), 'bash --norc --noprofile --noediting -i')
  terminal.type(`PS1='$ '; ${weirDev()} &\n`)
  await terminal.shows(HELP)
  terminal.type('jobs\n')
  await terminal.shows(/\[1\]\+ {2}Running/)
  terminal.type('fg\n')
  await terminal.shows(/fg\n.*app\.js/)
  terminal.type('r\n')
  await terminal.shows(/ready in/, 2)
  terminal.type('\x1a')
  await terminal.shows(/\[1\]\+ {2}Stopped/)
  terminal.type('fg\n')
  await terminal.shows(/fg\n.*app\.js/, 2)
  terminal.type('r\n')
  await terminal.shows(/ready in/, 3)
  terminal.type('q\n')
  await terminal.shows(/\n\$ $/)
  terminal.type('exit\n')
  await terminal.ended()
})
