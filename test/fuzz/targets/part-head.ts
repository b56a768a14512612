// The head of a part of a form: the input is its header lines.

import assert from 'node:assert/strict'

import { type PartHead, readPartHead } from '../../../packages/weirjs/src/formats/part-head.ts'
import { assertSameWords, outcomeOf, type Target } from '../target.ts'

/** One parameter of Content-Disposition; in quotes only `\"` and `\\` are escapes. */
const PARAMETER = /^[ \t]*;[ \t]*(?:([!#$%&'*+.^_`|~\w-]+)=(?:([!#$%&'*+.^_`|~\w-]+)|"((?:[^"\\]|\\["\\]|\\(?!["\\]))*)"))?/s

export const partHeadTarget: Target = {
  name: 'part-head',
  promise: 'a name is what a second reader finds, no field or parameter is believed twice, and a head written again is the same head',
  dictionary: [
    ...[
      'Content-Disposition: form-data; name="a"',
      'Content-Type: text/plain',
      'Content-Type: text/plain; charset=ISO-8859-1',
      'charset=utf-16',
      'Content-Transfer-Encoding: binary',
      'base64',
      '\r\n',
      ': ',
      ':',
      'x: y',
    ],
    ...[
      'form-data',
      '; name=',
      '; name="a"',
      '; filename="f"',
      "; filename*=UTF-8''a%20b",
      "; filename*=iso-8859-1'en'%E9",
      ';',
      '=',
      '"',
      '\\',
      '\\"',
      '\\\\',
    ],
    ...['%22', '%0D%0A', '%', '%C3%A9', '\xc3\xa9', ' ', '\t', '\0', "'", 'attachment', '; NAME=b', ';;', '%00', '%0a', 'filename'],
  ],
  maxBytes: 400,
  seeds: () =>
    [
      'Content-Disposition: form-data; name="a"',
      'Content-Disposition: form-data; name="a"; filename="b.txt"\r\nContent-Type: text/plain',
      'content-disposition:form-data;name=a;filename=b\r\nX: y\r\nContent-Transfer-Encoding: 8bit',
      'Content-Disposition: form-data; name="a\\"b%22c"; filename="C:\\x\\y"',
      "Content-Disposition: form-data; name=a; filename*=UTF-8''%e2%82%ac; filename=plain",
    ].map((text) => Buffer.from(text)),
  quickCheck(bytes) {
    const lines = linesOf(bytes)
    const { value: head, error } = outcomeOf(() => readPartHead(lines))
    const again = outcomeOf(() => readPartHead(['X-Other: y', ...lines]))
    assertSameWords([again.error, ...wordsOf(again.value)], [error, ...wordsOf(head)], 'after a line without a meaning')
    if (head === null) return error
    const kind = head.fileName === null ? 'field' : bytes.includes('filename*') ? 'file*' : 'file'
    return `${kind} ${head.name === ''} ${head.contentType !== null} ${Math.min(lines.length, 4)}`
  },
  fullCheckOneIn: 8,
  fullCheck(bytes) {
    const lines = linesOf(bytes)
    const { value: head, error } = outcomeOf(() => readPartHead(lines))
    const expected = bySecondReader(lines)
    if (head === null) {
      assert.ok(expected === null || expected.isDoubtful, `refused with ${error}, but a second reader accepts it`)
      return
    }
    assert.ok(expected !== null, 'accepted, but a second reader refuses it')
    assert.equal(head.name, undo(expected.name))
    if (expected.extended === null) assert.equal(head.fileName, expected.fileName === null ? null : undo(expected.fileName))
    else assert.ok(head.fileName !== null, 'a part with filename* is a file')
    checkRoundTrip(head)
  },
}

function linesOf(bytes: Buffer): string[] {
  const lines = bytes.toString('utf8').split('\r\n')
  return lines.filter((line) => line !== '')
}

function wordsOf(head: PartHead | null): readonly (string | null)[] {
  return head === null ? [] : [head.name, head.fileName, head.contentType]
}

interface SecondReading {
  readonly name: string
  readonly fileName: string | null
  readonly extended: string | null
  /** It may be refused for its content. */
  readonly isDoubtful: boolean
}

function bySecondReader(lines: readonly string[]): SecondReading | null {
  const fields = new Map<string, string>()
  for (const line of lines) {
    const [, name, value] = /^([!#$%&'*+.^_`|~\w-]+):[ \t]*(.*?)[ \t]*$/s.exec(line) ?? []
    if (name === undefined) return null
    const key = name.toLowerCase()
    if (/^content-(?:disposition|type|transfer-encoding)$/.test(key) && fields.has(key)) return null
    fields.set(key, value!)
  }
  if (!/^(?:7bit|8bit|binary)$/i.test(fields.get('content-transfer-encoding') ?? 'binary')) return null
  const disposition = fields.get('content-disposition')
  if (disposition === undefined || !/^form-data(?=[ \t;]|$)/i.test(disposition)) return null
  const parameters = parametersOf(disposition.slice('form-data'.length))
  const name = parameters?.get('name')
  if (parameters === null || name === undefined) return null
  const extended = parameters.get('filename*') ?? null
  const fileName = parameters.get('filename') ?? null
  const saysCharset = fileName === null && /;[ \t]*charset=/i.test(fields.get('content-type') ?? '')
  return { name, fileName, extended, isDoubtful: saysCharset || (extended !== null && fileName === null) }
}

function parametersOf(text: string): Map<string, string> | null {
  const parameters = new Map<string, string>()
  for (let rest = text; !/^[ \t]*$/.test(rest); ) {
    const parameter = PARAMETER.exec(rest)
    if (parameter === null) return null
    rest = rest.slice(parameter[0].length)
    const [, name, token, quoted] = parameter
    if (name === undefined) continue
    const key = name.toLowerCase()
    if (/^(?:name|filename\*?)$/.test(key) && parameters.has(key)) return null
    parameters.set(key, token ?? quoted!.replace(/\\(["\\])/g, '$1'))
  }
  return parameters
}

function undo(text: string): string {
  return text.replaceAll('%22', '"').replaceAll('%0D', '\r').replaceAll('%0A', '\n')
}

/** As HTML makes browsers write it. A name that already contains one of their escapes cannot be written. */
function checkRoundTrip(head: PartHead): void {
  const texts = [head.name, head.fileName ?? '']
  if (texts.some((text) => /%(?:22|0D|0A)|\\/.test(text))) return
  const write = (text: string): string => text.replaceAll('"', '%22').replaceAll('\r', '%0D').replaceAll('\n', '%0A')
  const file = head.fileName === null ? '' : `; filename="${write(head.fileName)}"`
  const type = head.contentType === null ? [] : [`Content-Type: ${head.contentType}`]
  assert.deepEqual(readPartHead([`Content-Disposition: form-data; name="${write(head.name)}"${file}`, ...type]), head)
}
