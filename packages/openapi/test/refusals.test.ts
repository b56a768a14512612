// The refusals in a document are those with which the server really answers.

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'

import { inspector } from '../../dev/src/index.ts'
import {
  form,
  HttpServer,
  header,
  type InjectRequest,
  mergePatch,
  multipart,
  type Policy,
  Problem,
  t,
  text,
  type Usable,
} from '../../weirjs/src/index.ts'
import { csrf } from '../../weirjs/src/modules/csrf/index.ts'
import { decompression } from '../../weirjs/src/modules/decompression/index.ts'
import { health } from '../../weirjs/src/modules/health/index.ts'
import { concurrencyLimit, rateLimit, shed } from '../../weirjs/src/modules/limits/index.ts'
import { metrics } from '../../weirjs/src/modules/metrics/index.ts'
import { signing } from '../../weirjs/src/modules/signing/index.ts'
import { webhook } from '../../weirjs/src/modules/webhooks/index.ts'
import { mountFetch, mountNode } from '../../weirjs/src/node/index.ts'
import { validated } from '../../weirjs/test/support/openapi-validator.ts'
import { openapi } from '../src/index.ts'

const INFO = { title: 'x', version: '1' }

interface Operation {
  readonly responses: Readonly<Record<string, { readonly $ref?: string; readonly headers?: object; readonly content?: object }>>
}

interface Described {
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly required?: boolean }[]
  readonly responses: object
}

interface Document {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components?: { readonly responses?: Readonly<Record<string, { readonly headers?: object }>>; readonly headers?: object }
}

async function documentOf(server: HttpServer): Promise<Document> {
  const document = (await server.inject('/openapi.json')).json() as Document
  assert.equal(await validated(document), null)
  return document
}

/** The statuses in the document of a server with one route. */
async function statusesOf(map: (server: HttpServer) => unknown, options = {}): Promise<string[]> {
  const server = new HttpServer({ logger: null, ...options }).use(openapi({ info: INFO }))
  map(server)
  const { paths } = await documentOf(server)
  const [operation] = Object.values(paths['/x']!)
  return Object.keys(operation!.responses).filter((status) => Number(status) >= 400)
}

describe('a body that does not fit is described with the status of the server', () => {
  const bodies = {
    'a schema': { body: t.object({ a: t.int }), type: 'application/json', wrong: '{"a":"x"}', malformed: '{' },
    'a form': { body: form(t.object({ a: t.int })), type: 'application/x-www-form-urlencoded', wrong: 'a=x', malformed: null },
    'a multipart form': {
      body: multipart({ fields: { a: t.int } }),
      type: 'multipart/form-data; boundary=b',
      wrong: '--b\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n--b--',
      malformed: '--c',
    },
  }
  for (const [what, { body, type, wrong, malformed }] of Object.entries(bodies))
    for (const invalidBodyStatus of [400, 422] as const)
      test(`${what}, ${invalidBodyStatus}`, async () => {
        const described = await statusesOf((server) => server.mapPost('/x', { body }, () => 'x'), { invalidBodyStatus })
        assert.deepEqual(described, invalidBodyStatus === 400 ? ['400', '413', '415'] : ['400', '413', '415', '422'])
        const server = new HttpServer({ logger: null, invalidBodyStatus }).mapPost('/x', { body }, () => 'x')
        const send = (text: string, contentType = type): Promise<{ readonly status: number }> =>
          server.inject({ method: 'POST', url: '/x', headers: { 'Content-Type': contentType }, body: text } as InjectRequest)
        assert.equal((await send(wrong)).status, invalidBodyStatus)
        const bad = malformed === null ? server.inject({ method: 'POST', url: '/x' }) : send(malformed) // every text is a form
        assert.equal((await bad).status, 400)
        assert.equal((await send(wrong, 'image/png')).status, 415)
      })

  test('text has no schema that it could fail to fit', async () => {
    assert.deepEqual(await statusesOf((server) => server.mapPost('/x', { body: text() }, () => 'x'), { invalidBodyStatus: 422 }), [
      '400',
      '413',
      '415',
    ])
  })
})

