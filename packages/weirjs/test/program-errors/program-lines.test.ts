// A developer's error begins with the line of the program that has to be mended, and names the page that explains it.

import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { describe, test } from 'node:test'

import { Controller, HttpResponse, HttpServer, type Module, t, WeirError } from '../../src/index.ts'
import { cors } from '../../src/modules/cors/index.ts'
import { health } from '../../src/modules/health/index.ts'
import { rateLimit } from '../../src/modules/limits/index.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const quiet = () => new HttpServer({ logger: null })
const handler = () => 'x'
const wrong = null as never
class Plain extends Controller {}

function thrownBy(call: () => unknown): WeirError {
  try {
    call()
  } catch (error) {
    return error as WeirError
  }
  return assert.fail('it does not throw')
}
const firstFrame = ({ stack, message }: WeirError) => stack!.slice(stack!.indexOf(message) + message.length + 1).split('\n')[0]!

describe('the first frame is of the program', () => {
  const server = quiet()
  const calls: Readonly<Record<string, () => unknown>> = {
    map: () => server.map('GET', 'a', handler),
    mapGet: () => server.mapGet('/:', handler),
    mapPost: () => server.mapPost('/a', { timeout: 5 } as never, handler),
    mapContract: () => server.mapContract(wrong, wrong),
    mapController: () => server.mapController(Plain),
    mapControllers: () => server.mapControllers([wrong]),
    group: () => server.group('/*rest'),
    'fallback of a group': () => server.group('/b').fallback(handler).fallback(handler),
    use: () => server.use(wrong),
    gate: () => server.gate(wrong),
    beforeSend: () => server.beforeSend(wrong),
    useModule: () => server.useModule(wrong),
    observe: () => server.observe(wrong),
    'new HttpServer': () => new HttpServer({ prot: 80 } as never),
    'a module of weir that finds its path taken': () => quiet().mapGet('/livez', handler).useModule(health()),
    'a policy': () => rateLimit({ limit: 5, windw: '1m' } as never),
    'an option of a module': () => cors({ origns: '*' } as never),
    'a response': () => new HttpResponse().status('404' as never),
    'a schema': () => t.object({ a: undefined as never }),
  }
  for (const [what, call] of Object.entries(calls))
    test(what, () => {
      const error = thrownBy(call)
      assert.match(firstFrame(error), /program-lines\.test\.[jt]s:/, error.stack)
      assert.equal(error.help, `https://github.com/weirjs/weir/blob/main/docs/errors.md#${error.code.toLowerCase()}`)
    })

  test('start', async () => {
    const started = quiet()
    started.mapGet('/', { endpoint: 'none' }, handler)
    const error = (await started.start().catch((reason) => reason)) as WeirError
    assert.match(firstFrame(error), /program-lines\.test\.[jt]s:/, error.stack)
  })

  test('a module of the program: its own line, not the one that installs it', () => {
    const broken: Module = { name: 'broken', install: (host) => void host.mapGet('/:', handler) }
    const error = thrownBy(() => quiet().useModule(broken))
    assert.match(firstFrame(error), /at .*install/)
  })

  test('a method that was replaced keeps the stack of the error', () => {
    const other = quiet()
    const { mapGet } = other
    ;(other as { mapGet: unknown }).mapGet = () => other
    assert.match(firstFrame(thrownBy(() => mapGet('/:', handler))), /^ {4}at /)
  })
})

test('errors that are not the developer’s have no page', () => {
  assert.equal('help' in new WeirError('WEIR_ROUTE_NOT_FOUND'), false)
})

test('a clash names both lines, until the server starts', async (t) => {
  const server = new HttpServer({ logger: null, port: 0 })
  server.mapGet('/a/:id', handler)
  const { message } = thrownBy(() => server.mapGet('/a/:name', handler))
  const places = [...message.matchAll(/\(inline\) at \S+program-lines\.test\.[jt]s:(\d+):\d+/g)].map(([, line]) => Number(line))
  assert.equal(places.length, 2, message)
  assert.ok(places[0]! < places[1]!, message)
  t.after(() => server.stop())
  await server.start()
  assert.match(thrownBy(() => server.mapGet('/a/:name', handler)).message, /GET \/a\/:id \(inline\) and GET \/a\/:name \(inline\) at /)
})

test('Node shows the line of the program for an error that ends it', async (t) => {
  const file = `${temporaryDirectory(t)}/program.mjs`
  const source = JSON.stringify(import.meta.resolve('../../src/index.ts').replace(/\.ts$/, '.js'))
  writeFileSync(file, `import { HttpServer } from ${source}\n\nnew HttpServer().mapGet('/a/:', () => 1)\n`)
  const shown = await new Promise<string>((resolve) => {
    execFile(process.execPath, [file], (_error, _stdout, stderr) => resolve(stderr))
  })
  assert.match(shown, /^file:\S+program\.mjs:3\nnew HttpServer\(\)\.mapGet\('\/a\/:'/, shown)
  assert.doesNotMatch(shown, /src[\\/]app/)
})
