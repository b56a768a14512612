// What the log says beside an error of a handler: what to write instead of a method of another framework, and which handler it is, where the
// stack of the error does not show a line of the program.

import { isInstance } from '../base/errors.ts'
import { programPlace } from '../base/program-frames.ts'
import type { Route } from './routes/route.ts'

/** Messages of V8, and what was probably meant. */
const HINTS: readonly (readonly [message: RegExp, hint: string])[] = [
  [
    /\.(?:send|end|write|writeHead|sendFile|sendStatus|render) is not a function/,
    'it was meant to return the value, or response.json(value), text, html, stream or file',
  ],
  [
    /\.(?:json|status|redirect|cookie|set|type) is not a function/,
    'it expects (req, res), and a handler gets (args, session): write (_, { response }) => response.json(value)',
  ],
  [/\.(?:\w+Header) is not a function|undefined \(reading '(?:set|append)'\)/, 'response.header(name, value) was meant'],
  [/\.get is not a function/, 'request.header(name) was meant, or request.query.get(name)'],
  [/read only property/, 'it is frozen: update() changes session data'],
  [/\(reading '#|private member|Receiver must be/, 'a method was taken off its object: call it as in request.header(name)'],
  [
    /\.(?:params|query|body)\b.* undefined|undefined \(reading '(?:params|query|body|headers)'\)/,
    'it expects a request, and a handler gets (args, session): write (args, { request })',
  ],
]
/** Errors about a route, which no line of its handler has thrown. */
const OF_A_ROUTE: ReadonlySet<unknown> = new Set(['WEIR_RESULT_UNSENDABLE', 'WEIR_ANSWER_UNDECLARED', 'WEIR_AUTH_SETUP'])

/** Empty if there is nothing to add, as in production, where a route does not keep the line that maps it. */
export function hintFor(error: unknown, route: Route | null): string {
  if (route === null || route.mappedBy === null) return ''
  try {
    return hintIn(error, route)
  } catch {
    return '' // what was thrown may throw when it is read
  }
}

function hintIn(error: unknown, route: Route): string {
  if (!isInstance(error, Error)) return `, in ${route.place}: throw an Error, which has a stack`
  if (error.name === 'TypeError') {
    const hint = HINTS.find(([message]) => message.test(error.message))
    return hint === undefined ? '' : `; perhaps ${hint[1]}`
  }
  if (!OF_A_ROUTE.has((error as { code?: unknown }).code) || error.message.includes(route.place)) return ''
  const line = programPlace({ stack: String(error.stack) })
  return line === null || line.startsWith('node:') ? `, in ${route.place}` : ''
}
