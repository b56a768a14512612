// What a client of a server under test gets, and when.

import assert from 'node:assert/strict'
import { connect, type PeerCertificate } from 'node:tls'

/** On a busy machine, an order takes long. */
const PATIENCE_MS = 120_000

export async function eventually(condition: () => Promise<boolean>, what = 'a certificate'): Promise<void> {
  const end = performance.now() + PATIENCE_MS
  while (!(await condition())) {
    assert.ok(performance.now() < end, `no sign of ${what}`)
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}

/** The certificate that a client with this server name gets. */
export function seen(port: number, servername = ''): Promise<PeerCertificate> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', servername, rejectUnauthorized: false, ALPNProtocols: ['http/1.1'] }, () => {
      resolve(socket.getPeerCertificate())
      socket.destroy()
    })
    socket.on('error', reject)
  })
}
