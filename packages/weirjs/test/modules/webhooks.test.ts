// Bodies that other services sign.

import assert from 'node:assert/strict'
import { createHmac } from 'node:crypto'
import { describe, test } from 'node:test'
import { HttpError, HttpServer, type InjectResponse, json, multipart, t, text, verified } from '../../src/index.ts'
import { type WebhookOptions, webhook } from '../../src/modules/webhooks/index.ts'
import { connect, type TestClient, TestClock } from '../../src/testing/index.ts'

interface Sent {
  readonly body: string
  readonly headers: Readonly<Record<string, string>>
}

/** A client of a server with one route, whose clock shows a time. @param at seconds since 1970 */
function clientAt(at: number, options: WebhookOptions): TestClient {
  const server = new HttpServer({ logger: null })
  server.mapPost('/', { body: webhook(options) }, ({ body }) => ({ body: body ?? null }))
  return connect(server, { clock: new ClockAt(at * 1000) })
}

/** A clock that shows a time which was given. */
class ClockAt extends TestClock {
  readonly #at: number

  constructor(at: number) {
    super()
    this.#at = at
  }

  override wallTime(): number {
    return this.#at
  }
}

async function post(client: TestClient, { body, headers }: Sent): Promise<string> {
  const response = await client.post('/', { body, headers: { 'Content-Type': 'application/json', ...headers } })
  return response.status === 200 ? `200 ${response.text()}` : `${response.status} ${(response.json() as { code: string }).code}`
}

const UNSIGNED = '401 WEIR_WEBHOOK_UNSIGNED'
const STALE = '400 WEIR_WEBHOOK_STALE'

// Vectors of the public specifications and libraries.

const STANDARD_SECRET = 'whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'
const STANDARD_TIME = 1614265330
const STANDARD: Sent = {
  body: '{"test": 2432232314}',
  headers: {
    'webhook-id': 'msg_p5jXN8AQM9LWM0D4loKWxJek',
    'webhook-timestamp': String(STANDARD_TIME),
    'webhook-signature': 'v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=',
  },
}
const GITHUB_SECRET = "It's a Secret to Everybody"
const GITHUB: Sent = {
  body: '{"zen":"Keep it logically awesome."}',
  headers: { 'x-hub-signature-256': 'sha256=b9f180c4171a9926a5055962b54ec47b0ebee85e62e76c83ebdbb382f77b05ac' },
}
const STRIPE_SECRET = 'whsec_test_secret'
const STRIPE_TIME = 1492774577
const STRIPE: Sent = {
  body: '{"id":"evt_test_webhook","object":"event"}',
  headers: { 'stripe-signature': `t=${STRIPE_TIME},v1=88a022085c6bdb887b02cb26ff76dd681234d9675c0f22844059f55552a8883a` },
}
const EVERY = {
  standard: { options: { scheme: 'standard', secrets: [STANDARD_SECRET] }, sent: STANDARD, at: STANDARD_TIME },
  github: { options: { scheme: 'github', secrets: [GITHUB_SECRET] }, sent: GITHUB, at: STRIPE_TIME },
  stripe: { options: { scheme: 'stripe', secrets: [STRIPE_SECRET] }, sent: STRIPE, at: STRIPE_TIME },
} as const

const withField = (sent: Sent, name: string, value: string): Sent => ({ ...sent, headers: { ...sent.headers, [name]: value } })

