// The public API of @weirjs/acme.

export { type Acme, type AcmeOptions, acme, type CertificateStatus } from './acme.ts'
export type { ExternalAccount } from './ca-client.ts'
export type { HttpsOnlyOptions } from './https-only.ts'
export type { AcmeStore } from './store.ts'
