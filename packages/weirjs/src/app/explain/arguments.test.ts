import assert from 'node:assert/strict'
import { test } from 'node:test'

import { askedHead, askedRequest, tableOf } from '../../../test/support/asked.ts'
import type { AnySchema } from '../../schema/standard.ts'
import { t } from '../../schema/t.ts'
import { consideredRoutes } from '../routes/considered-routes.ts'
import { cookie, header } from '../routes/parameter-source.ts'
import type { Route } from '../routes/route.ts'
import { Secrets } from '../routes/shown-target.ts'
import { ShownTexts } from '../routes/shown-texts.ts'
import { explainArguments } from './arguments.ts'
import type { ExplainedArgument } from './explanation.ts'

const foreign = { '~standard': { version: 1, vendor: 'other', validate: () => assert.fail('it gets the value') } } as unknown as AnySchema
const table = tableOf({
  'GET /a/:id': {
    id: t.int,
    n: t.int.default(7),
    o: t.string.optional(),
    f: foreign,
    tenant: header('X-Tenant', t.string),
    c: cookie('c', t.string),
  },
  'PUT /a/:token': { token: t.string.secret(), o: t.string.secret(), x: header('X-Tenant', t.string.secret()) },
  'POST /b': { body: t.int.optional() },
})

function args(line: string, ...fields: string[]): Record<string, ExplainedArgument> {
  const head = askedHead(line, ...fields)
  const match = table.find(head, null)
  const route = match.route as Route
  const secrets = new Secrets(consideredRoutes(table, head.path), route)
  const all = explainArguments(
    route,
    askedRequest(head, match),
    match.values,
    secrets,
    new ShownTexts({ secretRoutes: [], basePath: '' }),
    {
      isChecked: false,
      error: null,
    },
  )
  return Object.fromEntries(all.map((one) => [one.name, one]))
}

test('another route that the client may have meant hides what it declares secret', () => {
  const all = args('GET /a/canary?o=canary&n=canary', 'X-Tenant: canary', 'Cookie: c=canary')
  assert.deepEqual(
    Object.values(all).map(({ name, received }) => [name, received]),
    [
      ['id', '(not shown)'],
      ['n', 'canary'],
      ['o', '(not shown)'],
      ['f', null],
      ['tenant', '(not shown)'],
      ['c', '(not shown)'],
    ],
  )
  assert.doesNotMatch(JSON.stringify(all['id']), /canary/)
})

test('presence, and what a schema of another library is not asked', () => {
  const { n, o, f, id } = args('GET /a/1?f=x')
  assert.deepEqual([n?.presence, o?.presence, f?.presence, id?.presence], ['default', 'optional', 'required', 'required'])
  assert.deepEqual([f?.isChecked, f?.received, f?.failures.length], [false, 'x', 0])
  assert.match(f?.expected ?? '', /\(other\)$/)
  assert.equal(args('POST /b')['body']?.presence, 'optional')
})
