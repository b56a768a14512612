// Properties of every form in a real request: it is read back as it was encoded, wherever it is cut, and any bytes have exactly one
// outcome. On failure, fast-check prints the seed and the smallest form that it found.

import assert from 'node:assert/strict'
import type { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { after, before, test } from 'node:test'
import { setImmediate } from 'node:timers/promises'

import fc from 'fast-check'
import { FormData as UndiciFormData, Request as UndiciRequest } from 'undici'

import { type HttpRequest, HttpServer, WeirError } from '../../src/index.ts'
import { BOUNDARY, encodeChunks, encodeForm, FORM_FIELD, type FormPart } from '../support/forms.ts'
import { type Message, RawClient } from '../support/raw-client.ts'
import { thinned } from '../support/thinned.ts'

/** The content of a form for comparison: fields and files in their order, bytes as hexadecimal digits. */
interface Reading {
  readonly outcome: string
  readonly fields: readonly (readonly [name: string, value: string])[]
  readonly files: readonly (readonly [name: string, fileName: string | null, contentType: string, content: string])[]
}

const LIMITS = { maxParts: 20, maxFileSize: 4_000, maxFieldSize: 4_000 }

const outcomeOf = (error: unknown): string => {
  assert.ok(error instanceof WeirError, String(error))
  return `${error.code} ${'limit' in error ? error.limit : ''}`
}

async function readInMemory(request: HttpRequest): Promise<Reading> {
  try {
    const form = await request.bodyMultipart(LIMITS)
    if (form === null) return { outcome: 'no form', fields: [], files: [] }
    const files = form.files.map(
      (file) => [file.fieldName, file.fileName, file.contentType, Buffer.from(file.content).toString('hex')] as const,
    )
    return { outcome: 'form', fields: [...form.fields], files }
  } catch (error) {
    return { outcome: outcomeOf(error), fields: [], files: [] }
  }
}

/** Reads a form as it arrives, and checks that callbacks are called one at a time and that a file ends like the form. */
async function readStreaming(request: HttpRequest, isSlow: boolean): Promise<Reading> {
  const fields: [string, string][] = []
  const files: [string, string | null, string, string][] = []
  let isRunning = false
  let cutFiles = 0
  const alone = async (act: () => Promise<void> | void): Promise<void> => {
    assert.ok(!isRunning, 'one callback at a time')
    isRunning = true
    if (isSlow) await setImmediate()
    await act()
    isRunning = false
  }
  const readFile = async (content: Readable): Promise<string | null> => {
    try {
      return (await buffer(content)).toString('hex')
    } catch {
      cutFiles++
      return null
    }
  }
  let outcome: string
  try {
    const isForm = await request.bodyMultipartStream({
      ...LIMITS,
      onField: (name, value) => alone(() => void fields.push([name, value])),
      onFile: ({ fieldName, fileName, contentType, ...rest }, content) =>
        alone(async () => {
          const bytes = await readFile(content)
          if (bytes !== null) files.push([fieldName, fileName, contentType, bytes])
          assert.equal(typeof rest, 'object')
        }),
    })
    outcome = isForm ? 'form' : 'no form'
  } catch (error) {
    outcome = outcomeOf(error)
  }
  assert.ok(!isRunning, 'every callback has ended')
  assert.ok(cutFiles === 0 || (cutFiles === 1 && outcome !== 'form'), 'only the last file of a broken form may be cut short')
  return { outcome, fields, files }
}

const server = new HttpServer({ hosts: 'any', logger: { error: (_message, detail) => faults.push(detail) } })
const faults: unknown[] = []
server.mapPost('/memory', { body: 'stream' }, (_, { request }) => readInMemory(request))
server.mapPost('/buffered', { body: 'buffer' }, (_, { request }) => readInMemory(request))
server.mapPost('/stream', (_, { request }) => readStreaming(request, false))
server.mapPost('/slow', (_, { request }) => readStreaming(request, true))
const WAYS = ['/memory', '/buffered', '/stream', '/slow'] as const
const unhandled: unknown[] = []
const note = (reason: unknown): unknown => unhandled.push(reason)

before(async () => {
  process.on('unhandledRejection', note)
  await server.start()
})
after(async () => {
  await server.stop({ graceMs: 0 })
  process.off('unhandledRejection', note)
})

/** One connection for many requests: if one ends out of step, the next one fails. */
let client: RawClient | null = null
after(() => client?.destroy())

async function post(url: string, body: Uint8Array, cuts: readonly number[] | null, fields = FORM_FIELD): Promise<Reading> {
  if (client === null || client.isClosed) client = await RawClient.connect(server.port)
  if (cuts === null) client.post(url, body, fields)
  else client.send(`POST ${url} HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n${fields}\r\n`).send(encodeChunks(cutAt(body, cuts)))
  const response: Message = await client.message()
  assert.equal(response.status, 200, response.text)
  assert.notEqual(response.header('connection'), 'close')
  return response.json() as Reading
}

function cutAt(bytes: Uint8Array, cuts: readonly number[]): Uint8Array[] {
  const places = [...new Set(cuts.map((cut) => cut % (bytes.length + 1)))].sort((a, b) => a - b)
  return [...places, bytes.length].map((place, i) => bytes.subarray(i === 0 ? 0 : places[i - 1], place))
}

const cuts = fc.oneof(
  fc.constant(null),
  fc.array(fc.nat(5_000), { maxLength: 20 }),
  fc.constant(Array.from({ length: 5_000 }, (_, i) => i)), // every byte is a chunk
)

// Content that looks like what the parser looks for, but is not.
const fragments = fc.oneof(
  { weight: 2, arbitrary: fc.uint8Array({ maxLength: 40 }).map((bytes) => Buffer.from(bytes).toString('latin1')) },
  fc.constantFrom(
    '\r',
    '\n',
    '\r\n',
    '-',
    '--',
    '\r\n--',
    '\r\n-',
    `--${BOUNDARY.slice(0, -1)}`,
    `\r\n--${BOUNDARY.slice(0, -1)}`,
    `\r\n--${BOUNDARY.slice(1)}`,
    BOUNDARY,
  ),
  fc.constantFrom('\r\r\n', 'Content-Disposition: form-data; name="x"\r\n\r\n', 'x'.repeat(600)),
)
const content = fc
  .array(fragments, { maxLength: 6 })
  .map((parts) => parts.join(''))
  .filter((text) => !`\r\n${text}`.includes(`\r\n--${BOUNDARY}`))
  .map((text) => Buffer.from(text, 'latin1'))

// What a name may contain so that it has only one reading: HTML's escapes cannot themselves be escaped, and a backslash may be one.
const name = fc
  .oneof(
    fc.string({ unit: 'binary', maxLength: 12 }),
    fc.string({ maxLength: 12 }),
    fc.constantFrom('', '"', '\r\n', 'a;b=c', "x'y", '__proto__'),
  )
  .map((text) => text.replaceAll('\0', '').replaceAll('\\', '/'))
  .filter((text) => !/%(?:22|0D|0A)/.test(text))

const fieldPart = fc.record({
  name,
  content: fc.oneof(content.map(asText), fc.string({ unit: 'binary', maxLength: 30 })),
}) satisfies fc.Arbitrary<FormPart>
const filePart = fc.record({
  name,
  content,
  fileName: name,
  contentType: fc.constantFrom('image/png', 'text/plain; charset="utf-8"', 'application/octet-stream'),
})
const form = fc.array(fc.oneof(fieldPart, filePart), { maxLength: 8 })

function asText(bytes: Buffer): string {
  return bytes.toString('utf8')
}

function expectedOf(parts: readonly FormPart[]): Reading {
  const files = parts.filter(({ fileName }) => fileName !== undefined)
  return {
    outcome: 'form',
    fields: parts.filter(({ fileName }) => fileName === undefined).map(({ name, content }) => [name, String(content)] as const),
    files: files.map(
      ({ name, fileName, contentType, content }) =>
        [name, fileName!, contentType!, Buffer.from(content as Uint8Array).toString('hex')] as const,
    ),
  }
}

test('any form is read back as it was encoded, wherever it is cut and however it is read', async () => {
  await fc.assert(
    fc.asyncProperty(form, cuts, fc.constantFrom(...WAYS), async (parts, cuts, way) => {
      assert.deepEqual(await post(way, encodeForm(parts), cuts), expectedOf(parts))
    }),
    { numRuns: thinned(300) },
  )
})

test('any form that undici writes is read back, wherever it is cut', async () => {
  // undici turns every line end in names and text into CRLF.
  const plain = name.filter((text) => !/[\r\n]/.test(text))
  const parts = fc.array(
    fc.record({
      name: plain,
      text: fc.string({ unit: 'binary', maxLength: 30 }).filter((text) => !/[\r\n]/.test(text)),
      file: fc.option(content),
    }),
    { maxLength: 6 },
  )
  await fc.assert(
    fc.asyncProperty(parts, cuts, fc.constantFrom(...WAYS), async (parts, cuts, way) => {
      const data = new UndiciFormData()
      for (const { name, text, file } of parts) {
        if (file === null) data.append(name, text)
        else data.append(name, new File([new Uint8Array(file)], 'f.bin', { type: 'x/y' }))
      }
      const request = new UndiciRequest('http://h/', { method: 'POST', body: data })
      const body = new Uint8Array(await request.arrayBuffer())
      const reading = await post(way, body, cuts, `Content-Type: ${request.headers.get('content-type')}\r\n`)
      assert.deepEqual(reading, {
        outcome: 'form',
        fields: parts.filter(({ file }) => file === null).map(({ name, text }) => [name, text]),
        files: parts.filter(({ file }) => file !== null).map(({ name, file }) => [name, 'f.bin', 'x/y', file!.toString('hex')]),
      })
    }),
    { numRuns: thinned(100) },
  )
})

/** A change to the bytes of a form. */
const damage = fc.oneof(
  fc.record({ kind: fc.constant('cut' as const), at: fc.nat(), length: fc.nat(40), with: fc.constant('') }),
  fc.record({ kind: fc.constant('insert' as const), at: fc.nat(), length: fc.constant(0), with: fragments }),
  fc.record({
    kind: fc.constant('replace' as const),
    at: fc.nat(),
    length: fc.constantFrom(1, 2),
    with: fc.constantFrom('\r', '\n', '-', '\0', '"', ':', 'x', '\xff'),
  }),
  fc.record({ kind: fc.constant('end' as const), at: fc.nat(), length: fc.constant(Number.POSITIVE_INFINITY), with: fc.constant('') }),
  fc.record({
    kind: fc.constant('insert' as const),
    at: fc.nat(),
    length: fc.constant(0),
    with: fc.constantFrom(`\r\n--${BOUNDARY}\r\n`, `\r\n--${BOUNDARY}--`, `--${BOUNDARY}`),
  }),
)

test('any bytes have exactly one outcome, which does not depend on how they are cut and read', async () => {
  const seen = new Map<string, number>()
  const anything = fc.oneof(
    {
      weight: 4,
      arbitrary: fc
        .tuple(form, fc.array(damage, { minLength: 1, maxLength: 3 }))
        .map(([parts, damages]) => damages.reduce(damaged, encodeForm(parts))),
    },
    fc
      .array(fc.oneof(fragments, fc.constant(`--${BOUNDARY}\r\n`)), { maxLength: 10 })
      .map((parts) => Buffer.from(parts.join(''), 'latin1')),
    fc.nat(25).map((count) => encodeForm(Array.from({ length: count }, () => ({ name: 'n', content: '' })))),
    fc.nat(5_000).map((size) => encodeForm([{ name: 'n', fileName: 'f', content: Buffer.alloc(size) }])),
  )
  await fc.assert(
    fc.asyncProperty(anything, cuts, async (bytes, cuts) => {
      const whole = await post('/memory', bytes, null)
      seen.set(whole.outcome, (seen.get(whole.outcome) ?? 0) + 1)
      assert.deepEqual(await post('/buffered', bytes, cuts), whole)
      assert.deepEqual(await post('/memory', bytes, cuts), whole)
      for (const way of ['/stream', '/slow']) {
        const reading = await post(way, bytes, cuts)
        assert.equal(reading.outcome, whole.outcome, way)
        if (whole.outcome === 'form') assert.deepEqual(reading, whole)
      }
    }),
    { numRuns: 250 },
  )
  assert.deepEqual([faults, unhandled], [[], []], 'no second error')
  for (const outcome of ['form', 'no form', 'WEIR_BODY_TOO_LARGE maxParts', 'WEIR_BODY_TOO_LARGE maxFileSize']) {
    assert.ok(seen.has(outcome), `${outcome} was among ${[...seen.keys()].join(', ')}`)
  }
})

function damaged(bytes: Buffer, change: { at: number; length: number; with: string }): Buffer {
  const at = change.at % (bytes.length + 1)
  return Buffer.concat([
    bytes.subarray(0, at),
    Buffer.from(change.with, 'latin1'),
    bytes.subarray(Math.min(bytes.length, at + change.length)),
  ])
}
