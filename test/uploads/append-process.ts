// Another machine: a process that appends to an upload in S3, as slowly as it is told to.
//
//   node build/test/uploads/append-process.js <endpoint> <bucket> <id> <from> <to> [stop after]
//
// It appends the bytes between two offsets of the pattern of the tests, prints the offset that it has reached, and waits forever when it has
// read as many bytes as the last argument says.

import { s3Storage } from '../../packages/s3/src/index.ts'
import { patternBytes } from '../../packages/weirjs/test/support/forms.ts'
import { clientOf } from '../../packages/weirjs/test/support/s3.ts'

const [endpoint, bucket, id, from, to, stopAfter] = process.argv.slice(2) as [string, string, string, string, string, string?]
const storage = s3Storage(clientOf(endpoint), { bucket, partSize: 5 * 1024 * 1024 })
const { record, offset } = (await storage.load(id))!
if (offset !== Number(from)) throw new Error(`the upload is at ${offset}, and not at ${from}`)
const bytes = patternBytes(Number(to)).subarray(offset)

async function* slowly(): AsyncGenerator<Uint8Array> {
  const end = stopAfter === undefined ? bytes.length : Number(stopAfter)
  for (let at = 0; at < end; at += 1_000_000) yield bytes.subarray(at, Math.min(at + 1_000_000, end))
  if (stopAfter === undefined) return
  console.log('waiting')
  await new Promise(() => setInterval(() => {}, 60_000))
}

console.log(await storage.append(record, offset, slowly(), { isAtomic: false, hasTakenOver: false }))
