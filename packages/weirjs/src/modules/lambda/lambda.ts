// `weirjs/lambda`: a server as a function of AWS Lambda. A function has no sockets: each event is a request to `server.fetch`.

import { kindOf } from '../../base/kind-of.ts'
import { invalid } from '../../base/options.ts'

import { type EventKind, kindOfEvent, type LambdaEvent, requestOf } from './event.ts'
import { headOf, type LambdaResult, type ResultHead, resultOf } from './result.ts'

/** A server, or anything else with its `fetch`. */
interface FetchServer {
  fetch(
    request: Request,
    options: { readonly peer: { readonly address: string }; readonly waitUntil: (work: Promise<unknown>) => void },
  ): Promise<Response>
}

/** The stream to which a response is written piece by piece. */
interface ResponseStream {
  write(bytes: Uint8Array, then: (error?: Error | null) => void): unknown
  end(then: () => void): unknown
}

/** The global of Lambda's Node.js runtime. */
interface Runtime {
  streamifyResponse(handler: (event: LambdaEvent, stream: ResponseStream) => Promise<void>): (event: LambdaEvent) => Promise<void>
  readonly HttpResponseStream: { from(stream: ResponseStream, head: ResultHead): ResponseStream }
}

/**
 * Returns the handler of a function that API Gateway (REST and HTTP APIs), a function URL or an Application Load Balancer calls. The response
 * is complete when it is returned; it is not streamed. Lambda freezes a function that has returned, so the handler returns when what was
 * passed to `session.waitUntil` has settled.
 * @throws WEIR_OPTION_INVALID if it is not a server; the handler rejects with it for an event that is not an HTTP request
 */
export function lambda(server: FetchServer): (event: LambdaEvent) => Promise<LambdaResult> {
  checkServer('lambda()', server)
  return async (event) => {
    const kind = checkedKind(event)
    const { response, settled } = await respond(server, event, kind)
    const result = await resultOf(response, kind, event)
    await settled()
    return result
  }
}

/**
 * The same, for function URLs in the invoke mode `RESPONSE_STREAM`: responses, event streams among them, are sent as they are made, and are
 * not limited to 6 MiB.
 * @throws WEIR_OPTION_INVALID if it is not a server, and outside Lambda
 */
export function lambdaStream(server: FetchServer): (event: LambdaEvent) => Promise<void> {
  checkServer('lambdaStream()', server)
  const runtime = (globalThis as { readonly awslambda?: Runtime }).awslambda
  if (runtime === undefined)
    throw invalid('lambdaStream()', 'it works only in the Node.js runtime of AWS Lambda, which has the global awslambda')
  return runtime.streamifyResponse(async (event, stream) => {
    const { response, settled } = await respond(server, event, checkedKind(event))
    const out = runtime.HttpResponseStream.from(stream, headOf(response))
    for await (const piece of response.body ?? [])
      await new Promise<void>((resolve, reject) => out.write(piece, (error) => (error ? reject(error) : resolve())))
    await new Promise<void>((resolve) => out.end(resolve))
    await settled()
  })
}

async function respond(
  server: FetchServer,
  event: LambdaEvent,
  kind: EventKind,
): Promise<{ response: Response; settled: () => Promise<void> }> {
  const works: Promise<unknown>[] = []
  const { request, address } = requestOf(event, kind)
  const response = await server.fetch(request, { peer: { address }, waitUntil: (work) => void works.push(work) })
  const settled = async (): Promise<void> => {
    for (const work of works) await work.catch(() => {}) // the server has logged it, and work may add work
  }
  return { response, settled }
}

function checkServer(owner: string, server: FetchServer): void {
  if (typeof (server as FetchServer | undefined)?.fetch !== 'function')
    throw invalid(owner, `the server is ${kindOf(server)}, not an HttpServer`)
}

function checkedKind(event: LambdaEvent): EventKind {
  const kind = kindOfEvent(event)
  if (kind === undefined) throw invalid('lambda()', 'the event is not an HTTP request of API Gateway, a function URL or a load balancer')
  return kind
}
