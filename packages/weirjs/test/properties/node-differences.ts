// Where weir and Node's own parser differ, and why: every difference in what is accepted, and in what it means. A difference without a row
// fails the test; each row has a sample that shows it. "Every Node" means 20.20, 22.23, 24.21 and 26.10.

import { METHODS } from 'node:http'

import type { ErrorCode } from '../../src/base/error-codes.ts'
import type { Message } from '../support/wire-reading.ts'

interface Row {
  readonly name: string
  /** Why weir reads it as it does. */
  readonly why: string
  /** An example. */
  readonly sample: string
}

/** Both read the request, but differently. */
export interface Meaning extends Row {
  /** Whether this difference occurs at this request, as weir reads it, in this text. */
  readonly meets: (ours: Message, text: string) => boolean
  /** Where the readings differ: `body`; or `end`, if this request is still read alike. */
  readonly from: 'body' | 'end'
  /** How many requests weir reads of the sample and one more request after it. */
  readonly weRead: 1 | 2
}

/** weir refuses what Node reads. */
export interface Stricter extends Row {
  readonly code: ErrorCode
  /** The texts to which it is limited. */
  readonly only?: RegExp
}

/** weir reads what Node refuses. */
export interface Looser extends Row {
  /** Codes with which versions of Node refuse it. */
  readonly nodeCodes: readonly string[]
  /** Whether this request, the first that weir reads and Node does not, shows the difference. */
  readonly meets: (ours: Message, text: string) => boolean
}

export const MEANINGS: readonly Meaning[] = [
  {
    name: 'a tab after a Connection option',
    why: 'RFC 9110 §5.6.3 counts HTAB as a blank. Node 20 does not: it misses close and continues.',
    meets: (_, text) => /^connection:.*\t/im.test(text),
    from: 'end',
    sample: 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\t\r\n\r\n',
    weRead: 1,
  },
  {
    name: 'an upgrade that the server ignores',
    why: 'RFC 9110 §7.8 lets a server ignore it, and requires that for HTTP/1.0. Every Node reads nothing more.',
    meets: (_, text) => /^connection:.*upgrade/im.test(text) && /^upgrade:/im.test(text),
    from: 'end',
    sample: 'GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
    weRead: 2,
  },
  {
    name: 'an upgrade with a tab after chunked',
    why: 'A tab is a blank. For every Node, "chunked\\t" is another coding, which it refuses, except in an upgrade, which then has no body.',
    meets: ({ upgrade }, text) => upgrade && /^transfer-encoding:.*chunked *\t/im.test(text),
    from: 'body',
    sample: 'POST / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\nTransfer-Encoding: chunked\t\r\n\r\n1\r\nx\r\n0\r\n\r\n',
    weRead: 2,
  },
  {
    name: 'HTTP/1.0 with both keep-alive and close',
    why: 'In RFC 9112 §9.3, close takes precedence. In every Node, keep-alive does, and the connection stays open.',
    meets: ({ minorVersion, keepAlive }, text) => minorVersion === 0 && !keepAlive && /^connection:.*keep-alive/im.test(text),
    from: 'end',
    sample: 'GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n',
    weRead: 1,
  },
  {
    name: 'Proxy-Connection',
    why: 'RFC 9112 appendix C.2.2 calls it a mistake, and no server may act on it. Every Node reads it as Connection.',
    meets: ({ fields }) => fields.some(([name]) => name.toLowerCase() === 'proxy-connection'),
    from: 'end',
    sample: 'GET / HTTP/1.0\r\nProxy-Connection: keep-alive\r\n\r\n',
    weRead: 1,
  },
]

