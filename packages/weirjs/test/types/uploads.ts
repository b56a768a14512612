// What the types of @weirjs/uploads promise. Only tsc runs this.

import type { Readable } from 'node:stream'

import { Redis } from 'ioredis'
import { createClient } from 'redis'
import { redisLocks } from '../../../redis/src/index.ts'
import { diskStorage, memoryLocks, type Upload, type UploadLocks, type UploadStorage, uploads } from '../../../uploads/src/index.ts'
import { HttpError, HttpServer, type Module } from '../../src/index.ts'

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false
type Expect<T extends true> = T

const storage: UploadStorage = diskStorage('/var/uploads', { sync: false })
const module: Module = uploads('/files', {
  storage,
  maxSize: Number.POSITIVE_INFINITY,
  expiresAfter: '7d',
  async onComplete(upload, { principal, response }) {
    const stream: Readable = upload.stream()
    stream.destroy()
    if (upload.type !== 'video/mp4') throw new HttpError(415, `${upload.fileName} is no video of ${String(principal)}`)
    await upload.moveTo('/var/files/a')
    const name: string | undefined = upload.metadata.name
    return response.status(201).json({ id: upload.id, size: upload.size, path: upload.path, name })
  },
})
const server = new HttpServer().use(module)
server.group('/users/:user').use(module)

const locks: readonly UploadLocks[] = [memoryLocks(), redisLocks(createClient()), redisLocks(new Redis(), { lease: '5s', prefix: 'a:' })]
uploads('/files', { storage, locks: locks[0]!, onComplete: (upload) => upload.keep() })
export type _size = Expect<Equal<Upload['size'], number>>

// @ts-expect-error: bytes that nobody takes over would be deleted
uploads('/files', { storage })
// @ts-expect-error: a directory is no storage
uploads('/files', { storage: '/var/uploads', onComplete() {} })
// @ts-expect-error: a time has a unit
uploads('/files', { storage, expiresAfter: '7 days', onComplete() {} })
