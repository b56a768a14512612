// What HttpArena's validation asks of an entry, in our own words: every endpoint with values that are drawn anew, by its own rules.
import assert from 'node:assert/strict'
import { randomBytes, randomInt } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'

import { exchange, handshake, overHttp2, readResponse, sendInPieces, WebSocketClient } from './client.mjs'
import { FILES, ITEMS, newCertificate } from './place.mjs'

const AEAD = ['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256']
const PIECES_PAUSE_MS = 60
const PIECES_AT_ONCE = 256
const STALE_MS = 2000
const RENEWAL_MS = 30_000
const TEXT = 1
const BINARY = 2
const CLOSE = 8

/** A value of the field without its parameters; both names of JavaScript's type are right. */
const typeOf = ({ fields }) =>
  String(fields['content-type'])
    .split(';')[0]
    .replace(/^application\/javascript$/, 'text/javascript')
const some = () => randomInt(100, 1000)

/** @param {any} response @param {string} type @param {string | Buffer} body */
function is(response, type, body) {
  assert.equal(response.status, 200)
  assert.equal(typeOf(response), type)
  assert.equal(response.body.toString('latin1'), Buffer.from(body).toString('latin1'))
}

function isItems(response, count, m) {
  assert.equal(response.status, 200)
  assert.equal(typeOf(response), 'application/json')
  const items = ITEMS.slice(0, count).map((item) => ({ ...item, total: item.price * item.quantity * m }))
  const coding = response.fields['content-encoding']
  const bytes = { br: brotliDecompressSync, gzip: gunzipSync }[coding]?.(response.body) ?? response.body
  assert.deepEqual(JSON.parse(bytes.toString()), { items, count })
}

const drawItems = () => Array.from({ length: 4 }, () => [randomInt(1, 51), randomInt(2, 98)])

async function baseline({ ports: { plain: port } }) {
  const path = '/baseline11?a=13&b=42'
  is(await exchange({ port, path }), 'text/plain', '55')
  const post = { port, path, method: 'POST' }
  for (const fields of [{ 'Content-Type': 'text/plain' }, {}]) {
    is(await exchange({ ...post, fields, body: '20' }), 'text/plain', '75')
    is(await exchange({ ...post, fields, body: '20', isChunked: true }), 'text/plain', '75')
  }
  for (let i = 0; i < 3; i++) {
    const [a, b, c] = [some(), some(), some()]
    is(await exchange({ port, path: `/baseline11?a=${a}&b=${b}` }), 'text/plain', String(a + b))
    is(await exchange({ ...post, body: String(c) }), 'text/plain', String(55 + c))
  }
}

/** Every request shape, cut at every byte. */
async function fragments({ ports: { plain: port } }) {
  const [a, b, c] = [some(), some(), some()]
  const get = (query, fields = 'Host: localhost\r\nConnection: close\r\n') => `GET /baseline11?${query} HTTP/1.1\r\n${fields}\r\n`
  const post = (query, fields, body) =>
    `POST /baseline11?${query} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n${fields}\r\n\r\n${body}`
  const shapes = [
    [get('a=13&b=42'), 55],
    [get('a=13&b=42', 'Host: localhost\r\nUser-Agent: arena\r\nAccept: */*\r\nAccept-Encoding: gzip, br\r\nConnection: close\r\n'), 55],
    [get('a=13&b=42', 'host: localhost\r\nconnection: close\r\n'), 55],
    [get(`a=${a}&b=${b}`), a + b],
    [post('a=13&b=42', 'Content-Type: text/plain\r\nContent-Length: 2', '20'), 75],
    [post('a=13&b=42', 'content-type: text/plain\r\ncontent-length: 2', '20'), 75],
    [post(`a=${a}&b=${b}`, 'Content-Length: 3', String(c)), a + b + c],
    [post('a=13&b=42', 'Transfer-Encoding: chunked', '2\r\n20\r\n0\r\n\r\n'), 75],
    [post('a=13&b=42', 'Transfer-Encoding: chunked', '1\r\n2\r\n1\r\n0\r\n0\r\n\r\n'), 75],
  ]
  const cuts = shapes.flatMap(([text, sum]) => Array.from({ length: text.length - 1 }, (_, i) => ({ text, sum, at: i + 1 })))
  for (let from = 0; from < cuts.length; from += PIECES_AT_ONCE)
    await Promise.all(
      cuts.slice(from, from + PIECES_AT_ONCE).map(async ({ text, sum, at }) => {
        const answer = readResponse(await sendInPieces(port, [text.slice(0, at), text.slice(at)], PIECES_PAUSE_MS))
        assert.deepEqual(answer, { status: 200, body: String(sum) }, `${JSON.stringify(text)} cut at ${at}`)
      }),
    )
}

