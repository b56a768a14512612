// The content of w8: a document that is serialized for every request, bytes in memory, and the same bytes in a file.
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { seededNumbers } from './message.mjs'

const SIZE = 64 * 1024
const below = seededNumbers(0x1a46e)

export const FILE_NAME = 'sea.jpg'
export const BYTES = Buffer.from(Array.from({ length: SIZE }, () => below(256)))

/** Its JSON has `SIZE` bytes to within one row. */
export const DOCUMENT = { rows: [] }
for (let length = 11; length < SIZE; length += JSON.stringify(DOCUMENT.rows.at(-1)).length + 1)
  DOCUMENT.rows.push(row(DOCUMENT.rows.length))

function row(id) {
  const name = Array.from({ length: 4 + below(12) }, () => below(36).toString(36)).join('')
  return { id, name, city: 'Zürich', price: below(100_000) / 100, enabled: below(2) === 0, tags: ['analyst', 'engine'] }
}

/** Writes the file. It is removed when this process exits. */
export function keepFile() {
  const folder = mkdtempSync(join(tmpdir(), 'weir-bench-'))
  process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
  const path = join(folder, FILE_NAME)
  writeFileSync(path, BYTES)
  return { folder, path }
}
