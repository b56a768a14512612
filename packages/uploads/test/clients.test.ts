// tus-js-client against real servers: with breaks, in parallel, and with servers that are killed.

import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { type TestContext, test } from 'node:test'

import { Upload, type UploadOptions } from 'tus-js-client'

import { eventually } from '../../weirjs/test/support/serving.ts'
import { temporaryDirectory } from '../../weirjs/test/support/temporary.ts'
import { startUploadProcess } from '../../weirjs/test/support/upload-processes.ts'
import { uploading } from '../../weirjs/test/support/uploading.ts'

/** Uploads until `until` holds, and then aborts without a word; otherwise to the end. @returns the URL */
function upload(
  data: Buffer,
  endpoint: string,
  options: Partial<UploadOptions> = {},
  isEnough: (sent: number) => boolean = () => false,
): Promise<string> {
  return new Promise((resolve, reject) => {
    const one = new Upload(data, {
      endpoint,
      retryDelays: [0, 20, 50, 100, 200, 400, 800, ...Array<number>(120).fill(1000)], // a busy machine takes long to start a process
      ...options,
      onError: reject,
      onSuccess: () => resolve(one.url!),
      onProgress: (sent) => {
        if (one.url !== null && isEnough(sent)) one.abort().then(() => resolve(one.url!), reject)
      },
    })
    one.start()
  })
}

function hashOf(data: Buffer): string {
  return createHash('sha256').update(data).digest('hex')
}

async function started(t: TestContext): Promise<ReturnType<typeof uploading> & { endpoint: string }> {
  const up = uploading(t, { maxSize: 10_000_000 }, ({ size }) => ({ size }), { address: '127.0.0.1', port: 0 })
  await up.server.start()
  t.after(() => up.server.stop({ graceMs: 0 }))
  return { ...up, endpoint: `http://127.0.0.1:${up.server.port}/files` }
}

test('uploads in all the ways that tus-js-client has', async (t) => {
  const { endpoint, received } = await started(t)
  const data = randomBytes(700_001)
  const ways: Partial<UploadOptions>[] = [
    {},
    { chunkSize: 100_000 },
    { uploadDataDuringCreation: true },
    { uploadLengthDeferred: true, chunkSize: 300_000 },
    { parallelUploads: 3 },
    { overridePatchMethod: true },
  ]
  for (const way of ways) {
    await upload(data, endpoint, { ...way, metadata: { filename: 'ü.bin' } })
    const { text, fileName } = received.pop()!
    assert.ok(Buffer.from(text, 'latin1').equals(data), JSON.stringify(way))
    assert.equal(fileName, 'ü.bin')
  }
})

test('continues after an abort, and removes an upload that is terminated', async (t) => {
  const { endpoint, received, files } = await started(t)
  const data = randomBytes(3_000_000)
  const url = await upload(data, endpoint, { chunkSize: 500_000 }, (sent) => sent > 1_200_000)
  await upload(data, endpoint, { uploadUrl: url })
  assert.equal(received.length, 1)
  assert.ok(Buffer.from(received[0]!.text, 'latin1').equals(data))
  await Upload.terminate(url)
  assert.deepEqual(files(), [])
})

test('continues in another process after kill -9', async (t) => {
  const directory = temporaryDirectory(t)
  const after = (end: () => unknown): void => t.after(end)
  const data = randomBytes(8_000_000)
  let server = await startUploadProcess(after, directory)
  const endpoint = `http://127.0.0.1:${server.port}/files`
  let kills = 0
  let restarting: Promise<void> | null = null
  const restart = async (): Promise<void> => {
    const { port } = server
    await server.kill()
    server = await startUploadProcess(after, directory, { port })
    restarting = null
  }
  await upload(data, endpoint, { chunkSize: 1_000_000 }, (sent) => {
    if (restarting === null && sent > (kills + 1) * 2_000_000 && kills < 2) {
      kills++
      restarting = restart()
    }
    return false
  })
  await restarting
  assert.equal(kills, 2)
  await eventually(() => server.received.length > 0, 'an upload')
  assert.deepEqual(server.received[0], { size: data.length, hash: hashOf(data) })
})