describe('what policies refuse is described', () => {
  const cases: readonly (readonly [string, 'GET' | 'POST', Usable, readonly string[]])[] = [
    ['csrf on a method that may change something', 'POST', csrf(), ['403']],
    ['csrf on a safe method', 'GET', csrf(), []],
    ['csrf that only reports', 'POST', csrf({ mode: 'report', onRefused: () => {} }), []],
    ['a policy that replaces csrf', 'POST', { name: 'csrf' }, []],
    ['rateLimit', 'GET', rateLimit({ quota: 1, window: '1m' }), ['429']],
    ['rateLimit that refuses without its store', 'GET', rateLimit({ quota: 1, window: '1m', whenStoreFails: 'refuse' }), ['429', '503']],
    ['concurrencyLimit of all', 'GET', concurrencyLimit({ max: 1 }), ['503']],
    ['concurrencyLimit of each client', 'GET', concurrencyLimit({ max: 1, key: 'address' }), ['429']],
    ['shed', 'GET', shed(), ['503']],
    ['decompression without a body', 'GET', decompression(), []],
    ['a policy of the program', 'GET', { gate() {}, describe: () => ({ refuses: [402, 451] }) } satisfies Policy, ['402', '451']],
    ['a policy that states nonsense', 'GET', { gate() {}, describe: () => ({ refuses: [200, '404', 4.5, 600, null] }) }, []],
    ['a policy that states something else', 'GET', { gate() {}, describe: () => 'refuses' }, []],
  ]
  for (const [what, method, policy, expected] of cases)
    test(what, async () => {
      assert.deepEqual(await statusesOf((server) => server.map(method, '/x', { use: [policy] }, () => 'x')), expected)
    })

  test('decompression of a streamed body', async () => {
    const map = (server: HttpServer) => server.mapPost('/x', { use: [decompression()], body: 'stream' }, () => 'x')
    assert.deepEqual(await statusesOf(map), ['400', '413', '415'])
  })

  test('limits send the fields that are described', async () => {
    const server = new HttpServer({ logger: null }).use(openapi({ info: INFO }))
    const use = [rateLimit({ quota: 1, window: '1m' }), concurrencyLimit({ max: 1 })]
    server.mapGet('/x', { use, answers: { 200: t.array(t.int), 404: Problem, 429: Problem } }, () => [1])
    const { paths, components } = await documentOf(server)
    const { responses } = paths['/x']!['get']!
    const quota = ['RateLimit', 'RateLimit-Policy']
    assert.deepEqual(Object.keys(responses), ['200', '404', '429', '503'])
    assert.deepEqual(Object.keys(responses['200']!.headers!), quota)
    assert.equal(responses['404']!.$ref, '#/components/responses/Problem')
    assert.equal(responses['429']!.$ref, '#/components/responses/TooManyRequests')
    assert.equal(responses['503']!.$ref, '#/components/responses/Unavailable')
    assert.deepEqual(Object.keys(components!.responses!['TooManyRequests']!.headers!), ['Retry-After', ...quota])
    assert.deepEqual(Object.keys(components!.headers!), ['Retry-After', ...quota])
    assert.equal((await server.inject('/x')).headers.get('ratelimit-policy'), '"default";q=1;w=60')
    const refused = await server.inject('/x')
    assert.equal(refused.status, 429)
    for (const name of ['retry-after', ...quota]) assert.notEqual(refused.headers.get(name), null, name)
  })

  test('a document without refusals has no component for them', async () => {
    const server = new HttpServer({ logger: null }).use(openapi({ info: INFO })).mapGet('/x', () => 'x')
    assert.equal((await documentOf(server)).components, undefined)
  })
})

