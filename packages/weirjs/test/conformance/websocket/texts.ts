// Section 6: UTF-8, whole, in fragments and byte by byte. What is not UTF-8 is refused at its first bad byte.

import { fine, fragments, frame, heardText, last, NOT_UTF8, part, type SocketCase, TEXT } from './step.ts'

const hex = (text: string): Buffer => Buffer.from(text.replaceAll(' ', ''), 'hex')
const VALID = 'Hello-µ@ßöäüàá-UTF-8!!'
const KOSME = 'ce ba e1 bd b9 cf 83 ce bc ce b5'
const BEFORE = `${KOSME} `
const BEHIND = ' 65 64 69 74 65 64'
const SURROGATES = ['ed a0 80', 'ed ad bf', 'ed ae 80', 'ed af bf', 'ed b0 80', 'ed be 80', 'ed bf bf']
const INCOMPLETE = ['c0', 'e0 80', 'f0 80 80', 'f8 80 80 80', 'fc 80 80 80 80', 'df', 'ef bf', 'f7 bf bf', 'fb bf bf bf', 'fd bf bf bf bf']
/** The first bytes from here to there, each followed by a space. */
const alone = (from: number, to: number): string =>
  Array.from({ length: to - from + 1 }, (_, i) => `${(from + i).toString(16)} 20`).join(' ')
const continuations = (count: number): string => Array.from({ length: count }, (_, i) => (i % 2 === 0 ? '80' : 'bf')).join(' ')
const EVERY_CONTINUATION = Array.from({ length: 64 }, (_, i) => (0x80 + i).toString(16)).join(' ')

/** A text in one frame: whether it is refused is for Node's own decoder to say. */
function oneFrame(id: string, what: string, bytes: Uint8Array): SocketCase {
  if (isText(bytes)) return fine(id, what, [frame(TEXT, bytes)], [heardText(bytes)])
  return { id, title: what, sent: [frame(TEXT, bytes)], heard: [NOT_UTF8] }
}

function isText(bytes: Uint8Array): boolean {
  try {
    new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
    return true
  } catch {
    return false
  }
}

/** Group after group of section 6, in order, each with what it is about. */
const GROUPS: readonly (readonly [group: string, what: string, texts: readonly string[]])[] = [
  ['6.6', 'a text cut at a byte', KOSME.split(' ').map((_, i, all) => all.slice(0, i + 1).join(' '))],
  ['6.7', 'the first character of a length', ['00', 'c2 80', 'e0 a0 80', 'f0 90 80 80']],
  ['6.8', 'the first of five and six bytes', ['f8 88 80 80 80', 'fc 84 80 80 80 80']],
  ['6.9', 'the last character of a length', ['7f', 'df bf', 'ef bf bf', 'f4 8f bf bf']],
  ['6.10', 'the last of more than Unicode has', ['f7 bf bf bf', 'fb bf bf bf bf', 'fd bf bf bf bf bf']],
  ['6.11', 'at the edges', ['ed 9f bf', 'ee 80 80', 'ef bf bd', 'f4 8f bf bf', 'f4 90 80 80']],
  ['6.12', 'continuations of nothing', ['80', 'bf', ...[2, 3, 4, 5, 6].map(continuations), EVERY_CONTINUATION]],
  ['6.13', 'beginnings of nothing', [alone(0xc0, 0xdf), alone(0xe0, 0xef), alone(0xf0, 0xf7), alone(0xf8, 0xfb), alone(0xfc, 0xfd)]],
  ['6.14', 'a last byte that is missing', INCOMPLETE],
  ['6.15', 'many last bytes that are missing', [INCOMPLETE.join(' ')]],
  ['6.16', 'bytes that are never in UTF-8', ['fe', 'ff', 'fe fe ff ff']],
  ['6.17', 'an overlong slash', ['c0 af', 'e0 80 af', 'f0 80 80 af', 'f8 80 80 80 af', 'fc 80 80 80 80 af']],
  ['6.18', 'the longest overlong character', ['c1 bf', 'e0 9f bf', 'f0 8f bf bf', 'f8 87 bf bf bf', 'fc 83 bf bf bf bf']],
  ['6.19', 'an overlong NUL', ['c0 80', 'e0 80 80', 'f0 80 80 80', 'f8 80 80 80 80', 'fc 80 80 80 80 80']],
  ['6.20', 'a surrogate', SURROGATES],
  ['6.21', 'a pair of surrogates', [0, 1, 2, 3].flatMap((i) => ['ed b0 80', 'ed bf bf'].map((low) => `${SURROGATES[i]} ${low}`))],
  ['6.22', 'a noncharacter', Array.from({ length: 34 }, (_, i) => charHex((i >> 1) * 0x10000 + 0xfffe + (i & 1)))],
  ['6.23', 'a special character', [0xfff9, 0xfffa, 0xfffb, 0xfffc, 0xfffd, 0xfffe, 0xffff].map(charHex)],
]

