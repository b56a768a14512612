// With a CA for real: bad nonces, both kinds of challenges, names and addresses, and a store that outlives the server.

import assert from 'node:assert/strict'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'

import { HttpServer } from 'weirjs'

import { freePort } from '../../../test/proxies/proxy.ts'
import { temporaryDirectory } from '../../weirjs/test/support/temporary.ts'
import { type AcmeOptions, acme } from '../src/index.ts'
import { noPebble, startPebble } from './pebble.ts'
import { eventually, seen } from './seen.ts'

interface Site {
  readonly server: HttpServer
  readonly logged: string[]
}

async function siteOn(t: TestContext, httpPort: number | null, tlsPort: number, options: AcmeOptions): Promise<Site> {
  const logged: string[] = []
  const note = (message: string): void => void logged.push(message)
  const certificates = await acme(options)
  const server = new HttpServer({
    hosts: ['unrelated.test'],
    logger: { error: note, warn: note, info: note },
    listen: [
      ...(httpPort === null ? [] : [{ address: '127.0.0.1', port: httpPort }]),
      { address: '127.0.0.1', port: tlsPort, tls: certificates.tls, http2: true },
    ],
  })
  server.use(certificates)
  server.gate(() => assert.fail('a challenge comes before policies'))
  await server.start()
  t.after(() => server.stop({ grace: 0 }))
  return { server, logged }
}

async function ports(): Promise<{ httpPort: number; tlsPort: number }> {
  return { httpPort: await freePort(), tlsPort: await freePort() }
}

test('http-01 for names, with every other nonce refused; the store serves the next start without the CA', { skip: noPebble }, async (t) => {
  const { httpPort, tlsPort } = await ports()
  const pebble = await startPebble(t, { httpPort, tlsPort, rejected: 50 })
  const store = join(temporaryDirectory(t), 'acme')
  const options = { domains: ['weir.test', 'www.weir.test'], email: 'ops@weir.test', store, challenges: ['http-01'] as const, ...pebble }
  const { server, logged } = await siteOn(t, httpPort, tlsPort, options)
  assert.equal((await seen(tlsPort)).subject.CN, 'no certificate yet')
  await eventually(async () => /weir\.test/.test((await seen(tlsPort)).subjectaltname ?? ''))
  assert.equal((await seen(tlsPort)).subjectaltname, 'DNS:weir.test, DNS:www.weir.test')
  await server.stop()
  assert.equal(statSync(store).mode & 0o777, 0o700)
  for (const file of readdirSync(store)) assert.equal(statSync(join(store, file)).mode & 0o777, 0o600, file)
  assert.doesNotMatch(logged.join('\n'), /PRIVATE|BEGIN/)

  const calls: string[] = []
  const again = await siteOn(t, httpPort, tlsPort, {
    ...options,
    fetch: (url) => {
      calls.push(String(url))
      return Promise.reject(new Error('away'))
    },
  })
  assert.equal((await seen(tlsPort)).subjectaltname, 'DNS:weir.test, DNS:www.weir.test')
  assert.match(again.logged.join('\n'), /weir\.test, www\.weir\.test is used from the store, valid until \d{4}-/)
})

test('tls-alpn-01 alone, with an account of the CA, while clients with h2 connect', { skip: noPebble }, async (t) => {
  const { httpPort, tlsPort } = await ports()
  const key = 'zWNDZM6eQGHWpSRTPal5eIUYFTu7EajVIoguysqZ9wG44nMEtx3MUAsUDkMTQ12W'
  const pebble = await startPebble(t, { httpPort, tlsPort, rejected: 20, eab: { one: key } })
  await siteOn(t, null, tlsPort, { domains: ['alpn.test'], store: temporaryDirectory(t), eab: { kid: 'one', key }, ...pebble })
  await eventually(async () => (await seen(tlsPort, 'alpn.test')).subjectaltname === 'DNS:alpn.test')
})

test('an address, by either kind of challenge', { skip: noPebble }, async (t) => {
  for (const challenge of ['http-01', 'tls-alpn-01'] as const) {
    const { httpPort, tlsPort } = await ports()
    const pebble = await startPebble(t, { httpPort, tlsPort, rejected: 0 })
    await siteOn(t, httpPort, tlsPort, { domains: ['127.0.0.1'], store: temporaryDirectory(t), challenges: [challenge], ...pebble })
    await eventually(async () => (await seen(tlsPort)).subjectaltname === 'IP Address:127.0.0.1')
  }
})

test('a certificate for each list of names, chosen by the name of the client', { skip: noPebble }, async (t) => {
  const { httpPort, tlsPort } = await ports()
  const pebble = await startPebble(t, { httpPort, tlsPort, rejected: 0 })
  await siteOn(t, httpPort, tlsPort, { domains: [['one.test'], ['two.test', 'www.two.test']], store: temporaryDirectory(t), ...pebble })
  await eventually(async () => (await seen(tlsPort, 'www.two.test')).subjectaltname === 'DNS:two.test, DNS:www.two.test')
  await eventually(async () => (await seen(tlsPort, 'one.test')).subjectaltname === 'DNS:one.test')
})
