// Media types and their parameters, compared with Node's parser, which follows WHATWG, and a round trip.

import assert from 'node:assert/strict'
import { MIMEType } from 'node:util'

import { boundaryOf, isBoundary } from '../../../packages/weirjs/src/formats/boundary.ts'
import { isJson, parseMediaType } from '../../../packages/weirjs/src/formats/media-type.ts'
import { assertSameWords, type Target } from '../target.ts'

const TOKEN = /^[!#$%&'*+.^_`|~\w-]+$/
const VALUE =
  /^[ \t]*[!#$%&'*+.^_`|~\w-]+\/[!#$%&'*+.^_`|~\w-]+[ \t]*(?:;[ \t]*(?:[!#$%&'*+.^_`|~\w-]+=(?:[!#$%&'*+.^_`|~\w-]+|"(?:[\t !#-[\]-~\x80-\xff]|\\[\t -~\x80-\xff])*")[ \t]*)?)*$/

export const mediaTypeTarget: Target = {
  name: 'media-type',
  promise: 'what follows the grammar is read, and nothing else; Node reads the same type and parameters; written again, it is the same',
  dictionary: [
    ...[
      '/',
      ';',
      '; ',
      '=',
      '"',
      '\\',
      '\\"',
      ' ',
      '\t',
      ',',
      'text/html',
      'application/json',
      '+json',
      'multipart/form-data',
      'charset=utf-8',
      'boundary=',
    ],
    ...['boundary=a', 'a=b', 'a="b"', 'A=', '""', '\xa0', '\xff', '\0', '\r\n', "'()+_,-./:=? ", '*', ';;', 'x'.repeat(70)],
  ],
  maxBytes: 300,
  seeds: () =>
    [
      ...[
        'text/html',
        'text/html;charset=utf-8',
        'text/html; charset="utf-8"; a="b\\"c"',
        'application/problem+json',
        'a/b;;',
        'a/b ; c=d',
      ],
      ...['multipart/form-data; boundary=----WebKitFormBoundaryabc', 'multipart/form-data; boundary="a b"', 'a/b; c=d; C=e'],
    ].map((text) => Buffer.from(text, 'latin1')),
  quickCheck(bytes) {
    const value = bytes.toString('latin1')
    const mediaType = parseMediaType(value)
    const again = parseMediaType(`${value} ;`)
    assertSameWords(wordsOf(again), wordsOf(mediaType), 'with an empty parameter after it')
    const boundary = boundaryOf(value)
    if (mediaType === null) return 'none'
    const quoting = value.includes('\\') ? 2 : value.includes('"') ? 1 : 0
    return `${Math.min(mediaType.parameters.size, 3)} ${isJson(mediaType.type)} ${boundary !== null} ${quoting}`
  },
  fullCheckOneIn: 8,
  fullCheck(bytes) {
    const value = bytes.toString('latin1')
    const mediaType = parseMediaType(value)
    const boundary = boundaryOf(value)
    if (mediaType === null) {
      assert.equal(boundary, null)
      if (VALUE.test(value)) assert.ok(namesTwice(value), 'refused, but it follows the grammar')
      return
    }
    assert.match(value, VALUE)
    const { type, parameters } = mediaType
    assert.equal(isJson(type), /^(?:application\/json|[^/]+\/[^/]*\+json)$/.test(type))
    if (boundary !== null) assert.ok(type === 'multipart/form-data' && isBoundary(boundary) && parameters.get('boundary') === boundary)
    checkAgainstNode(value, type, parameters)
    const again = `${type}${[...parameters].map(([name, text]) => `; ${name}="${text.replace(/["\\]/g, '\\$&')}"`).join('')}`
    assert.deepEqual(parseMediaType(again), mediaType, 'written again, it is another one')
  },
}

function wordsOf(mediaType: ReturnType<typeof parseMediaType>): readonly string[] {
  return mediaType === null ? [] : [mediaType.type, ...mediaType.parameters.keys(), ...mediaType.parameters.values()]
}

function namesTwice(value: string): boolean {
  const names = [...value.replace(/"(?:[^"\\]|\\.)*"/gs, 'q').matchAll(/;[ \t]*([^=;]+)=/g)].map(([, name]) => name!.toLowerCase())
  return new Set(names).size < names.length
}

function checkAgainstNode(value: string, type: string, parameters: ReadonlyMap<string, string>): void {
  const theirs = new MIMEType(value)
  assert.equal(theirs.essence, type)
  // Node drops a parameter with an empty quoted value.
  for (const [name, text] of parameters) if (TOKEN.test(name) && text !== '') assert.equal(theirs.params.get(name), text, name)
}
