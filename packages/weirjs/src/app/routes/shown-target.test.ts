import assert from 'node:assert/strict'
import { test } from 'node:test'

import { askedHead, tableOf } from '../../../test/support/asked.ts'
import { t } from '../../schema/t.ts'
import type { Route } from './route.ts'
import { reportedUrl, shownUrl } from './shown-target.ts'

const secret = t.string.secret()
const table = tableOf({
  'GET /open/:id': {},
  'GET /reset/:token': { token: secret },
  'GET /reset/:token/done': { token: secret },
  'GET /files/*path': { path: secret },
  'GET /search': { q: secret },
})

function shown(target: string): string {
  const head = askedHead(`GET ${target}`)
  return shownUrl(head, table.find(head, null).route as Route | null, table)
}

test('hides declared secrets, of the route that answers and of those that the client may have meant', () => {
  const cases = [
    ['/open/1?q=a', '/open/1?q=a'],
    ['/reset/abc', '/reset/(not shown)'],
    ['/reset/abc/done', '/reset/(not shown)/done'],
    ['/reset/abc/dome', '/reset/(not shown)/dome'],
    ['/reset/', '/reset/'],
    ['/res%65t/abc', '/res%65t/(not shown)'],
    ['/rezet/abc', '/rezet/(not shown)'],
    ['/files/a/b/c', '/files/(not shown)'],
    ['/search?q=abc&page=1&%71=def', '/search?q=(not shown)&page=1&%71=(not shown)'],
    ['/search?&&q=abc&q&=&page=%zz&&', '/search?&&q=(not shown)&q=(not shown)&=&page=%zz&&'],
    ['/search??q=abc&a=?q=abc', '/search??q=(not shown)&a=?q=abc'],
    ['/search?a=b&c', '/search?a=b&c'],
    ['/none/abc', '/none/abc'],
  ]
  for (const [target, text] of cases) assert.equal(shown(target!), text, target)
})

test('reports leave out what is usually secret too', () => {
  const head = askedHead('GET /open/1?access_token=abc&page=2')
  assert.equal(reportedUrl(head, null, tableOf({})), '/open/1?access_token=(not shown)&page=2')
  assert.equal(shownUrl(head, null, tableOf({})), '/open/1?access_token=abc&page=2')
})