async function pipelined({ ports: { plain: port } }) {
  is(await exchange({ port, path: '/pipeline' }), 'text/plain', 'ok')
  const one = 'GET /pipeline HTTP/1.1\r\nHost: localhost\r\n\r\n'
  const text = await sendInPieces(port, [`${one.repeat(15)}${one.replace('\r\n\r\n', '\r\nConnection: close\r\n\r\n')}`], 0)
  assert.equal([...text.matchAll(/HTTP\/1\.1 200 /g)].length, 16)
  assert.equal([...text.matchAll(/\r\n\r\nok/g)].length, 16)
}

async function limitedConn({ ports: { plain: port } }) {
  for (let i = 0; i < 20; i++) is(await exchange({ port, path: `/baseline11?a=${i}&b=1` }), 'text/plain', String(i + 1))
}

async function delays({ ports: { plain: port } }) {
  const after = async (ms) => {
    const response = await exchange({ port, path: `/delay/${ms}` })
    is(response, 'text/plain', String(ms))
    assert.ok(response.ms >= ms * 0.9, `${response.ms} ms for a delay of ${ms} ms`)
    return response.ms
  }
  await after(0)
  await after(randomInt(10, 91))
  const short = await after(10)
  const long = await after(500)
  assert.ok(long - short >= 300 && short <= 2000, `${short} and ${long} ms`)
  await Promise.all(Array.from({ length: 32 }, (_, i) => after(100 + ((i * 13) % 400))))
}

async function jsonComp({ ports: { plain: port } }) {
  for (const [count, m] of drawItems()) {
    const plain = await exchange({ port, path: `/json/${count}?m=${m}` })
    isItems(plain, count, m)
    assert.equal(plain.fields['content-encoding'], undefined)
    isItems(await exchange({ port, path: `/json/${count}?m=${m}`, fields: { 'Accept-Encoding': 'gzip, br' } }), count, m)
  }
  const packed = await exchange({ port, path: '/json/50?m=1', fields: { 'Accept-Encoding': 'gzip, br' } })
  assert.match(packed.fields['content-encoding'], /^(gzip|br)$/)
}

async function jsonTls({ ports: { tls: port }, folder }) {
  await modern(port, folder, 'http/1.1')
  for (const [count, m] of drawItems()) isItems(await exchange({ port, path: `/json/${count}?m=${m}`, isSecure: true }), count, m)
}

/** The certificate that was given, TLS 1.3 with an AEAD, a protocol that the client offered, and nothing older than TLS 1.2. */
async function modern(port, folder, alpn) {
  const { X509Certificate } = await import('node:crypto')
  const given = new X509Certificate(readFileSync(join(folder, 'certs/server.crt'))).fingerprint256
  const { alpn: got, version, cipher, fingerprint256 } = await handshake(port, { ALPNProtocols: [alpn] })
  assert.equal(fingerprint256, given)
  assert.equal(version, 'TLSv1.3')
  assert.ok(AEAD.includes(cipher), cipher)
  assert.ok(got === alpn || (got === false && alpn === 'http/1.1'), String(got))
  const old = { minVersion: 'TLSv1', maxVersion: 'TLSv1.1', ciphers: 'ALL:@SECLEVEL=0' }
  await assert.rejects(handshake(port, old))
  for (const family of ['aNULL', 'RC4', '3DES', 'NULL'])
    await assert.rejects(async () => handshake(port, { maxVersion: 'TLSv1.2', ciphers: `${family}:@SECLEVEL=0` }))
}

async function echo({ ports: { tls: port } }) {
  const post = { port, path: '/echo', method: 'POST', isSecure: true, fields: { 'Content-Type': 'application/octet-stream' } }
  for (const size of [1, 1024, 10_240, 102_400]) {
    const body = randomBytes(size)
    const { status, body: got, fields } = await exchange({ ...post, body })
    assert.equal(status, 200)
    assert.ok(got.equals(body), `${size} bytes`)
    if (size === 10_240) assert.equal(fields['content-length'], String(size))
    if (size > 1024) assert.ok((await exchange({ ...post, body, isChunked: true })).body.equals(body), `${size} bytes in chunks`)
  }
  const fields = { 'Content-Type': 'application/x-www-form-urlencoded' }
  const empty = await exchange({ ...post, fields, body: '' })
  assert.deepEqual([empty.status, empty.body.length], [200, 0])
}

