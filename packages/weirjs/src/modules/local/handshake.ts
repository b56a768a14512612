// Whether the server at an address is the server that a file names. After a crash, its port may belong to another program, which must not get the
// token of the user's next request: so both sides prove that they know the token, and neither sends it.

import type { Buffer } from 'node:buffer'
import { randomBytes } from 'node:crypto'
import { LaunchToken } from '../launch/launch-token.ts'
import type { FoundLocal } from './instance-file.ts'
import { isAlive } from './is-alive.ts'

/** The field of the request, with a nonce and the proof of the client, and of the response, with the proof of the server. */
export const PROOF_FIELD = 'weir-local'
/** The path of the handshake. */
export const HELLO_PATH = '/_local/hello'
/** An instance that has ended refuses the connection immediately, so only a very busy machine needs this time. */
const TIMEOUT_MS = 10_000
/** weir's own response has no content. */
const MOST_BYTES = 10_000
const NONCE = /^[\w-]{22,64}$/

/** @returns the proof of the server; null if the client's proof is wrong */
export function answerToHello(token: string, field: string | null): string | null {
  const [nonce = '', proof = ''] = (field ?? '').split('.')
  if (!NONCE.test(nonce) || !LaunchToken.isSame(proof, proofOf(token, 'client', nonce))) return null
  return proofOf(token, 'server', nonce)
}

/**
 * Whether the process is alive, and a server that knows the token answers there. `silent`: a program listens there, but has not answered in time.
 * It may be the instance on a busy machine, or a program that hangs.
 */
export async function stateOf({ url, token, pid }: FoundLocal, timeoutMs = TIMEOUT_MS): Promise<'runs' | 'silent' | 'gone'> {
  if (!isAlive(pid)) return 'gone'
  const nonce = randomBytes(18).toString('base64url')
  const field = `${nonce}.${proofOf(token, 'client', nonce)}`
  const end = AbortSignal.timeout(timeoutMs)
  try {
    const proof = await ask(url, field, end)
    return typeof proof === 'string' && LaunchToken.isSame(proof, proofOf(token, 'server', nonce)) ? 'runs' : 'gone'
  } catch {
    return end.aborted && isAlive(pid) ? 'silent' : 'gone'
  }
}

/** The field with which the server at `url` answers, once its response is complete. @throws (rejects) the system's error */
async function ask(url: string, field: string, signal: AbortSignal): Promise<string | string[] | undefined> {
  // Not imported: that would also load what `fetch` and `WebSocket` need, and take tens of milliseconds of each start.
  const { request: send } = process.getBuiltinModule(url.startsWith('https:') ? 'node:https' : 'node:http')
  return new Promise((resolve, reject) => {
    // The proof identifies the server. Its certificate does not, because such servers are often self-signed.
    const options = { method: 'POST', headers: { [PROOF_FIELD]: field }, agent: false, rejectUnauthorized: false, signal }
    const request = send(`${url}${HELLO_PATH}`, options, (response) => {
      let bytes = 0
      response.on('data', (piece: Buffer) => {
        bytes += piece.length
        if (bytes > MOST_BYTES) response.destroy(new Error('the response is too long'))
      })
      response.on('end', () => resolve(response.headers[PROOF_FIELD]))
      response.on('error', reject)
    })
    request.on('error', reject)
    request.end()
  })
}

function proofOf(token: string, side: 'client' | 'server', nonce: string): string {
  return LaunchToken.proofOf(token, `${side} ${nonce}`)
}