function charHex(code: number): string {
  return Buffer.from(String.fromCodePoint(code)).toString('hex')
}

const BAD = `${BEFORE}ed a0 80${BEHIND}`
const TOO_HIGH = hex(`${BEFORE}f4 90 80 80${BEHIND}`)

/** What is refused before its message is complete: nothing is sent after the first bad byte. */
const early: readonly SocketCase[] = [
  ['6.4.1', 'fragments: the second is bad', [part(TEXT, hex(KOSME)), part(0, hex('f4 90 80 80'))]],
  ['6.4.2', 'fragments: the bad byte is its first after three', [part(TEXT, hex(`${BEFORE}f4`)), part(0, hex('90'))]],
  ['6.4.3', 'one frame: the bad byte', [frame(TEXT, TOO_HIGH).subarray(0, 6 + 11 + 2)]],
  [
    '6.4.4',
    'one frame: the bad byte in a read of its own',
    [frame(TEXT, TOO_HIGH).subarray(0, 6 + 12), frame(TEXT, TOO_HIGH).subarray(18, 19)],
  ],
].map(([id, title, sent]) => ({ id: id as string, title: title as string, sent: sent as Buffer[], heard: [NOT_UTF8] }))

const shapes: readonly SocketCase[] = [
  fine('6.1.1', 'an empty text', [frame(TEXT)], [heardText()]),
  fine('6.1.2', 'three empty fragments', [part(TEXT), part(0), last()], [heardText()]),
  fine('6.1.3', 'an empty fragment on either side', [part(TEXT), part(0, 'middle'), last()], [heardText('middle')]),
  fine('6.2.1', 'a text', [frame(TEXT, VALID)], [heardText(VALID)]),
  fine('6.2.2', 'two fragments', [part(TEXT, 'Hello-µ@ßöä'), last('üàá-UTF-8!!')], [heardText(VALID)]),
  fine('6.2.3', 'a fragment for each byte', fragments(TEXT, Buffer.from(VALID), 1), [heardText(VALID)]),
  fine('6.2.4', 'a fragment for each byte of Greek', fragments(TEXT, hex(KOSME), 1), [heardText(hex(KOSME))]),
  { id: '6.3.1', title: 'a surrogate in the middle', sent: [frame(TEXT, hex(BAD))], heard: [NOT_UTF8] },
  { id: '6.3.2', title: 'the same, a fragment for each byte', sent: fragments(TEXT, hex(BAD), 1), heard: [NOT_UTF8] },
  ...early,
  ...[hex(KOSME), hex('ce ba'), hex('f0 90 80 80'), hex('e1 bd b9'), hex('f4 8f bf bf')].map((text, i) =>
    fine(`6.5.${i + 1}`, 'a character in two fragments', [part(TEXT, text.subarray(0, 1)), last(text.subarray(1))], [heardText(text)]),
  ),
]

export const TEXT_CASES: readonly SocketCase[] = [
  ...shapes,
  ...GROUPS.flatMap(([group, what, texts]) => texts.map((text, i) => oneFrame(`${group}.${i + 1}`, what, hex(text)))),
]