async function staticTls({ ports: { tls: port }, folder }) {
  const get = (name, accepted) =>
    exchange({ port, path: `/static/${name}`, isSecure: true, fields: accepted === undefined ? {} : { 'Accept-Encoding': accepted } })
  for (const { name, type, bytes } of FILES) {
    is(await get(name), type, bytes)
    isFile(await get(name, 'br;q=1, gzip;q=0.8'), type, bytes)
  }
  assert.equal((await get('nonexistent.txt')).status, 404)
  for (const [name, accepted] of [
    ['hero.webp', 'identity'],
    ['app.js', 'br;q=1, gzip;q=0.8'],
  ])
    await followsDisk(join(folder, 'data/static', name), async () => (await get(name, accepted)).body)
}

function isFile(response, type, bytes) {
  assert.equal(response.status, 200)
  assert.equal(typeOf(response), type)
  const decode = { br: brotliDecompressSync, gzip: gunzipSync }[response.fields['content-encoding']]
  assert.ok((decode?.(response.body) ?? response.body).equals(bytes))
}

/** A file that is replaced, with its compressed versions, by one of the same length. */
async function followsDisk(file, read) {
  const before = await read()
  const places = ['', '.br', '.gz'].map((suffix) => file + suffix)
  const kept = new Map()
  for (const place of places)
    try {
      const bytes = readFileSync(place)
      kept.set(place, bytes)
      writeFileSync(`${place}.next`, randomBytes(bytes.length))
      renameSync(`${place}.next`, place)
    } catch {} // binary files have no compressed versions
  try {
    await within(STALE_MS, async () => !(await read()).equals(before))
  } finally {
    for (const [place, bytes] of kept) {
      writeFileSync(`${place}.next`, bytes)
      renameSync(`${place}.next`, place)
    }
  }
  await within(STALE_MS, async () => (await read()).equals(before))
}

async function within(ms, holds) {
  const until = performance.now() + ms
  while (!(await holds())) {
    assert.ok(performance.now() < until, `not within ${ms} ms`)
    await pause(100)
  }
}

async function baselineH2({ ports: { h2: port }, folder }) {
  await modern(port, folder, 'h2')
  await sums({ port, isSecure: true })
}

async function sums(place) {
  const numbers = [[13, 42], ...Array.from({ length: 8 }, () => [some(), some()])]
  const responses = await overHttp2({ ...place, paths: numbers.map(([a, b]) => `/baseline2?a=${a}&b=${b}`) })
  for (const [i, [a, b]] of numbers.entries()) is(responses[i], 'text/plain', String(a + b))
}

async function staticH2({ ports: { h2: port } }) {
  const paths = FILES.map(({ name }) => `/static/${name}`)
  const packed = await overHttp2({ port, isSecure: true, paths, fields: { 'accept-encoding': 'br;q=1, gzip;q=0.8' } })
  const plain = await overHttp2({ port, isSecure: true, paths })
  for (const [i, { type, bytes }] of FILES.entries()) {
    isFile(packed[i], type, bytes)
    is(plain[i], type, bytes)
  }
  const [none] = await overHttp2({ port, isSecure: true, paths: ['/static/nonexistent.txt'] })
  assert.equal(none.status, 404)
}

async function jsonH2c({ ports: { h2c: port } }) {
  const drawn = drawItems()
  const responses = await overHttp2({ port, isSecure: false, paths: drawn.map(([count, m]) => `/json/${count}?m=${m}`) })
  for (const [i, [count, m]] of drawn.entries()) isItems(responses[i], count, m)
}

async function asyncDb({ ports: { plain: port } }) {
  for (let i = 0; i < 4; i++) {
    const min = randomInt(1, 121)
    const max = min + randomInt(20, 301)
    const limit = randomInt(1, 51)
    const response = await exchange({ port, path: `/async-db?min=${min}&max=${max}&limit=${limit}` })
    assert.equal(typeOf(response), 'application/json')
    const { items, count } = JSON.parse(response.body.toString())
    assert.deepEqual([response.status, count, items.length], [200, limit, limit])
    for (const item of items) {
      const { id, name, category, price, quantity, active, tags, rating, ...rest } = item
      assert.ok([id, price, quantity, rating.score, rating.count].every(Number.isInteger) && price >= min && price <= max)
      assert.ok([name, category].every((text) => typeof text === 'string') && typeof active === 'boolean' && Array.isArray(tags))
      assert.deepEqual(rest, {})
    }
  }
  const none = await exchange({ port, path: '/async-db?min=9999&max=9999&limit=50' })
  assert.deepEqual(JSON.parse(none.body.toString()), { items: [], count: 0 })
  const usual = await exchange({ port, path: '/async-db' })
  assert.equal(JSON.parse(usual.body.toString()).count, 50)
}

