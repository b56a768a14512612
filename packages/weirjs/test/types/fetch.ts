// `server.fetch` fits where runtimes want a fetch function. Only tsc runs this file.

import { HttpServer } from '../../src/index.ts'

const server = new HttpServer()
export const deno: (request: Request, info: { remoteAddr: { hostname: string } }) => Promise<Response> = server.fetch
export const worker: { fetch(request: Request, env: { DB: string }, context: { waitUntil(): void }): Promise<Response> } = server
export const plain: (request: Request) => Response | Promise<Response> = server.fetch
server.fetch(new Request('http://a/'), { peer: { address: '10.0.0.1' }, endpoint: 'admin' })
server.explain(new Request('http://a/'), { peer: { address: '10.0.0.1' } })
// @ts-expect-error the peer of such a request is one of its members
server.explain({ url: '/' }, { peer: { address: '10.0.0.1' } })
// @ts-expect-error
server.explain({ url: '/', verb: 'GET' })
const explanation = await server.explain({ url: '/', endpoint: 'admin', peer: {} })
export const status: number | null = explanation.response.status
// @ts-expect-error it may be null
export const path: string = explanation.path
