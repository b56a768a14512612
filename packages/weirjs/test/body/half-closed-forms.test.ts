// Forms of clients that have ended their side while a handler still works on an earlier file: the rest is read before the handler asks for
// it, because it shows whether the client has left.

import assert from 'node:assert/strict'
import { test } from 'node:test'

import { settled } from '../../src/testing/test-clock.ts'
import { FakeConnection } from '../support/fake-connection.ts'
import { BOUNDARY, encodeForm } from '../support/forms.ts'

const SIZES = [3_000, 2_000, 5_000, 1_000]
const FORM = encodeForm(SIZES.map((size, i) => ({ name: `${i}`, fileName: `${i}`, content: Buffer.alloc(size, `${i}`) }))).toString(
  'latin1',
)
const FRAMINGS = {
  'of a known length': { head: `Content-Length: ${FORM.length}\r\n`, encode: (piece: string) => piece, last: '' },
  'in chunks': {
    head: 'Transfer-Encoding: chunked\r\n',
    encode: (piece: string) => piece.replace(/[\s\S]{1,700}/g, (one) => `${one.length.toString(16)}\r\n${one}\r\n`),
    last: '0\r\n\r\n',
  },
}

for (const [framing, { head, encode, last }] of Object.entries(FRAMINGS)) {
  test(`each file of a form ${framing} has its own bytes, if its client ends its side early`, async () => {
    const files: string[] = []
    const waiting: (() => void)[] = []
    const connection = new FakeConnection({
      routes: {
        'POST ~': (_, { request }) =>
          request.bodyMultipartStream({
            async onFile(_, content) {
              let file = ''
              for await (const chunk of content) file += String(chunk)
              files.push(file)
              await new Promise<void>((resolve) => waiting.push(resolve))
            },
          }),
      },
    })
    const type = `Content-Type: multipart/form-data; boundary=${BOUNDARY}\r\n`
    await connection.send(`POST / HTTP/1.1\r\nHost: h\r\n${type}${head}\r\n${encode(FORM.slice(0, 7_000))}`)
    while (waiting.length === 0) await settled() // it reads the form
    await connection.send(encode(FORM.slice(7_000)) + last)
    await connection.halfClose()
    await connection.clock.advance(1_600) // lingerTimeout, and a tick
    for (let i = 0; i < 100; i++) {
      waiting.pop()?.()
      await settled()
    }
    assert.equal(connection.answer()?.text, 'true')
    assert.deepEqual(
      files,
      SIZES.map((size, i) => `${i}`.repeat(size)),
    )
  })
}

test('a form whose client has left in the middle of it fails, even if its handler has not read so far', async () => {
  let failure: unknown = null
  let isFree: (() => void) | null = null
  const connection = new FakeConnection({
    routes: {
      'POST ~': async (_, { request }) => {
        const onFile = (): Promise<void> =>
          new Promise((resolve) => {
            isFree = resolve
          })
        await request.bodyMultipartStream({ onFile }).catch((error: unknown) => {
          failure = error
        })
        return 'done'
      },
    },
  })
  const head = `Content-Type: multipart/form-data; boundary=${BOUNDARY}\r\nContent-Length: ${FORM.length}\r\n`
  await connection.send(`POST / HTTP/1.1\r\nHost: h\r\n${head}\r\n${FORM.slice(0, 7_000)}`)
  while (isFree === null) await settled()
  await connection.send(FORM.slice(7_000, 8_000))
  await connection.halfClose()
  await connection.clock.advance(1_600)
  ;(isFree as () => void)()
  for (let i = 0; i < 10; i++) await settled()
  assert.equal((failure as { code?: string } | null)?.code, 'WEIR_BODY_TRUNCATED')
})
