// A limit by principal has to run after what finds the principal out. Anything else would limit by address in silence.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { HttpServer, type Policy } from '../../../src/index.ts'
import { auth } from '../../../src/modules/auth/index.ts'
import { concurrencyLimit, rateLimit } from '../../../src/modules/limits/index.ts'
import { memorySessions, sessions } from '../../../src/modules/sessions/index.ts'
import { testScheme } from '../auth/support.ts'

const closed = (): Policy => auth({ schemes: [testScheme()] })
const LIMITS: readonly (readonly [string, () => Policy])[] = [
  ['rateLimit:default', () => rateLimit({ name: 'default', quota: 1, window: '1m', key: 'principal' })],
  ['concurrencyLimit:default', () => concurrencyLimit({ name: 'default', max: 1, key: 'principal' })],
]

async function startsWith(prepare: (server: HttpServer) => unknown): Promise<void> {
  const server = new HttpServer({ logger: null })
  prepare(server)
  server.mapGet('/things', () => 'done')
  try {
    await server.start()
  } finally {
    await server.stop()
  }
}

for (const [name, limit] of LIMITS)
  describe(name, () => {
    const refused = (by: string, where = 'requests without a route') => ({
      code: 'WEIR_POLICY_ORDER',
      message: new RegExp(`${where}.*: "${name}" has the key "principal", but runs before ${by}, which .*: add it after ${by}`),
    })

    test('before auth, the server does not start', async () => {
      await assert.rejects(
        startsWith((server) => server.use(limit()).use(closed())),
        refused('auth'),
      )
    })

    test('around the auth of a group, the route is named', async () => {
      await assert.rejects(
        startsWith((server) => {
          server.use(limit())
          server.group('/own', { use: [closed()] }).mapGet('/', () => 'done')
        }),
        refused('auth', 'GET /own'),
      )
    })

    test('before the sessions that set the principal, it does not start', async () => {
      const users = sessions({ store: memorySessions() })
      await assert.rejects(
        startsWith((server) => server.use(limit()).use(users)),
        refused('sessions'),
      )
    })

    test('sessions before it are not enough where auth comes later: it decides by other schemes, too', async () => {
      const users = sessions({ store: memorySessions() })
      const both = auth({ schemes: [users.scheme(), testScheme()] })
      await assert.rejects(
        startsWith((server) => server.use(users).use(limit()).use(both)),
        refused('auth'),
      )
    })

    test('after them, without them, and in the place of one after them, it starts', async () => {
      await startsWith((server) => server.use(closed()).use(limit()))
      await startsWith((server) => server.use(sessions({ store: memorySessions() })).use(limit()))
      await startsWith((server) => server.use(limit()))
      await startsWith((server) => {
        server.use(closed()).use(limit())
        server.group('/own', { use: [limit(), auth.open] }).mapGet('/', () => 'done')
        server.group('/other', { use: [closed()] }).mapGet('/', () => 'done')
      })
    })

    test('a route that is mapped after the start is refused then', async () => {
      const server = new HttpServer({ logger: null })
      await server.start()
      try {
        assert.throws(() => server.mapGet('/late', { use: [limit(), closed()] }, () => 'done'), refused('auth', 'GET /late'))
      } finally {
        await server.stop()
      }
    })
  })

test('by address, or by a function, the order is free', async () => {
  for (const key of ['address', 'all', () => 'one'] as const)
    await startsWith((server) => server.use(rateLimit({ quota: 1, window: '1m', key })).use(closed()))
})
