// The head of an HTTP/2 request: the input is a list of fields, one on each line, with a tab between name and value. In them, \x1d means a
// line feed.

import assert from 'node:assert/strict'

import { ProtocolError } from '../../../packages/weirjs/src/base/errors.ts'
import { type Limits, resolveLimits } from '../../../packages/weirjs/src/base/limits.ts'
import { CHUNKED } from '../../../packages/weirjs/src/wire/head/framing.ts'
import type { Head } from '../../../packages/weirjs/src/wire/head/head.ts'
import { HeadReader } from '../../../packages/weirjs/src/wire/head/head-reader.ts'
import { readHttp2Head } from '../../../packages/weirjs/src/wire/http2/head.ts'
import { fieldsOf } from '../../../packages/weirjs/src/wire/http2/hpack/header-field.ts'
import type { Random } from '../random.ts'
import { assertSameWords, codeOf, type Target } from '../target.ts'
import { WIRE_WORDS } from './wire.ts'

type Field = readonly [name: string, value: string]

const LIMITS: readonly Limits[] = [
  resolveLimits(),
  resolveLimits(),
  resolveLimits({ maxRequestHeaderSize: 400, maxRequestHeaders: 6 }),
  resolveLimits({ maxRequestHeaderSize: 80, maxRequestHeaders: 2 }),
]
const GET = ':method\tGET\n:scheme\thttps\n:authority\ta\n:path\t/'
const POST = GET.replace('GET', 'POST')
const SEEDS = [
  GET,
  `${GET}\nhost\ta`,
  `${GET.replace(':authority\ta\n', '')}\nhost\tb:80`,
  `${GET.replace('\t/', '\t/%2F/b?c=%zz')}\ncookie\ta=1\nx-a\t\ncookie\tb=2`,
  `${POST}\ncontent-length\t5\nexpect\t100-continue`,
  `${POST}\nexpect\t100-continue`,
  `${POST}\ncontent-length\t0\nte\ttrailers`,
  `${GET}\nx-a\t1\n:path\t/late`,
  ':method\tOPTIONS\n:scheme\thttp\n:path\t*\n:authority\t[::1]:80',
  `${GET}\nx-a\t b`,
  // What a careless reader would read as separate fields.
  `${GET}\nx-a\t1\r\x1dx-b: 2`,
  `${GET}\nx-a: 1\r\x1dx-b\t2`,
  GET.replace('\ta', '\ta\r\x1dx-b: 2'),
  GET.replace('\t/', '\t/ HTTP/1.1\r\x1dx-b: 2'),
  GET.replace('GET', 'GET / HTTP/1.1\r\x1dhost: a\r\x1d\r\x1dGET'),
  ':method\tCONNECT\n:authority\ta:1',
  `${GET.replace('GET', 'CONNECT')}\n:protocol\twebsocket`,
]

