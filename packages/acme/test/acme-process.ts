// One of several processes with one certificate: `node acme-process.js '<settings>'`. It prints its ports, then each line of its log.

import { HttpServer } from 'weirjs'
import { systemClock } from 'weirjs/kit'
import { sqliteStores } from 'weirjs/sqlite'

import { redisCertificates } from '../../redis/src/index.ts'
import { cert } from '../../weirjs/test/support/certificate.ts'
import { openDatabase } from '../../weirjs/test/support/sqlite.ts'
import { type AcmeStore, acme, type ExternalAccount } from '../src/index.ts'
import { trusting } from './pebble.ts'

export interface ProcessSettings {
  readonly directory: string
  /** A directory, a file of SQLite, or the URL of a Redis. */
  readonly store: string
  readonly domains: readonly string[]
  readonly challenge: 'http-01' | 'tls-alpn-01'
  /** By how many milliseconds its clock is ahead. */
  readonly ahead?: number
  readonly eab?: ExternalAccount
}

const { challenge, ahead = 0, store, ...options } = JSON.parse(process.argv[2]!) as ProcessSettings
const clock = {
  now: () => systemClock.now(),
  wallTime: () => systemClock.wallTime() + ahead,
  every: (ms: number, tick: () => void) => systemClock.every(ms, tick),
}
async function opened(store: string): Promise<string | AcmeStore> {
  if (store.endsWith('.db')) return sqliteStores(openDatabase(store), { timeout: '30s' }).certificates
  if (!store.startsWith('redis:')) return store
  const { createClient } = await import('redis')
  return redisCertificates(await createClient({ url: store }).connect(), { timeout: '30s' })
}
const certificates = await acme({ ...options, store: await opened(store), challenges: [challenge], fetch: trusting(cert), clock })
const note = (message: string): void => void process.stdout.write(`${message}\n`)
const server = new HttpServer({
  hosts: 'any',
  logger: { error: note, warn: note, info: note },
  listen: [{ port: 0 }, { port: 0, tls: certificates.tls }],
})
server.use(certificates)
await server.start()
note(JSON.stringify(server.endpoints.map(({ port }) => port)))
