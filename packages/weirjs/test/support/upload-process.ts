// A process of its own that takes uploads: node upload-process.js <directory> <expiresAfter in ms> <port> [port of Redis]. It prints its port
// when it is ready, and then a line of JSON for each upload: its size and its SHA-256.

import { createHash } from 'node:crypto'
import { Redis } from 'ioredis'
import { redisLocks } from '../../../redis/src/index.ts'
import { diskStorage, memoryLocks, uploads } from '../../../uploads/src/index.ts'
import { HttpServer } from '../../src/index.ts'

const [directory, expiresAfter, port, redisPort] = process.argv.slice(2) as [string, string, string, string?]
const locks =
  redisPort === undefined
    ? memoryLocks()
    : redisLocks(new Redis({ port: Number(redisPort), host: '127.0.0.1' }), { lease: '2s', timeout: '10s' })
const server = new HttpServer({ address: '127.0.0.1', port: Number(port), logger: null })
server.useModule(
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
