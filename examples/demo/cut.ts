// An upload that a page cuts in the middle, and continues.

import { createHash, randomUUID } from 'node:crypto'
import { rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { diskStorage, type UploadStorage, uploads } from '@weirjs/uploads'
import type { Module } from 'weirjs'

/** A person can watch it. */
const BYTES_PER_SECOND = 24 * 1024 * 1024

/** Resumable uploads at `/parts`. The server answers with the hash of what it has. */
export function cut(): Module {
  const folder = join(tmpdir(), `weir-demo-${randomUUID()}`)
  return {
    name: 'cut',
    install(server) {
      const parts = uploads('/parts', {
        storage: slowed(diskStorage(folder)),
        maxSize: '64MiB',
        maxOpenUploads: 4,
        expiresAfter: '1m',
        async onComplete(upload) {
          const hash = createHash('sha256')
          for await (const piece of upload.stream()) hash.update(piece as Buffer)
          return { bytes: upload.size, sha256: hash.digest('hex') }
        },
      })
      server.use(parts)
      server.observe({ end: () => {}, stopped: () => rm(folder, { recursive: true, force: true }) })
    },
  }
}

function slowed(storage: UploadStorage): UploadStorage {
  const append = storage.append.bind(storage)
  storage.append = (record, offset, bytes, options) => append(record, offset, paced(bytes), options)
  return storage
}

async function* paced(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  const start = performance.now()
  let passed = 0
  for await (const piece of bytes) {
    yield piece
    passed += piece.length
    const ahead = (passed / BYTES_PER_SECOND) * 1000 - (performance.now() - start)
    if (ahead > 10) await sleep(ahead)
  }
}
