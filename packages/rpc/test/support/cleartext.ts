// A server for HTTP/2 without TLS, and a client that is connected to it.

import http2 from 'node:http2'
import type { TestContext } from 'node:test'

import { HttpServer } from 'weirjs'

/** Both end with the test. */
export async function serveCleartext(t: TestContext, map: (server: HttpServer) => void): Promise<http2.ClientHttp2Session> {
  const server = new HttpServer({ port: 0, address: '127.0.0.1', http2: 'cleartext', logger: null })
  map(server)
  await server.start()
  const client = http2.connect(`http://127.0.0.1:${server.port}`)
  t.after(async () => {
    client.destroy()
    await server.stop({ grace: 0 })
  })
  return client
}
