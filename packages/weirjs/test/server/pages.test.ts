// Long lists in pages: parameters, results, and links between the pages.

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HttpServer, type InjectResponse, pages, t } from '../../src/index.ts'
import { client, get } from '../../src/modules/client/index.ts'

const User = t.object({ id: t.int, name: t.string })
const Users = pages(User, { limit: 2, maxLimit: 10 })
const USERS = [1, 2, 3, 4, 5].map((id) => ({ id, name: `user ${id}`, password: 'x' }))

function serverOf(): HttpServer {
  const server = new HttpServer({ logger: null })
  server.mapGet(
    '/users',
    { ...Users.query, tag: t.string.optional(), answers: { 200: Users.result } },
    ({ limit, cursor = '0' }, session) => {
      const from = USERS.findIndex(({ id }) => id > Number(cursor))
      const items = USERS.slice(from, from + limit)
      const previous = from === 0 ? null : String(Math.max(0, from - limit))
      return Users.send(session, { items, next: items.at(-1) === USERS.at(-1) ? null : String(items.at(-1)!.id), previous })
    },
  )
  return server
}

const linksOf = (response: InjectResponse): Record<string, string> =>
  Object.fromEntries(
    [...(response.headers.get('link') ?? '').matchAll(/<([^>]*)>; rel="(\w+)"/g)].map(([, target, relation]) => [relation!, target!]),
  )

test('a client follows the links from the first page to the last, and back', async () => {
  const server = serverOf()
  let url = 'http://localhost/users?tag=a%26b+c'
  const seen: unknown[] = []
  for (;;) {
    const response = await server.inject(url)
    const { items, next } = response.json() as { items: unknown[]; next?: string }
    seen.push(...items)
    const links = linksOf(response)
    assert.equal(next === undefined, links['next'] === undefined)
    if (links['next'] === undefined) break
    url = new URL(links['next'], url).href
    assert.equal(new URL(url).searchParams.get('tag'), 'a&b c')
  }
  assert.deepEqual(
    seen,
    USERS.map(({ id, name }) => ({ id, name })),
  )
  const back = linksOf(await server.inject(url))['prev']!
  const { items } = (await server.inject(new URL(back, url).href)).json() as { items: { id: number }[] }
  assert.deepEqual(
    items.map(({ id }) => id),
    [3, 4],
  )
  assert.deepEqual(Object.keys((await server.inject('/users')).json() as object), ['items', 'next'])
})

test('a limit is at most maxLimit, and a cursor is not empty', async () => {
  const server = serverOf()
  assert.equal(((await server.inject('/users?limit=3')).json() as { items: unknown[] }).items.length, 3)
  for (const query of ['limit=11', 'limit=0', 'limit=x', 'limit=1&limit=2', 'cursor=', `cursor=${'x'.repeat(1025)}`])
    assert.equal((await server.inject(`/users?${query}`)).status, 400, query)
})

test('what a cursor has is encoded', async () => {
  const server = new HttpServer({ logger: null, basePath: '/app' })
  server.mapGet('/', Users.query, (_, session) => Users.send(session, { items: [], next: 'a>; rel="x", <ü&b' }))
  const { headers } = await server.inject('/app/')
  const link = headers.get('link')!
  assert.equal(link, '<?cursor=a%3E%3B+rel%3D%22x%22%2C+%3C%C3%BC%26b>; rel="next"')
  assert.equal(new URL(/<(.*?)>/.exec(link)![1]!, 'http://localhost/app/').searchParams.get('cursor'), 'a>; rel="x", <ü&b')
})

test('a contract has pages too', async () => {
  const api = { users: get('/users', { ...Users.query, answers: { 200: Users.result } }) }
  const server = new HttpServer({ logger: null })
  server.mapContract(api, { users: ({ limit }, session) => Users.send(session, { items: USERS.slice(0, limit), next: 'x' }) })
  const { users } = client(api, 'http://localhost', { fetch: (request: Request) => server.fetch(request) })
  const { body } = await users({ limit: 1 })
  const [first] = body.items
  const name: string | undefined = first?.name
  const next: string | undefined = body.next
  assert.deepEqual([name, next], ['user 1', 'x'])
})

test('mistakes of the program are errors', () => {
  for (const options of [{ limit: 0 }, { limit: 101 }, { limit: 1.5 }, { maxLimit: 10 }, { size: 5 }])
    assert.throws(() => pages(User, options as never), { code: 'WEIR_OPTION_INVALID' }, JSON.stringify(options))
  assert.throws(() => pages('user' as never), { code: 'WEIR_OPTION_INVALID' })
})
