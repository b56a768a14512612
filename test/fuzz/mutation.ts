// Makes new inputs of old ones: removes, inserts, doubles and moves pieces, adds words of the grammar, and joins halves of two inputs.

import type { Random } from './random.ts'

/** Bytes that make parsers change their state. */
const TURNS = Buffer.from('\r\n\t\0 :;,="\\%&+-/?#*()<>[]{}\x7f\x80\xa0\xff09afAFzZ', 'latin1')
const NUMBERS = [
  '0',
  '1',
  '00',
  '9',
  '10',
  'a',
  'ff',
  '7f',
  '255',
  '1000',
  '4096',
  '65536',
  '4294967296',
  '9007199254740992',
  'fffffffffffff',
  '-1',
  '+1',
  '1e3',
  '0x1',
]
const MOST_CHANGES = 6

/** A change of `input` in one to six places, at most `maxBytes` long. Sometimes it contains a piece of `other`. */
export function mutate(input: Buffer, other: Buffer, dictionary: readonly Buffer[], maxBytes: number, random: Random): Buffer {
  let bytes = input
  for (let left = 1 + random.skewed(MOST_CHANGES - 1); left > 0; left--) bytes = change(bytes, other, dictionary, random)
  return bytes.length > maxBytes ? bytes.subarray(0, maxBytes) : bytes
}

function change(bytes: Buffer, other: Buffer, dictionary: readonly Buffer[], random: Random): Buffer {
  const at = random.below(bytes.length + 1)
  const length = random.skewed(Math.min(64, bytes.length - at))
  switch (random.below(16)) {
    case 0:
      return put(bytes, at, 1, Buffer.of((bytes[at] ?? 0) ^ (1 << random.below(8))))
    case 1:
      return put(bytes, at, random.below(2), Buffer.of(TURNS[random.below(TURNS.length)]!))
    case 2:
      return put(bytes, at, random.below(2), Buffer.of(random.below(256)))
    case 3:
    case 4:
      return put(bytes, at, length, Buffer.alloc(0))
    case 5:
      return put(bytes, at, 0, bytes.subarray(at, at + length))
    case 6:
      return put(bytes, random.below(bytes.length + 1), random.below(2) * length, bytes.subarray(at, at + length))
    case 7:
    case 8:
    case 9:
      return put(bytes, at, 0, word(dictionary, random))
    case 10: {
      const token = word(dictionary, random)
      return put(bytes, at, token.length, token)
    }
    case 11: {
      const lineStart = bytes.indexOf('\n', at) + 1
      return put(bytes, lineStart, 0, word(dictionary, random))
    }
    case 12:
      return splice(bytes, other, random)
    case 13:
      return replaceNumber(bytes, at, random)
    case 14:
      return random.oneIn(4) ? bytes.subarray(0, at) : put(bytes, at, length, repeat(bytes.subarray(at, at + Math.max(1, length)), random))
    default:
      return moveLine(bytes, at, random)
  }
}

function put(bytes: Buffer, at: number, length: number, piece: Uint8Array): Buffer {
  const rest = Math.min(bytes.length, at + length)
  const changed = Buffer.allocUnsafe(at + piece.length + bytes.length - rest)
  bytes.copy(changed, 0, 0, at)
  changed.set(piece, at)
  bytes.copy(changed, at + piece.length, rest)
  return changed
}

function word(dictionary: readonly Buffer[], random: Random): Buffer {
  return random.pick(dictionary)
}

/** The beginning of one and the end of the other, or a piece of the other in the middle of the one. */
function splice(bytes: Buffer, other: Buffer, random: Random): Buffer {
  const at = random.below(bytes.length + 1)
  const from = random.below(other.length + 1)
  if (random.oneIn(2)) return Buffer.concat([bytes.subarray(0, at), other.subarray(from)])
  return put(bytes, at, random.skewed(16), other.subarray(from, from + random.skewed(other.length - from)))
}

function repeat(piece: Buffer, random: Random): Buffer {
  return Buffer.concat(Array.from({ length: 1 + random.skewed(200) }, () => piece))
}

/** The next number in the text becomes another one. */
function replaceNumber(bytes: Buffer, at: number, random: Random): Buffer {
  let start = at
  while (start < bytes.length && !isDigit(bytes[start]!)) start++
  let end = start
  while (end < bytes.length && isDigit(bytes[end]!)) end++
  if (start === end) return bytes
  const number = Number(bytes.toString('latin1', start, end))
  const text = random.oneIn(2) ? random.pick(NUMBERS) : String(number + random.pick([-1, 1, 2, 10]))
  return put(bytes, start, end - start, Buffer.from(text))
}

function isDigit(byte: number): boolean {
  return byte >= 0x30 && byte <= 0x39
}

/** Removes the line at `at`, moves it or doubles it. */
function moveLine(bytes: Buffer, at: number, random: Random): Buffer {
  const start = bytes.lastIndexOf('\n', at - 1) + 1
  const end = bytes.indexOf('\n', at) + 1 || bytes.length
  const line = Buffer.from(bytes.subarray(start, end))
  const rest = random.oneIn(3) ? bytes : put(bytes, start, end - start, Buffer.alloc(0))
  if (random.oneIn(3)) return rest
  const place = rest.indexOf('\n', random.below(rest.length + 1)) + 1
  return put(rest, place, 0, line)
}
