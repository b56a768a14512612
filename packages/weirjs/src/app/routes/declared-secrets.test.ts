import assert from 'node:assert/strict'
import { test } from 'node:test'

import { routeOf, tableOf } from '../../../test/support/asked.ts'
import { mergePatch } from '../../http/body/merge-patch-body.ts'
import { events } from '../../http/body/plain-body.ts'
import { form, json } from '../../http/body/schema-body.ts'
import { verified } from '../../http/body/verified-body.ts'
import type { Schema } from '../../schema/schema.ts'
import { t } from '../../schema/t.ts'
import { DeclaredSecrets } from './declared-secrets.ts'
import { header } from './parameter-source.ts'
import { listingOf, type RouteListing } from './route-listing.ts'

const SETTINGS = { limits: { maxRequestBodySize: 1, requestTimeout: 1, writeTimeout: 1 }, invalidBodyStatus: 400 } as const
const listed = (title: string, declaration: object): RouteListing => listingOf(routeOf(tableOf({}), title, declaration), SETTINGS)
const secret = t.string.secret()

test('names are those of secret parameters, of secret parts of bodies and answers, and those that were given', () => {
  const secrets = new DeclaredSecrets(
    {
      routes: [
        listed('POST /:zId', {
          zId: t.string,
          zQuery: secret,
          open: t.string,
          zField: header('X-Zed', secret),
          body: t.object({ zPart: secret, pub: t.int }),
        }),
        listed('GET /', { answers: { 200: t.object({ zAnswer: secret }) } }),
      ],
    },
    ['zGiven'],
  )
  secrets.refresh()
  const has = (name: string): boolean => secrets.names.hasInQuery(name)
  assert.deepEqual(['zQuery', 'x-zed', 'zPart', 'zAnswer', 'zGiven'].filter(has), ['zQuery', 'x-zed', 'zPart', 'zAnswer', 'zGiven'])
  assert.deepEqual(['open', 'pub', 'zId'].filter(has), [])
})

const others = t.object({
  zOne: secret,
  open: t.string,
  zList: t.array(secret),
  zTwo: secret,
  more: t.object({ zOne: t.int, zThree: secret }),
})
const named = ['zOne', 'zList', 'zTwo', 'zThree']

for (const [where, declaration] of Object.entries({
  'a body': { body: others },
  'a body of json()': { body: json(others) },
  'a form': { body: form(t.object({ zOne: secret, zList: t.array(secret), zTwo: secret, zThree: secret })) },
  'a merge patch': { body: mergePatch(others) },
  'a verified body': { body: verified(json(others), () => {}) },
  'a union': {
    body: t.union(
      t.object({ kind: t.enum('a'), zOne: secret, zList: secret }),
      t.object({ kind: t.enum('b'), zTwo: secret, zThree: secret }),
    ),
  },
  'a record': { body: t.object({ zOne: t.record(secret), zList: secret, zTwo: secret.nullable(), zThree: secret }) },
  'an answer': { answers: { 200: others } },
  'an answer of json()': { answers: { 200: json(others) } },
  'the answer of an error': { answers: { 200: null, 409: json(others) } },
  'the data of events': { answers: { 200: events(others) } },
  'the data of events by name': {
    answers: { 200: events({ a: t.object({ zOne: secret, zList: secret }), b: t.object({ zTwo: secret, zThree: secret }) }) },
  },
}))
  test(`one schema under several names makes all of them secret, in ${where}`, () => {
    const secrets = new DeclaredSecrets({ routes: [listed('POST /', declaration)] }, [])
    secrets.refresh()
    assert.deepEqual(
      [...named, 'open', 'more', 'kind'].filter((name) => secrets.names.has(name)),
      named,
    )
  })

test('a recursive schema has the names of all its depths', () => {
  interface Tree {
    zLeaf?: string | undefined
    zBranches?: Tree[] | undefined
    open?: Tree | undefined
  }
  const tree: Schema<Tree> = t.lazy(() =>
    t.object({ zLeaf: secret.optional(), zBranches: t.array(tree).secret().optional(), open: tree.optional() }),
  )
  const secrets = new DeclaredSecrets({ routes: [listed('POST /', { body: tree })] }, [])
  secrets.refresh()
  assert.deepEqual(
    ['zLeaf', 'zBranches', 'open'].filter((name) => secrets.names.has(name)),
    ['zLeaf', 'zBranches'],
  )
})

test('routes that are mapped later count after the next refresh', () => {
  const routes = [listed('GET /', {})]
  const secrets = new DeclaredSecrets({ routes }, [])
  secrets.refresh()
  routes.push(listed('GET /late', { zLate: secret }))
  assert.equal(secrets.names.hasInQuery('zLate'), false)
  secrets.refresh()
  assert.equal(secrets.names.hasInQuery('zLate'), true)
})
