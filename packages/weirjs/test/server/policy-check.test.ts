// `check` of a policy: called when a server starts, for every chain that has it.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { UsedPolicy } from '../../src/app/policies/policy.ts'

import { Controller, HttpServer, type Policy, routes } from '../../src/index.ts'

function recorder(name: string, seen: string[]): Policy {
  return {
    name,
    describe: () => `about ${name}`,
    check(policies: readonly UsedPolicy[], where: string): void {
      seen.push(`${where}: ${policies.map(({ name: of, depth, description }) => `${of} ${depth} ${description}`).join(', ')}`)
    },
  }
}

function serverOf(): HttpServer {
  return new HttpServer({ logger: null, address: '127.0.0.1', port: 0 })
}

test('sees all policies of each route, of fallbacks, and of requests without a route', async () => {
  const seen: string[] = []
  class Things extends Controller {
    static routes = routes(this, { list: ['GET', '/', { use: [recorder('c', seen)] }] })
    list(): string {
      return 'done'
    }
  }
  const server = serverOf().use(recorder('a', seen))
  server.mapGet('/none', () => 'done')
  const group = server.group('/g', { use: [recorder('b', seen), () => undefined] })
  group.mapController(Things, '/things')
  group.mapGet('/replaced', { use: [{ name: 'a' }, { name: 'b' }] }, () => 'done')
  group.fallback(() => 'none')
  await server.start()
  await server.stop()
  const [a, b] = ['a 0 about a', 'b 1 about b']
  assert.deepEqual(
    seen.filter((line) => !line.includes('fallback')).map((line) => line.replace(/ at \S+:\d+(?=:)/, '')),
    [
      `requests without a route: ${a}`,
      `GET /none (inline): ${a}`,
      ...[1, 2, 3].map(() => `GET /g/things (Things.list): ${a}, ${b}, (anonymous) 1 null, c 3 about c`),
    ],
  )
  assert.equal(seen.filter((line) => line.includes('fallback')).length, 2 * 3)
})

describe('a policy without hooks', () => {
  const gate = (): undefined => undefined
  const message = /the policy \{ name: "csfr" \} would remove an outer one/

  test('that removes nothing rejects the start, at every level, and names what it could have meant', async () => {
    const wrong = { name: 'csfr' }
    const cases: readonly (readonly [(server: HttpServer) => unknown, string])[] = [
      [(server) => server.use(wrong), 'requests without a route'],
      [(server) => server.group('/g', { use: [wrong] }).mapGet('/a', () => ''), 'GET /g/a'],
      [(server) => server.mapGet('/a', { use: [wrong] }, () => ''), 'GET /a'],
      [(server) => server.group('/g', { use: [wrong] }).fallback(() => ''), 'fallback'],
    ]
    for (const [declare, where] of cases) {
      const server = serverOf().use({ name: 'csrf', gate }).use({ gate })
      declare(server)
      const error = await server.start().then(
        () => assert.fail(`${where} started`),
        (error: Error & { code?: string }) => error,
      )
      assert.equal(error.code, 'WEIR_ROUTE_DECLARATION', where)
      assert.match(error.message, message)
      assert.ok(error.message.includes(where), error.message)
      assert.match(error.message, /those with a name are "csrf"/)
    }
  })

  test('that removes one further out, or another removal, is right', async () => {
    const server = serverOf()
    const group = server.group('/g', { use: [{ name: 'late' }] })
    group.mapGet('/a', { use: [{ name: 'late' }] }, () => '')
    server.use({ name: 'late', gate }) // added after the removal
    await server.start()
    await server.stop()
  })

  test('that describes itself, or checks others, is no removal', async () => {
    const server = serverOf()
      .use({ name: 'noted', describe: () => 1 })
      .use({ name: 'checks', check: () => {} })
    await server.start()
    await server.stop()
  })
})

test('what it throws rejects the start, and the server can be started once it is mended', async () => {
  let isWrong = true
  const server = serverOf()
  const policy: Policy = {
    check() {
      if (isWrong) throw new Error('wrong')
    },
  }
  server.mapGet('/', { use: [policy] }, () => 'done')
  await assert.rejects(server.start(), { message: 'wrong' })
  assert.equal(server.isListening, false)
  isWrong = false
  await server.start()
  await server.stop()
})

test('a route that is mapped after the start is checked then, and refused without a trace', async (context) => {
  const server = serverOf()
  await server.start()
  context.after(() => server.stop())
  const policy: Policy = {
    check(_, where) {
      throw new Error(`wrong: ${where}`)
    },
  }
  assert.throws(
    () => server.mapGet('/', { use: [policy] }, () => 'done'),
    /^Error: wrong: GET \/ \(inline\) at \S+policy-check\.test\.\w+:\d+:\d+$/,
  )
  assert.equal((await server.inject('/')).status, 404)
  server.mapGet('/', () => 'done')
  assert.equal((await server.inject('/')).text(), 'done')
})

test('without checks, policies are not described at the start', async () => {
  const server = serverOf().use({ name: 'a', describe: () => assert.fail('described') })
  server.mapGet('/', () => 'done')
  await server.start()
  await server.stop()
})
