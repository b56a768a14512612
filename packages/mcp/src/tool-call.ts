// Runs the route of a tool inside its server, as a request of the client that calls the tool.

import { isIP } from 'node:net'

import { HttpError, type HttpServer, type HttpSession } from 'weirjs'
import { exchange, FairQueue, networkOf } from 'weirjs/kit'

import { ArgumentError, requestOf } from './tool-request.ts'
import { failure, ResultTooLarge, resultOf, type ToolResult, textContent } from './tool-result.ts'
import type { Tool } from './tools.ts'

/** Fields in which a proxy states its client, and the prefix that it has removed from the path. */
const STATED = /^(?:forwarded|x-forwarded-.*|x-ingress-path)$/i

/** Calls that begin in one turn of the event loop: a call takes several times as long as the request of its route. */
const CALLS_PER_TURN = 16
/** Bytes of a message that count as one call more: a list of 20 KB takes 7 ms, from its texts to the parameters of the route. */
const BYTES_OF_CALL = 1_024

const turns = FairQueue.turns(CALLS_PER_TURN)

/** Clients take turns, so that no other client waits for all calls of one. */
function turnOf({ clientAddress, request }: HttpSession): Promise<void> | null {
  return turns.take(networkOf(clientAddress), 1 + request.bodyLength / BYTES_OF_CALL)
}

/** The outcome of a call: a result, or events that end with one. */
type Called = ToolResult | AsyncGenerator<string, ToolResult>

/**
 * @param most the largest result, in bytes
 * @param passesChallenges whether a status tells the client that the route requires other credentials
 * @throws HttpError with the challenge of the route
 */
export async function callTool(session: HttpSession, tool: Tool, args: unknown, most: number, passesChallenges: boolean): Promise<Called> {
  try {
    const response = await send(session, tool, args)
    const challenge = response.headers.get('www-authenticate')
    const { status, body } = response
    if (passesChallenges && challenge !== null && (status === 401 || (status === 403 && challenge.includes('insufficient_scope'))))
      throw new HttpError(status, `${tool.name} needs other credentials`, { headers: { 'WWW-Authenticate': challenge } })
    const isStream = status < 400 && body !== null && response.headers.get('content-type')?.startsWith('text/event-stream') === true
    return isStream ? streamed(body, most) : await resultOf(tool, response, most)
  } catch (error) {
    return failed(error)
  }
}

/** What the model may know about an error. A failure of the route has already been logged, because the connection of its request has ended. */
function failed(error: unknown): ToolResult {
  if (error instanceof HttpError) throw error
  return failure(error instanceof ArgumentError || error instanceof ResultTooLarge ? error.message : 'the response was aborted')
}

/** Each event, and at the end the result that has all of them. */
async function* streamed(body: ReadableStream<Uint8Array>, most: number): AsyncGenerator<string, ToolResult> {
  const content: object[] = []
  try {
    for await (const data of eventData(body, most)) {
      content.push(textContent(data))
      yield data
    }
    return { content }
  } catch (error) {
    return failed(error)
  }
}

/** The values of arguments must not lead to a route other than the tool's own: `/notes/:id` may stand beside `/notes/all`. */
async function send(session: HttpSession, tool: Tool, args: unknown): Promise<Response> {
  await turnOf(session)
  const { target, headers, body } = requestOf(tool, args, session)
  const { endpoint, basePath } = session
  const server = session.server as HttpServer
  // Another base path may belong to another tenant. A base path that a proxy has stated can only be stated by a proxy.
  const { place, peer } = basePath === server.basePath ? clientOf(session) : proxyOf(session, headers)
  const arrival = { peer, ...(endpoint !== null && { endpoint }) }
  const url = place + target
  const { method } = tool
  const explained = await server.explain(new Request(url, { method, headers }), arrival)
  const { route } = explained
  if (route === null || !isSame(route, tool.route)) throw new ArgumentError(`the arguments lead to another route than that of ${tool.name}`)
  if (explained.basePath !== basePath) throw new ArgumentError(`${tool.name} is not below ${basePath}`)
  return server.fetch(new Request(url, { method, headers, body, signal: session.request.signal }), arrival)
}

/** Where a request of the route begins, and who sends it. */
interface Sender {
  readonly place: string
  readonly peer: { readonly isSecure: boolean; readonly address?: string; readonly isUnixSocket?: boolean }
}

function clientOf({ clientAddress, isSecure, origin, basePath }: HttpSession): Sender {
  return { place: origin + basePath, peer: { isSecure, ...(isIP(clientAddress) !== 0 && { address: clientAddress }) } }
}

/** @param headers receive the fields in which the proxy has stated its client */
function proxyOf(session: HttpSession, headers: Headers): Sender {
  const { address, isSecure } = session.peer
  for (const [name, value] of session.request.headers) if (STATED.test(name)) headers.set(name, value)
  const host = exchange(session).statedHost || 'localhost'
  return {
    place: `${isSecure ? 'https' : 'http'}://${host}`,
    peer: address === '' ? { isSecure, isUnixSocket: true } : { isSecure, address },
  }
}

type Identity = Pick<Tool['route'], 'method' | 'path' | 'host' | 'endpoint'>

function isSame(one: Identity, other: Identity): boolean {
  return one.method === other.method && one.path === other.path && one.host === other.host && one.endpoint === other.endpoint
}

/**
 * The data of server-sent events (WHATWG HTML §9.2.6), as a route sends them.
 * @param most how many bytes all events together may have
 * @throws ResultTooLarge, and what the body fails with
 */
async function* eventData(body: ReadableStream<Uint8Array>, most: number): AsyncGenerator<string, void> {
  const decoder = new TextDecoder()
  let rest = ''
  let data: string[] = []
  let size = 0
  for await (const piece of body as unknown as AsyncIterable<Uint8Array>) {
    size += piece.length
    if (size > most) throw new ResultTooLarge(most)
    const lines = (rest + decoder.decode(piece, { stream: true })).split(/\r\n|\n|\r(?!$)/)
    rest = lines.pop()!
    for (const line of lines) {
      if (line.startsWith('data:')) data.push(line.slice(line[5] === ' ' ? 6 : 5))
      else if (line === '' && data.length > 0) {
        yield data.join('\n')
        data = []
      }
    }
  }
}
