// A process of its own that takes uploads: node upload-process.js <directory> <expiresAfter in ms> <port> [port of Redis or path of a
// database]. It prints its port when it is ready, and then a line of JSON for each upload: its size and its SHA-256.

import { createHash } from 'node:crypto'
import { Redis } from 'ioredis'
import { redisLocks } from '../../../redis/src/index.ts'
import { diskStorage, memoryLocks, type UploadLocks, uploads } from '../../../uploads/src/index.ts'
import { systemClock } from '../../src/base/clock.ts'
import { HttpServer } from '../../src/index.ts'
import { sqliteStores } from '../../src/modules/sqlite/index.ts'
import { openDatabase } from './sqlite.ts'

const [directory, expiresAfter, port, shared] = process.argv.slice(2) as [string, string, string, string?]
/** So that a test need not wait until the leases of processes that it has killed are over: this process sees them as old. */
const wallTime = (): number => Date.now() + Number(process.env['CLOCK_AHEAD_MS'] ?? 0)
function locksIn(place: string): UploadLocks {
  if (/^\d+$/.test(place)) return redisLocks(new Redis({ port: Number(place), host: '127.0.0.1' }), { lease: '2s', timeout: '10s' })
  return sqliteStores(openDatabase(place), { timeout: '30s', clock: { ...systemClock, wallTime } }).uploadLocks
}
const locks = shared === undefined ? memoryLocks() : locksIn(shared)
const server = new HttpServer({ address: '127.0.0.1', port: Number(port), logger: null })
server.use(
  uploads('/files', {
    storage: diskStorage(directory),
    locks,
    maxSize: 4 * 1024 ** 3,
    expiresAfter: Number(expiresAfter),
    async onComplete(upload) {
      const hash = createHash('sha256')
      for await (const chunk of upload.stream()) hash.update(chunk as Buffer)
      console.log(JSON.stringify({ size: upload.size, hash: hash.digest('hex') }))
    },
  }),
)
await server.start()
console.log(server.port)
