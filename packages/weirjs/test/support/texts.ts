// The responses of a server to several requests, one after the other.

import type { HttpServer } from '../../src/index.ts'

/** The text of each response; its status if that is not 200. */
export async function texts(server: HttpServer, ...requests: (string | { method: string; url: string })[]): Promise<string[]> {
  const responses: string[] = []
  for (const request of requests) {
    const response = await server.inject(request)
    responses.push(response.status === 200 ? response.text() : String(response.status))
  }
  return responses
}
