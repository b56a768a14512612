// Where weir and Node's own parser part, and why: every difference in what is accepted, and in what it means. A difference that is met and has
// no row fails the test; each row has a sample that shows it. Which Nodes read otherwise is said of 20.20, 22.23, 24.21 and 26.10.

import { METHODS } from 'node:http'

import type { ErrorCode } from '../../src/base/error-codes.ts'
import type { Message } from '../support/wire-reading.ts'

interface Row {
  readonly name: string
  /** Why we read as we do. */
  readonly why: string
  /** An example. */
  readonly sample: string
}

/** Both read the request, but not alike. */
export interface Meaning extends Row {
  /** Whether this difference is met at this request of ours, in this text. */
  readonly meets: (ours: Message, text: string) => boolean
  /** Where the readings part: `body`, or `end`, so that this request is still read alike. */
  readonly from: 'body' | 'end'
  /** How many requests we read of the sample and one more request behind it. */
  readonly weRead: 1 | 2
}

/** We refuse what Node reads. */
export interface Stricter extends Row {
  readonly code: ErrorCode
  /** Texts to which it is confined. */
  readonly only?: RegExp
}

/** We read what Node refuses. */
export interface Looser extends Row {
  /** Codes with which Nodes refuse it. */
  readonly nodeCodes: readonly string[]
  /** Whether this request of ours, the first that Node does not read, shows the difference. */
  readonly meets: (ours: Message, text: string) => boolean
}

export const MEANINGS: readonly Meaning[] = [
  {
    name: 'a tab behind a Connection option',
    why: 'RFC 9110 §5.6.3 counts HTAB as a blank. Node 20 does not: it misses close and goes on.',
    meets: (_, text) => /^connection:.*\t/im.test(text),
    from: 'end',
    sample: 'GET / HTTP/1.1\r\nHost: a\r\nConnection: close\t\r\n\r\n',
    weRead: 1,
  },
  {
    name: 'an upgrade that nobody takes',
    why: 'RFC 9110 §7.8 lets a server go on as if nobody had asked, and tells it to for HTTP/1.0. Every Node reads nothing more.',
    meets: (_, text) => /^connection:.*upgrade/im.test(text) && /^upgrade:/im.test(text),
    from: 'end',
    sample: 'GET / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\n\r\n',
    weRead: 2,
  },
  {
    name: 'an upgrade with a tab behind chunked',
    why: 'A tab is a blank. Every Node takes "chunked\\t" for another coding; it refuses that, but not in an upgrade, which has no body then.',
    meets: ({ upgrade }, text) => upgrade && /^transfer-encoding:.*chunked *\t/im.test(text),
    from: 'body',
    sample: 'POST / HTTP/1.1\r\nHost: a\r\nConnection: upgrade\r\nUpgrade: x\r\nTransfer-Encoding: chunked\t\r\n\r\n1\r\nx\r\n0\r\n\r\n',
    weRead: 2,
  },
  {
    name: 'HTTP/1.0 with both keep-alive and close',
    why: 'RFC 9112 §9.3 asks for close first. Every Node asks for keep-alive first, and goes on.',
    meets: ({ minorVersion, keepAlive }, text) => minorVersion === 0 && !keepAlive && /^connection:.*keep-alive/im.test(text),
    from: 'end',
    sample: 'GET / HTTP/1.0\r\nConnection: keep-alive, close\r\n\r\n',
    weRead: 1,
  },
  {
    name: 'Proxy-Connection',
    why: 'RFC 9112 appendix C.2.2 tells of it as a mistake, and no server may act on it. Every Node reads it as Connection.',
    meets: ({ fields }) => fields.some(([name]) => name.toLowerCase() === 'proxy-connection'),
    from: 'end',
    sample: 'GET / HTTP/1.0\r\nProxy-Connection: keep-alive\r\n\r\n',
    weRead: 1,
  },
]