describe('what a document describes follows the server', () => {
  const pathsOf = async (server: HttpServer, request: string | InjectRequest = '/openapi.json'): Promise<string[]> =>
    Object.keys(((await server.inject(request)).json() as Document).paths)

  test('after the start: new routes, and policies of the server, of groups and in the place of others', async (t) => {
    const server = new HttpServer('127.0.0.1', 0, { logger: null }).use(openapi({ info: INFO }))
    const group = server.group('/g', { use: [rateLimit({ quota: 5, window: '1m' })] })
    const inner = group.group('/h')
    inner.mapGet('/x', () => 'x')
    await server.start()
    t.after(() => server.stop({ graceMs: 0 }))
    const statuses = async () => Object.keys((await documentOf(server)).paths['/g/h/x']!['get']!.responses)
    assert.deepEqual(await statuses(), ['429', 'default'])
    inner.use({ name: 'rateLimit:default' }) // the count of policies stays the same
    assert.deepEqual(await statuses(), ['default'])
    server.use(shed())
    assert.deepEqual(await statuses(), ['503', 'default'])
    server.mapGet('/later', () => 'x')
    assert.deepEqual(await pathsOf(server), ['/g/h/x', '/later'])
  })

  test('the list of routes stays the same while nothing is added', () => {
    const server = new HttpServer({ logger: null }).mapGet('/x', () => 'x')
    const group = server.group('/g')
    const [routes, inGroup] = [server.routes, group.routes]
    assert.equal(server.routes, routes)
    assert.throws(() => (routes as unknown[]).push(1), TypeError)
    group.beforeSend(() => {})
    assert.notEqual(server.routes, routes)
    assert.notEqual(group.routes, inGroup)
    const later = server.routes
    assert.throws(() => server.map('get', '/y', () => 'x'))
    assert.deepEqual(server.routes, later)
  })

  test('mounted code, and routes that a policy hides, are left out without a warning', async (t) => {
    const server = new HttpServer('127.0.0.1', 0, { logger: null }).use(openapi({ info: INFO, strict: true }))
    mountNode(server, '/old', (_, response) => response.end('old'))
    mountFetch(server, '/', () => new Response('older'))
    const hidden: Policy = { name: 'hidden', describe: () => ({ isDocumented: false }) }
    server
      .mapGet('/x', { use: [hidden] }, () => 'x')
      .mapGet('/y', () => 'y')
      .mapGet('/z/**rest', () => 'z')
    await server.start()
    t.after(() => server.stop({ graceMs: 0 }))
    assert.deepEqual(await pathsOf(server), ['/y', '/z/{rest}'])
    assert.equal((await server.inject('/old/a')).text(), 'old')
  })

  test('the routes of the inspector are left out', async () => {
    const server = new HttpServer({ logger: null, debug: true })
      .use(inspector({ token: 'a-token-of-this-test-only' }))
      .use(openapi({ info: INFO }))
    server.mapGet('/y', () => 'y')
    assert.ok(server.routes.some(({ path }) => path.startsWith('/_weir')))
    assert.deepEqual(await pathsOf(server), ['/y'])
  })

  test('routes of another endpoint are left out, unless include decides', async () => {
    const listen = [{ port: 0 }, { port: 0, name: 'admin' }]
    const serverWith = (options: object): HttpServer => {
      const server = new HttpServer({ logger: null, listen }).use(openapi({ info: INFO, ...options }))
      return server.mapGet('/x', () => 'x').mapGet('/secret', { endpoint: 'admin' }, () => 'x')
    }
    assert.deepEqual(await pathsOf(serverWith({})), ['/x'])
    const asked = { url: '/openapi.json', endpoint: 'admin' } as InjectRequest
    assert.deepEqual(await pathsOf(serverWith({}), asked), ['/x'], 'everybody gets the same document')
    assert.deepEqual(await pathsOf(serverWith({ endpoint: 'admin' }), asked), ['/x', '/secret'])
    assert.deepEqual(await pathsOf(serverWith({ include: () => true })), ['/x', '/secret'])
    const server = new HttpServer({ logger: null, listen })
    server
      .group('/g', { endpoint: 'admin' })
      .use(openapi({ info: INFO }))
      .mapGet('/x', () => 'x')
    assert.deepEqual(await pathsOf(server, { url: '/g/openapi.json', endpoint: 'admin' } as InjectRequest), ['/g/x'])
  })

  test('a module that is installed on two servers has a document of each', async () => {
    const module = openapi({ info: INFO })
    const [first, second] = ['/a', '/b'].map((path) => new HttpServer({ logger: null }).use(module).mapGet(path, () => 'x'))
    assert.deepEqual(await pathsOf(first!), ['/a'])
    assert.deepEqual(await pathsOf(second!), ['/b'])
    assert.deepEqual(await pathsOf(first!), ['/a'])
  })
})

