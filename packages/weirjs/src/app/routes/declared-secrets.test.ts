import assert from 'node:assert/strict'
import { test } from 'node:test'

import { routeOf, tableOf } from '../../../test/support/asked.ts'
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

test('routes that are mapped later count after the next refresh', () => {
  const routes = [listed('GET /', {})]
  const secrets = new DeclaredSecrets({ routes }, [])
  secrets.refresh()
  routes.push(listed('GET /late', { zLate: secret }))
  assert.equal(secrets.names.hasInQuery('zLate'), false)
  secrets.refresh()
  assert.equal(secrets.names.hasInQuery('zLate'), true)
})