for (const [scheme, { options, sent, at }] of Object.entries(EVERY)) {
  const [field] = Object.keys(sent.headers).slice(-1) as [string]

  describe(scheme, () => {
    test('a body that was signed reaches the handler', async () => {
      assert.equal(await post(clientAt(at, options), sent), `200 {"body":${JSON.stringify(JSON.parse(sent.body))}}`)
    })

    test('one that was changed, or not signed, does not', async () => {
      const client = clientAt(at, options)
      const signature = sent.headers[field]!
      const at5 = signature.length - 5
      const other = signature.slice(0, at5) + (signature[at5] === 'b' ? 'c' : 'b') + signature.slice(at5 + 1)
      const changed = [
        { ...sent, body: `${sent.body} ` },
        { ...sent, body: '' },
        { ...sent, headers: {} },
        ...[other, signature.slice(0, -1), '', 'x', signature.replace('=', '')].map((value) => withField(sent, field, value)),
      ]
      for (const one of changed) assert.equal(await post(client, one), UNSIGNED, JSON.stringify(one))
      const response = await client.post('/', { body: sent.body, headers: { 'Content-Type': 'application/json' } })
      assert.equal(response.headers.get('www-authenticate'), `Webhook scheme="${scheme}"`)
    })

    test('nothing is parsed before it was verified', async () => {
      const client = clientAt(at, { ...options, body: t.object({ never: t.int }) })
      assert.equal(await post(client, { ...sent, body: '{' }), UNSIGNED)
      assert.equal(await post(client, sent), '400 WEIR_BODY_INVALID')
    })

    test('any of several secrets may have signed it', async () => {
      const other = scheme === 'standard' ? `whsec_${Buffer.alloc(24, 1).toString('base64')}` : 'another secret'
      assert.match(await post(clientAt(at, { ...options, secrets: [other, ...options.secrets] }), sent), /^200/)
      assert.equal(await post(clientAt(at, { ...options, secrets: [other] }), sent), UNSIGNED)
    })
  })
}

for (const scheme of ['standard', 'stripe'] as const) {
  const { options, sent, at } = EVERY[scheme]

  test(`${scheme}: a time that is not within the tolerance is refused, and a changed one`, async () => {
    for (const [shift, status] of [
      [299, /^200/] as const,
      [-299, /^200/] as const,
      [301, /^400 WEIR_WEBHOOK_STALE/] as const,
      [-301, /^400/] as const,
    ])
      assert.match(await post(clientAt(at + shift, options), sent), status, `${shift} s`)
    assert.match(await post(clientAt(at + 301, { ...options, tolerance: '10m' }), sent), /^200/)
    const text = JSON.stringify(sent.headers).replace(String(at), String(at + 1))
    assert.equal(await post(clientAt(at, options), { ...sent, headers: JSON.parse(text) as Sent['headers'] }), UNSIGNED)
  })

  test(`${scheme}: a request that is sent again is refused`, async () => {
    const client = clientAt(at, options)
    assert.match(await post(client, sent), /^200/)
    assert.equal(await post(client, sent), STALE)
    const [field] = Object.keys(sent.headers).slice(-1) as [string]
    const twice = withField(sent, field, scheme === 'stripe' ? `${sent.headers[field]},v0=x` : `v1a,x ${sent.headers[field]}`)
    assert.equal(await post(client, twice), STALE, 'whatever stands beside the signature')
  })
}

test('a request that failed may be sent again with the same bytes, and never while it runs', async () => {
  const { options, sent, at } = EVERY.standard
  const server = new HttpServer({ logger: null })
  const runs: ((status: number) => void)[] = []
  const running = async (): Promise<number> => {
    const status = await new Promise<number>((resolve) => runs.push(resolve))
    if (status === 0) throw new Error('The database is down.')
    return status
  }
  server.mapPost('/', { body: webhook(options) }, async (_, { response }) => response.status(await running()).text('ran'))
  const clock = new ClockAt(at * 1000)
  const headers = { 'Content-Type': 'application/json', ...sent.headers }
  const send = async (): Promise<number> => (await connect(server, { clock }).post('/', { body: sent.body, headers })).status
  for (const [status, expected] of [
    [0, 500],
    [503, 503],
    [200, 200],
  ] as const) {
    const first = send()
    while (runs.length === 0) await new Promise(setImmediate)
    assert.equal(await send(), 400, 'while the first runs')
    runs.pop()!(status)
    assert.equal(await first, expected)
  }
  assert.equal(await send(), 400, 'after a success')
})

test('a request whose handler stopped because the client had left may be sent again', async () => {
  const { options, sent, at } = EVERY.standard
  const server = new HttpServer({ logger: null })
  let runs = 0
  const stopped = (signal: AbortSignal): Promise<never> =>
    new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error)))
  server.mapPost('/', { body: webhook(options) }, (_, { signal }) => (++runs === 1 ? stopped(signal) : 'ran'))
  const clock = new ClockAt(at * 1000)
  const headers = { 'Content-Type': 'application/json', ...sent.headers }
  const leaving = connect(server, { clock })
  const first = leaving.post('/', { body: sent.body, headers })
  while (runs === 0) await new Promise(setImmediate)
  leaving.abort()
  await assert.rejects(first)
  await new Promise(setImmediate)
  assert.equal((await connect(server, { clock }).post('/', { body: sent.body, headers })).status, 200)
})

