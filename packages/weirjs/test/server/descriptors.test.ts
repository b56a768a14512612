// A process without a free descriptor for a moment: afterwards, everything works again.

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { closeSync, openSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

import { HttpServer } from '../../src/index.ts'
import { temporaryDirectory } from '../support/temporary.ts'

const SELF = fileURLToPath(import.meta.url)
const LEFT = 'WEIR_TEST_DESCRIPTORS_LEFT'
const isLimited = process.env[LEFT] !== undefined

/** Runs this file again, in a process that may have 128 descriptors: all modules are read at the same time. */
function runLimited(file: string, left: number): unknown {
  const command = `ulimit -n 128 && exec "${process.execPath}" "${SELF}" "${file}"`
  return JSON.parse(
    execFileSync('sh', ['-c', command], { encoding: 'utf8', env: { ...process.env, NODE_TEST_CONTEXT: '', [LEFT]: String(left) } }),
  )
}

/** @returns the statuses of responses with a file: while only `left` descriptors are free, and once there are many again */
async function statuses(path: string, left: number): Promise<{ without: number[]; with: number[] }> {
  const server = new HttpServer({ logger: null })
  server.mapGet('/', (_, { response }) => response.file(path))
  // Loads weir's own module for files, which the published package loads at its start, but not yet the packages that it needs.
  server.mapGet('/none', (_, { response }) => response.file(`${path}.none`))
  await server.inject('/none')
  const asked = [{}, { Range: 'bytes=0-1' }, { 'If-Modified-Since': new Date().toUTCString() }]
  const ask = () => Promise.all(asked.map(async (headers) => (await server.inject({ url: '/', headers })).status))
  const taken: number[] = []
  try {
    for (;;) taken.push(openSync(path, 'r'))
  } catch {
    for (const descriptor of taken.splice(0, left)) closeSync(descriptor)
  }
  const without = await ask()
  for (const descriptor of taken) closeSync(descriptor)
  return { without, with: await ask() }
}

if (isLimited) process.stdout.write(JSON.stringify(await statuses(process.argv[2]!, Number(process.env[LEFT]))))
else {
  const skip = process.platform === 'win32'
  for (const left of [0, 1, 2, 3]) {
    test(`files are sent again after the first ones found only ${left} descriptors`, { skip }, (t) => {
      const file = join(temporaryDirectory(t), 'a.txt')
      writeFileSync(file, 'hello')
      const responses = runLimited(file, left) as Awaited<ReturnType<typeof statuses>>
      // With a few left, their order decides which of them gets one.
      if (left === 0) assert.deepEqual(responses.without, [500, 500, 500])
      assert.deepEqual(responses.with, [200, 206, 304])
    })
  }
}
