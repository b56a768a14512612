// The parameters of a list in pages, and the links between them.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { askedExchange, askedHead } from '../../../test/support/asked.ts'
import { t } from '../../schema/t.ts'
import { type PagesOptions, pages } from './pages.ts'

const USERS = pages(t.string)

/** What `send` returns for a request with this query, and the links that it adds. */
function sent(query: string, page: Parameters<typeof USERS.send>[1]) {
  const exchange = askedExchange(askedHead(`GET /users${query}`))
  const body = USERS.send(exchange.session, page)
  return { body, links: exchange.own.listHeader('Link') }
}

test('a page has 20 items, or as many as the client asks for up to 100', () => {
  const { limit, cursor } = USERS.query
  assert.equal(limit.parse(undefined), 20)
  assert.equal(limit.parse(100), 100)
  for (const refused of [0, 101, 1.5]) assert.throws(() => limit.parse(refused))
  assert.equal(cursor.parse(undefined), undefined)
  assert.equal(cursor.parse('c'.repeat(1024)), 'c'.repeat(1024))
  for (const refused of ['', 'c'.repeat(1025)]) assert.throws(() => cursor.parse(refused))
  const few = pages(t.string, { limit: 2, maxLimit: 3 }).query.limit
  assert.equal(few.parse(undefined), 2)
  assert.throws(() => few.parse(4))
})

test('options that do not fit are refused', () => {
  const cases: readonly (readonly [PagesOptions, RegExp])[] = [
    [{ limit: 10, maxLimit: 5 }, /pages: limit is 10, more than maxLimit, which is 5$/],
    [{ maxLimit: 10 }, /pages: limit is 20, more than maxLimit, which is 10$/],
    [{ limit: 0 }, /pages: limit is 0/],
  ]
  for (const [options, message] of cases) assert.throws(() => pages(t.string, options), { code: 'WEIR_OPTION_INVALID', message })
})

test('the result is checked like other answers', () => {
  assert.deepEqual(USERS.result.parse({ items: ['a'], next: 'n' }), { items: ['a'], next: 'n' })
  assert.throws(() => USERS.result.parse({ items: [1] }))
})

test('links keep the query, but for the cursor', () => {
  const { body, links } = sent('?sort=name&cursor=here', { items: ['a'], next: 'a&b', previous: 'z' })
  assert.deepEqual(body, { items: ['a'], next: 'a&b', previous: 'z' })
  assert.equal(links, '<?sort=name&cursor=a%26b>; rel="next", <?sort=name&cursor=z>; rel="prev"')
})

test('the only page has no links', () => {
  for (const page of [{ items: [] }, { items: [], next: null, previous: undefined }]) {
    const { body, links } = sent('', page)
    assert.deepEqual([body, links], [{ items: [] }, null])
  }
})