test('a request whose time was over may be sent again once its handler has ended', async () => {
  const { options, sent, at } = EVERY.standard
  const clock = new ClockAt(at * 1000)
  const server = new HttpServer({ logger: null, timeouts: { requestTimeout: 1_000 } })
  const ends: (() => void)[] = []
  server.mapPost('/', { body: webhook(options) }, () => new Promise<void>((resolve) => ends.push(resolve)))
  const headers = { 'Content-Type': 'application/json', ...sent.headers }
  const send = async (): Promise<number> => (await connect(server, { clock }).post('/', { body: sent.body, headers })).status
  const first = send()
  while (ends.length === 0) await new Promise(setImmediate)
  clock.advance(5_000)
  assert.equal(await first, 503)
  assert.equal(await send(), 400, 'its handler still runs')
  ends.pop()!()
  await new Promise(setImmediate)
  const again = send()
  while (ends.length === 0) await new Promise(setImmediate)
  ends.pop()!()
  assert.equal(await again, 204)
})

for (const scheme of ['standard', 'stripe'] as const) {
  const { options, sent, at } = EVERY[scheme]
  const other = scheme === 'standard' ? `whsec_${Buffer.alloc(24, 2).toString('base64')}` : 'another secret'

  test(`${scheme}: a request that one route has received is refused at every other of its server that knows the secret`, async () => {
    const declared: readonly WebhookOptions[] = [
      options,
      { ...options },
      { ...options, secrets: [other, ...options.secrets] },
      { ...options, secrets: [...options.secrets, other], tolerance: '1h' },
    ]
    for (const first of declared.keys()) {
      const server = new HttpServer({ logger: null })
      for (const [i, one] of declared.entries()) server.mapPost(`/${i}`, { body: webhook(one) }, () => 'ok')
      const headers = { 'Content-Type': 'application/json', ...sent.headers }
      const client = connect(server, { clock: new ClockAt(at * 1000) })
      const statusAt = async (i: number): Promise<number> => (await client.post(`/${i}`, { body: sent.body, headers })).status
      assert.equal(await statusAt(first), 200)
      for (const i of declared.keys()) assert.equal(await statusAt(i), 400, `received at ${first}, sent again to ${i}`)
      const later = connect(server, { clock: new ClockAt(at * 1000 + 30 * 60_000) })
      assert.equal((await later.post('/3', { body: sent.body, headers })).status, 400, 'while the longest tolerance accepts its time')
      assert.match(await post(clientAt(at, options), sent), /^200/, 'another server knows nothing of it')
    }
  })
}

for (const scheme of ['standard', 'stripe'] as const) {
  test(`${scheme}: a request that two secrets have signed is the same with any one of its signatures`, async () => {
    const { at, options, sent } = EVERY[scheme]
    const [field, signature] = Object.entries(sent.headers).at(-1)!
    const key = Buffer.alloc(24, 1)
    const mac = createHmac('sha256', scheme === 'standard' ? key : 'another secret')
    const other = scheme === 'standard' ? `whsec_${key.toString('base64')}` : 'another secret'
    const second =
      scheme === 'standard'
        ? `v1,${mac.update(`${STANDARD.headers['webhook-id']}.${at}.${sent.body}`).digest('base64')}`
        : `v1=${mac.update(`${at}.${sent.body}`).digest('hex')}`
    const only = scheme === 'standard' ? second : `t=${at},${second}`
    const both = scheme === 'standard' ? `${signature} ${second}` : `${signature},${second}`
    for (const secrets of [
      [other, ...options.secrets],
      [...options.secrets, other],
    ])
      for (const [first, again] of [
        [both, only],
        [both, signature],
        [only, signature],
        [signature, only],
      ] as const) {
        const client = clientAt(at, { ...options, secrets })
        assert.match(await post(client, withField(sent, field, first)), /^200/)
        assert.equal(await post(client, withField(sent, field, again)), STALE)
      }
  })
}

