// Whatever path and host a client sends, a handler runs only after all policies of its own route, and no others.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import fc from 'fast-check'

import { HttpServer, type HttpSession, type Policy, type ServerOptions } from '../../src/index.ts'
import { connect } from '../../src/testing/index.ts'
import { cert, key } from '../support/certificate.ts'
import { Http2Client, responseOf } from '../support/http2-client.ts'
import { thinned } from '../support/thinned.ts'

/** The policies of the current request, of which there is only one. */
let passed: string[] = []
/** Handlers that have run, over all requests. */
const reached = new Set<string>()
const wrongs: string[] = []

function policy(name: string): Policy {
  return {
    name,
    gate: () => void passed.push(`gate ${name}`),
    middleware(_, next) {
      passed.push(`run ${name}`)
      return next()
    },
  }
}

/** A handler that knows which policies should run before it. */
function behind(title: string, ...names: readonly string[]) {
  const expected = [...names.map((name) => `gate ${name}`), ...names.map((name) => `run ${name}`)].join()
  return (_: unknown, { request }: HttpSession): string => {
    reached.add(title)
    if (passed.join() !== expected) wrongs.push(`${request.rawTarget} of ${request.header('host')} reached ${title} by ${passed.join()}`)
    return title
  }
}

function mapAll(options: ServerOptions): HttpServer {
  const server = new HttpServer({ hosts: 'any', logger: null, ...options })
  server.use(policy('server'))
  server.mapGet('/open', behind('open', 'server'))
  server.mapGet('/:any', behind('any', 'server'))
  server.mapGet('/files/*path', behind('files', 'server'))
  const admin = server.group('/admin', { use: [policy('auth')] })
  admin.map(null, '/users', behind('users', 'server', 'auth'))
  admin.mapGet('/users/:id', { use: [policy('own')] }, behind('user', 'server', 'auth', 'own'))
  admin.mapGet('/', behind('admin', 'server', 'auth'))
  admin.fallback(behind('fallback', 'server', 'auth'))
  const hosted = server.group('/admin', { host: 'a.example', use: [policy('a')] })
  hosted.mapGet('/users/:id', behind('hosted user', 'server', 'a'))
  hosted.group('/deep', { host: '*.example', use: [policy('deep')] }).mapGet('/*rest', behind('deep', 'server', 'a', 'deep'))
  return server
}

const PIECES = [
  ...[
    '/',
    '//',
    '/admin',
    '/Admin',
    '/ADMIN',
    '/%61dmin',
    '/admin%2Fusers',
    '/admin%2fusers',
    '/users',
    '/Users',
    '/deep',
    '/open',
    '/files',
  ],
  ...[
    '/7',
    '/.',
    '/..',
    '/%2e',
    '/%2E%2e',
    '/.%2e',
    '/..;',
    ';x=1',
    '%2f',
    '%2F',
    '%5c',
    '\\',
    '/%00',
    '%',
    '%zz',
    '?admin',
    '#',
    '%252e%252e',
    '/users/7',
    '/admin/users/7',
  ],
]
const KNOWN = ['/admin/users/7', '/admin/users', '/admin', '/admin/deep/x/y', '/admin/none', '/open', '/other', '/files/a/b']
/** A known path with something inserted into it, or a path of such pieces. */
const path = fc.oneof(
  fc.tuple(fc.constantFrom(...KNOWN), fc.nat(), fc.constantFrom('', '', ...PIECES)).map(([known, n, piece]) => {
    const at = n % (known.length + 1)
    return known.slice(0, at) + piece + known.slice(at)
  }),
  fc.array(fc.constantFrom(...PIECES), { minLength: 1, maxLength: 6 }).map((pieces) => pieces.join('')),
)
const host = fc.constantFrom(
  'a.example',
  'A.EXAMPLE',
  'a.example.',
  'a.example:80',
  'b.example',
  'x.a.example',
  'localhost',
  '[::1]',
  'a.example@b',
  '',
)
const method = fc.constantFrom('GET', 'HEAD', 'POST', 'OPTIONS', 'get', 'PUT')
const form = fc.constantFrom('origin', 'absolute', 'other host', 'asterisk')

/** One for each handler. */
const EXAMPLES: readonly (readonly [url: string, host: string])[] = [
  ['/admin', 'b.example'],
  ['/x', 'a.example'],
  ['/admin/deep/x', 'x.a.example'],
  ['/admin/none', 'a.example'],
  ['/files/a', 'a.example'],
  ['/admin/users/7', 'A.example.'],
  ['/open', 'a.example'],
  ['/admin/users/7', 'b.example'],
  ['/admin/users', 'a.example'],
]
const RUNS = thinned(3_000)
const EXPECTED = ['admin', 'any', 'deep', 'fallback', 'files', 'hosted user', 'open', 'user', 'users']

function checkReached(): void {
  assert.deepEqual(wrongs.splice(0), [])
  assert.deepEqual([...reached].sort(), EXPECTED, 'the requests reach everything')
  reached.clear()
}

test('no path, host or absolute form reaches a handler past the policies of its route', async () => {
  const server = mapAll({})
  await fc.assert(
    fc.asyncProperty(method, path, host, form, async (verb, target, name, how) => {
      passed = []
      const targets = { origin: target, absolute: `http://${name}${target}`, 'other host': `http://b.example${target}`, asterisk: '*' }
      await using client = connect(server)
      await client.send(`${verb} ${targets[how]} HTTP/1.1\r\nHost: ${name}\r\nConnection: close\r\n\r\n`)
      const { status } = await client.answer(verb === 'HEAD')
      assert.ok(status === 400 || passed.includes('gate server'), `${status} without the gate of the server`)
    }),
    { numRuns: RUNS, examples: EXAMPLES.map(([url, name]) => ['GET', url, name, 'origin']) },
  )
  checkReached()
})

test('no path or authority of HTTP/2 reaches a handler past the policies of its route', async (t) => {
  const server = mapAll({ tls: { key, cert }, http2: true })
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  let client = await Http2Client.connect(t, server.port)
  await fc.assert(
    fc.asyncProperty(method, path, host, async (verb, target, name) => {
      passed = []
      // The connection does not survive what is not HTTP/2.
      if (client.session.closed || client.session.destroyed || client.goaway !== null) client = await Http2Client.connect(t, server.port)
      const stream = client.open({ ':method': verb, ':path': target, ':authority': name })
      if (!stream.writableEnded) stream.end()
      const { status } = await responseOf(stream)

      const isHead = status !== 0 && status !== 400 && status !== 421
      assert.ok(!isHead || passed.includes('gate server'), `${status} without the gate of the server`)
    }),
    { numRuns: RUNS / 3, examples: EXAMPLES.map(([url, name]) => ['GET', url, name]) },
  )
  checkReached()
})
