// Reads the exchanges of an HTTP Archive (HAR 1.2), which browsers and proxies write.

import { Buffer } from 'node:buffer'

import type { RecordedExchange } from './recorded-exchange.ts'

interface HarPair {
  readonly name: string
  readonly value: string
}

interface HarEntry {
  readonly startedDateTime?: string
  readonly time?: number
  readonly request: {
    readonly method: string
    readonly url: string
    readonly headers?: readonly HarPair[]
    readonly postData?: {
      readonly mimeType?: string
      readonly text?: string
      readonly encoding?: string
      readonly params?: readonly HarPair[]
    }
  }
  readonly response: {
    readonly status: number
    readonly headers?: readonly HarPair[]
    readonly content?: { readonly size?: number; readonly text?: string; readonly encoding?: string }
  }
}

/** Fields that belong to a connection, or that state a length that a HAR may have changed. */
const DROPPED: ReadonlySet<string> = new Set([
  'connection',
  'content-length',
  'expect',
  'host',
  'http2-settings',
  'keep-alive',
  'proxy-connection',
  'te',
  'transfer-encoding',
  'upgrade',
])

/**
 * The exchanges that have a response. Their bytes are those that a client would send over HTTP/1.1.
 * @param where the file, for messages
 * @throws Error for a text that is not a HAR
 */
export function parseHar(text: string, where: string): RecordedExchange[] {
  const { log } = JSON.parse(text) as { readonly log?: { readonly entries?: unknown } }
  if (!Array.isArray(log?.entries)) throw new Error(`${where} is not an HTTP Archive: it has no log.entries`)
  return (log.entries as HarEntry[]).filter(({ response }) => response.status > 0).map(exchangeOf)
}

function exchangeOf({ startedDateTime, time = 0, request, response }: HarEntry): RecordedExchange {
  const url = new URL(request.url)
  const target = `${url.pathname}${url.search}`
  const body = bodyOf(request)
  const fields = [
    ['Host', url.host] as const,
    ...(request.headers ?? [])
      .filter(({ name }) => !name.startsWith(':') && !DROPPED.has(name.toLowerCase()))
      .map(({ name, value }) => [name, latin1(value)] as const),
    ...(body === null ? [] : [['Content-Length', String(body.length)] as const]),
  ]
  const head = `${request.method} ${target} HTTP/1.1\r\n${fields.map(([name, value]) => `${name}: ${value}\r\n`).join('')}\r\n`
  return {
    recordedAt: startedDateTime ?? new Date(0).toISOString(),
    method: request.method,
    target,
    isSecure: url.protocol === 'https:',
    endpoint: null,
    pieces: [{ atMs: 0, bytes: head + (body ?? '') }],
    endedAtMs: null,
    response: {
      status: response.status,
      fields: (response.headers ?? [])
        .filter(({ name }) => !name.startsWith(':'))
        .map(({ name, value }) => [name.toLowerCase(), latin1(value)] as const),
      body: contentOf(response),
      trailers: [],
      isWhole: true,
      firstByteMs: Math.max(0, Math.round(time)),
      endMs: Math.max(0, Math.round(time)),
    },
  }
}

/** One character for each byte; null for none. */
function bodyOf({ postData }: HarEntry['request']): string | null {
  if (postData === undefined) return null
  const { text, encoding, params } = postData
  if (text !== undefined && text !== '') return encoding === 'base64' ? Buffer.from(text, 'base64').toString('latin1') : latin1(text)
  if (params === undefined || params.length === 0) return null
  return new URLSearchParams(params.map(({ name, value }): [string, string] => [name, value])).toString()
}

/** Some programs leave the content out. */
function contentOf({ content }: HarEntry['response']): RecordedExchange['response']['body'] {
  const { text, encoding, size = 0 } = content ?? {}
  if (text === undefined) return { length: size, bytes: size === 0 ? '' : null, sha256: null }
  const bytes = encoding === 'base64' ? Buffer.from(text, 'base64').toString('latin1') : latin1(text)
  return { length: bytes.length, bytes, sha256: null }
}

function latin1(text: string): string {
  return Buffer.from(text).toString('latin1')
}
