// Objects that throw in every operation, ways to break other objects, and a check that a server continues to work.

import assert from 'node:assert/strict'
import type { TestContext } from 'node:test'

import { HttpServer, type ServerOptions, t as schema } from '../../src/index.ts'
import { Http2Client } from './http2-client.ts'
import { serveHttp2 } from './http2-serving.ts'
import { RawClient } from './raw-client.ts'

interface Answered {
  readonly status: number
  readonly text: string
}
/** Sends a GET and returns the response; all of them use one connection. */
type Ask = (path: string) => Promise<Answered>

export const quiet: ServerOptions = { logger: null }

export async function overHttp1(t: TestContext, server: HttpServer): Promise<Ask> {
  await server.start()
  const client = await RawClient.connect(server.port)
  t.after(async () => {
    client.destroy()
    await server.stop({ graceMs: 0 })
  })
  return (path) => client.get(path, 'X-A: b\r\nCookie: a=b\r\n').message()
}

/** The same server again, with HTTP/2. */
async function overHttp2(t: TestContext, map: (server: HttpServer) => void, options: ServerOptions): Promise<Ask> {
  const { server } = await serveHttp2(t, map, options)
  const client = await Http2Client.connect(t, server.port)
  return async (path) => {
    const { status, body } = await client.get(path, { 'x-a': 'b', cookie: 'a=b' })
    return { status, text: body.toString() }
  }
}

/** Requests `paths` one after the other over either protocol, and then an unaffected route. */
export async function survives(
  t: TestContext,
  map: (server: HttpServer) => void,
  expected: Readonly<Record<string, readonly [status: number, text?: string | RegExp]>>,
  options: ServerOptions = quiet,
): Promise<void> {
  const mapAll = (server: HttpServer): void => {
    map(server)
    server.mapGet('/untouched/:name', { n: schema.int.optional() }, ({ name }, { request }) => `${name} ${request.query.size}`)
  }
  const server = new HttpServer({ hosts: 'any', ...options })
  mapAll(server)
  for (const ask of [await overHttp1(t, server), await overHttp2(t, mapAll, options)]) {
    for (const [path, [status, text = '']] of Object.entries(expected)) {
      const response = await ask(path)
      assert.equal(response.status, status, `${path}: ${response.text}`)
      if (typeof text === 'string' && text !== '') assert.equal(response.text, text)
      if (typeof text !== 'string') assert.match(response.text, text)
      const next = await ask('/untouched/x')
      assert.deepEqual([next.status, next.text], [200, 'x 0'], `the request after ${path}`)
    }
  }
}

// A change to an object.

export const fails = (): never => {
  throw new Error('tampered with')
}
/** Throws in every operation. */
export const trapped = (target: object = {}): object =>
  new Proxy(
    target,
    Object.fromEntries(
      ['get', 'set', 'has', 'getPrototypeOf', 'ownKeys', 'getOwnPropertyDescriptor', 'apply'].map((trap) => [trap, fails]),
    ),
  )

/**
 * All names of an object's members, up to `Object.prototype`, except the symbols that Node keeps on promises and signals: without them,
 * Node aborts.
 */
export function namesOf(target: object): (string | symbol)[] {
  const names = new Set<string | symbol>([Symbol.iterator, Symbol.asyncIterator, Symbol.toStringTag, Symbol.toPrimitive])
  for (let one: object | null = target; one !== null && one !== Object.prototype; one = Object.getPrototypeOf(one))
    for (const name of Object.getOwnPropertyNames(one)) if (name !== 'constructor') names.add(name)
  return [...names]
}

export function attempt(act: () => unknown): void {
  try {
    act()
  } catch {}
}

export type Tamper = (target: object) => void
const each =
  (act: (target: Record<string | symbol, unknown>, name: string | symbol) => unknown): Tamper =>
  (target) => {
    for (const name of namesOf(target)) attempt(() => act(target as Record<string, unknown>, name))
  }

export const tampers: Readonly<Record<string, Tamper>> = {
  'assigns null to every member': each((target, name) => (target[name] = null)),
  'defines every member as undefined': each((target, name) => Object.defineProperty(target, name, { value: undefined })),
  'defines every member as a getter that throws': each((target, name) =>
    Object.defineProperty(target, name, { get: fails, configurable: true }),
  ),
  'replaces every method by one that throws': each((target, name) => Object.defineProperty(target, name, { value: fails, writable: true })),
  'deletes every member': each((target, name) => Reflect.deleteProperty(target, name)),
  'removes the prototype': (target) => attempt(() => Object.setPrototypeOf(target, null)),
  'replaces the prototype with a trap': (target) => attempt(() => Object.setPrototypeOf(target, trapped())),
  freezes: (target) => attempt(() => Object.freeze(target)),
  // biome-ignore lint/suspicious/noThenProperty: a thenable is what is made
  'adds its own names': (target) => attempt(() => Object.assign(target, { then: fails, toJSON: fails, length: 1, constructor: null })),
}
