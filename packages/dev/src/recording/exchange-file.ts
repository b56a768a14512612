// The text of a recorded exchange: JSON in ASCII, with bytes as characters, one line of the request on a line. Bytes that are not text are
// base64.

import { Buffer } from 'node:buffer'

import { kindOf } from 'weirjs/kit'

import type { RecordedBody, RecordedExchange } from './recorded-exchange.ts'

/** The name of the format. */
const FORMAT = 'weir-exchange/1'

/** Bytes in a file. */
type FileBytes = string | readonly string[] | { readonly base64: string }

interface FileBody {
  readonly length: number
  readonly bytes?: FileBytes
  readonly sha256?: string
}

/** @param indent for a file of its own; without it, one line */
export function exchangeText({ pieces, response, ...rest }: RecordedExchange, indent: boolean): string {
  const value = {
    format: FORMAT,
    ...rest,
    pieces: pieces.map(({ atMs, bytes }) => ({ atMs, bytes: fileBytes(bytes) })),
    response: { ...response, body: fileBody(response.body), trailers: response.trailers.length === 0 ? undefined : response.trailers },
  }
  return JSON.stringify(value, null, indent ? 2 : undefined).replace(/[\u007f-\uffff]/g, escaped)
}

function escaped(char: string): string {
  return `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`
}

function fileBytes(bytes: string): FileBytes {
  const odd = bytes.match(/[^\t\r\n\x20-\x7e]/g)?.length ?? 0
  if (odd * 4 > bytes.length) return { base64: Buffer.from(bytes, 'latin1').toString('base64') }
  const lines = bytes.match(/[^\n]*\n|[^\n]+/g) ?? []
  return lines.length > 1 ? lines : bytes
}

function fileBody({ length, bytes, sha256 }: RecordedBody): FileBody {
  return { length, ...(bytes === null ? {} : { bytes: fileBytes(bytes) }), ...(sha256 === null ? {} : { sha256 }) }
}

function bytesOf(bytes: FileBytes): string {
  if (typeof bytes === 'string') return bytes
  return 'base64' in bytes ? Buffer.from(bytes.base64, 'base64').toString('latin1') : bytes.join('')
}

/** @param where the file, for messages @throws Error for a text that is not a recorded exchange */
export function parseExchange(text: string, where: string): RecordedExchange {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new Error(`${where} is not JSON: ${(error as Error).message}`)
  }
  if (typeof value !== 'object' || value === null || (value as { format?: unknown }).format !== FORMAT)
    throw new Error(`${where} is ${kindOf(value)} without "format": "${FORMAT}", not an exchange that weir has recorded`)
  const {
    format: _,
    pieces,
    response,
    ...rest
  } = value as Omit<RecordedExchange, 'pieces' | 'response'> & {
    readonly format: string
    readonly pieces: readonly { readonly atMs: number; readonly bytes: FileBytes }[]
    readonly response: Omit<RecordedExchange['response'], 'body' | 'trailers'> & {
      readonly body: FileBody
      readonly trailers?: RecordedExchange['response']['trailers']
    }
  }
  const { length, bytes, sha256 = null } = response.body
  return {
    ...rest,
    pieces: pieces.map((piece) => ({ atMs: piece.atMs, bytes: bytesOf(piece.bytes) })),
    response: {
      ...response,
      trailers: response.trailers ?? [],
      body: { length, bytes: bytes === undefined ? null : bytesOf(bytes), sha256 },
    },
  }
}