test('a route that requires If-Match says so, and how it refuses', async () => {
  const map = (server: HttpServer): unknown => server.mapPut('/x', { requireIfMatch: true }, () => 'x')
  const statuses = await statusesOf(map)
  for (const status of ['412', '428']) assert.ok(statuses.includes(status))
  const server = new HttpServer({ logger: null }).use(openapi({ info: INFO }))
  map(server)
  const { paths } = (await server.inject('/openapi.json')).json() as { paths: { '/x': { put: { parameters: { name: string }[] } } } }
  assert.deepEqual(
    paths['/x'].put.parameters.map(({ name }) => name),
    ['If-Match'],
  )
})

test('a route with etag states its ETag, the field that names one, and the 304', async () => {
  const server = new HttpServer({ logger: null }).use(openapi({ info: INFO }))
  const tagged = server.group('/tagged', { etag: true })
  tagged.mapGet('/declared', { answers: { 200: t.int } }, () => 5)
  tagged.mapGet('/limited', { answers: { 200: t.int }, use: [rateLimit({ name: 'x', quota: 9, window: '1s' })] }, () => 5)
  tagged.mapGet('/open', () => 5)
  tagged.mapGet('/own', { tag: header('If-None-Match', t.string.optional()), answers: { 200: t.int, 304: null } }, () => 5)
  tagged.mapPut('/declared', { answers: { 200: t.int } }, () => 5)
  server.mapGet('/untagged', { answers: { 200: t.int } }, () => 5)
  const { paths, components } = (await documentOf(server)) as Document & { paths: Record<string, Record<string, Described & Operation>> }
  const shown = ({ parameters = [], responses }: Described & Operation) => [
    parameters.map(({ name }) => name.toLowerCase()),
    Object.entries(responses)
      .filter(([status]) => !(Number(status) >= 400))
      .map(([status, { headers = {} }]) => [status, ...Object.keys(headers)].join(' ')),
  ]
  const got = (path: string) => shown(paths[path]!['get']!)
  assert.deepEqual(got('/tagged/declared'), [['if-none-match'], ['200 ETag', '304 ETag']])
  assert.deepEqual(got('/tagged/limited'), [['if-none-match'], ['200 ETag RateLimit RateLimit-Policy', '304 ETag']])
  assert.deepEqual(got('/tagged/open'), [['if-none-match'], ['304 ETag', 'default']])
  assert.deepEqual(got('/tagged/own'), [['if-none-match'], ['200 ETag', '304']])
  assert.deepEqual(got('/untagged'), [[], ['200']])
  assert.deepEqual(shown(paths['/tagged/declared']!['put']!), [[], ['200']])
  assert.ok('ETag' in components!.headers!)
  const { status, headers } = await server.inject('/tagged/declared')
  const tag = headers.get('etag')!
  assert.deepEqual([status, (await server.inject({ url: '/tagged/declared', headers: { 'If-None-Match': tag } })).status], [200, 304])
})

test('responses that a policy states are described, and what is none is left out', async () => {
  const policies: readonly Policy[] = [
    { name: 'a', describe: () => ({ responses: { 202: { description: 'Later' }, 200: { description: 'Other' }, 99: {}, x: {}, 203: 5 } }) },
    { name: 'b', describe: () => ({ responses: null }) },
    { name: 'c', describe: () => ({ responses: { 202: { description: 'Second' } } }) },
  ]
  const server = new HttpServer({ logger: null }).use(openapi({ info: INFO }))
  server.mapGet('/x', { use: policies, answers: { 200: t.int } }, () => 5)
  const { paths } = (await documentOf(server)) as unknown as { paths: Record<string, { get: { responses: Record<string, Policy> } }> }
  const { responses } = paths['/x']!.get
  assert.deepEqual(Object.keys(responses), ['200', '202'])
  assert.deepEqual(responses['202'], { description: 'Later' })
  assert.notDeepEqual(responses['200'], { description: 'Other' })
})