test('one sender cannot have the requests of another forgotten, by however many of its own', async () => {
  const { at, options, sent } = EVERY.standard
  const other = `whsec_${Buffer.alloc(24, 1).toString('base64')}`
  const client = clientAt(at, { ...options, secrets: [other, ...options.secrets] })
  assert.match(await post(client, sent), /^200/)
  const { sign } = webhook({ scheme: 'standard', secrets: [other] })
  for (let i = 0; i < 10_001; i++) assert.match(await post(client, { body: '1', headers: sign('1', new Date(at * 1000)) }), /^200/)
  assert.equal(await post(client, sent), STALE)
})

test('standard: one signature for each secret of the sender', async () => {
  const other = `v1,${Buffer.alloc(32).toString('base64')}`
  const { at, options, sent } = EVERY.standard
  const signature = sent.headers['webhook-signature']
  for (const value of [`${other} ${signature}`, `${signature} ${other}`, `v1a,${'A'.repeat(80)} ${signature}`])
    assert.match(await post(clientAt(at, options), withField(sent, 'webhook-signature', value)), /^200/)
  const many = `${`${other} `.repeat(100)}${signature}`
  assert.equal(await post(clientAt(at, options), withField(sent, 'webhook-signature', many)), UNSIGNED)
})

test('stripe: signatures of other versions do not count, and there is one time', async () => {
  const { at, options, sent } = EVERY.stripe
  const signature = sent.headers['stripe-signature']
  for (const [value, expected] of [
    [signature!.replace('v1', 'v0'), UNSIGNED],
    [`t=1,${signature}`, UNSIGNED],
    [`v1=${'0'.repeat(64)}, ${signature}`, '200'],
    [`${'v0=,'.repeat(2_000)}${signature}`, '200'],
    [`${'v0=,'.repeat(2_048)}${signature}`, UNSIGNED], // longer than any signature
  ] as const)
    assert.ok((await post(clientAt(at, options), withField(sent, 'stripe-signature', value))).startsWith(expected), value.slice(0, 100))
})

test('a body in bytes that are not text is verified as it came', async () => {
  const server = new HttpServer({ logger: null })
  server.mapPost('/', { body: webhook({ scheme: 'github', secrets: ['x'] }) }, () => 'never')
  const bytes = Buffer.from([0x22, 0xff, 0x00, 0x22])
  const signature = createHmac('sha256', 'x').update(bytes).digest('hex')
  const response = await server.inject({
    method: 'POST',
    url: '/',
    body: bytes,
    headers: { 'Content-Type': 'application/json', 'X-Hub-Signature-256': `sha256=${signature}` },
  })
  assert.equal((response.json() as { code: string }).code, 'WEIR_BODY_MALFORMED')
})

test('mistakes of the program are errors, and never contain a secret', () => {
  for (const options of [
    undefined,
    {},
    { scheme: 'slack', secrets: ['hunter2'] },
    { scheme: 'github', secrets: [] },
    { scheme: 'github', secrets: 'hunter2' },
    { scheme: 'github', secrets: [''] },
    { scheme: 'github', secrets: [undefined] },
    { scheme: 'standard', secrets: ['whsec_hunter2'] },
    { scheme: 'stripe', secrets: ['hunter2'], tolerance: 0 },
    { scheme: 'stripe', secrets: ['hunter2'], body: 5 },
  ])
    assert.throws(
      () => webhook(options as never),
      (error: Error & { code?: string }) => error.code === 'WEIR_OPTION_INVALID' && !error.message.includes('hunter2'),
      JSON.stringify(options),
    )
})