export const STRICTER: readonly Stricter[] = [
  {
    name: 'something else than a request line',
    why: 'RFC 9112 §2.2 has one empty line skipped before a request. Every Node skips any number, and bare line feeds as well.',
    code: 'WEIR_FIRST_BYTE',
    sample: '\r\n\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n',
  },
  {
    name: 'a bare CR',
    why: 'RFC 9112 §2.2: it is no line end. Every Node skips one before a request line.',
    code: 'WEIR_LINE_END',
    only: /\r(?!\n)/,
    sample: '\rGET / HTTP/1.1\r\nHost: a\r\n\r\n',
  },
  {
    name: 'two spaces behind the method',
    why: 'RFC 9112 §3 has one. Every Node takes more.',
    code: 'WEIR_REQUEST_LINE_SYNTAX',
    sample: 'GET  / HTTP/1.1\r\nHost: a\r\n\r\n',
  },
  {
    name: 'no version, another protocol, or a blank too many before it',
    why: 'HTTP/0.9 has no head, so what follows could be anything. Every Node reads it, and RTSP too.',
    code: 'WEIR_VERSION_SYNTAX',
    sample: 'GET /\r\n\r\n',
  },
  {
    name: 'another major version',
    why: 'We do not speak it: 505. Every Node reads 0.9 and 2.0 as if it were 1.x.',
    code: 'WEIR_VERSION_UNSUPPORTED',
    sample: 'GET / HTTP/2.0\r\nHost: a\r\n\r\n',
  },
  {
    name: 'a target of a form that the method may not have',
    why: 'RFC 9112 §3.2: asterisk-form is for OPTIONS, authority-form for CONNECT. Node hands on whatever stands there.',
    code: 'WEIR_TARGET_FORM',
    sample: 'GET * HTTP/1.1\r\nHost: a\r\n\r\n',
  },
  {
    name: 'a fragment',
    why: 'No form of a target has one (RFC 9112 §3.2). Node hands it on.',
    code: 'WEIR_TARGET_SYNTAX',
    sample: 'GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n',
  },
  {
    name: 'a path that cannot be decoded',
    why: 'We decode the path once, for everybody, so what cannot be decoded has no meaning. Node decodes nothing.',
    code: 'WEIR_TARGET_ENCODING',
    sample: 'GET /%zz HTTP/1.1\r\nHost: a\r\n\r\n',
  },
  {
    name: 'a path with dot segments',
    why: 'Routers and file systems read them in two ways. Node hands them on.',
    code: 'WEIR_TARGET_DOT_SEGMENT',
    sample: 'GET /a/../b HTTP/1.1\r\nHost: a\r\n\r\n',
  },
  {
    name: 'a Host that is no host',
    why: 'RFC 9112 §3.2 demands 400. Node looks only whether there is one.',
    code: 'WEIR_HOST_SYNTAX',
    sample: 'GET / HTTP/1.1\r\nHost: a/b\r\n\r\n',
  },
  {
    name: 'two Hosts',
    why: 'RFC 9112 §3.2 demands 400. Node takes the first.',
    code: 'WEIR_HOST_REPEATED',
    sample: 'GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n',
  },
  {
    name: 'a Host beside another authority in the target',
    why: 'Whoever is not told which of them counts can be led astray. Node hands on both.',
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
    why: 'RFC 9112 §6.1, and we repair nothing that frames. Node asks whether the end of the value is chunked.',
    code: 'WEIR_TRANSFER_CODING_SYNTAX',
    sample: 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: ,chunked\r\n\r\n1\r\nx\r\n0\r\n\r\n',
  },
  {
    name: 'a chunk size of more than 13 digits',
    why: 'It need not be: 13 are exact in every reader. Node takes as many zeros as there are.',
    code: 'WEIR_CHUNK_SIZE_TOO_LONG',
    sample: 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n00000000000001\r\nx\r\n0\r\n\r\n',
  },
  {
    name: 'a chunk extension that breaks its grammar',
    why: 'RFC 9112 §7.1.1. Node lets a name or a value be missing.',
    code: 'WEIR_CHUNK_EXTENSION_SYNTAX',
    sample: 'POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1;a=\r\nx\r\n0\r\n\r\n',
  },
  {
    name: 'an expectation that is not 100-continue',
    why: 'RFC 9110 §10.1.1 allows 417. Node looks whether 100-continue stands somewhere in the value.',
    code: 'WEIR_EXPECTATION_UNKNOWN',
    sample: 'POST / HTTP/1.1\r\nHost: a\r\nExpect: y 100-continue\r\nContent-Length: 1\r\n\r\nx',
  },
  {
    name: 'a body over our limit',
    why: 'A limit of ours, and no length beyond 2^53 is exact. Node has none.',
    code: 'WEIR_BODY_TOO_LARGE',
    sample: 'POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 9007199254740993\r\n\r\nx',
  },
  {
    name: 'more fields than our limit',
    why: 'A limit of ours. Node drops the fields above 2,000 without a word.',
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
    why: 'RFC 9110 §2.5: it is to be read as the highest that we speak. Every Node refuses it.',
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
    name: 'a tab behind chunked',
    why: 'A tab is a blank. Every Node takes "chunked\\t" for another coding, and refuses it.',
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
    why: 'RFC 9110 §6.5.1: it frames nothing there. Node reads trailers as if they stood in the head, and finds a length beside a coding.',
    nodeCodes: ['HPE_INVALID_CONTENT_LENGTH', 'HPE_UNEXPECTED_CONTENT_LENGTH', 'HPE_INVALID_TRANSFER_ENCODING'],
    meets: (ours) => hasTrailer(ours, FRAMING),
    sample: `${CHUNKED}0\r\nContent-Length: 5\r\n\r\n`,
  },
  {
    name: 'Connection: close among the trailers',
    why: 'RFC 9110 §6.5.1: it closes nothing there. Node reads trailers as if they stood in the head, and refuses what follows.',
    nodeCodes: ['HPE_CLOSED_CONNECTION'],
    meets: (_, text) => /\r\n0[^\r]*\r\n(?:[^\r\n]+\r\n)*connection:[^\r]*close/i.test(text),
    sample: `${CHUNKED}0\r\nConnection: close\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n`,
  },
]
