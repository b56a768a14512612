// Makes a record of the certificate that a client has presented, which may be kept.

import type { PeerCertificate, TLSSocket } from 'node:tls'

import type { CertificateName, ClientCertificate } from '../../http/connection-info.ts'

/** @returns null if the client has presented none */
export function readClientCertificate(socket: TLSSocket): ClientCertificate | null {
  // Null after the socket has closed, and an empty object if there is no certificate. Node's types include neither.
  const shown = socket.getPeerCertificate() as Partial<PeerCertificate> | null
  if (!shown?.raw) return null
  const { subject, issuer, subjectaltname, serialNumber, valid_from, valid_to, fingerprint256, raw } = shown as PeerCertificate
  const error: unknown = socket.authorizationError
  return Object.freeze({
    authorized: socket.authorized,
    authorizationError: socket.authorized ? null : error instanceof Error ? error.message : String(error),
    subject: nameOf(subject),
    issuer: nameOf(issuer),
    subjectAltName: subjectaltname ?? null,
    serialNumber,
    validFrom: new Date(valid_from),
    validTo: new Date(valid_to),
    fingerprint256,
    raw: new Uint8Array(raw),
  })
}

function nameOf(name: object): CertificateName {
  return Object.freeze(Object.assign(Object.create(null), name)) as CertificateName
}