async function fortunes({ ports: { plain: port } }) {
  const response = await exchange({ port, path: '/fortunes' })
  assert.equal(response.status, 200)
  assert.equal(typeOf(response), 'text/html')
  const page = response.body.toString()
  assert.match(page, /<!doctype html>/i)
  assert.ok(page.length >= 18_432 && page.length <= 65_536, `${page.length} characters`)
  const rows = [...page.matchAll(/<tr><td>(\d+)<\/td><td>(.*?)<\/td><\/tr>/g)].map(([, id, text]) => ({
    id: Number(id),
    message: decodeEntities(text),
  }))
  assert.equal([...page.matchAll(/<tr/g)].length, 202)
  assert.ok(page.includes('&lt;script&gt;') && !page.includes('<script>'))
  const { fortunes: seeded } = await import('./postgres.mjs')
  const expected = [...seeded(), { id: 0, message: 'Additional fortune added at request time.' }]
  expected.sort((one, other) => Buffer.compare(Buffer.from(one.message), Buffer.from(other.message)))
  assert.deepEqual(rows, expected)
}

const ENTITIES = { '&lt;': '<', '&gt;': '>', '&amp;': '&', '&quot;': '"', '&#39;': "'" }
const decodeEntities = (text) => text.replace(/&(?:lt|gt|amp|quot|#39);/g, (entity) => ENTITIES[entity])

async function echoWs({ ports: { plain: port } }) {
  const client = await WebSocketClient.open(port)
  assert.match(client.head, /^HTTP\/1\.1 101 /)
  assert.equal(/\r\nsec-websocket-accept: *(\S+)/i.exec(client.head)?.[1], client.expectedAccept)
  const isEchoed = async (opcode, payload) => {
    const got = await client.next()
    assert.equal(got.opcode, opcode)
    assert.ok(got.payload.equals(payload))
  }
  const binary = randomBytes(256)
  client.send(TEXT, Buffer.from('hello'))
  await isEchoed(TEXT, Buffer.from('hello'))
  client.send(BINARY, binary)
  await isEchoed(BINARY, binary)
  const several = Array.from({ length: 16 }, (_, i) => Buffer.from(`message ${i} ${some()}`))
  for (const message of several) client.send(TEXT, message)
  for (const message of several) await isEchoed(TEXT, message)
  client.send(CLOSE, Buffer.from([0x03, 0xe8]))
  assert.equal((await client.next()).opcode, CLOSE)
  client.destroy()
  const refused = await exchange({ port, path: '/ws' })
  assert.ok(refused.status >= 400 && refused.status < 500, `${refused.status} for a GET without an upgrade`)
  const again = await WebSocketClient.open(port)
  again.send(TEXT, Buffer.from('health'))
  assert.equal((await again.next()).payload.toString(), 'health')
  again.destroy()
}

/** What `tls_check` adds: a certificate that is replaced under load, with a server name and without one. */
async function tlsCheck({ ports: { renewed: port }, folder }) {
  const before = await handshake(port)
  assert.equal((await handshake(port, { servername: '' })).fingerprint256, before.fingerprint256)
  const requests = (async () => {
    for (let i = 0; i < 30; i++) {
      assert.equal((await exchange({ port, path: '/json/1', isSecure: true })).status, 200)
      await pause(200)
    }
  })()
  await pause(500)
  newCertificate(join(folder, 'certs-tls'))
  await within(RENEWAL_MS, async () => (await handshake(port)).fingerprint256 !== before.fingerprint256)
  await requests
}

/** The checks in the board's order. `needs` is what a server may lack. */
export const CHECKS = [
  { id: 'baseline', check: baseline },
  { id: 'fragments', title: 'baseline, cut at every byte', check: fragments },
  { id: 'pipelined', check: pipelined },
  { id: 'limited-conn', check: limitedConn },
  { id: 'async', check: delays },
  { id: 'json-comp', check: jsonComp },
  { id: 'json-tls', check: jsonTls },
  { id: '8gbit', check: echo },
  { id: 'tls_check', check: tlsCheck, only: 'weir' },
  { id: 'static-tls', check: staticTls },
  { id: 'async-db', check: asyncDb, needs: 'database' },
  { id: 'fortunes', check: fortunes, needs: 'database' },
  { id: 'baseline-h2', check: baselineH2, needs: 'http2' },
  { id: 'static-h2', check: staticH2, needs: 'http2' },
  { id: 'baseline-h2c', check: (place) => sums({ port: place.ports.h2c, isSecure: false }), needs: 'http2' },
  { id: 'json-h2c', check: jsonH2c, needs: 'http2' },
  { id: 'echo-ws', check: echoWs },
]
