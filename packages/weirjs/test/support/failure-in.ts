// The error of a call that a handler makes.

import { HttpServer, type HttpSession } from '../../src/index.ts'

/** What a call in a handler throws or rejects with; null when it does not. */
export async function failureIn(call: (session: HttpSession) => unknown, sent: object): Promise<unknown> {
  let failure: unknown = null
  const server = new HttpServer({ logger: null }).mapPost('/', async (_, session) => {
    try {
      await call(session)
    } catch (error) {
      failure = error
    }
    return ''
  })
  await server.inject({ method: 'POST', url: '/', ...sent })
  return failure
}
