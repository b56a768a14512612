// Compressed messages of a WebSocket, cut and damaged anywhere. The input is up to three messages of one connection: two bytes with its length stand
// before each.

import assert from 'node:assert/strict'
import { constants, deflateRawSync } from 'node:zlib'

import { INFLATES_TOO_LARGE, NOT_DEFLATE, PerMessageDeflate } from '../../../packages/weirjs/src/modules/websocket/deflate.ts'
import { acceptDeflate } from '../../../packages/weirjs/src/wire/websocket/deflate-offer.ts'
import { readMessage } from '../inflate-reference.ts'
import { assertSameWords, type Target } from '../target.ts'

const MOST = 5000
const MOST_MESSAGES = 3
/** As many streams as a message may consist of. */
const MOST_STREAMS = 16
/** A window of 32 KiB, and half as much again. */
const MOST_HELD = 48 * 1024

export const inflateTarget: Target = {
  name: 'inflate',
  promise: 'compressed messages are inflated as a second reader does, cut and broken ones are refused, and none is larger than allowed',
  dictionary: [
    ...[
      '\0\0\xff\xff',
      '\x01\0\0\xff\xff',
      '\x00\x03\x00\xfc\xffabc',
      '\x4a\x4c\x4a\x06\x00',
      '\x03\x00',
      '\x02\x00',
      '\0',
      '\x00\x05',
      '\xff\xff',
    ],
    ...['\x12\x45\x00\x00', '\x06\x00\x00\xff\xff', '\x01\x80', '\x00\x08\x4a\x4c\x4c\x4c\x4c\x4c\x04\x00'],
  ],
  maxBytes: 2000,
  seeds: () => {
    const texts = ['', 'a', 'hello, hello, hello', 'x'.repeat(MOST), 'x'.repeat(MOST + 1), JSON.stringify([...Array(150).keys()])].map(
      (text) => Buffer.from(text),
    )
    const { Z_FIXED, Z_HUFFMAN_ONLY, Z_RLE, Z_SYNC_FLUSH } = constants
    const kinds = [{ level: 0 }, { level: 1 }, { level: 9 }, { strategy: Z_FIXED }, { strategy: Z_HUFFMAN_ONLY }, { strategy: Z_RLE }]
    const alone = texts.flatMap((text) => kinds.map((kind) => deflateRawSync(text, { ...kind, finishFlush: Z_SYNC_FLUSH }).subarray(0, -4)))
    const ended = Buffer.concat([deflateRawSync('one'), deflateRawSync('two'), Buffer.of(0)])
    // With the first as their window, the others refer to it.
    const [text] = texts.slice(-1) as [Buffer]
    const after = deflateRawSync(text, { dictionary: text, finishFlush: Z_SYNC_FLUSH }).subarray(0, -4)
    const plain = deflateRawSync(text, { finishFlush: Z_SYNC_FLUSH }).subarray(0, -4)
    return [
      ...alone.map((one) => framed(one)),
      framed(ended),
      framed(plain, after, after),
      framed(Buffer.concat(Array<Buffer>(17).fill(deflateRawSync('')))),
    ]
  },

  quickCheck(input) {
    const messages = messagesOf(input)
    const words = inflateAll(messages)
    assertSameWords(inflateAll(messages), words, 'again')
    return words.map((word) => (word.startsWith('inflated') ? `inflated ${Math.ceil(Math.log2(word.length))}` : word)).join()
  },

  fullCheckOneIn: 4,
  fullCheck(input) {
    const messages = messagesOf(input)
    const ours = inflateAll(messages)
    const history: number[] = []
    for (const [i, word] of ours.entries()) {
      const reading = readMessage(messages[i]!, history, MOST, MOST_STREAMS)
      // zlib reads on to the end of its chunk, and may find a fault there. In a message that is cut, it reads the end that we add as data.
      if (typeof reading === 'string') assert.match(word, /^(?:too large|broken)$/)
      else assert.equal(word, `inflated ${reading.toString('hex')}`)
    }
  },
}

/** The connection ends with the first message that cannot be inflated. */
function inflateAll(messages: readonly Buffer[]): string[] {
  const deflate = new PerMessageDeflate(acceptDeflate('permessage-deflate')!.parameters)
  const words: string[] = []
  for (const message of messages) {
    const inflated = deflate.inflate(message, MOST)
    assert.ok(deflate.heldBytes <= MOST_HELD, `${deflate.heldBytes} bytes are held`)
    if (inflated === NOT_DEFLATE || inflated === INFLATES_TOO_LARGE) return [...words, inflated === NOT_DEFLATE ? 'broken' : 'too large']
    assert.ok(inflated.length <= MOST, `${inflated.length} bytes`)
    words.push(`inflated ${inflated.toString('hex')}`)
  }
  return words
}

function messagesOf(input: Buffer): Buffer[] {
  const messages: Buffer[] = []
  for (let at = 0; at + 2 <= input.length && messages.length < MOST_MESSAGES; ) {
    const end = at + 2 + input.readUInt16BE(at)
    messages.push(input.subarray(at + 2, end))
    at = end
  }
  return messages
}

function framed(...messages: readonly Buffer[]): Buffer {
  return Buffer.concat(messages.flatMap((message) => [Buffer.of(message.length >> 8, message.length & 0xff), message]))
}
