// Every member of what a handler gets, also those that do not exist yet: what shows cookies keeps the response from other clients.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'

import { HttpServer, type HttpSession } from '../../../src/index.ts'
import { cache } from '../../../src/modules/cache/index.ts'
import * as kit from '../../../src/modules/kit/index.ts'

type Way = (session: HttpSession) => unknown

const ARGUMENTS: readonly (readonly unknown[])[] = [[], ['cookie'], ['COOKIE'], ['user'], [0]]

function shown(value: unknown): string {
  const isList = typeof value === 'object' && value !== null && Symbol.iterator in value
  return inspect(isList ? [...(value as Iterable<unknown>)] : value, { depth: 6, showHidden: true, getters: true })
}

/** Most members take something else than what they get here. */
function quiet(result: unknown): unknown {
  if (result instanceof Promise) result.catch(() => {})
  return result
}

/** Each member of an object, read and called. */
function waysTo(what: string, of: (session: HttpSession) => object, prototype: object): [string, Way][] {
  return Reflect.ownKeys(prototype).flatMap((key) =>
    ARGUMENTS.map((args): [string, Way] => [
      `${what}.${String(key)}(${args.join()})`,
      (session) => {
        const object = of(session)
        const member: unknown = Reflect.get(object, key)
        if (key === 'constructor' || typeof member !== 'function') return shown(member)
        const heard: unknown[] = []
        const listener = (...some: unknown[]): void => void heard.push(...some)
        return shown(quiet(member.apply(object, args.length === 0 ? [listener] : args))) + shown(heard)
      },
    ]),
  )
}

async function everyWay(): Promise<[string, Way][]> {
  const found: [string, Way][] = [
    ['inspect(session)', (session) => inspect(session, { depth: 8, showHidden: true, getters: true })],
    ['inspect(request)', ({ request }) => inspect(request, { depth: 8, showHidden: true, getters: true })],
    ['{ ...headers }', ({ request }) => shown({ ...request.headers })],
  ]
  const server = new HttpServer({ logger: null })
  server.mapGet('/', (_, session) => {
    const objects: Readonly<Record<string, (of: HttpSession) => object>> = {
      session: (of) => of,
      request: ({ request }) => request,
      headers: ({ request }) => request.headers,
      exchange: (of) => kit.exchange(of),
    }
    for (const [what, of] of Object.entries(objects)) found.push(...waysTo(what, of, Object.getPrototypeOf(of(session)) as object))
    return ''
  })
  await server.inject('/')
  for (const [name, member] of Object.entries(kit) as [string, unknown][])
    if (typeof member === 'function')
      for (const args of ARGUMENTS)
        found.push([`kit.${name}(session, ${args.join()})`, (session) => shown(quiet(member(session, ...args)))])
  return found
}

/** Asks a server with a cache, whose handler looks at the request in one way. */
function asker(look: Way): (headers: Readonly<Record<string, string>>) => Promise<string> {
  const server = new HttpServer({ logger: null })
  server.mapGet('/', { use: [cache({ maxAge: '1m' })] }, (_, session) => {
    try {
      return `seen: ${String(look(session))}`
    } catch (error) {
      return `thrown: ${String(error)}`
    }
  })
  return async (headers) => (await server.inject({ url: '/', headers })).text()
}

test('no member of a session, a request, its fields or the kit shows a cookie that reaches another client', async () => {
  const ways = await everyWay()
  let seeing = 0
  for (const [way, look] of ways) {
    const ask = asker(look)
    if ((await ask({ cookie: 'user=ann-1' })).includes('ann-1')) seeing++
    assert.ok(!(await ask({ cookie: 'user=bob-2' })).includes('ann-1'), way)
  }
  assert.ok(seeing >= 20, `only ${seeing} of ${ways.length} ways show the cookie`)
})

test('none of them shows that a client has no cookie, in a response that a client with one gets', async () => {
  let seeing = 0
  for (const [way, look] of await everyWay()) {
    if (!(await asker(look)({ cookie: 'user=bob-2' })).includes('bob-2')) continue
    seeing++
    const ask = asker(look)
    await ask({})
    assert.ok((await ask({ cookie: 'user=bob-2' })).includes('bob-2'), way)
  }
  assert.ok(seeing >= 20, `only ${seeing} ways show the cookie`)
})
