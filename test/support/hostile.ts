// Objects that throw whatever is done with them, what may be done to others, and a look at whether a server lives on.

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
/** Sends a GET, and gives the answer: on one connection all of them. */
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

/** The same server once more, which speaks HTTP/2. */
async function overHttp2(t: TestContext, map: (server: HttpServer) => void, options: ServerOptions): Promise<Ask> {
  const { server } = await serveHttp2(t, map, options)
  const client = await Http2Client.connect(t, server.port)
  return async (path) => {
    const { status, body } = await client.get(path, { 'x-a': 'b', cookie: 'a=b' })
    return { status, text: body.toString() }
  }
}

/** Asks `paths` one after the other over either protocol, and then a route that nobody has touched. */
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
  const server = new HttpServer(options)
  mapAll(server)
  for (const ask of [await overHttp1(t, server), await overHttp2(t, mapAll, options)]) {
    for (const [path, [status, text = '']] of Object.entries(expected)) {
      const answer = await ask(path)
      assert.equal(answer.status, status, `${path}: ${answer.text}`)
      if (typeof text === 'string' && text !== '') assert.equal(answer.text, text)
      if (typeof text !== 'string') assert.match(answer.text, text)
      const next = await ask('/untouched/x')
      assert.deepEqual([next.status, next.text], [200, 'x 0'], `the request after ${path}`)
    }
  }
}

// What is done to an object.

export const fails = (): never => {
  throw new Error('tampered with')
}
/** Fails whatever is done with it. */
export const trapped = (target: object = {}): object =>
  new Proxy(
    target,
    Object.fromEntries(
      ['get', 'set', 'has', 'getPrototypeOf', 'ownKeys', 'getOwnPropertyDescriptor', 'apply'].map((trap) => [trap, fails]),
    ),
  )

/** All names that an object answers to, up to `Object.prototype`. Not the symbols that Node keeps on promises and signals: without them it aborts. */
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
  'takes the prototype away': (target) => attempt(() => Object.setPrototypeOf(target, null)),
  'puts a trap in the place of the prototype': (target) => attempt(() => Object.setPrototypeOf(target, trapped())),
  freezes: (target) => attempt(() => Object.freeze(target)),
  // biome-ignore lint/suspicious/noThenProperty: a thenable is what is made
  'adds names of its own': (target) => attempt(() => Object.assign(target, { then: fails, toJSON: fails, length: 1, constructor: null })),
}