/** What is allowed where, stated a second time (RFC 9110 §5.5, §5.6.2, RFC 9112 §3.2, RFC 9113 §8.2, §8.3). */
const METHOD = /^[!#$%&'*+.^_`|~\w-]+$/
const PATH = /^(?:\/[!"$-[\]-~]*|\*)$/
const NAME = /^[!#$%&'*+.^_`|~0-9a-z-]+$/
const VALUE = /^(?:[!-~\x80-\xff](?:[\t -~\x80-\xff]*[!-~\x80-\xff])?)?$/
const OF_CONNECTIONS = /^(?:connection|keep-alive|proxy-connection|transfer-encoding|upgrade)$/
const PSEUDO = [':method', ':scheme', ':authority', ':path', ':protocol']

export const http2HeadTarget: Target = {
  name: 'http2-head',
  promise: 'a list is read like the HTTP/1.1 head with the same meaning, or refused with one code; what HTTP/1.1 cannot express is refused',
  dictionary: [
    ...WIRE_WORDS.filter((word) => !word.includes('\n')),
    ...[
      '\n',
      '\t',
      '\x1d',
      '\r\x1d',
      '\n:method\tGET',
      '\n:path\t/',
      '\n:authority\ta',
      '\n:scheme\thttps',
      '\n:status\t200',
      '\n:protocol\tx',
    ],
    ...['\nhost\ta', '\nhost\tA', '\nte\ttrailers', '\nte\tgzip', '\nconnection\tclose', '\nkeep-alive\t1', '\ntransfer-encoding\tchunked'],
    ...[
      '\nupgrade\tx',
      '\nproxy-connection\tx',
      '\ncontent-length\t0',
      '\ncontent-length\t5',
      '\nexpect\t100-continue',
      '\ncookie\ta=b',
      'http',
    ],
  ],
  maxBytes: 1000,
  seeds: () => SEEDS.map((text) => Buffer.from(text, 'latin1')),
  quickCheck(bytes, choices) {
    const [limits, isWhole] = chosen(choices)
    const list = listOf(bytes)
    const words = wordsOf(() => readHttp2Head(fieldsOf(list.flat()), isWhole, limits, true))
    // The order of pseudo-header fields has no meaning.
    const others = list.findIndex(([name]) => !name.startsWith(':'))
    const end = others < 0 ? list.length : others
    const turned = [...list.slice(0, end).reverse(), ...list.slice(end)]
    const again = wordsOf(() => readHttp2Head(fieldsOf(turned.flat()), isWhole, limits, true))
    assertSameWords(again, words, 'with the pseudo-header fields in reverse order')
    return words.length === 1 ? String(words[0]) : `${words.slice(6, 9).join(' ')} ${Math.min(4, words.length - 10)}`
  },
  fullCheckOneIn: 8,
  fullCheck(bytes, choices) {
    const [limits, isWhole] = chosen(choices)
    const list = listOf(bytes)
    const words = wordsOf(() => readHttp2Head(fieldsOf(list.flat()), isWhole, limits, true))
    const text = asHttp1(list)
    if (text === null) assert.equal(words.length, 1, 'read, but HTTP/1.1 cannot express it')
    else assertSameWords(words, expectedOf(text, isTunnel(list), isWhole, limits), 'as HTTP/1.1')
  },
}

function chosen(choices: Random): readonly [Limits, boolean] {
  return [choices.pick(LIMITS), choices.oneIn(2)]
}

function listOf(bytes: Buffer): Field[] {
  const lines = bytes.toString('latin1').split('\n')
  return lines.map((line) => {
    const [name, ...value] = line.replaceAll('\x1d', '\n').split('\t')
    return [name!, value.join('\t')]
  })
}

/** The content of a head, or only the code of its refusal. */
function wordsOf(act: () => Head): (string | number | boolean)[] {
  try {
    const head = act()
    const { method, target, url, path, host, queryString, contentLength, expectsContinue } = head
    assert.ok(head.keepAlive, 'the same over an HTTP/1.1 connection')
    return [
      method,
      target,
      url,
      path,
      host,
      queryString,
      Math.sign(contentLength),
      expectsContinue,
      head.upgrade,
      contentLength,
      ...[...head.entries()].flat(),
    ]
  } catch (error) {
    return [codeOf(error)]
  }
}

/** The same request in HTTP/1.1, or null if there is none. */
function asHttp1(list: readonly Field[]): string | null {
  const fields = list.filter(([name]) => !name.startsWith(':'))
  const pseudo = list.slice(0, list.length - fields.length)
  const names = pseudo.map(([name]) => name)
  if (names.some((name) => !PSEUDO.includes(name)) || new Set(names).size < names.length) return null
  const { ':method': method, ':scheme': scheme, ':authority': authority, ':path': path, ':protocol': protocol } = Object.fromEntries(pseudo)
  // CONNECT opens a tunnel for a protocol: in HTTP/1.1 that is GET with Upgrade (RFC 8441 §4).
  if (method === undefined || !METHOD.test(method) || (method === 'CONNECT') !== (protocol !== undefined)) return null
  if (protocol !== undefined && !METHOD.test(protocol)) return null
  if (scheme === undefined || !/^https?$/i.test(scheme) || path === undefined || !PATH.test(path)) return null
  for (const [name, value] of fields) {
    if (!NAME.test(name) || !VALUE.test(value) || OF_CONNECTIONS.test(name) || (name === 'te' && value !== 'trailers')) return null
  }
  const hosts = fields.filter(([name]) => name === 'host').map(([, value]) => value)
  if (authority !== undefined && !VALUE.test(authority)) return null
  if (authority !== undefined && hosts.some((host) => host.toLowerCase() !== authority.toLowerCase())) return null
  if (authority !== undefined && hosts.length > 1) return null
  const host: Field[] = authority !== undefined && hosts.length === 0 ? [['host', authority]] : []
  const upgrade: Field[] =
    protocol === undefined
      ? []
      : [
          ['connection', 'upgrade'],
          ['upgrade', protocol],
        ]
  return `${protocol === undefined ? method : 'GET'} ${path} HTTP/1.1\r\n${[...upgrade, ...host, ...fields].map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
}

/** CONNECT with a protocol: what follows is not a body. */
const isTunnel = (list: readonly Field[]): boolean => list.some(([name]) => name === ':protocol')

/** Except for the body, which HTTP/2 ends in its own way: a request that ends with its head has none, and another one needs no length. */
function expectedOf(text: string, opensTunnel: boolean, isWhole: boolean, limits: Limits): unknown[] {
  const block = Buffer.from(text, 'latin1')
  return wordsOf(() => {
    const head = new HeadReader().read(block, 0, block.length, limits)
    assert.ok(head !== null)
    const length = head.get('content-length')
    if ((isWhole || opensTunnel) && head.contentLength > 0) throw new ProtocolError('WEIR_CONTENT_LENGTH_SYNTAX')
    if (length === null && !isWhole && !opensTunnel) head.contentLength = CHUNKED
    head.expectsContinue = head.contentLength !== 0 && head.get('expect') !== null
    return head
  })
}
