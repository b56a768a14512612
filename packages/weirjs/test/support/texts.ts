// The responses of a server to several requests, one after the other.

import type { HttpServer } from '../../src/index.ts'

/** The text of each response; its status if that is not 200. */
export async function texts(server: HttpServer, ...requests: (string | { method: string; url: string })[]): Promise<string[]> {
  const answers: string[] = []
  for (const request of requests) {
    const answer = await server.inject(request)
    answers.push(answer.status === 200 ? answer.text() : String(answer.status))
  }
  return answers
}