test('routes for orchestrators and for monitoring are left out', async () => {
  const server = new HttpServer({ logger: null }).use(openapi({ info: INFO, strict: true }))
  server
    .use(health())
    .use(metrics())
    .mapGet('/x', () => 'x')
  assert.deepEqual(Object.keys((await documentOf(server)).paths), ['/x'])
  for (const url of ['/livez', '/metrics']) assert.equal((await server.inject(url)).status, 200)
})

test('what a webhook and signed links need is described, and they refuse what lacks it', async () => {
  const server = new HttpServer({ logger: null }).use(openapi({ info: INFO }))
  const secrets = [`whsec_${'a'.repeat(40)}`]
  for (const scheme of ['standard', 'github', 'stripe'] as const)
    server.mapPost(`/${scheme}`, { body: webhook({ scheme, secrets }), answers: { 204: null } }, () => {})
  const links = signing({ keys: ['k'.repeat(32)] })
  const declared = { signature: header('X-Signature', t.string.optional()), use: [links.required()], answers: { 204: null } }
  server.mapGet('/file', declared, () => {})
  const { paths } = (await documentOf(server)) as unknown as { paths: Record<string, Record<string, Described>> }
  const shown = ({ parameters = [], responses }: Described) => ({
    parameters: parameters.map((one) => `${one.in} ${one.name}${one.required === true ? '' : '?'}`),
    statuses: Object.keys(responses),
  })
  const ofBodies = ['204', '400', '401', '413', '415']
  assert.deepEqual(shown(paths['/standard']!['post']!), {
    parameters: ['header webhook-id', 'header webhook-timestamp', 'header webhook-signature'],
    statuses: ofBodies,
  })
  assert.deepEqual(shown(paths['/github']!['post']!), { parameters: ['header X-Hub-Signature-256'], statuses: ofBodies })
  assert.deepEqual(shown(paths['/stripe']!['post']!), { parameters: ['header Stripe-Signature'], statuses: ofBodies })
  const file = shown(paths['/file']!['get']!)
  assert.deepEqual(file.parameters, ['header x-signature?', 'query signature'])
  for (const status of ['403', '410']) assert.ok(file.statuses.includes(status))
  const body = { method: 'POST', headers: { 'Content-Type': 'application/json' }, body: '{}' }
  assert.equal((await server.inject({ url: '/standard', ...body } as InjectRequest)).status, 401)
  assert.equal((await server.inject('/file')).status, 403)
})

test('parameters of a policy that are none, or that the route declares, are left out', async () => {
  const parameters = [{ name: 'q', in: 'query', schema: { type: 'string' } }, { name: 'Q', in: 'path' }, { in: 'query' }, null, 'q']
  const policies: readonly Policy[] = [
    { name: 'a', describe: () => ({ parameters }) },
    { name: 'b', describe: () => ({ parameters: 5 }) },
  ]
  const server = new HttpServer({ logger: null }).use(openapi({ info: INFO }))
  server.mapGet('/own', { q: t.int, use: policies, answers: { 204: null } }, () => {})
  server.mapGet('/other', { use: policies, answers: { 204: null } }, () => {})
  const { paths } = (await documentOf(server)) as unknown as { paths: Record<string, { get: Described }> }
  assert.deepEqual(paths['/own']!.get.parameters, [{ name: 'q', in: 'query', required: true, schema: { type: 'integer' } }])
  assert.deepEqual(paths['/other']!.get.parameters, [parameters[0]])
})

test('a merge patch is described by its type, with null where it removes', async () => {
  const server = new HttpServer({ logger: null }).use(openapi({ info: INFO }))
  server.mapPatch('/x', { body: mergePatch(t.object({ a: t.int, b: t.string.optional() })) }, () => 'x')
  const document = (await documentOf(server)) as unknown as { paths: { '/x': { patch: { requestBody: object } } } }
  assert.deepEqual(document.paths['/x'].patch.requestBody, {
    required: true,
    content: {
      'application/merge-patch+json': {
        schema: { type: 'object', properties: { a: { type: 'integer' }, b: { type: ['string', 'null'] } } },
      },
    },
  })
})
