// server.fetch as the fetch function of Bun.serve and Deno.serve: a program of each runtime, asked by Node's client.

import assert from 'node:assert/strict'
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { get as httpGet, request as httpRequest, type IncomingMessage } from 'node:http'
import { buffer } from 'node:stream/consumers'
import { describe, type TestContext, test } from 'node:test'

import { eventually, within } from '../../packages/weirjs/test/support/serving.ts'

const PROGRAM = 'packages/weirjs/test/support/runtimes/program.mjs'
/** Where the benchmarks install Bun, whose install script may not have run. */
const OVEN = 'bench/node_modules/@oven'
const bunPlaces = [
  'bun',
  'bench/node_modules/bun/bin/bun.exe',
  ...(existsSync(OVEN) ? readdirSync(OVEN).map((name) => `${OVEN}/${name}/bin/bun`) : []),
]

/** The first of these that runs; null if none does. */
function programOf(places: readonly string[]): string | null {
  const runs = (place: string): boolean => {
    try {
      return /\d+\.\d+\.\d+/.test(execFileSync(place, ['--version'], { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }))
    } catch {
      return false
    }
  }
  return places.find(runs) ?? null
}

const RUNTIMES = [
  { name: 'Bun.serve', program: programOf(bunPlaces), args: [] },
  { name: 'Deno.serve', program: programOf(['deno']), args: ['run', '-A', '--no-prompt'] },
] as const

class Running {
  readonly #child: ChildProcess
  output = ''
  errors = ''

  constructor(program: string, args: readonly string[]) {
    this.#child = spawn(program, [...args, PROGRAM], { stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child.stdout!.on('data', (bytes) => (this.output += String(bytes)))
    this.#child.stderr!.on('data', (bytes) => (this.errors += String(bytes)))
  }

  async port(): Promise<number> {
    await eventually(() => /port \d+/.test(this.output) || this.#child.exitCode !== null, 'the port')
    assert.match(this.output, /port \d+/, this.errors)
    return Number(/port (\d+)/.exec(this.output)![1])
  }

  async printed(pattern: RegExp): Promise<void> {
    await eventually(() => pattern.test(this.output), `${pattern} in ${this.output}`)
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null) return
    const gone = once(this.#child, 'exit')
    this.#child.kill('SIGKILL')
    await gone
  }
}

for (const { name, program, args } of RUNTIMES) {
  const skip = program === null ? `${name}: neither in PATH nor in bench/node_modules` : false
  describe(`server.fetch in ${name}`, { skip }, () => {
    async function start(t: TestContext): Promise<{ running: Running; origin: string; port: number }> {
      const running = new Running(program!, args)
      t.after(() => running.stop())
      const port = await running.port()
      return { running, origin: `http://127.0.0.1:${port}`, port }
    }

    test('routes, bodies, forms, files, cookies, errors and limits', async (t) => {
      const { running, origin, port } = await start(t)
      const ask = async (path: string, init: RequestInit = {}): Promise<[number, string]> => {
        const response = await fetch(`${origin}${path}`, init)
        return [response.status, await response.text()]
      }
      assert.deepEqual(await ask('/hello/Ada?times=2'), [200, 'Hello Ada!!'])
      assert.deepEqual(await ask('/hello/%C3%BC'), [200, 'Hello ü!'])
      assert.equal((await ask('/hello/Ada?times=x'))[0], 400)
      assert.equal((await ask('/nowhere'))[0], 404)
      assert.equal((await ask('/json'))[0], 405)
      const json = { method: 'POST', headers: { 'Content-Type': 'application/json' } }
      assert.deepEqual(await ask('/json', { ...json, body: '{"a":[1]}' }), [200, '{"got":{"a":[1]}}'])
      assert.equal((await ask('/json', { ...json, body: '{"a":' }))[0], 400)
      assert.equal((await ask('/json', { ...json, body: 'x'.repeat(1_000_001) }))[0], 413)
      const large = 'abc'.repeat(300_000)
      assert.ok((await ask('/echo', { method: 'POST', body: large }))[1] === large)
      const form = new FormData()
      form.append('title', 'Ünï')
      form.append('file', new Blob([new Uint8Array(10_000)]), 'a.bin')
      assert.deepEqual(await ask('/form', { method: 'POST', body: form }), [200, '{"title":"Ünï","size":10000}'])
      assert.match((await ask('/file'))[1], /"name": "weir"/)
      assert.deepEqual(await ask('/pieces'), [200, 'piece 0 piece 1 piece 2 '])
      assert.deepEqual(await ask('/events').then(([status, text]) => [status, /data: one/.test(text)]), [200, true])
      const cookies = await fetch(`${origin}/cookies`, { headers: { Cookie: 'c=3' } })
      assert.deepEqual([cookies.headers.getSetCookie().length, await cookies.text()], [2, '3'])
      const head = await fetch(`${origin}/hello/Ada`, { method: 'HEAD' })
      assert.deepEqual([head.status, await head.text()], [200, ''])
      assert.deepEqual(JSON.parse((await ask('/who'))[1]), { clientAddress: '', isSecure: false, origin: `http://127.0.0.1:${port}` })
      await running.printed(/end GET \/hello\/:name 200 completed/)
    })

    test('a client that leaves closes the source of a stream', async (t) => {
      const { running, port } = await start(t)
      const [response] = (await once(httpGet({ port, path: '/endless' }), 'response')) as [IncomingMessage]
      await once(response, 'data')
      response.destroy()
      await running.printed(/closed/)
      await running.printed(/end GET \/endless 200 client-gone/)
    })

    test('a body in pieces is streamed both ways', async (t) => {
      const { port } = await start(t)
      const asked = httpRequest({ port, method: 'POST', path: '/echo' })
      asked.write('first')
      const [response] = (await within(once(asked, 'response'), 'the response')) as [IncomingMessage]
      const [first] = (await within(once(response, 'data'), 'the first piece')) as [Buffer]
      assert.equal(first.toString(), 'first')
      asked.end(' second')
      assert.equal((await buffer(response)).toString(), ' second')
    })
  })
}
