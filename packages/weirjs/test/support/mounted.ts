// Runs the same `(req, res)` code under `node:http` and inside weir, and tells what its clients and the code itself see.

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { TestContext } from 'node:test'

import { HttpServer, type ServerOptions } from '../../src/index.ts'
import { type MountNodeOptions, mountNode, type NodeHandler } from '../../src/node/index.ts'
import { type Message, RawClient } from './raw-client.ts'

/** Code under test. What it logs is compared. */
export type LoggingHandler = (req: IncomingMessage, res: ServerResponse, log: (word: unknown) => void) => unknown

/** Starts `node:http` with a listener. @returns its port */
export async function listen(t: TestContext, listener: (req: IncomingMessage, res: ServerResponse) => unknown): Promise<number> {
  const server: Server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  t.after(() => {
    server.close()
    server.closeAllConnections()
  })
  return (server.address() as AddressInfo).port
}

/** Starts weir with `handler` mounted at `/`. */
export async function mount(
  t: TestContext,
  handler: NodeHandler,
  options: MountNodeOptions & { readonly server?: ServerOptions; readonly map?: (server: HttpServer) => void } = {},
): Promise<HttpServer> {
  const { server: serverOptions, map, ...mountOptions } = options
  const server = new HttpServer({ address: '127.0.0.1', port: 0, hosts: 'any', logger: null, ...serverOptions })
  map?.(server)
  mountNode(server, '/', handler, mountOptions)
  await server.start()
  t.after(() => server.stop({ graceMs: 0 }))
  return server
}

/** What a client and the code have seen of one exchange. */
export interface Seen {
  readonly status: number
  readonly reason: string
  readonly fields: readonly string[]
  readonly body: string
  readonly log: readonly unknown[]
}

/** About the connection and the framing: each server has its own. */
const OF_THE_SERVER = /^(?:date|connection|keep-alive|transfer-encoding|content-length)$/i

export function outline(message: Message, log: readonly unknown[]): Seen {
  const fields = message.fields.filter(([name]) => !OF_THE_SERVER.test(name)).map(([name, value]) => `${name.toLowerCase()}: ${value}`)
  return { status: message.status, reason: message.reason, fields: fields.sort(), body: message.text, log }
}

/** Sends `request` to a server at `port`, and returns the final response. */
export async function exchange(port: number, request: string, toHead = false): Promise<Message> {
  const client = await RawClient.connect(port)
  try {
    client.send(request)
    for (;;) {
      const message = await client.message(toHead)
      if (message.status >= 200) return message
    }
  } finally {
    client.destroy()
  }
}
