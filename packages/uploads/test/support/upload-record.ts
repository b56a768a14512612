// Records of uploads, for tests of storages.

import { Buffer } from 'node:buffer'

import type { UploadRecord, UploadStorage } from '../../src/index.ts'
import { newUploadId } from '../../src/upload-record.ts'

export function recordOf(more: Partial<UploadRecord> = {}): UploadRecord {
  return {
    id: newUploadId(),
    createdAt: 0,
    expiresAt: 1000,
    length: null,
    owner: null,
    place: null,
    metadata: '',
    concat: null,
    stage: 'open',
    keptAt: null,
    ...more,
  }
}

/** The record of an upload that a storage has received. */
export async function received(storage: UploadStorage, word: string): Promise<UploadRecord> {
  const record = recordOf({ length: word.length })
  const bytes = async function* () {
    yield Buffer.from(word)
  }
  await storage.create(record)
  await storage.append(record, 0, bytes(), { isAtomic: false, hasTakenOver: false })
  return { ...record, stage: 'received' }
}
