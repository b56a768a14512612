// Loaded before a file of tests: records every server that the tests start, and replays the recording to the same server before it stops.
// Prints what differs, as lines of JSON, to the file in RECORDED_TO.

import { appendFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

import { HttpServer } from '../../../weirjs/src/index.ts'
import { type Recording, record, replay } from '../../src/index.ts'

const report = process.env['RECORDED_TO']!
const recordings = new WeakMap<HttpServer, { readonly recording: Recording; readonly to: string; readonly folder: string }>()
const { start, stop } = HttpServer.prototype

HttpServer.prototype.start = function (this: HttpServer): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'weir-recorded-'))
  const to = join(folder, 'exchanges.jsonl')
  if (!recordings.has(this)) recordings.set(this, { recording: record(this, { to, maxSize: 8 * 1024 * 1024 }), to, folder })
  return start.call(this)
}

HttpServer.prototype.stop = async function (this: HttpServer, options) {
  const recorded = recordings.get(this)
  recordings.delete(this)
  if (recorded === undefined) return stop.call(this, options)
  const { recording, to, folder } = recorded
  const { exchanges, skipped } = await recording.stop()
  const { differences } = exchanges === 0 ? { differences: [] } : await replay(this, to, { patience: 1_000 })
  appendFileSync(report, `${JSON.stringify({ exchanges, skipped, differences })}\n`)
  rmSync(folder, { recursive: true })
  return stop.call(this, options)
}
