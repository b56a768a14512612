// Makes the request for a route from the arguments of a call.

import type { HttpSession } from 'weirjs'
import { kindOf } from 'weirjs/kit'

import type { Tool } from './tools.ts'

/** What is wrong with the arguments of a call, for the model. */
export class ArgumentError extends Error {}

/** Fields about the connection, the body and conditions of the call, and fields of the protocol. The rest is the client's: credentials, origin, language, traces. */
const LEFT_OUT =
  /^(?:host|connection|keep-alive|te|trailer|transfer-encoding|upgrade|expect|content-.*|accept|accept-encoding|range|if-.*|cache-control|pragma|max-forwards|http2-settings|proxy-.*|forwarded|x-forwarded-.*|mcp-.*|last-event-id)$/i

/**
 * Characters of all arguments that become a part of the path, the query or a field. A server reads no larger head, and making one takes much longer
 * than refusing it.
 */
const MOST_IN_HEAD = 65_536

/** The request of a call, relative to the base path of the application. */
interface ToolRequest {
  /** Path and query. */
  readonly target: string
  readonly headers: Headers
  readonly body: string | null
}

/** @throws ArgumentError */
export function requestOf(tool: Tool, given: unknown, session: HttpSession): ToolRequest {
  if (typeof given !== 'object' || given === null || Array.isArray(given))
    throw new ArgumentError(`the arguments are ${kindOf(given)}, not an object`)
  const args = given as Readonly<Record<string, unknown>>
  for (const name of Object.keys(args))
    if (!tool.args.has(name))
      throw new ArgumentError(
        `there is no argument ${JSON.stringify(name.slice(0, 100))}; the arguments are ${[...tool.args.keys()].join(', ')}`,
      )
  let room = MOST_IN_HEAD
  /** The texts of an argument that is not the body. A list of millions is refused before all of them are made. */
  const textsFor = (name: string, value: unknown): readonly string[] => {
    const texts: string[] = []
    for (const text of textsOf(name, value)) {
      room -= name.length + text.length + 2
      if (room < 0) throw new ArgumentError(`the arguments without "body" have more than ${MOST_IN_HEAD} characters`)
      texts.push(text)
    }
    return texts
  }
  const headers = headersOf(session)
  const search = new URLSearchParams()
  let body: string | null = null
  for (const [name, { source, name: key }] of tool.args) {
    const value = Object.hasOwn(args, name) ? args[name] : undefined
    if (value === undefined || source === 'path') continue
    if (source === 'body') {
      body = bodyOf(tool, value)
      headers.set('content-type', tool.body!.type)
    } else if (source === 'query') for (const text of textsFor(name, value)) search.append(key, text)
    else setField(headers, name, key, textsFor(name, value))
  }
  const path = tool.route.path.replace(/([:*])\*?([^/]+)/g, (_, kind, name) =>
    segmentsOf(name, Object.hasOwn(args, name) ? textsFor(name, args[name]) : [], kind === '*'),
  )
  const query = `${search}`
  return { target: path + (query && `?${query}`), headers, body }
}

function headersOf({ request }: HttpSession): Headers {
  const headers = new Headers({ accept: 'application/json, text/event-stream;q=0.9, */*;q=0.5' })
  for (const [name, value] of request.headers) if (!LEFT_OUT.test(name)) headers.append(name, value)
  return headers
}

function bodyOf({ body }: Tool, value: unknown): string {
  if (body!.isJson) return JSON.stringify(value)
  if (typeof value !== 'string') throw new ArgumentError(`"body" is ${kindOf(value)}, not text`)
  return value
}

function setField(headers: Headers, name: string, field: string, texts: readonly string[]): void {
  headers.delete(field)
  try {
    for (const text of texts) headers.append(field, text)
  } catch {
    throw new ArgumentError(`"${name}" cannot be a field of a request`)
  }
}

/** `.` and `..` are resolved, encoded or not, and an empty segment matches other routes. */
function segmentsOf(name: string, texts: readonly string[], isRest: boolean): string {
  const segments = isRest ? (texts[0] ?? '').split('/') : texts
  if (texts.length !== 1 || segments[0] === '' || segments.some((segment) => /(^|\\)\.\.?(\\|$)/.test(segment) || !isWellFormed(segment)))
    throw new ArgumentError(texts.length === 0 ? `"${name}" is missing` : `"${name}" cannot be a part of a path`)
  return segments.map(encodeURIComponent).join('/')
}

/** Whether it has no half of a surrogate pair, which cannot be encoded. */
function isWellFormed(text: string): boolean {
  return !/\p{Surrogate}/u.test(text)
}

/** Null is left out. */
function* textsOf(name: string, value: unknown): Generator<string, void> {
  for (const one of (Array.isArray(value) ? value : [value]) as readonly unknown[]) {
    if (one === null || one === undefined) continue
    if (typeof one === 'object') throw new ArgumentError(`"${name}" is ${kindOf(one)}, not text, a number, true or false`)
    yield String(one)
  }
}
