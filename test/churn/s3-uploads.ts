// How much memory a server takes that passes large uploads on to S3: a part of a form with saveToS3, and a resumable upload with s3Storage.
//
//   npm ci --prefix test/uploads && node build/test/churn/s3-uploads.js [MiB, 1024 unless told]
//
// The server, the S3-compatible server and the client are three processes. Exits with 1 if the memory grows with the upload.

import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { request } from 'node:http'
import { fileURLToPath } from 'node:url'

import { CreateBucketCommand, HeadObjectCommand } from '@aws-sdk/client-s3'
import { s3Storage, saveToS3 } from '../../packages/s3/src/index.ts'
import { uploads } from '../../packages/uploads/src/index.ts'
import { HttpServer } from '../../packages/weirjs/src/index.ts'
import { BOUNDARY, encodeHead, FORM_FIELD } from '../../packages/weirjs/test/support/forms.ts'
import { clientOf, launchS3 } from '../../packages/weirjs/test/support/s3.ts'

const MIB = 1024 * 1024
const BUCKET = 'churn'
/** What uploads of any size may take, together: parts on their way to S3 and parts being gathered, and what the collector has not freed yet. */
const ALLOWED_BYTES = 160 * MIB

interface Sample {
  readonly rss: number
  readonly used: number
}

if (process.argv[2] === 'serve') await serve(process.argv[3]!)
else await main(Number(process.argv[2] ?? 1024) * MIB)

async function serve(endpoint: string): Promise<void> {
  const client = clientOf(endpoint)
  const server = new HttpServer()
  server.mapPost('/form', { maxRequestBodySize: null }, async (_, { request }) => {
    let saved: unknown = null
    await request.bodyMultipartStream({
      maxFileSize: Number.POSITIVE_INFINITY,
      async onFile(info, content) {
        saved = await saveToS3(client, { bucket: BUCKET, key: 'form' }, info, content)
      },
    })
    return saved
  })
  server.use(
    uploads('/files', {
      storage: s3Storage(client, { bucket: BUCKET }),
      maxSize: Number.POSITIVE_INFINITY,
      maxOpenSize: Number.POSITIVE_INFINITY,
      onComplete: (upload) => upload.moveTo(`resumable/${upload.size}`),
    }),
  )
  await server.start()
  let most: Sample = { rss: 0, used: 0 }
  setInterval(() => {
    const { rss, heapUsed, external } = process.memoryUsage()
    most = { rss: Math.max(most.rss, rss), used: Math.max(most.used, heapUsed + external) }
  }, 20).unref()
  process.on('message', () => {
    process.send!(most)
    most = { rss: 0, used: 0 }
  })
  process.on('disconnect', () => process.exit())
  process.send!(server.port)
}

async function main(size: number): Promise<void> {
  const s3 = await launchS3()
  const endpoint = `http://127.0.0.1:${s3.port}`
  const client = clientOf(endpoint)
  await client.send(new CreateBucketCommand({ Bucket: BUCKET }))
  const server = fork(fileURLToPath(import.meta.url), ['serve', endpoint])
  const [port] = (await once(server, 'message')) as [number]
  await sample(server)
  let hasGrown = false
  for (const [what, send, keyOf] of [
    ['a part of a form, saveToS3', sendForm, () => 'form'],
    ['a resumable upload, s3Storage', sendTus, (bytes: number) => `resumable/${bytes}`],
  ] as const) {
    await send(port, 20 * MIB) // loads the packages
    const idle = await sample(server)
    const began = performance.now()
    await send(port, size)
    const seconds = (performance.now() - began) / 1000
    const { ContentLength } = await client.send(new HeadObjectCommand({ Bucket: BUCKET, Key: keyOf(size) }))
    if (ContentLength !== size) throw new Error(`S3 has ${ContentLength} bytes`)
    const most = await sample(server)
    const growth = most.used - Math.min(idle.used, most.used)
    hasGrown ||= most.used > ALLOWED_BYTES
    const mib = (bytes: number): string => `${Math.round(bytes / MIB)} MiB`
    console.log(
      `${what}: ${mib(size)} in ${seconds.toFixed(1)} s; used at most ${mib(most.used)} (${mib(idle.used)} for 20 MiB, ${mib(growth)} more), RSS ${mib(most.rss)} (${mib(idle.rss)})`,
    )
  }
  server.disconnect()
  s3.child.kill('SIGKILL')
  client.destroy()
  process.exitCode = hasGrown ? 1 : 0
}

async function sample(server: ChildProcess): Promise<Sample> {
  server.send('sample')
  const [most] = (await once(server, 'message')) as [Sample]
  return most
}

async function sendForm(port: number, size: number): Promise<void> {
  const head = encodeHead({ name: 'file', fileName: 'a.bin' })
  const end = Buffer.from(`\r\n--${BOUNDARY}--\r\n`)
  const [name, value] = FORM_FIELD.trim().split(': ')
  await send(port, 'POST', '/form', { [name!]: value!, 'content-length': String(head.length + size + end.length) }, head, size, end)
}

async function sendTus(port: number, size: number): Promise<void> {
  const tus = { 'tus-resumable': '1.0.0' }
  const none = Buffer.alloc(0)
  const { location } = await send(port, 'POST', '/files', { ...tus, 'upload-length': String(size), 'content-length': '0' }, none, 0, none)
  const fields = { ...tus, 'upload-offset': '0', 'content-type': 'application/offset+octet-stream', 'content-length': String(size) }
  await send(port, 'PATCH', new URL(location!, `http://127.0.0.1:${port}`).pathname, fields, none, size, none)
}

async function send(
  port: number,
  method: string,
  path: string,
  headers: Record<string, string>,
  before: Buffer,
  size: number,
  end: Buffer,
): Promise<NodeJS.Dict<string>> {
  const outgoing = request({ port, host: '127.0.0.1', method, path, headers })
  const answered = once(outgoing, 'response')
  outgoing.write(before)
  const piece = Buffer.alloc(MIB, 'x')
  for (let at = 0; at < size; at += MIB)
    if (!outgoing.write(piece.subarray(0, Math.min(MIB, size - at)))) await Promise.race([once(outgoing, 'drain'), answered])
  outgoing.end(end)
  const [response] = await answered
  let text = ''
  for await (const chunk of response.setEncoding('utf8')) text += chunk
  if (response.statusCode >= 300) throw new Error(`${method} ${path}: ${response.statusCode} ${text}`)
  return response.headers
}