describe('verified()', () => {
  test('is called once the whole body has arrived, with its bytes, and before it is parsed', async () => {
    const server = new HttpServer({ logger: null })
    const seen: string[] = []
    const body = verified(json(t.object({ a: t.int })), ({ bytes, field, now }) => {
      seen.push(`${Buffer.from(bytes)} ${field('x-a')} ${field('x-b')} ${now > 0}`)
      if (field('x-a') === null) throw new HttpError(403, 'no')
    })
    server.mapPost('/', { body }, ({ body: { a } }) => a + 1)
    const send = (text: string, headers: Record<string, string>, type = 'application/json'): Promise<InjectResponse> =>
      server.inject({ method: 'POST', url: '/', body: text, headers: { 'Content-Type': type, ...headers } })
    assert.equal((await send('{"a":1}', { 'X-A': 'x' })).text(), '2')
    assert.equal((await send('{', {})).status, 403)
    assert.equal((await send('{', { 'X-A': 'x' })).status, 400)
    assert.equal((await send('{}', { 'X-A': 'x' }, 'text/plain')).status, 415)
    assert.deepEqual(seen, ['{"a":1} x null true', '{ null null true', '{ x null true'])
  })

  test('waits for a promise, and refuses by nothing but an error', async () => {
    const verdicts: readonly (readonly [verify: () => unknown, status: number])[] = [
      [async () => {}, 200],
      [() => undefined, 200],
      [() => Promise.reject(new HttpError(403, 'no')), 403],
      [() => false, 500],
      [() => true, 500],
      [async () => false, 500],
    ]
    for (const [verify, status] of verdicts) {
      const server = new HttpServer({ logger: null })
      server.mapPost('/', { body: verified(text(), verify as () => void) }, ({ body }) => body)
      const response = await server.inject({ method: 'POST', url: '/', body: 'x', headers: { 'Content-Type': 'text/plain' } })
      assert.equal(response.status, status, String(verify))
    }
    // @ts-expect-error a verdict would be ignored
    verified(text(), () => false)
  })

  test('is not asked by explain, which must not count as a request', async () => {
    const server = new HttpServer({ logger: null })
    let calls = 0
    server.mapPost(
      '/',
      {
        body: verified(text(), () => {
          calls++
        }),
      },
      ({ body }) => body,
    )
    await server.explain({ method: 'POST', url: '/', body: 'x', headers: { 'Content-Type': 'text/plain' } })
    assert.equal(calls, 0)
    await server.inject({ method: 'POST', url: '/', body: 'x', headers: { 'Content-Type': 'text/plain' } })
    assert.equal(calls, 1)
  })

  test('replaces no policy of the program', async () => {
    const server = new HttpServer({ logger: null }).use({ name: 'verified', gate: ({ response }) => response.unauthorized() })
    server.mapPost('/', { body: verified(text(), () => {}) }, ({ body }) => body)
    assert.equal((await server.inject({ method: 'POST', url: '/', body: 'x', headers: { 'Content-Type': 'text/plain' } })).status, 401)
  })

  test('is for bodies that are gathered', () => {
    for (const body of [multipart({}), t.object({}), undefined])
      assert.throws(() => verified(body as never, () => {}), { code: 'WEIR_OPTION_INVALID' })
    assert.throws(() => verified(text(), undefined as never), { code: 'WEIR_OPTION_INVALID' })
  })
})

for (const [scheme, secret] of [
  ['standard', STANDARD_SECRET],
  ['github', GITHUB_SECRET],
  ['stripe', 'whsec_of_stripe'],
] as const)
  test(`sign: a body of ${scheme} that the program has signed itself is accepted, and no other`, async () => {
    const signer = webhook({ scheme, secrets: [secret, STANDARD_SECRET] })
    const client = clientAt(STANDARD_TIME, { scheme, secrets: [secret] })
    const at = new Date(STANDARD_TIME * 1000)
    assert.equal(await post(client, { body: '"ä"', headers: signer.sign('"ä"', at) }), '200 {"body":"ä"}')
    assert.equal(await post(client, { body: '"a"', headers: signer.sign(Buffer.from('"a"'), at) }), '200 {"body":"a"}')
    assert.equal(await post(client, { body: '"b"', headers: signer.sign('"a"', at) }), UNSIGNED)
    if (scheme !== 'github') assert.equal(await post(client, { body: '"c"', headers: signer.sign('"c"', new Date(0)) }), STALE)
    assert.throws(() => signer.sign({ type: 'paid' } as never), /the body is an object, not the text .*: write JSON\.stringify/)
  })
