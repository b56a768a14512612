// Converts a response to the form that the caller of the function expects.

import { Buffer, isUtf8 } from 'node:buffer'

import type { EventKind, LambdaEvent } from './event.ts'

/** What a function returns for an HTTP request. */
export interface LambdaResult {
  readonly statusCode: number
  /** For load balancers. */
  readonly statusDescription?: string
  readonly headers?: Readonly<Record<string, string>>
  /** For payload format 1.0, and load balancers with "multi-value headers". */
  readonly multiValueHeaders?: Readonly<Record<string, readonly string[]>>
  /** For payload format 2.0. */
  readonly cookies?: readonly string[]
  readonly body: string
  readonly isBase64Encoded: boolean
}

/** Status, fields and cookies of a response in payload format 2.0. */
export interface ResultHead {
  readonly statusCode: number
  readonly headers: Readonly<Record<string, string>>
  readonly cookies: readonly string[]
}

export function headOf(response: Response): ResultHead {
  const cookies = response.headers.getSetCookie()
  const headers = Object.fromEntries([...response.headers].filter(([name]) => name !== 'set-cookie'))
  return { statusCode: response.status, headers, cookies }
}

export async function resultOf(response: Response, kind: EventKind, event: LambdaEvent): Promise<LambdaResult> {
  const { statusCode, headers, cookies } = headOf(response)
  const bytes = Buffer.from(await response.arrayBuffer())
  const isText = isUtf8(bytes)
  const sent = { statusCode, body: bytes.toString(isText ? 'utf8' : 'base64'), isBase64Encoded: !isText }
  if (kind === 'http') return { ...sent, headers, cookies }
  const lists = { ...listsOf(headers), ...(cookies.length > 0 && { 'set-cookie': cookies }) }
  if (kind === 'rest') return { ...sent, multiValueHeaders: lists }
  const statusDescription = `${statusCode} ${response.statusText}`.trimEnd()
  if ('multiValueHeaders' in event && event.multiValueHeaders) return { ...sent, statusDescription, multiValueHeaders: lists }
  const cookie = cookies.at(-1) // without multi-value headers, a load balancer sends only one
  return { ...sent, statusDescription, headers: cookie === undefined ? headers : { ...headers, 'set-cookie': cookie } }
}

function listsOf(fields: Readonly<Record<string, string>>): Record<string, readonly string[]> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, [value]]))
}