export const STRICTER: readonly Stricter[] = [
  {
    name: 'something other than a request line',
    why: 'RFC 9112 §2.2 allows one empty line before a request. Every Node skips any number, and bare line feeds as well.',
    code: 'WEIR_FIRST_BYTE',
    sample: '\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n',
  },
  {
    name: 'a bare CR',
    why: 'RFC 9112 §2.2: it is not a line end. Every Node skips one before a request line.',
    code: 'WEIR_LINE_END',
    only: /\r(?!\n)/,
    sample: '\rGET / HTTP/1.1\r\nHost: a\r\n\r\n',
  },
  {
    name: 'two spaces after the method',
    why: 'RFC 9112 §3 allows one. Every Node accepts more.',
    code: 'WEIR_REQUEST_LINE_SYNTAX',
    sample: 'GET  / HTTP/1.1\r\nHost: a\r\n\r\n',
  },
  {
    name: 'no version, another protocol, or an extra blank before it',
    why: 'HTTP/0.9 has no head, so what follows could be anything. Every Node reads it, and RTSP too.',
    code: 'WEIR_VERSION_SYNTAX',
    sample: 'GET /\r\n\r\n',
  },
  {
    name: 'another major version',
    why: 'weir does not support it: 505. Every Node reads 0.9 and 2.0 as if it were 1.x.',
    code: 'WEIR_VERSION_UNSUPPORTED',
    sample: 'GET / HTTP/2.0\r\nHost: a\r\n\r\n',
  },
  {
    name: 'a target of a form that the method may not have',
    why: 'RFC 9112 §3.2: asterisk-form is for OPTIONS, authority-form for CONNECT. Node passes on anything.',
    code: 'WEIR_TARGET_FORM',
    sample: 'GET * HTTP/1.1\r\nHost: a\r\n\r\n',
  },
  {
    name: 'a fragment',
    why: 'No form of a target has one (RFC 9112 §3.2). Node passes it on.',
    code: 'WEIR_TARGET_SYNTAX',
    sample: 'GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n',
  },
  {
    name: 'a path that cannot be decoded',
    why: 'weir decodes the path once, for all code, so what cannot be decoded has no meaning. Node decodes nothing.',
    code: 'WEIR_TARGET_ENCODING',
    sample: 'GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n',
  },
  {
    name: 'a path with dot segments',
    why: 'Routers and file systems read them in two ways. Node passes them on.',
    code: 'WEIR_TARGET_DOT_SEGMENT',
    sample: 'GET /a/../b HTTP/1.1\r\nHost: a\r\n\r\n',
  },
  {
    name: 'a Host that is not a host',
    why: 'RFC 9112 §3.2 requires 400. Node only checks whether there is one.',
    code: 'WEIR_HOST_SYNTAX',
    sample: 'GET / HTTP/1.1\r\nHost: a/b\r\n\r\n',
  },
  {
    name: 'two Hosts',
    why: 'RFC 9112 §3.2 requires 400. Node uses the first.',
    code: 'WEIR_HOST_REPEATED',
    sample: 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
  },
  {
    name: 'a Host and another authority in the target',
    why: 'A program that does not know which of them counts can be misled. Node passes on both.',
    code: 'WEIR_HOST_MISMATCH',
    sample: 'GET http://b/ HTTP/1.1\r\nHost: a\r\n\r\n',
  },
  {
    name: 'chunks with HTTP/1.0',
    why: 'RFC 9112 §6.1: the framing is faulty. Every Node reads them.',
    code: 'WEIR_TRANSFER_CODING_HTTP10',
    sample: 'POST / HTTP/1.0\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n',
  },
  {
    name: 'a coding that is not implemented, before chunked',
    why: 'RFC 9112 §6.1: 501. Node reads the chunks and leaves the other coding to the program.',
    code: 'WEIR_TRANSFER_CODING_UNKNOWN',
    sample: 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip, chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n',
  },
  {
    name: 'a list of codings that has empty elements, or chunked more than once',
    why: 'RFC 9112 §6.1, and weir repairs nothing that frames. Node checks whether the value ends in chunked.',
    code: 'WEIR_TRANSFER_CODING_SYNTAX',
    sample: 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ,chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n',
  },
  {
    name: 'a chunk size of more than 13 digits',
    why: 'It is not needed: 13 are exact in every reader. Node accepts any number of zeros.',
    code: 'WEIR_CHUNK_SIZE_TOO_LONG',
    sample: 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n00000000000001\r\nx\r\n0\r\n\r\n',
  },
  {
    name: 'a chunk extension that breaks its grammar',
    why: 'RFC 9112 §7.1.1. Node accepts a missing name or value.',
    code: 'WEIR_CHUNK_EXTENSION_SYNTAX',
    sample: 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;a=\r\nx\r\n0\r\n\r\n',
  },
  {
    name: 'an expectation that is not 100-continue',
    why: 'RFC 9110 §10.1.1 allows 417. Node checks whether 100-continue is somewhere in the value.',
    code: 'WEIR_EXPECTATION_UNKNOWN',
    sample: 'POST / HTTP/1.1\r\nHost: a\r\nExpect: y 100-continue\r\nContent-Length: 1\r\n\r\nx',
  },
  {
    name: 'a body above the limit',
    why: 'A limit of weir, and no length above 2^53 is exact. Node has none.',
    code: 'WEIR_BODY_TOO_LARGE',
    sample: 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9007199254740993\r\n\r\nx',
  },
  {
    name: 'more fields than the limit',
    why: 'A limit of weir. Node silently drops the fields after the first 2,000.',
    code: 'WEIR_TOO_MANY_FIELDS',
    sample: `GET / HTTP/1.1\r\nHost: a\r\n${'B: c\r\n'.repeat(200)}\r\n`,
  },
]

