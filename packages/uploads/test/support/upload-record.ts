// Records of uploads, for tests of storages.

import type { UploadRecord } from '../../src/index.ts'
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