const CHUNKED = 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n'
const FRAMING = new Set(['content-length', 'transfer-encoding'])
const hasTrailer = ({ trailers }: Message, names: ReadonlySet<string>): boolean => trailers.some(([name]) => names.has(name.toLowerCase()))

export const LOOSER: readonly Looser[] = [
  {
    name: 'a method that Node does not know',
    why: 'Any token is a method (RFC 9110 §9.1). Node has a list.',
    nodeCodes: ['HPE_INVALID_METHOD'],
    meets: ({ method }) => !METHODS.includes(method),
    sample: 'FROBNICATE / HTTP/1.1\r\nHost: a\r\n\r\n',
  },
  {
    name: 'a higher minor version',
    why: 'RFC 9110 §2.5: it has to be read as the highest supported one. Every Node refuses it.',
    nodeCodes: ['HPE_INVALID_VERSION'],
    meets: (_, text) => / HTTP\/1\.[2-9]\r/.test(text),
    sample: 'GET / HTTP/1.2\r\nHost: a\r\n\r\n',
  },
  {
    name: 'a tab around a length',
    why: 'RFC 9110 §5.6.3 counts HTAB as a blank. Node 20 does not; 22 and later do.',
    nodeCodes: ['HPE_INVALID_CONTENT_LENGTH'],
    meets: ({ bodyKind }, text) => bodyKind !== 'chunked' && /^content-length:[^\r]*\t/im.test(text),
    sample: 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: \t1 \t\r\n\r\nx',
  },
  {
    name: 'a tab after chunked',
    why: 'A tab is a blank. For every Node, "chunked\\t" is another coding, which it refuses.',
    nodeCodes: ['HPE_INVALID_TRANSFER_ENCODING'],
    meets: ({ bodyKind }, text) => bodyKind === 'chunked' && /^transfer-encoding:[^\r]*\t/im.test(text),
    sample: 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\t\r\n\r\n1\r\nx\r\n0\r\n\r\n',
  },
  {
    name: 'blanks around the semicolon of a chunk extension',
    why: 'RFC 9112 §7.1.1 has BWS there. Every Node refuses it.',
    nodeCodes: ['HPE_INVALID_CHUNK_SIZE', 'HPE_STRICT'],
    meets: ({ bodyKind }, text) => bodyKind === 'chunked' && /^[\da-f]+(?:[ \t]|;[^\r]*[ \t])/im.test(text),
    sample: `${CHUNKED}1 ; a = b\r\nx\r\n0\r\n\r\n`,
  },
  {
    name: 'a framing field among the trailers',
    why: 'RFC 9110 §6.5.1: it frames nothing there. Node reads trailers as if they were in the head, and finds a length and a coding.',
    nodeCodes: ['HPE_INVALID_CONTENT_LENGTH', 'HPE_UNEXPECTED_CONTENT_LENGTH', 'HPE_INVALID_TRANSFER_ENCODING'],
    meets: (ours) => hasTrailer(ours, FRAMING),
    sample: `${CHUNKED}0\r\nContent-Length: 5\r\n\r\n`,
  },
  {
    name: 'Connection: close among the trailers',
    why: 'RFC 9110 §6.5.1: it closes nothing there. Node reads trailers as if they were in the head, and refuses what follows.',
    nodeCodes: ['HPE_CLOSED_CONNECTION'],
    meets: (_, text) => /\r\n0[^\r]*\r\n(?:[^\r\n]+\r\n)*connection:[^\r]*close/i.test(text),
    sample: `${CHUNKED}0\r\nConnection: close\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n`,
  },
]
